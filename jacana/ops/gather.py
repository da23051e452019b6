"""Gather: slices of an array at an array of computed places."""

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.kernel.expr import Expr
from jacana.ops.families import LinearMap, is_linear, move_axis
from jacana.ops.indexing import all_of, clamp, select_if, to_index
from jacana.ops.lowering import Build, Index, Tensor, Value
from jacana.ops.params import WithDefaults
from jacana.ops.shape import zeros

Axes = tuple[int, ...]


class GatherScatterMode(enum.Enum):
    """What happens at places that are not all inside the array."""

    CLIP = 0
    """The place is moved until the slice is inside."""
    FILL_OR_DROP = 1
    """gather gives fill_value; scatter leaves the slice out."""
    PROMISE_IN_BOUNDS = 2
    """There are none: the caller's promise. (If there are some, they are clipped or dropped.)"""
    ONE_HOT = 3
    """Not supported."""

    @staticmethod
    def from_any(value: Any) -> "GatherScatterMode":
        """The mode that a mode, its name or None (FILL_OR_DROP) stands for."""
        if isinstance(value, GatherScatterMode):
            return value
        if value is None or value in ("fill", "drop"):
            return GatherScatterMode.FILL_OR_DROP
        if value == "clip":
            return GatherScatterMode.CLIP
        if value == "promise_in_bounds":
            return GatherScatterMode.PROMISE_IN_BOUNDS
        raise ValueError(
            f'mode is one of "fill", "drop", "clip" and "promise_in_bounds", got {value!r}.'
        )

    def __repr__(self) -> str:
        return f"GatherScatterMode.{self.name}"

    __str__ = __repr__


class GatherDimensionNumbers(NamedTuple):
    """Which axes of operand, indices and output belong together.

    offset_dims: axes of the output that run within a slice. collapsed_slice_dims: axes of the
    operand in which slices have extent 1 and which the output lacks. start_index_map: the operand's
    axis that each component of an index vector (the last axis of the indices) is a place in.
    operand_batching_dims and start_indices_batching_dims: axes that are walked together.
    """

    offset_dims: Axes
    collapsed_slice_dims: Axes
    start_index_map: Axes
    operand_batching_dims: Axes = ()
    start_indices_batching_dims: Axes = ()


class Places:
    """Where slices begin: in each axis of the operand by an index component or a batch axis."""

    def __init__(
        self, rank: int, index_map: Axes, operand_batching: Axes, indices_batching: Axes
    ) -> None:
        self.component = {axis: k for k, axis in enumerate(index_map)}
        self.batching = dict(zip(operand_batching, indices_batching, strict=True))
        self.rank = rank

    def reference(self, indices: Any, limits: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Places [..., rank] clamped to 0 .. limits, and which of them were inside."""
        batch = indices.shape[:-1]
        starts = np.zeros((*batch, self.rank), np.int64)
        inside = np.ones(batch, bool)
        for axis in range(self.rank):
            if axis in self.component:
                # Python's integers hold every index; uint64 does not fit into int64.
                at = indices[..., self.component[axis]].astype(object)
                inside &= ((at >= 0) & (at <= limits[axis])).astype(bool)
                starts[..., axis] = np.clip(at, 0, limits[axis])
            elif axis in self.batching:
                walked = self.batching[axis]
                spread = [-1 if d == walked else 1 for d in range(len(batch))]
                starts[..., axis] = np.arange(batch[walked]).reshape(spread)
        return starts, inside

    def expressions(
        self, build: Build, indices: Tensor, batch: Sequence[Any], limits: Sequence[int]
    ) -> tuple[list[Any], list[Expr]]:
        """The place at a batch index, clamped to 0 .. limits, and when it was inside."""
        starts: list[Any] = [0] * self.rank
        inside: list[Expr] = []
        for axis in range(self.rank):
            if axis in self.component:
                element: Any = indices[[*batch, self.component[axis]]]
                at = to_index(build, element, indices.dtype, limits[axis])
                inside += [at >= 0, at <= limits[axis]]
                starts[axis] = clamp(at, 0, limits[axis])
            elif axis in self.batching:
                starts[axis] = batch[self.batching[axis]]
        return starts, inside


def fill_of(fill_value: Any, dtype: Any) -> Any:
    """The value outside: fill_value, or nan, the least signed or the greatest unsigned integer."""
    if fill_value is not None:
        return fill_value
    if dtypes.is_differentiable(dtype):
        return float("nan")
    if dtypes.is_signed_integer(dtype):
        return int(dtypes.iinfo(dtype).min)
    if dtypes.is_unsigned_integer(dtype):
        return int(dtypes.iinfo(dtype).max)
    return dtypes.is_bool(dtype)


class Gather(WithDefaults, LinearMap):
    """Slices of extent slice_sizes that begin at the places given by `indices`."""

    name = "gather"
    defaults = {
        "unique_indices": False, "indices_are_sorted": False,
        "mode": GatherScatterMode.FILL_OR_DROP, "fill_value": None,
    }  # fmt: skip

    def type_rule(
        self, x: ShapedArray, indices: ShapedArray, *, dimension_numbers: GatherDimensionNumbers,
        slice_sizes: Axes, mode: GatherScatterMode = GatherScatterMode.FILL_OR_DROP,
        **params: Any,
    ) -> ShapedArray:  # fmt: skip
        check_indices(self.name, indices)
        if mode is GatherScatterMode.ONE_HOT:
            raise NotImplementedError("gather with mode ONE_HOT is not supported; use one_hot.")
        numbers = dimension_numbers
        check_gather(x, indices, numbers, slice_sizes)
        return ShapedArray(
            gathered_shape(indices.shape, numbers, slice_sizes), x.dtype, x.weak_type
        )

    def reference(
        self, x: Any, indices: Any, *, dimension_numbers: GatherDimensionNumbers,
        slice_sizes: Axes, mode: GatherScatterMode = GatherScatterMode.FILL_OR_DROP,
        fill_value: Any = None, **params: Any,
    ) -> Any:  # fmt: skip
        x, indices, numbers = np.asarray(x), np.asarray(indices), dimension_numbers
        shape = gathered_shape(indices.shape, numbers, slice_sizes)
        if 0 in shape:
            return np.zeros(shape, x.dtype)
        limits = [n - k for n, k in zip(x.shape, slice_sizes)]
        starts, inside = places_of(x.ndim, numbers).reference(indices, limits)
        batch_axes = [a for a in range(len(shape)) if a not in numbers.offset_dims]
        window = window_axes(x.ndim, numbers)
        grid = np.indices(shape)
        batch = tuple(grid[a] for a in batch_axes)
        at = [starts[(*batch, d)] for d in range(x.ndim)]
        for axis, position in zip(window, numbers.offset_dims):
            at[axis] = at[axis] + grid[position]
        values = x[tuple(at)] if x.ndim else np.broadcast_to(x, shape)
        if mode is not GatherScatterMode.FILL_OR_DROP:
            return values.copy()
        fill = np.asarray(fill_of(fill_value, x.dtype)).astype(x.dtype)
        return np.where(inside[batch] if batch else inside, values, fill)

    def jvp(
        self, i: int, t: Any, out: Any, x: Any, indices: Any, *, fill_value: Any = None,
        **params: Any,
    ) -> Any:  # fmt: skip
        return self(t, indices, **params, fill_value=0)

    def transpose(
        self, ct: Any, x: Any, indices: Any, *, dimension_numbers: GatherDimensionNumbers,
        slice_sizes: Axes, mode: GatherScatterMode = GatherScatterMode.FILL_OR_DROP,
        unique_indices: bool = False, indices_are_sorted: bool = False, fill_value: Any = None,
    ) -> list[Any]:  # fmt: skip
        if not is_linear(x):
            return [None, None]
        numbers = dimension_numbers
        into = ops.ScatterDimensionNumbers(
            update_window_dims=numbers.offset_dims,
            inserted_window_dims=numbers.collapsed_slice_dims,
            scatter_dims_to_operand_dims=numbers.start_index_map,
            operand_batching_dims=numbers.operand_batching_dims,
            scatter_indices_batching_dims=numbers.start_indices_batching_dims,
        )
        made = ops.scatter_add(
            zeros(x.shape, ct.dtype), indices, ct, dimension_numbers=into, mode=mode,
            unique_indices=unique_indices, indices_are_sorted=indices_are_sorted,
        )  # fmt: skip
        return [made, None]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], *,
        dimension_numbers: GatherDimensionNumbers, slice_sizes: Axes,
        unique_indices: bool = False, indices_are_sorted: bool = False, **params: Any,
    ) -> tuple[Any, int]:  # fmt: skip
        x, indices = (
            v if a is None else move_axis(v, a, 0) for v, a in zip(operands, axes, strict=True)
        )
        in_x, in_indices = axes[0] is not None, axes[1] is not None
        offset, collapsed, index_map, of_x, of_indices = dimension_numbers
        offset = _shift(offset)
        if in_x:
            collapsed, index_map, of_x = _shift(collapsed), _shift(index_map), _shift(of_x)
            slice_sizes = (1 if in_indices else size, *slice_sizes)
        if in_indices:
            of_indices = _shift(of_indices)
        if in_x and in_indices:
            of_x, of_indices = (0, *of_x), (0, *of_indices)
            indices_are_sorted = False
        elif in_x:
            offset = (0, *offset)
        else:
            unique_indices = indices_are_sorted = False
        numbers = GatherDimensionNumbers(offset, collapsed, index_map, of_x, of_indices)
        made = self(
            x, indices, dimension_numbers=numbers, slice_sizes=slice_sizes,
            unique_indices=unique_indices, indices_are_sorted=indices_are_sorted, **params,
        )  # fmt: skip
        return made, 0

    def lower(
        self, build: Build, x: Tensor, indices: Tensor, *,
        dimension_numbers: GatherDimensionNumbers, slice_sizes: Axes,
        mode: GatherScatterMode = GatherScatterMode.FILL_OR_DROP, fill_value: Any = None,
        **params: Any,
    ) -> Tensor:  # fmt: skip
        numbers = dimension_numbers
        shape = gathered_shape(indices.shape, numbers, slice_sizes)
        places = places_of(x.ndim, numbers)
        limits = [n - k for n, k in zip(x.shape, slice_sizes)]
        window = window_axes(x.ndim, numbers)
        batch_axes = [a for a in range(len(shape)) if a not in numbers.offset_dims]

        def element(*i: Expr) -> Value:
            starts, inside = places.expressions(build, indices, [i[a] for a in batch_axes], limits)
            at: list[Any] = starts
            for axis, position in zip(window, numbers.offset_dims):
                at[axis] = i[position] + at[axis]
            index: Index = at
            if mode is not GatherScatterMode.FILL_OR_DROP or not inside:
                return x[index]
            fill = build.const(fill_of(fill_value, x.dtype), x.dtype)
            return select_if(build, all_of(inside), x[index], fill)  # type: ignore[no-any-return]

        return build.compute(shape, x.dtype, element, [x, indices])


def _shift(axes: Axes) -> Axes:
    return tuple(a + 1 for a in axes)


def places_of(rank: int, numbers: GatherDimensionNumbers) -> Places:
    return Places(
        rank,
        numbers.start_index_map,
        numbers.operand_batching_dims,
        numbers.start_indices_batching_dims,
    )


def window_axes(rank: int, numbers: GatherDimensionNumbers) -> list[int]:
    """The operand's axes that the output's offset axes run in."""
    gone = (*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)
    return [a for a in range(rank) if a not in gone]


def gathered_shape(
    indices_shape: Sequence[int], numbers: GatherDimensionNumbers, slice_sizes: Axes
) -> Axes:
    window = [slice_sizes[a] for a in window_axes(len(slice_sizes), numbers)]
    batch = iter(indices_shape[:-1])
    of_offset = dict(zip(numbers.offset_dims, window, strict=True))
    rank = len(indices_shape) - 1 + len(window)
    return tuple(of_offset[a] if a in of_offset else next(batch) for a in range(rank))


def check_indices(name: str, indices: ShapedArray) -> None:
    if not dtypes.is_integer(indices.dtype):
        raise ValueError(f"{name} needs integers as indices, got {indices}.")
    if indices.ndim < 1:
        raise TypeError(
            f"{name} needs index vectors along the last axis of indices, got {indices}."
        )


def check_axes(what: str, axes: Axes, rank: int, is_sorted: bool = True) -> None:
    """Whether the axes are distinct axes of an array of the rank, in order if asked."""
    if len(set(axes)) != len(axes) or any(not 0 <= a < rank for a in axes):
        raise TypeError(f"{what} must be distinct axes below {rank}, got {axes}.")
    if is_sorted and list(axes) != sorted(axes):
        raise TypeError(f"{what} must be sorted, got {axes}.")


def check_gather(
    x: ShapedArray, indices: ShapedArray, numbers: GatherDimensionNumbers, sizes: Axes
) -> None:
    if len(sizes) != x.ndim or any(not 0 <= k <= n for k, n in zip(sizes, x.shape)):
        raise TypeError(
            f"gather needs one slice size for each axis, at most its extent, got slice_sizes="
            f"{sizes} for {x}."
        )
    offset, collapsed, index_map, of_x, of_indices = numbers
    gone = (*collapsed, *of_x)
    window = x.ndim - len(gone)
    check_axes("gather's offset_dims", offset, indices.ndim - 1 + window)
    check_axes("gather's collapsed_slice_dims", collapsed, x.ndim)
    check_axes("gather's operand_batching_dims", of_x, x.ndim)
    check_axes("gather's start_index_map", index_map, x.ndim, is_sorted=False)
    check_axes(
        "gather's start_indices_batching_dims", of_indices, indices.ndim - 1, is_sorted=False
    )
    if len(offset) != window or len(set(gone)) != len(gone) or set(index_map) & set(of_x):
        raise TypeError(
            f"gather needs one offset axis for each axis of its operand {x} that is neither "
            f"collapsed nor a batching axis, got {numbers}."
        )
    if len(index_map) != indices.shape[-1]:
        raise TypeError(
            f"gather needs one axis in start_index_map for each component of its index vectors, "
            f"got {index_map} for indices {indices}."
        )
    if any(sizes[a] > 1 for a in gone):
        raise TypeError(
            f"gather needs slices of extent 1 in collapsed and batching axes, got slice_sizes="
            f"{sizes} with {numbers}."
        )
    if [x.shape[a] for a in of_x] != [indices.shape[a] for a in of_indices]:
        raise TypeError(
            f"gather needs batching axes of equal extents, got {x} and {indices} with {numbers}."
        )


gather = Gather()
