"""Programs derived from branches, which must agree in what they give."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from jacana.core.avals import ShapedArray
from jacana.core.evaluate import evaluate
from jacana.core.jaxpr import ClosedJaxpr, Jaxpr
from jacana.ops.shape import zeros
from jacana.transforms.derived import closed, kept
from jacana.transforms.discharge import Discharged
from jacana.transforms.jvp import zero_tangent
from jacana.transforms.linearize import Halves, linearize_programs

Branches = tuple[ClosedJaxpr, ...]


def union(flags: Sequence[Sequence[bool]]) -> list[bool]:
    return [any(column) for column in zip(*flags, strict=True)]


def joint_avals(branches: Branches) -> list[ShapedArray]:
    """The types of the outputs: weak where all branches give weak ones."""
    return [
        a if all(b.out_avals[i].weak_type for b in branches) else a.strip_weak_type()
        for i, a in enumerate(branches[0].out_avals)
    ]


def taking_consts(branches: Branches) -> tuple[Branches, list[Any]]:
    """The branches as programs of everything that any of them captured, then their operands."""
    avals = tuple([v.aval for b in branches for v in b.jaxpr.constvars])
    if not avals:
        return branches, []
    made, start = [], 0
    for b in branches:
        made.append(_taking(b.jaxpr, avals, start))
        start += len(b.consts)
    return tuple(made), [c for b in branches for c in b.consts]


def _taking(jaxpr: Jaxpr, captured: tuple[ShapedArray, ...], start: int) -> ClosedJaxpr:
    """The branch that finds its own constants among those captured, from `start` on."""
    stop = start + len(jaxpr.constvars)

    def run(*args: Any) -> list[Any]:
        return evaluate(jaxpr, args[start:stop], args[len(captured) :])

    return kept(
        jaxpr, ("taking", captured, start), lambda: closed(run, [*captured, *jaxpr.in_avals])
    )


def giving(branch: Discharged, count: int, written: tuple[bool, ...]) -> ClosedJaxpr:
    """A branch that gives, after its outputs, all inputs that some branch writes."""
    jaxpr = branch.program.jaxpr

    def run(*args: Any) -> list[Any]:
        outs = evaluate(jaxpr, (), args)
        changes = iter(outs[count:])
        after = [next(changes) if own else x for x, own in zip(args, branch.written, strict=True)]
        return [*outs[:count], *[x for x, w in zip(after, written, strict=True) if w]]

    return kept(jaxpr, ("giving", written), lambda: closed(run, jaxpr.in_avals))


def completed(
    program: ClosedJaxpr, count: int, nonzero: Sequence[bool], wanted: Sequence[bool]
) -> ClosedJaxpr:
    """The program with zeros for wanted tangents, after `count` outputs, that it does not give."""
    jaxpr = program.jaxpr.with_constvars_as_inputs()

    def run(*args: Any) -> list[Any]:
        outs = evaluate(jaxpr, (), args)
        tangents = iter(outs[count:])
        full = [
            next(tangents) if nz else zero_tangent(o) if w else None
            for o, nz, w in zip(outs[:count], nonzero, wanted, strict=True)
        ]
        return [*outs[:count], *[t for t in full if t is not None]]

    key = ("completed", tuple(nonzero), tuple(wanted))
    return captured_again(kept(jaxpr, key, lambda: closed(run, jaxpr.in_avals)), program.consts)


def filled(
    program: ClosedJaxpr, found: Sequence[bool], wanted: Sequence[bool],
    avals: Sequence[ShapedArray],
) -> ClosedJaxpr:  # fmt: skip
    """The program with zeros of the avals for wanted outputs that it does not give."""
    jaxpr = program.jaxpr.with_constvars_as_inputs()

    def run(*args: Any) -> list[Any]:
        outs = iter(evaluate(jaxpr, (), args))
        return [
            next(outs) if f else zeros(a.shape, a.dtype)
            for f, w, a in zip(found, wanted, avals, strict=True)
            if w
        ]

    key = ("filled", tuple(found), tuple(wanted), tuple(avals))
    return captured_again(kept(jaxpr, key, lambda: closed(run, jaxpr.in_avals)), program.consts)


def captured_again(program: ClosedJaxpr, consts: Sequence[Any]) -> ClosedJaxpr:
    """A program of captured values and operands, with those values captured."""
    return program.with_consts(consts) if consts else program


# --- linearization --------------------------------------------------------------------------------


class LinearBranches(NamedTuple):
    """Branches linearized, with residuals that all of them share.

    Residuals are operands and outputs that some branch needs again, then values of each type, as
    many as one branch needs of it: only one branch runs, so others leave zeros there or use the
    same places.
    """

    forward: Branches
    """Operands -> outputs, values."""
    tangent: Branches
    """Operands needed, outputs needed, values, tangents -> tangents of outputs with `nonzero`."""
    nonzero: list[bool]
    needed: list[int]
    """Positions among operands and outputs."""


def linearized(branches: Branches, nonzero: tuple[bool, ...]) -> LinearBranches:
    """The branches linearized in the operands with nonzero tangents."""
    jaxprs = [b.jaxpr for b in branches]
    halves = [linearize_programs(j, nonzero) for j in jaxprs]
    total = len(jaxprs[0].invars) + len(jaxprs[0].outvars)
    needed = sorted({p for h in halves for p in h.places if p < total})
    own = [[h.primal.out_avals[p - len(j.invars)] for p in extras(h, total)]
           for h, j in zip(halves, jaxprs, strict=True)]  # fmt: skip
    slots, places = shared_slots(own)
    wanted = union([h.nonzero for h in halves])
    known = [*jaxprs[0].in_avals, *joint_avals(branches)]
    tangents = [a.to_tangent_aval() for a, nz in zip(jaxprs[0].in_avals, nonzero) if nz]
    avals = [*[known[p] for p in needed], *slots, *tangents]
    forward, tangent = [], []
    for j, h, at in zip(jaxprs, halves, places, strict=True):
        forward.append(forward_branch(j, h, total, slots, at))
        where = {p: k for k, p in enumerate(needed)}
        where.update({p: len(needed) + k for p, k in zip(extras(h, total), at, strict=True)})
        order = tuple([where[p] for p in h.places])
        tangent.append(tangent_branch(j, h, order, len(needed) + len(slots), wanted, avals))
    return LinearBranches(tuple(forward), tuple(tangent), wanted, needed)


def extras(halves: Halves, total: int) -> list[int]:
    """The places of residuals that are neither operands nor outputs, each once."""
    return list(dict.fromkeys([p for p in halves.places if p >= total]))


def shared_slots(
    groups: Sequence[Sequence[ShapedArray]],
) -> tuple[list[ShapedArray], list[list[int]]]:
    """Types of which each group finds its own among the positions listed for it."""
    slots: list[ShapedArray] = []
    places = []
    for group in groups:
        free = list(range(len(slots)))
        mine = []
        for aval in group:
            k = next((k for k in free if slots[k] == aval), None)
            if k is None:
                k = len(slots)
                slots.append(aval)
            else:
                free.remove(k)
            mine.append(k)
        places.append(mine)
    return slots, places


def forward_branch(
    jaxpr: Jaxpr, halves: Halves, total: int, slots: Sequence[ShapedArray], places: Sequence[int]
) -> ClosedJaxpr:
    """Operands -> (outs, values), where values[places[k]] is residual k of this branch."""
    primal, n = halves.primal.jaxpr.with_constvars_as_inputs(), len(jaxpr.outvars)
    captured = len(halves.primal.consts)

    def run(*args: Any) -> list[Any]:
        outs = evaluate(primal, (), args)
        own = [outs[p - len(jaxpr.invars)] for p in extras(halves, total)]
        found = dict(zip(places, own, strict=True))
        values = [found[k] if k in found else zeros(a.shape, a.dtype) for k, a in enumerate(slots)]
        return [*outs[:n], *values]

    assert len(primal.invars) == captured + len(jaxpr.invars)
    key = ("forward branch", tuple(slots), tuple(places))
    made = kept(primal, key, lambda: closed(run, primal.in_avals))
    return captured_again(made, halves.primal.consts)


def tangent_branch(
    jaxpr: Jaxpr, halves: Halves, order: tuple[int, ...], count: int, wanted: Sequence[bool],
    avals: Sequence[ShapedArray],
) -> ClosedJaxpr:  # fmt: skip
    """(shared residuals, tangents) -> wanted tangents; residual k is the one at order[k]."""
    outs = [a.to_tangent_aval() for a in jaxpr.out_avals]

    def run(*args: Any) -> list[Any]:
        given = [*[args[k] for k in order], *args[count:]]
        found = iter(evaluate(halves.tangent.jaxpr, halves.tangent.consts, given))
        return [
            next(found) if nz else zeros(a.shape, a.dtype)
            for nz, w, a in zip(halves.nonzero, wanted, outs, strict=True)
            if w
        ]

    key = ("tangent branch", order, tuple(wanted), tuple(avals))
    return kept(halves.tangent.jaxpr, key, lambda: closed(run, avals))
