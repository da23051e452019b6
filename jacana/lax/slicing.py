"""Slices at fixed places and at computed ones, which are clamped to lie inside."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.values import aval_of
from jacana.lax.operands import as_array, axis_of, integers, operand as operand_of
from jacana.lax.shape import expand_dims, squeeze

Flags = bool | Sequence[bool]


def slice(
    operand: Any,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Any:
    """The elements from the starts up to the limits, every strides-th; all within the operand.

    >>> slice(np.arange(5), (1,), (5,), (2,)).tolist()
    [1, 3]
    """
    return ops.slice(
        operand_of("slice", operand),
        start_indices=integers("slice", "start_indices", start_indices),
        limit_indices=integers("slice", "limit_indices", limit_indices),
        strides=None if strides is None else integers("slice", "strides", strides),
    )


def slice_in_dim(
    operand: Any, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0
) -> Any:
    """`slice` along one axis; negative indices count from the end, None means the whole.

    >>> slice_in_dim(np.arange(5), -2, None).tolist()
    [3, 4]
    """
    x = operand_of("slice_in_dim", operand)
    shape = np.shape(x)
    at = axis_of(axis, len(shape))

    def counted(index: int | None, default: int) -> int:
        found = default if index is None else operator.index(index)
        return found + shape[at] if found < 0 else found

    starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
    starts[at], limits[at] = counted(start_index, 0), counted(limit_index, shape[at])
    strides[at] = operator.index(stride)
    return slice(x, starts, limits, strides)


def index_in_dim(operand: Any, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """The slice at one index of an axis; ValueError where there is no such index.

    >>> index_in_dim(np.arange(6).reshape(2, 3), -1, 1, keepdims=False).tolist()
    [2, 5]
    """
    x = operand_of("index_in_dim", operand)
    at = axis_of(axis, np.ndim(x))
    extent, found = np.shape(x)[at], operator.index(index)
    if not -extent <= found < extent:
        raise ValueError(f"index {found} is out of bounds for axis {at} with size {extent}")
    found %= extent
    made = slice_in_dim(x, found, found + 1, 1, at)
    return made if keepdims else squeeze(made, (at,))


def _starts(function: str, x: Any, indices: Any, allow_negative: Flags) -> list[Any]:
    """One rank-0 start for each axis; negative ones count from the end, if that is allowed."""
    shape = np.shape(x)
    if not isinstance(indices, list | tuple):
        if np.ndim(as_array(function, indices, 1)) != 1:
            raise ValueError(f"lax.{function} needs start indices of rank 1, got {indices!r}.")
        indices = [index_in_dim(indices, k, keepdims=False) for k in range(len(indices))]
    if len(indices) != len(shape):
        raise ValueError(
            f"Length of slice indices must match number of operand dimensions ({len(indices)} vs "
            f"{shape})"
        )
    flags = [allow_negative] * len(shape) if isinstance(allow_negative, bool) else allow_negative
    return [
        _start(function, i, n, bool(flag)) for i, n, flag in zip(indices, shape, flags, strict=True)
    ]


def _start(function: str, index: Any, extent: int, allow_negative: bool) -> Any:
    aval = aval_of(operand_of(function, index, 1))
    if not dtypes.is_integer(aval.dtype) or aval.shape:
        raise TypeError(f"index arguments to {function} must be rank-0 integers, got: {aval}")
    if isinstance(index, int | np.integer):
        return index + extent if index < 0 and allow_negative else index
    if not allow_negative or dtypes.is_unsigned_integer(aval.dtype):
        return index
    if int(dtypes.iinfo(aval.dtype).max) < extent:
        index = ops.convert_element_type(index, new_dtype=dtypes.int32, weak_type=False)
    elif aval.weak_type:
        strong = ops.convert_element_type(index, new_dtype=aval.dtype, weak_type=False)
        is_negative = ops.lt(index, aval.dtype.type(0))
        return ops.select_n(is_negative, index, ops.add(strong, aval.dtype.type(extent)))
    dtype = aval_of(index).dtype
    is_negative = ops.lt(index, dtype.type(0))
    return ops.select_n(is_negative, index, ops.add(index, dtype.type(extent)))


def dynamic_slice(
    operand: Any,
    start_indices: Any,
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: Flags = True,
) -> Any:
    """The part of shape slice_sizes at computed starts.

    A negative start counts from the end; then it is clamped so that the part lies inside.

    >>> dynamic_slice(np.arange(5), (4,), (2,)).tolist()
    [3, 4]
    """
    x = operand_of("dynamic_slice", operand)
    starts = _starts("dynamic_slice", x, start_indices, allow_negative_indices)
    sizes = integers("dynamic_slice", "slice_sizes", slice_sizes)
    return ops.dynamic_slice(x, *starts, slice_sizes=sizes)


def _along(x: Any, index: Any, axis: int) -> tuple[list[Any], int]:
    at = axis_of(axis, np.ndim(x))
    return [index if a == at else 0 for a in range(np.ndim(x))], at


def dynamic_slice_in_dim(
    operand: Any,
    start_index: Any,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """`dynamic_slice` along one axis.

    >>> dynamic_slice_in_dim(np.arange(5), 1, 2).tolist()
    [1, 2]
    """
    x = operand_of("dynamic_slice_in_dim", operand)
    starts, at = _along(x, start_index, axis)
    sizes = list(np.shape(x))
    sizes[at] = operator.index(slice_size)
    return dynamic_slice(x, starts, sizes, allow_negative_indices=allow_negative_indices)


def dynamic_index_in_dim(
    operand: Any,
    index: Any,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Any:
    """The slice at one computed index of an axis.

    >>> int(dynamic_index_in_dim(np.arange(5), -1, keepdims=False))
    4
    """
    made = dynamic_slice_in_dim(
        operand, index, 1, axis, allow_negative_indices=allow_negative_indices
    )
    return made if keepdims else squeeze(made, (axis,))


def dynamic_update_slice(
    operand: Any, update: Any, start_indices: Any, *, allow_negative_indices: Flags = True
) -> Any:
    """The operand with the part at computed starts, clamped as by dynamic_slice, replaced.

    >>> dynamic_update_slice(np.arange(4), np.array([9, 9]), (3,)).tolist()
    [0, 1, 9, 9]
    """
    x = operand_of("dynamic_update_slice", operand)
    starts = _starts("dynamic_update_slice", x, start_indices, allow_negative_indices)
    return ops.dynamic_update_slice(x, operand_of("dynamic_update_slice", update, 1), *starts)


def dynamic_update_slice_in_dim(
    operand: Any, update: Any, start_index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """`dynamic_update_slice` along one axis.

    >>> dynamic_update_slice_in_dim(np.arange(4), np.array([9]), 1, 0).tolist()
    [0, 9, 2, 3]
    """
    starts, _ = _along(operand_of("dynamic_update_slice_in_dim", operand), start_index, axis)
    return dynamic_update_slice(
        operand, update, starts, allow_negative_indices=allow_negative_indices
    )


def dynamic_update_index_in_dim(
    operand: Any, update: Any, index: Any, axis: int, *, allow_negative_indices: bool = True
) -> Any:
    """The operand with the slice at one computed index of an axis replaced.

    The update may lack the axis, or have it with extent 1.

    >>> dynamic_update_index_in_dim(np.arange(3), np.array(9), 1, 0).tolist()
    [0, 9, 2]
    """
    x = operand_of("dynamic_update_index_in_dim", operand)
    at = axis_of(axis, np.ndim(x))
    if np.ndim(update) != np.ndim(x):
        update = expand_dims(update, (at,))
    return dynamic_update_slice_in_dim(
        x, update, index, at, allow_negative_indices=allow_negative_indices
    )
