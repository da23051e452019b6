"""scan: a loop over slices of arrays that carries values from step to step."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core.avals import ShapedArray
from jacana.core.dimensions import Dimensions
from jacana.core.evaluate import evaluate, evaluate_reference
from jacana.core.jaxpr import ClosedJaxpr, Jaxpr
from jacana.core.primitive import Inapplicable, Linear
from jacana.higher_order.refs import TakesRefs
from jacana.higher_order.tangents import instantiate_flags
from jacana.ops.shape import zeros
from jacana.transforms.batch import BatchTrace, batch_program, batch_program_to, to_axis
from jacana.transforms.derived import closed, kept
from jacana.transforms.discharge import Discharged, discharged
from jacana.transforms.jvp import jvp_program
from jacana.transforms.linearize import linearize_programs
from jacana.transforms.propagate import propagated
from jacana.transforms.transpose import backward_pass


def parts(xs: Sequence[Any], consts: int, carry: int) -> tuple[list[Any], list[Any], list[Any]]:
    """Consts, carry and what is sliced."""
    return list(xs[:consts]), list(xs[consts : consts + carry]), list(xs[consts + carry :])


class Scan(TakesRefs):
    """(carry, stacked ys) of (carry, y) = jaxpr(*consts, *carry, *x) for each slice x of the xs."""

    name = "scan"
    multiple_results = True
    jvp = Inapplicable("jvp_rule differentiates the body")
    batch = Inapplicable("batch_rule batches the body")

    def __call__(self, *xs: Any, **params: Any) -> Any:
        # What a derived body captured (a user's rule may bring arrays of its own) is an operand.
        jaxpr = params["jaxpr"]
        if jaxpr.consts:
            xs = (*jaxpr.consts, *xs)
            params["num_consts"] += len(jaxpr.consts)
            params["jaxpr"] = ClosedJaxpr(jaxpr.jaxpr.with_constvars_as_inputs())
        return super().__call__(*xs, **params)

    bind = __call__

    def type_rule(
        self, *xs: ShapedArray, jaxpr: ClosedJaxpr, length: int, num_consts: int, num_carry: int,
        reverse: bool, unroll: int,
    ) -> list[ShapedArray]:  # fmt: skip
        outs = jaxpr.out_avals
        stacked = [a.update(shape=(length, *a.shape)) for a in outs[num_carry:]]
        return [*outs[:num_carry], *stacked]

    def reference(
        self, *xs: Any, jaxpr: ClosedJaxpr, length: int, num_consts: int, num_carry: int,
        reverse: bool, unroll: int,
    ) -> list[Any]:  # fmt: skip
        consts, carry, sliced = parts(xs, num_consts, num_carry)
        ys: list[Any] = [None] * length
        for i in reversed(range(length)) if reverse else range(length):
            outs = evaluate_reference(jaxpr, *consts, *carry, *[x[i] for x in sliced])
            carry, ys[i] = outs[:num_carry], outs[num_carry:]
        avals = jaxpr.out_avals[num_carry:]
        if not length:
            return [*carry, *[np.zeros((0, *a.shape), a.dtype) for a in avals]]
        return [*carry, *[np.stack(column) for column in zip(*ys, strict=True)]]

    def jvp_rule(
        self, primals: list[Any], tangents: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        n, m = params["num_consts"], params["num_carry"]
        body = params["jaxpr"].jaxpr
        nonzero = fixpoint(body, [t is not None for t in tangents], n, m, jvp_nonzero)
        started = instantiate_flags(tangents[n : n + m], primals[n : n + m], nonzero[n : n + m])
        tangents = [*tangents[:n], *started, *tangents[n + m :]]
        program, out_nonzero = jvp_scan_body(body, n, m, tuple(nonzero))
        consts, carry, xs = parts(primals, n, m)
        given = [[t for t in group if t is not None] for group in parts(tangents, n, m)]
        outs = self(
            *consts, *given[0], *carry, *given[1], *xs, *given[2],
            **{**params, "jaxpr": program, "num_consts": n + len(given[0]),
               "num_carry": m + len(given[1])},
        )  # fmt: skip
        k, ys = len(given[1]), len(body.outvars) - m
        found = iter([*outs[m : m + k], *outs[m + k + ys :]])
        results = [*outs[:m], *outs[m + k : m + k + ys]]
        return results, [next(found) if nz else None for nz in out_nonzero]

    def linearize_rule(
        self, primals: list[Any], nonzero: list[bool], params: dict[str, Any]
    ) -> tuple[list[Any], Callable[[list[Any]], list[Any]]]:
        n, m = params["num_consts"], params["num_carry"]
        body = params["jaxpr"].jaxpr
        grown = fixpoint(body, list(nonzero), n, m, linear_nonzero)
        halves = linearize_programs(body, tuple(grown))
        # Residuals that are consts do not change from step to step; all others are stacked.
        fixed = [p for p in halves.places if p < n]
        stacked = [p for p in halves.places if p >= n]
        first = residual_body(halves, body, m, tuple(stacked))
        outs = self(*primals, **{**params, "jaxpr": first})
        count = len(body.outvars)
        out_nonzero = [a or b for a, b in zip(halves.nonzero[:m], grown[n : n + m], strict=True)]
        out_nonzero += halves.nonzero[m:]

        def record(tangents: list[Any]) -> list[Any]:
            given = iter(tangents)
            full = [next(given) if nz else None for nz in nonzero]
            carry = instantiate_flags(full[n : n + m], primals[n : n + m], grown[n : n + m])
            kept_ = [
                [t for t in group if t is not None] for group in (full[:n], carry, full[n + m :])
            ]
            second = tangent_body(halves, body, n, m, tuple(grown))
            found = iter(self(
                *[primals[p] for p in fixed], *kept_[0], *kept_[1], *outs[count:], *kept_[2],
                **{**params, "jaxpr": second, "num_consts": len(fixed) + len(kept_[0]),
                   "num_carry": len(kept_[1])},
            ))  # fmt: skip
            return [next(found) if nz else None for nz in out_nonzero]

        return outs[:count], record

    def transpose(
        self, cts: list[Any], *xs: Any, jaxpr: ClosedJaxpr, length: int, num_consts: int,
        num_carry: int, reverse: bool, unroll: int,
    ) -> list[Any]:  # fmt: skip
        n, m, body = num_consts, num_carry, jaxpr.jaxpr
        linear = [isinstance(x, Linear) for x in xs]
        outs = [a.to_tangent_aval() for a in body.out_avals]
        ct_carry = [
            zeros(a.shape, a.dtype) if ct is None else ct
            for ct, a in zip(cts[:m], outs[:m], strict=True)
        ]
        ys_nonzero = tuple(ct is not None for ct in cts[m:])
        program = transposed_body(body, n, m, tuple(linear), ys_nonzero)
        # A carry may begin as zeros that no variable stands for; inside it is linear all the same.
        known = [
            [x for x, is_linear in zip(*pair, strict=True) if not is_linear]
            for pair in zip(parts(xs, n, m), parts(linear, n, m), strict=True)
        ]
        start = [zeros(x.aval.shape, x.aval.dtype) for x in xs[:n] if isinstance(x, Linear)]
        found = self(
            *known[0], *start, *ct_carry, *[ct for ct in cts[m:] if ct is not None], *known[2],
            jaxpr=program, length=length, num_consts=len(known[0]), num_carry=len(start) + m,
            reverse=not reverse, unroll=unroll,
        )  # fmt: skip
        k = len(start)
        # Every part of the carry has a cotangent, of consts and slices only the linear ones.
        of_consts, of_xs = iter(found[:k]), iter(found[k + m :])
        return [
            None if not is_linear
            else next(of_consts) if i < n
            else found[k + i - n] if i < n + m
            else next(of_xs)
            for i, is_linear in enumerate(linear)
        ]  # fmt: skip

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        n, m, size, name = params["num_consts"], params["num_carry"], trace.size, trace.axis_name
        body = params["jaxpr"].jaxpr
        # Slices of the xs lose their first axis; their batch axis comes to stand first.
        moved = [
            to_axis(x, a, 1, size) if i >= n + m and a is not None
            else to_axis(x, a, 0, size) if a is not None else x
            for i, (x, a) in enumerate(zip(values, axes, strict=True))
        ]  # fmt: skip
        batched = [a is not None for a in axes]
        while True:
            body_axes = tuple(0 if b else None for b in batched)
            out = batch_program(body, size, body_axes, name)[1]
            grown = [b or a is not None for b, a in zip(batched[n : n + m], out[:m], strict=True)]
            if grown == batched[n : n + m]:
                break
            batched[n : n + m] = grown
        for i in range(n, n + m):
            if batched[i] and axes[i] is None:
                moved[i] = to_axis(values[i], None, 0, size)
        wanted = (*batched[n : n + m], *[a is not None for a in out[m:]])
        program = batch_program_to(body, size, body_axes, name, wanted)
        outs = self(*moved, **{**params, "jaxpr": program})
        places = [0 if w else None for w in wanted[:m]] + [1 if w else None for w in wanted[m:]]
        return outs, places

    def discharge_rule(
        self, values: list[Any], refs: Sequence[Any], params: dict[str, Any], final: bool
    ) -> tuple[list[Any], list[Any]]:
        # A const that is written is carried; a slice that is written comes back as one.
        n, m = params["num_consts"], params["num_carry"]
        step = discharged(params["jaxpr"].jaxpr, final)
        flags = parts(step.written, n, m)
        consts, carry, xs = parts(values, n, m)
        fixed = [c for c, w in zip(consts, flags[0], strict=True) if not w]
        written = [c for c, w in zip(consts, flags[0], strict=True) if w]
        changed = {"jaxpr": carrying_body(step, n, m), "num_consts": len(fixed),
                   "num_carry": len(written) + m}  # fmt: skip
        outs = self(*fixed, *written, *carry, *xs, **{**params, **changed})
        k, end = len(written), len(outs) - sum(flags[2])
        changes = iter([*outs[:k], *outs[end:]])
        return outs[k:end], [next(changes) if w else None for w in step.written]

    def work(
        self, operands: list[ShapedArray], outs: list[ShapedArray], params: dict[str, Any]
    ) -> float:
        return params["length"] * params["jaxpr"].jaxpr.work  # type: ignore[no-any-return]

    def lower(
        self, build: Any, *xs: Any, jaxpr: ClosedJaxpr, length: int, num_consts: int,
        num_carry: int, reverse: bool, unroll: int,
    ) -> Any:  # fmt: skip
        consts, carry, sliced = parts(xs, num_consts, num_carry)
        return build.scan(jaxpr, consts, carry, sliced, length, reverse)

    def spec_rule(
        self, specs: Sequence[Dimensions], avals: Any, outs: Any, params: dict[str, Any]
    ) -> list[Dimensions]:
        consts, carry, sliced = parts(specs, params["num_consts"], params["num_carry"])
        inside = [*consts, *carry, *[spec[1:] for spec in sliced]]
        ys = propagated(params["jaxpr"].jaxpr, inside)[len(carry) :]
        return [*carry, *[((), *spec) for spec in ys]]


def jvp_nonzero(body: Jaxpr, nonzero: tuple[bool, ...]) -> list[bool]:
    return jvp_program(body, nonzero)[1]


def linear_nonzero(body: Jaxpr, nonzero: tuple[bool, ...]) -> list[bool]:
    return linearize_programs(body, nonzero).nonzero


def fixpoint(
    body: Jaxpr, nonzero: list[bool], n: int, m: int,
    outputs: Callable[[Jaxpr, tuple[bool, ...]], list[bool]],
) -> list[bool]:  # fmt: skip
    """Which inputs have tangents once those of the carry have gone around."""
    while True:
        out = outputs(body, tuple(nonzero))
        grown = [a or b for a, b in zip(nonzero[n : n + m], out[:m], strict=True)]
        if grown == nonzero[n : n + m]:
            return nonzero
        nonzero = [*nonzero[:n], *grown, *nonzero[n + m :]]


def jvp_scan_body(
    body: Jaxpr, n: int, m: int, nonzero: tuple[bool, ...]
) -> tuple[ClosedJaxpr, list[bool]]:
    """The body with tangents after each of consts, carry and slices; and nonzero results."""
    program, found = jvp_program(body, nonzero)
    flags = parts(nonzero, n, m)
    out_nonzero = [*flags[1], *found[m:]]
    counts = [c for group in flags for c in (len(group), sum(group))]

    def run(*args: Any) -> list[Any]:
        groups, start = [], 0
        for c in counts:
            groups.append(args[start : start + c])
            start += c
        primals = [*groups[0], *groups[2], *groups[4]]
        outs = evaluate(
            program.jaxpr, program.consts, [*primals, *groups[1], *groups[3], *groups[5]]
        )
        k = len(body.outvars)
        given = iter(outs[k:])
        tangents = [next(given) if nz else None for nz in found]
        carry = instantiate_flags(tangents[:m], outs[:m], flags[1])
        ys = [t for t in tangents[m:] if t is not None]
        return [*outs[:m], *[t for t in carry if t is not None], *outs[m:k], *ys]

    avals: list[ShapedArray] = []
    for group, flag in zip(parts(body.in_avals, n, m), flags, strict=True):
        avals += group
        avals += [a.to_tangent_aval() for a, nz in zip(group, flag, strict=True) if nz]
    made: ClosedJaxpr = kept(body, ("jvp scan", n, m, nonzero), lambda: closed(run, avals))
    return made, out_nonzero


def carrying_body(step: Discharged, n: int, m: int) -> ClosedJaxpr:
    """(fixed consts, written consts, carry, xs) -> (written consts, carry, ys, written slices)."""
    jaxpr = step.program.jaxpr
    is_written = step.written[:n]
    k, slices = sum(is_written), sum(step.written[n:])

    def run(*args: Any) -> list[Any]:
        fixed, written = iter(args[: n - k]), iter(args[n - k : n])
        consts = [next(written) if w else next(fixed) for w in is_written]
        outs = evaluate(jaxpr, (), [*consts, *args[n:]])
        end = len(outs) - k - slices
        return [*outs[end : end + k], *outs[:end], *outs[end + k :]]

    groups = parts(jaxpr.in_avals, n, m)
    avals = [a for a, w in zip(groups[0], is_written, strict=True) if not w]
    avals += [a for a, w in zip(groups[0], is_written, strict=True) if w]
    every = [*avals, *groups[1], *groups[2]]
    return kept(jaxpr, ("carrying body", n, m), lambda: closed(run, every))


def residual_body(halves: Any, body: Jaxpr, m: int, stacked: tuple[int, ...]) -> ClosedJaxpr:
    """The body that also gives, at each step, the residuals at the places."""
    k = len(body.outvars)

    def run(*args: Any) -> list[Any]:
        outs = evaluate(halves.primal.jaxpr, halves.primal.consts, args)
        values = [*args, *outs]
        return [*outs[:k], *[values[p] for p in stacked]]

    return kept(halves.primal.jaxpr, ("residual body", stacked), lambda: closed(run, body.in_avals))


def tangent_body(
    halves: Any, body: Jaxpr, n: int, m: int, nonzero: tuple[bool, ...]
) -> ClosedJaxpr:
    """(fixed residuals, tangents of consts and carry, stacked residuals, of xs) -> tangents."""
    values = [*body.in_avals, *halves.primal.out_avals]
    fixed = [values[p] for p in halves.places if p < n]
    stacked = [values[p] for p in halves.places if p >= n]
    flags = parts(nonzero, n, m)
    groups = [
        [a.to_tangent_aval() for a, nz in zip(avals, flag, strict=True) if nz]
        for avals, flag in zip(parts(body.in_avals, n, m), flags, strict=True)
    ]
    carry_avals = [a.to_tangent_aval() for a in body.out_avals[:m]]

    def run(*args: Any) -> list[Any]:
        rest = list(args)

        def take(count: int) -> list[Any]:
            taken, rest[:count] = rest[:count], []
            return taken

        own_fixed, consts, carry = take(len(fixed)), take(len(groups[0])), take(len(groups[1]))
        own_stacked, xs = take(len(stacked)), take(len(groups[2]))
        of_fixed, of_stacked = iter(own_fixed), iter(own_stacked)
        residuals = [next(of_fixed) if p < n else next(of_stacked) for p in halves.places]
        found = iter(evaluate(halves.tangent.jaxpr, halves.tangent.consts,
                              [*residuals, *consts, *carry, *xs]))  # fmt: skip
        tangents = [next(found) if nz else None for nz in halves.nonzero]
        full = [
            zeros(a.shape, a.dtype) if t is None and f else t
            for t, f, a in zip(tangents[:m], flags[1], carry_avals, strict=True)
        ]
        return [t for t in (*full, *tangents[m:]) if t is not None]

    avals = [*fixed, *groups[0], *groups[1], *stacked, *groups[2]]
    return kept(halves.tangent.jaxpr, ("tangent body", n, m, nonzero), lambda: closed(run, avals))


def transposed_body(
    body: Jaxpr, n: int, m: int, linear: tuple[bool, ...], ys_nonzero: tuple[bool, ...]
) -> ClosedJaxpr:
    """One step backwards.

    (known consts, totals of linear consts, carry cotangents, y cotangents, known slices) ->
    (totals, carry cotangents, slice cotangents).
    """
    flags = parts(linear, n, m)
    variables = parts(body.invars, n, m)
    known_consts = [v for v, f in zip(variables[0], flags[0], strict=True) if not f]
    linear_consts = [v for v, f in zip(variables[0], flags[0], strict=True) if f]
    known_xs = [v for v, f in zip(variables[2], flags[2], strict=True) if not f]
    linear_xs = [v for v, f in zip(variables[2], flags[2], strict=True) if f]
    outs = [a.to_tangent_aval() for a in body.out_avals]
    ys = [a for a, nz in zip(outs[m:], ys_nonzero, strict=True) if nz]

    def run(*args: Any) -> list[Any]:
        counts = (len(known_consts), len(linear_consts), m, len(ys), len(known_xs))
        groups, start = [], 0
        for c in counts:
            groups.append(args[start : start + c])
            start += c
        known = dict(zip(known_consts, groups[0], strict=True))
        known.update(zip(known_xs, groups[4], strict=True))
        given = iter(groups[3])
        cts = [*groups[2], *[next(given) if nz else None for nz in ys_nonzero]]
        found = backward_pass(body, known, cts)

        def full(v: Any) -> Any:
            aval = v.aval.to_tangent_aval()
            return found[v] if v in found else zeros(aval.shape, aval.dtype)

        totals = [
            ops.add_any(t, found[v]) if v in found else t
            for t, v in zip(groups[1], linear_consts, strict=True)
        ]
        return [*totals, *map(full, variables[1]), *map(full, linear_xs)]

    def types(vs: Sequence[Any]) -> list[ShapedArray]:
        return [v.aval for v in vs]

    avals = [*types(known_consts), *types(linear_consts), *outs[:m], *ys, *types(known_xs)]
    return kept(body, ("transposed body", n, m, linear, ys_nonzero), lambda: closed(run, avals))


scan = Scan()


def one_by_one(function: Callable[..., list[Any]], mapped: Sequence[bool], *xs: Any) -> list[Any]:
    """The function's outputs for each element of a batch of what is mapped, stacked, by a loop."""
    shared = [x for x, m in zip(xs, mapped, strict=True) if not m]
    sliced = [x for x, m in zip(xs, mapped, strict=True) if m]

    def step(*args: Any) -> list[Any]:
        consts, own = iter(args[: len(shared)]), iter(args[len(shared) :])
        return function(*[next(own) if m else next(consts) for m in mapped])

    avals = [ShapedArray(np.shape(x), x.dtype) for x in shared]
    avals += [ShapedArray(np.shape(x)[1:], x.dtype) for x in sliced]
    return scan(  # type: ignore[no-any-return]
        *shared, *sliced, jaxpr=closed(step, avals), length=np.shape(sliced[0])[0],
        num_consts=len(shared), num_carry=0, reverse=False, unroll=1,
    )  # fmt: skip
