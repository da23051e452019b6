"""Choices for each element of a batch: what they cost, and how results are put together."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.jaxpr import Jaxpr, Var, subjaxprs
from jacana.core.trace import Tracer
from jacana.higher_order.branches import Branches
from jacana.ops.families import Bilinear, move_axis, spread_axis
from jacana.ops.shape import reshape_to, zeros
from jacana.transforms.batch import to_axis
from jacana.transforms.eager_tape import EagerTape
from jacana.transforms.jvp import has_tangents
from jacana.transforms.linearize import Tape

# Scalar operations for one element up to which vectors do all there is to choose from faster than a
# loop over the batch does what was chosen.
SELECTED_WORK = 16000.0
# Scalar operations of a step of a loop from which on it is not made again for elements that have
# stopped: each element runs the loop by itself.
REPEATED_WORK = 4000.0


def prefers_selection(branches: Branches) -> bool:
    """Whether to run all branches on a whole batch and select, rather than one branch for each."""
    if not all(b.jaxpr.is_total for b in branches):
        return False
    return sum(b.jaxpr.work for b in branches) <= SELECTED_WORK


def shares_product(branches: Branches, mapped: Sequence[bool]) -> bool:
    """Whether a branch multiplies what is mapped with a matrix that the whole batch shares.

    On the whole batch that is one product of matrices; for each element, and in its gradient, the
    matrix would be gone through again.
    """
    if not all(b.jaxpr.is_total for b in branches):
        return False
    return any(multiplies_shared(b.jaxpr, mapped) for b in branches)


def multiplies_shared(jaxpr: Jaxpr, mapped: Sequence[bool]) -> bool:
    """Whether a product in the program, or in one it holds, has an operand that is not mapped."""
    found = {v for v, m in zip(jaxpr.invars, mapped, strict=True) if m}
    for eqn in jaxpr.eqns:
        flags = [a in found for a in eqn.invars if isinstance(a, Var)]
        if not any(flags):
            continue
        if not all(flags) and _has_products(eqn.primitive, eqn.params):
            return True
        found.update(eqn.outvars)
    return False


def _has_products(primitive: Any, params: dict[str, Any]) -> bool:
    return isinstance(primitive, Bilinear) or any(
        _has_products(e.primitive, e.params) for j in subjaxprs(params) for e in j.eqns
    )


def mapped_operands(
    xs: Sequence[Any], avals: Sequence[ShapedArray], axes: Sequence[int | None] | None = None
) -> list[bool]:
    """Which operands have one axis, that of the batch, more than programs of these types take.

    `axes` are further axes that some values have besides.
    """
    more = [False] * len(xs) if axes is None else [a is not None for a in axes]
    return [len(np.shape(x)) - m > v.ndim for x, m, v in zip(xs, more, avals, strict=True)]


def joined_batch(
    xs: Sequence[Any], axes: Sequence[int | None], mapped: Sequence[bool], size: int, count: int
) -> list[Any]:
    """A batch (of `size`, along the axes) of batches (of `count`, of what is mapped) as one batch.

    What is in neither stays as it is.
    """
    joined = []
    for x, a, m in zip(xs, axes, mapped, strict=True):
        if a is not None or m:
            x = to_axis(x, a, 0, size)
            if not m:
                x = move_axis(spread_axis(x, count), 0, 1)
            x = reshape_to(x, (size * count, *np.shape(x)[2:]))
        joined.append(x)
    return joined


def parted_batch(xs: Sequence[Any], size: int, count: int) -> list[Any]:
    return [reshape_to(x, (size, count, *np.shape(x)[1:])) for x in xs]


def select_results(index: Any, results: Sequence[Sequence[Any]]) -> list[Any]:
    """For each element the results of the branch that its index says."""
    merged = []
    for column in zip(*results, strict=True):
        out = column[0]
        for k in range(1, len(column)):
            out = ops.select_n(spread_like(ops.eq(index, np.int32(k)), out), out, column[k])
        merged.append(out)
    return merged


def spread_like(mask: Any, x: Any) -> Any:
    """A mask over the first axis, spread over the others."""
    if np.ndim(x) == 1:
        return mask
    return ops.broadcast_in_dim(mask, shape=np.shape(x), broadcast_dimensions=(0,))


def own_values(chosen: Any, x: Any) -> Any:
    """x with the first chosen element in place of those that are not, as a constant."""
    if not has_tangents(x):
        return x
    if isinstance(x, Tracer) and isinstance(x._trace, Tape | EagerTape):
        # Tangents of elements that are not chosen are zero.
        return ops.select_n(spread_like(chosen, x), zeros(np.shape(x), x.dtype), x)
    size = np.shape(x)[0]
    first = ops.argmax(chosen, axes=(0,), index_dtype=dtypes.int32)
    starts = [first, *[np.int32(0)] * (np.ndim(x) - 1)]
    row = ops.dynamic_slice(x, *starts, slice_sizes=(1, *np.shape(x)[1:]))
    other = ops.stop_gradient(spread_axis(ops.squeeze(row, dimensions=(0,)), size))
    return ops.select_n(spread_like(chosen, x), other, x)
