"""Reading and updating by index: `x[i]`, `x.at[i].set(v)`, take, nonzero."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jacana import ops
from jacana.api.eager import INDEX, STATIC, VALUE, eager
from jacana.core import dtypes
from jacana.core.trace import is_eager
from jacana.core.values import aval_of
from jacana.numpy.elementwise import (
    add,
)
from jacana.numpy.index_plan import (
    Part,
    Plan,
    is_scalar_mask,
    is_static,
    is_traced_mask,
    plan_index,
    without_scalar_masks,
)
from jacana.numpy.logic import (
    less,
)
from jacana.numpy.manipulation import expand_dims
from jacana.numpy.promotion import broadcast_to, convert, promote_dtypes
from jacana.numpy.selection import where
from jacana.ops import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from jacana.ops.shape import full
from jacana.runtime.array import Array, to_array

MODES = {
    None: None,
    "fill": GatherScatterMode.FILL_OR_DROP,
    "drop": GatherScatterMode.FILL_OR_DROP,
    "clip": GatherScatterMode.CLIP,
    "promise_in_bounds": GatherScatterMode.PROMISE_IN_BOUNDS,
    "wrap": "wrap",
}


def mode_of(mode: Any, default: GatherScatterMode) -> Any:
    if isinstance(mode, GatherScatterMode):
        return mode
    if mode not in MODES:
        names = ", ".join(repr(m) for m in MODES if m)
        raise ValueError(f"Unrecognized mode {mode!r} for indexing; use one of {names}.")
    return MODES[mode] or default


def get_item(x: Any, index: Any) -> Any:
    """x[index]; indices out of bounds are clamped."""
    if type(index) is Array and type(x) is Array and is_eager():
        aval = index.aval
        if aval.dtype is dtypes.bool_ and len(aval.shape) == 1 and aval.shape == x.shape[:1]:
            # The places of a mask are an index as any other.
            places = np.asarray(index).nonzero()[0].astype(np.int32)
            return operator.getitem(x, to_array(places))  # type: ignore[call-overload]
    x, index = with_axes_of_masks(x, index)
    plan = plan_index(index, x.shape)
    return read(x, plan, GatherScatterMode.PROMISE_IN_BOUNDS, None)


def with_axes_of_masks(x: Any, index: Any) -> tuple[Any, Any]:
    """An index without single booleans, and x with an axis of extent 1 for each of them."""
    items = index if isinstance(index, tuple) else (index,)
    if not any(map(is_scalar_mask, items)):
        return x, index
    inserted, items = without_scalar_masks(items, x.ndim)
    return expand_dims(x, inserted), items


def read(x: Any, plan: Plan, mode: Any, fill_value: Any) -> Any:
    """The elements that a plan names."""
    if 0 in plan.shape and not plan.is_basic:
        return full(plan.full_shape, 0, x.dtype)
    if plan.is_window and mode is not GatherScatterMode.FILL_OR_DROP:
        result = read_basic(x, plan)
    else:
        result = read_gather(x, plan, mode, fill_value)
    return result if not plan.inserted else expand_dims(result, plan.inserted)


def read_basic(x: Any, plan: Plan) -> Any:
    """Integers and slices: one slice (a dynamic one where integers are traced or eager)."""
    if all(n == p.count and p.step == 1 for n, p in zip(x.shape, plan.parts, strict=True)):
        return x
    dynamic = plan.places and (is_eager() or not all(is_static(p.at) for p in plan.places))
    if dynamic and all(p.step == 1 for p in plan.slices):
        starts = [p.start if p.is_slice else index_in(p.at, x.shape[p.axis]) for p in plan.parts]
        sizes = tuple(p.count if p.is_slice else 1 for p in plan.parts)
        found = ops.dynamic_slice(x, *index_operands(starts), slice_sizes=sizes)
    elif dynamic:
        return read_gather(x, plan, GatherScatterMode.PROMISE_IN_BOUNDS, None)
    else:
        found = static_slice(x, plan)
    gone = tuple(p.axis for p in plan.places)
    return ops.squeeze(found, dimensions=gone) if gone else found


def static_slice(x: Any, plan: Plan) -> Any:
    starts, limits, steps, reversed_axes = [], [], [], []
    for p, n in zip(plan.parts, x.shape, strict=True):
        start, step, count = p.start, p.step, p.count
        if not p.is_slice:
            start, step, count = clamped(int(p.at), n), 1, 1
        if step < 0 and count:
            start, step = start + step * (count - 1), -step
            reversed_axes.append(p.axis)
        starts.append(start if count else 0)
        limits.append(start + step * (count - 1) + 1 if count else 0)
        steps.append(max(step, 1))
    if any(
        s or k != n or t != 1 for s, k, t, n in zip(starts, limits, steps, x.shape, strict=True)
    ):
        strides = None if all(t == 1 for t in steps) else tuple(steps)
        x = ops.slice(x, start_indices=tuple(starts), limit_indices=tuple(limits), strides=strides)
    return ops.rev(x, dimensions=tuple(reversed_axes)) if reversed_axes else x


def clamped(i: int, extent: int) -> int:
    i = i + extent if i < 0 else i
    return max(0, min(i, extent - 1))


def index_in(at: Any, extent: int) -> Any:
    """An integer index (or array of them) counted from the beginning."""
    if is_static(at):
        return int(at) + extent if at < 0 else int(at)
    if not dtypes.is_signed_integer(aval_of(at).dtype):
        return at
    if np.iinfo(aval_of(at).dtype).max < extent:
        at = convert(at, dtypes.int32)
    return where(less(at, 0), add(at, extent), at)


def index_operands(starts: list[Any]) -> list[Any]:
    """Start indices of one dtype; static ones as plain scalars."""
    if all(is_static(s) for s in starts):
        return [np.int32(s) for s in starts]
    dtype = next(aval_of(s).dtype for s in starts if not is_static(s))
    return [dtype.type(s) if is_static(s) else convert(s, dtype) for s in starts]


# --- gather -------------------------------------------------------------------------------------


def stack_places(x: Any, parts: list[Part], block: tuple[int, ...], mode: Any, wraps: bool) -> Any:
    """Index vectors for gather and scatter: shape (*block, number of parts)."""
    columns = []
    for p in parts:
        at = index_in(p.at, x.shape[p.axis]) if wraps else p.at
        at = np.int32(at) if is_static(at) else at
        if mode == "wrap":
            at = ops.rem(*promote_dtypes(at, x.shape[p.axis]))
        columns.append(at)
    columns = promote_dtypes(*columns)
    expanded = [
        ops.reshape(broadcast_to(c, block), new_sizes=(*block, 1)) if block or np.ndim(c)
        else ops.broadcast_in_dim(c, shape=(1,), broadcast_dimensions=())
        for c in columns
    ]  # fmt: skip
    if len(expanded) == 1:
        return expanded[0]
    return ops.concatenate(*expanded, dimension=len(block))


def read_gather(x: Any, plan: Plan, mode: Any, fill_value: Any) -> Any:
    """Arrays: the slices first, then one gather of the places."""
    slices = [p if p.is_slice else Part(p.axis, None, 0, 1, x.shape[p.axis]) for p in plan.parts]
    x = static_slice(x, Plan(tuple(slices), (), 0, (), True))
    places = plan.places
    gone = tuple(p.axis for p in places)
    indices = stack_places(x, places, plan.block, mode, plan.wraps)
    k, rank = plan.block_position, len(plan.block)
    result_rank = len(plan.shape)
    offset = tuple(a for a in range(result_rank) if not k <= a < k + rank)
    numbers = GatherDimensionNumbers(offset, gone, gone)
    sizes = tuple(1 if a in gone else n for a, n in enumerate(x.shape))
    mode = GatherScatterMode.CLIP if mode == "wrap" else mode
    return ops.gather(
        x, indices, dimension_numbers=numbers, slice_sizes=sizes, mode=mode, fill_value=fill_value
    )


# --- updates ------------------------------------------------------------------------------------

SCATTERS = {
    "set": ops.scatter, "add": ops.scatter_add, "mul": ops.scatter_mul, "min": ops.scatter_min,
    "max": ops.scatter_max,
}  # fmt: skip


def update(
    x: Any, index: Any, kind: str, values: Any, mode: Any = None,
    wrap_negative_indices: bool = True, **flags: Any,
) -> Any:  # fmt: skip
    """x with the elements at the index replaced by, or combined with, values."""
    shape = x.shape
    x, index = with_axes_of_masks(x, index)
    if x.shape != shape:
        changed = update(x, index, kind, values, mode, wrap_negative_indices, **flags)
        return ops.reshape(changed, new_sizes=shape)
    mask = index[0] if isinstance(index, tuple) and len(index) == 1 else index
    if is_traced_mask(mask) and np.shape(mask) == shape[: np.ndim(mask)] and np.ndim(values) == 0:
        # How many elements are named is not known, but where they are.
        chosen = ops.reshape(mask, new_sizes=mask.shape + (1,) * (x.ndim - mask.ndim))
        return where(chosen, combine_whole(x, kind, update_values(x, values)), x)
    plan = plan_index(index, x.shape, wrap_negative_indices)
    values = update_values(x, values)
    # Axes that None inserted are one long and say nothing.
    if plan.inserted:
        values = broadcast_to(values, plan.full_shape)
        values = ops.reshape(values, new_sizes=plan.shape)
    mode = mode_of(mode, GatherScatterMode.FILL_OR_DROP)
    if kind == "set" and is_static_window(x, plan):
        return set_window(x, plan, values)
    return scatter(x, plan, kind, broadcast_to(values, plan.shape), mode, flags)


_update = eager(update, STATIC, INDEX, STATIC, VALUE)


def update_values(x: Any, values: Any) -> Any:
    """The values in x's dtype, weakly typed where x is, as the result is then."""
    if isinstance(values, list | tuple):
        raise TypeError(
            f"scatter requires ndarray or scalar values, got {type(values)}. Use jnp.array first."
        )
    weak = aval_of(x).weak_type
    if weak and isinstance(values, np.generic):
        values = values.item()
    return convert(values, x.dtype, weak)


def is_static_window(x: Any, plan: Plan) -> bool:
    """Whether the index is one dense window that is known to be inside x."""
    return plan.is_window and all(
        abs(p.step) == 1 if p.is_slice
        else is_static(p.at) and -x.shape[p.axis] <= p.at < x.shape[p.axis]
        for p in plan.parts
    )  # fmt: skip


def set_window(x: Any, plan: Plan, values: Any) -> Any:
    counts = [p.count if p.is_slice else 1 for p in plan.parts]
    if 0 in counts:
        return x
    values = broadcast_to(values, plan.shape)
    backward = tuple(k for k, p in enumerate(plan.slices) if p.step < 0)
    if backward:
        values = ops.rev(values, dimensions=backward)
    starts = []
    for p in plan.parts:
        if not p.is_slice:
            starts.append(index_in(p.at, x.shape[p.axis]))
        else:
            starts.append(p.start if p.step > 0 else p.start - (p.count - 1))
    if np.shape(values) != tuple(counts):
        values = (
            ops.reshape(values, new_sizes=tuple(counts)) if np.ndim(values)
            else broadcast_to(values, tuple(counts))
        )  # fmt: skip
    if tuple(counts) == tuple(x.shape):
        return values
    return ops.dynamic_update_slice(x, values, *index_operands(starts))


def scatter(x: Any, plan: Plan, kind: str, values: Any, mode: Any, flags: dict[str, Any]) -> Any:
    """One scatter: places and slices that are not whole axes give index vectors."""
    partial = [p for p in plan.slices if (p.start, p.step, p.count) != (0, 1, x.shape[p.axis])]
    rank = len(plan.block)
    block = (*plan.block, *[p.count for p in partial])
    parts = []
    for p in plan.places:
        at = p.at if is_static(p.at) else ops.reshape(
            broadcast_to(p.at, plan.block), new_sizes=(*plan.block, *[1] * len(partial))
        )  # fmt: skip
        parts.append(Part(p.axis, at))
    for k, p in enumerate(partial):
        at = np.arange(p.count, dtype=np.int32) * p.step + p.start
        shape = [1] * len(block)
        shape[rank + k] = p.count
        parts.append(Part(p.axis, at.astype(np.int32).reshape(shape)))
    if not parts:
        return combine_whole(x, kind, values)
    indices = stack_places(x, parts, block, mode, plan.wraps)
    values = block_first(values, plan, partial)
    window = tuple(range(len(block), np.ndim(values)))
    gone = tuple(p.axis for p in parts)
    numbers = ScatterDimensionNumbers(window, tuple(sorted(gone)), gone)
    mode = GatherScatterMode.CLIP if mode == "wrap" else mode
    return SCATTERS[kind](
        x, indices, values, dimension_numbers=numbers, mode=mode,
        indices_are_sorted=bool(flags.get("indices_are_sorted", False)),
        unique_indices=bool(flags.get("unique_indices", False)),
    )  # fmt: skip


def block_first(values: Any, plan: Plan, partial: list[Part]) -> Any:
    """Values of the result's shape with axes in a scatter's order: block, partial slices, whole."""
    k, rank = plan.block_position, len(plan.block)
    slices = plan.slices
    axis_of = {p.axis: (i if i < k else i + rank) for i, p in enumerate(slices)}
    order = [
        *range(k, k + rank),
        *[axis_of[p.axis] for p in partial],
        *[axis_of[p.axis] for p in slices if p not in partial],
    ]
    return values if order == sorted(order) else ops.transpose(values, permutation=tuple(order))


def combine_whole(x: Any, kind: str, values: Any) -> Any:
    """The update of every element."""
    combine: dict[str, Callable[..., Any]] = {
        "set": lambda old, new: new, "add": ops.add, "mul": ops.mul, "min": ops.min, "max": ops.max,
    }  # fmt: skip
    return combine[kind](x, broadcast_to(values, x.shape))
