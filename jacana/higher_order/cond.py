"""cond: run the branch that an index chooses, or for a batch of indices one branch for each."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from jacana import ops
from jacana.core.avals import ShapedArray
from jacana.core.dimensions import Dimensions, replicated
from jacana.core.evaluate import evaluate_closed, evaluate_reference
from jacana.core.primitive import Inapplicable, Linear
from jacana.core.stage import stage_closed
from jacana.core.variance import joint
from jacana.higher_order.branches import (
    Branches,
    completed,
    filled,
    giving,
    joint_avals,
    linearized,
    taking_consts,
    union,
)
from jacana.higher_order.choices import (
    joined_batch,
    mapped_operands,
    own_values,
    parted_batch,
    prefers_selection,
    select_results,
    shares_product,
)
from jacana.higher_order.refs import TakesRefs, refuse_batch
from jacana.higher_order.scan import one_by_one
from jacana.ops.families import move_axis
from jacana.ops.shape import zeros
from jacana.transforms.batch import BatchTrace, batch, batch_program, batch_program_to
from jacana.transforms.discharge import discharged, split_changes
from jacana.transforms.jvp import jvp_program
from jacana.transforms.propagate import propagated
from jacana.transforms.transpose import transpose_program


class Cond(TakesRefs):
    """The outputs of branches[index] on the operands; the index is clamped to the branches.

    The index may be a batch of indices, along one axis. Then operands with one more axis than the
    branches take are batches too, and all outputs are.
    """

    name = "cond"
    multiple_results = True
    jvp = Inapplicable("jvp_rule differentiates the branches")
    batch = Inapplicable("batch_rule batches the branches, or the choice")

    def __call__(self, *xs: Any, **params: Any) -> Any:
        # What derived branches captured (a user's rule may bring arrays of its own) are operands.
        branches, captured = taking_consts(params["branches"])
        return super().__call__(xs[0], *captured, *xs[1:], **{**params, "branches": branches})

    bind = __call__

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
        vma = joint([index, *[a for b in branches for a in b.out_avals]])
        outs = [a.update(shape=(*index.shape, *a.shape)) for a in joint_avals(branches)]
        return [a.varying(vma) for a in outs] if vma else outs

    def reference(self, index: Any, *xs: Any, branches: Branches) -> list[Any]:
        chosen = np.clip(index, 0, len(branches) - 1)
        if not chosen.shape:
            return evaluate_reference(branches[int(chosen)], *xs)
        mapped = mapped_operands(xs, branches[0].in_avals)
        rows = [
            evaluate_reference(
                branches[int(k)], *[x[i] if m else x for x, m in zip(xs, mapped, strict=True)]
            )
            for i, k in enumerate(chosen)
        ]
        if not rows:
            return [np.zeros((0, *a.shape), a.dtype) for a in branches[0].out_avals]
        return [np.stack(column) for column in zip(*rows, strict=True)]

    def jvp_rule(
        self, primals: list[Any], tangents: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        index, *rest = primals
        nonzero = tuple(t is not None for t in tangents[1:])
        found = [jvp_program(b.jaxpr, nonzero) for b in params["branches"]]
        any_nonzero = union([nz for _, nz in found])
        n = len(params["branches"][0].out_avals)
        branches = tuple(completed(program, n, nz, any_nonzero) for program, nz in found)
        given = [*rest, *[t for t in tangents[1:] if t is not None]]
        outs = self(index, *given, branches=branches)
        out_tangents = iter(outs[n:])
        return outs[:n], [next(out_tangents) if nz else None for nz in any_nonzero]

    def linearize_rule(
        self, primals: list[Any], nonzero: list[bool], params: dict[str, Any]
    ) -> tuple[list[Any], Callable[[list[Any]], list[Any]]]:
        index, *rest = primals
        parts = linearized(params["branches"], tuple(nonzero[1:]))
        n = len(params["branches"][0].out_avals)
        outs = self(index, *rest, branches=parts.forward)
        known = [*rest, *outs[:n]]
        residuals = [*[known[p] for p in parts.needed], *outs[n:]]

        def record(tangents: list[Any]) -> list[Any]:
            if not any(parts.nonzero):
                return [None] * n
            found = iter(self(index, *residuals, *tangents, branches=parts.tangent))
            return [next(found) if nz else None for nz in parts.nonzero]

        return outs[:n], record

    def transpose(self, cts: list[Any], index: Any, *xs: Any, branches: Branches) -> list[Any]:
        linear = tuple(isinstance(x, Linear) for x in xs)
        nonzero = tuple(ct is not None for ct in cts)
        found = [transpose_program(b.jaxpr, linear, nonzero) for b in branches]
        any_found = union([f for _, f in found])
        avals = [a.to_tangent_aval() for a in branches[0].in_avals]
        transposed = tuple(filled(program, f, any_found, avals) for program, f in found)
        known = [x for x, is_linear in zip(xs, linear, strict=True) if not is_linear]
        given = [*known, *[ct for ct in cts if ct is not None]]
        outs = iter(self(index, *given, branches=transposed))
        results = [next(outs) if f else None for f in any_found]
        if np.ndim(index):
            # What all elements of a batch share gets the sum of their cotangents.
            mapped = mapped_operands(xs, branches[0].in_avals)
            results = [
                ct if ct is None or m else ops.reduce_sum(ct, axes=(0,))
                for ct, m in zip(results, mapped, strict=True)
            ]
        return [None, *results]

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        branches = params["branches"]
        if np.ndim(values[0]) - (axes[0] is not None):
            return self._batch_again(trace, values, axes, branches)
        if axes[0] is None:
            return self._batch_branches(trace, values, axes, branches)
        index, *xs = [
            x if a is None else move_axis(x, a, 0) for x, a in zip(values, axes, strict=True)
        ]
        mapped = tuple(a is not None for a in axes[1:])
        n = len(branches[0].out_avals)
        if any(trace.axis_name in b.jaxpr.axis_names for b in branches):
            return self._select(index, xs, mapped, branches, trace.axis_name, False), [0] * n
        if shares_product(branches, mapped):
            return self._select(index, xs, mapped, branches, trace.axis_name, True), [0] * n
        return self(index, *xs, branches=branches), [0] * n

    def _batch_branches(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], branches: Branches
    ) -> tuple[list[Any], list[Any]]:
        """One choice for the whole batch."""
        index, *xs = values
        is_batch = np.ndim(index)
        mapped = (
            mapped_operands(xs, branches[0].in_avals, axes[1:]) if is_batch else [False] * len(xs)
        )
        # The axis of indices stays the first; branches get theirs in front.
        moved = [x if a is None else move_axis(x, a, int(m))
                 for x, a, m in zip(xs, axes[1:], mapped, strict=True)]  # fmt: skip
        given = tuple(None if a is None else 0 for a in axes[1:])
        size, name = trace.size, trace.axis_name
        found = [batch_program(b.jaxpr, size, given, name)[1] for b in branches]
        batched = union([[a is not None for a in f] for f in found])
        made = tuple(batch_program_to(b.jaxpr, size, given, name, tuple(batched)) for b in branches)
        return self(index, *moved, branches=made), [is_batch if b else None for b in batched]

    def _batch_again(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], branches: Branches
    ) -> tuple[list[Any], list[Any]]:
        """A batch of batches of choices is one batch of them."""
        size, name, n = trace.size, trace.axis_name, len(branches[0].out_avals)
        if any(name in b.jaxpr.axis_names for b in branches):
            outs, found = batch(
                lambda index, *xs: self._select(
                    index, xs, mapped_operands(xs, branches[0].in_avals), branches, None, False
                ), size, values, axes, name,
            )  # fmt: skip
            return outs, found
        if axes[0] is None:
            return self._batch_branches(trace, values, axes, branches)
        count = np.shape(values[0])[1 - axes[0]]
        mapped = [True, *mapped_operands(values[1:], branches[0].in_avals, axes[1:])]
        outs = self(*joined_batch(values, axes, mapped, size, count), branches=branches)
        return parted_batch(outs, size, count), [0] * n

    def _select(
        self, index: Any, xs: Sequence[Any], mapped: Sequence[bool], branches: Branches, name: Any,
        is_guarded: bool,
    ) -> list[Any]:  # fmt: skip
        """Every branch on the whole batch; each element keeps what its index chose.

        If guarded, a branch that no element takes does not run, and elements of other branches
        give it values of one of its own, so that it meets no operand that is not meant for it.
        """
        size, axes = np.shape(index)[0], tuple(0 if m else None for m in mapped)
        wanted = (True,) * len(branches[0].out_avals)
        index = ops.clamp(np.int32(0), index, np.int32(len(branches) - 1))
        results = []
        for k, b in enumerate(branches):
            program = batch_program_to(b.jaxpr, size, axes, name, wanted)
            given = list(xs)
            if is_guarded:
                chosen = ops.eq(index, np.int32(k))
                given = [own_values(chosen, x) if m else x for x, m in zip(xs, mapped, strict=True)]
                idle = stage_closed(
                    lambda *_, p=program: [zeros(a.shape, a.dtype) for a in p.out_avals],
                    program.in_avals,
                )
                runs = ops.convert_element_type(
                    ops.reduce_or(chosen, axes=(0,)), new_dtype=np.dtype(np.int32), weak_type=False
                )
                results.append(self(runs, *given, branches=(idle, program)))
            else:
                results.append(evaluate_closed(program, *given))
        return select_results(index, results)

    def discharge_rule(
        self, values: list[Any], refs: Sequence[Any], params: dict[str, Any], final: bool
    ) -> tuple[list[Any], list[Any]]:
        branches = params["branches"]
        found = [discharged(b.jaxpr, final) for b in branches]
        written = union([f.written for f in found])
        if np.ndim(values[0]):
            refuse_batch(written, refs[1:])
        count = len(branches[0].out_avals)
        outs = self(*values, branches=tuple(giving(f, count, tuple(written)) for f in found))
        return split_changes(outs, count, [False, *written])

    def lower(self, build: Any, index: Any, *xs: Any, branches: Branches) -> Any:
        if not index.ndim:
            outputs = [(a.shape, a.dtype) for a in branches[0].out_avals]
            return build.branch(index, branches, xs, outputs)
        mapped = mapped_operands(xs, branches[0].in_avals)
        selects = prefers_selection(branches)

        def run(index: Any, *xs: Any) -> list[Any]:
            if selects:
                return self._select(index, xs, mapped, branches, None, False)
            return one_by_one(partial(self, branches=branches), [True, *mapped], index, *xs)

        avals = [ShapedArray(x.shape, x.dtype) for x in (index, *xs)]
        return build.call(stage_closed(run, avals), [index, *xs])

    def spec_rule(
        self, specs: Sequence[Dimensions], avals: Any, outs: Any, params: dict[str, Any]
    ) -> list[Dimensions]:
        index, *rest = specs
        if not index:
            return propagated(params["branches"][0].jaxpr, rest)
        return [(index[0], *replicated(a.ndim - 1)) for a in outs]


cond = Cond()
