"""cond: run the branch that an index chooses."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core.avals import ShapedArray
from jacana.core.evaluate import evaluate, evaluate_reference
from jacana.core.jaxpr import ClosedJaxpr, Jaxpr
from jacana.core.primitive import Inapplicable, Linear, Primitive
from jacana.core.trace import Tracer
from jacana.ops.shape import zeros
from jacana.transforms.batch import (
    BatchTrace,
    batch,
    batch_program,
    batch_program_to,
    to_axis,
)
from jacana.transforms.derived import closed, evaluated, kept
from jacana.transforms.eager_tape import EagerTape
from jacana.transforms.jvp import has_tangents, jvp_program, zero_tangent
from jacana.transforms.linearize import Tape, linearize_programs
from jacana.transforms.transpose import transpose_program

Branches = tuple[ClosedJaxpr, ...]


class Cond(Primitive):
    """The outputs of branches[index] on the operands; the index is clamped to the branches."""

    name = "cond"
    multiple_results = True
    jvp = Inapplicable("jvp_rule differentiates the branches")
    batch = Inapplicable("batch_rule batches the branches")

    def type_rule(
        self, index: ShapedArray, *xs: ShapedArray, branches: Branches
    ) -> list[ShapedArray]:
        first = branches[0].out_avals
        for k, branch in enumerate(branches[1:], 1):
            for a, b in zip(first, branch.out_avals, strict=True):
                if (a.shape, a.dtype) != (b.shape, b.dtype):
                    raise TypeError(
                        f"the branches of cond must give equal types: branch 0 gives {a}, branch "
                        f"{k} gives {b}. Convert one, for example with astype."
                    )
        return [
            a if all(b.out_avals[i].weak_type for b in branches) else a.strip_weak_type()
            for i, a in enumerate(first)
        ]

    def reference(self, index: Any, *xs: Any, branches: Branches) -> list[Any]:
        chosen = int(np.clip(index, 0, len(branches) - 1))
        return evaluate_reference(branches[chosen], *xs)

    def jvp_rule(
        self, primals: list[Any], tangents: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        index, *rest = primals
        nonzero = tuple(t is not None for t in tangents[1:])
        jaxprs = [b.jaxpr for b in params["branches"]]
        found = [jvp_program(j, nonzero) for j in jaxprs]
        any_nonzero = union([nz for _, nz in found])
        n = len(jaxprs[0].outvars)
        branches = tuple(
            completed(program.jaxpr, n, nz, any_nonzero, ("jvp", nonzero)) for program, nz in found
        )
        given = [*rest, *[t for t in tangents[1:] if t is not None]]
        outs = self(index, *given, branches=branches)
        out_tangents = iter(outs[n:])
        return outs[:n], [next(out_tangents) if nz else None for nz in any_nonzero]

    def linearize_rule(
        self, primals: list[Any], nonzero: list[bool], params: dict[str, Any]
    ) -> tuple[list[Any], Callable[[list[Any]], list[Any]]]:
        index, *rest = primals
        jaxprs = [b.jaxpr for b in params["branches"]]
        halves = [linearize_programs(j, tuple(nonzero[1:])) for j in jaxprs]
        residuals = [residual_avals(h, j) for h, j in zip(halves, jaxprs, strict=True)]
        every = [a for avals in residuals for a in avals]
        any_nonzero = union([h.nonzero for h in halves])
        n = len(jaxprs[0].outvars)
        first = tuple(
            forward_branch(h, j, residuals, k) for k, (h, j) in enumerate(zip(halves, jaxprs))
        )
        outs = self(index, *rest, branches=first)

        def record(tangents: list[Any]) -> list[Any]:
            if not any(any_nonzero):
                return [None] * n
            avals = [a.to_tangent_aval() for a, nz in zip(jaxprs[0].in_avals, nonzero[1:]) if nz]
            second = tuple(
                tangent_branch(h, j, residuals, k, any_nonzero, [*every, *avals])
                for k, (h, j) in enumerate(zip(halves, jaxprs))
            )
            found = iter(self(index, *outs[n:], *tangents, branches=second))
            return [next(found) if nz else None for nz in any_nonzero]

        return outs[:n], record

    def transpose(self, cts: list[Any], index: Any, *xs: Any, branches: Branches) -> list[Any]:
        linear = tuple(isinstance(x, Linear) for x in xs)
        nonzero = tuple(ct is not None for ct in cts)
        found = [transpose_program(b.jaxpr, linear, nonzero) for b in branches]
        any_found = union([f for _, f in found])
        avals = [a.to_tangent_aval() for a in branches[0].in_avals]
        transposed = tuple(
            filled(program.jaxpr, f, any_found, avals, ("transpose", tuple(any_found)))
            for program, f in found
        )
        known = [x for x, is_linear in zip(xs, linear, strict=True) if not is_linear]
        given = [*known, *[ct for ct in cts if ct is not None]]
        outs = iter(self(index, *given, branches=transposed))
        return [None, *[next(outs) if f else None for f in any_found]]

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        index, *rest = values
        branches, size, name = params["branches"], trace.size, trace.axis_name
        if axes[0] is not None:
            return self._batch_by_selection(trace, index, rest, axes[1:], branches)
        given = tuple(axes[1:])
        found = [batch_program(b.jaxpr, size, given, name)[1] for b in branches]
        batched = union([[a is not None for a in f] for f in found])
        made = tuple(batch_program_to(b.jaxpr, size, given, name, tuple(batched)) for b in branches)
        return self(index, *rest, branches=made), [0 if b else None for b in batched]

    def _batch_by_selection(
        self, trace: BatchTrace, index: Any, rest: list[Any], axes: list[Any], branches: Branches
    ) -> tuple[list[Any], list[Any]]:
        """Every branch runs on the whole batch, and each element keeps what its index chose."""
        n, size = len(branches[0].out_avals), trace.size
        top = np.int32(len(branches) - 1)
        index = ops.clamp(np.int32(0), index, top)
        operands = [to_axis(x, a, 0, size) for x, a in zip(rest, axes, strict=True)]
        results = []
        for k, b in enumerate(branches):
            # Elements of other branches get no cotangent from this one, not even nan times zero.
            chosen = ops.eq(index, np.int32(k))
            own = [chosen_or_stopped(chosen, x) for x in operands]
            outs, found = batch(evaluated(b.jaxpr), size, own, [0] * len(own), trace.axis_name)
            results.append([to_axis(o, a, 0, size) for o, a in zip(outs, found, strict=True)])
        merged = []
        for i in range(n):
            out = results[0][i]
            for k in range(1, len(branches)):
                out = ops.select_n(spread_like(ops.eq(index, np.int32(k)), out), out, results[k][i])
            merged.append(out)
        return merged, [0] * n

    def lower(self, build: Any, index: Any, *xs: Any, branches: Branches) -> Any:
        outputs = [(a.shape, a.dtype) for a in branches[0].out_avals]
        return build.branch(index, branches, xs, outputs)


def chosen_or_stopped(mask: Any, x: Any) -> Any:
    """x, whose derivative is zero where the mask is false."""
    if not has_tangents(x):
        return x
    # Tangents of elements that another branch gets are zero; values stay what they are.
    is_tangent = isinstance(x, Tracer) and isinstance(x._trace, Tape | EagerTape)
    other = zeros(np.shape(x), x.dtype) if is_tangent else ops.stop_gradient(x)
    return ops.select_n(spread_like(mask, x), other, x)


def spread_like(mask: Any, x: Any) -> Any:
    """A mask over the first axis, spread over the others."""
    if np.ndim(x) == 1:
        return mask
    return ops.broadcast_in_dim(mask, shape=np.shape(x), broadcast_dimensions=(0,))


def union(flags: Sequence[Sequence[bool]]) -> list[bool]:
    return [any(column) for column in zip(*flags, strict=True)]


def completed(
    jaxpr: Jaxpr, count: int, nonzero: Sequence[bool], wanted: Sequence[bool], key: Any
) -> ClosedJaxpr:
    """The program with zeros for wanted tangents, after `count` outputs, that it does not give."""

    def run(*args: Any) -> list[Any]:
        outs = evaluate(jaxpr, (), args)
        tangents = iter(outs[count:])
        full = [
            next(tangents) if nz else zero_tangent(o) if w else None
            for o, nz, w in zip(outs[:count], nonzero, wanted, strict=True)
        ]
        return [*outs[:count], *[t for t in full if t is not None]]

    return kept(jaxpr, (key, tuple(wanted)), lambda: closed(run, jaxpr.in_avals))


def filled(
    jaxpr: Jaxpr, found: Sequence[bool], wanted: Sequence[bool], avals: Sequence[ShapedArray],
    key: Any,
) -> ClosedJaxpr:  # fmt: skip
    """The program with zeros of the avals for wanted outputs that it does not give."""

    def run(*args: Any) -> list[Any]:
        outs = iter(evaluate(jaxpr, (), args))
        return [
            next(outs) if f else zeros(a.shape, a.dtype)
            for f, w, a in zip(found, wanted, avals, strict=True)
            if w
        ]

    return kept(jaxpr, key, lambda: closed(run, jaxpr.in_avals))


def residual_avals(halves: Any, jaxpr: Jaxpr) -> list[ShapedArray]:
    """The types of the residuals that the first half leaves to the second."""
    values = [*jaxpr.in_avals, *halves.primal.out_avals]
    return [values[place] for place in halves.places]


def forward_branch(
    halves: Any, jaxpr: Jaxpr, residuals: Sequence[Sequence[ShapedArray]], k: int
) -> ClosedJaxpr:
    """operands -> (outs, residuals of all branches), those of other branches zero."""
    n = len(jaxpr.outvars)

    def run(*args: Any) -> list[Any]:
        outs = evaluate(halves.primal.jaxpr, (), args)
        values = [*args, *outs]
        own = [values[place] for place in halves.places]
        every = [
            own if i == k else [zeros(a.shape, a.dtype) for a in avals]
            for i, avals in enumerate(residuals)
        ]
        return [*outs[:n], *[r for group in every for r in group]]

    key = ("forward branch", k, tuple(map(tuple, residuals)))
    return kept(halves.primal.jaxpr, key, lambda: closed(run, jaxpr.in_avals))


def tangent_branch(
    halves: Any, jaxpr: Jaxpr, residuals: Sequence[Sequence[ShapedArray]], k: int,
    wanted: Sequence[bool], avals: Sequence[ShapedArray],
) -> ClosedJaxpr:  # fmt: skip
    """(residuals of all branches, tangents) -> wanted tangents of the outputs."""
    start = sum(len(r) for r in residuals[:k])
    total = sum(len(r) for r in residuals)
    outs = [a.to_tangent_aval() for a in jaxpr.out_avals]

    def run(*args: Any) -> list[Any]:
        own = args[start : start + len(residuals[k])]
        found = iter(evaluate(halves.tangent.jaxpr, (), [*own, *args[total:]]))
        return [
            next(found) if nz else zeros(a.shape, a.dtype)
            for nz, w, a in zip(halves.nonzero, wanted, outs, strict=True)
            if w
        ]

    key = ("tangent branch", k, tuple(wanted), tuple(avals))
    return kept(halves.tangent.jaxpr, key, lambda: closed(run, avals))


cond = Cond()
