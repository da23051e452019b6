"""Shapes: broadcasting, reshaping, joining and splitting arrays, and arrays of one value."""

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.values import aval_of
from jacana.lax.operands import (
    as_array,
    axes_of,
    axis_of,
    integers,
    operand as operand_of,
    requested_dtype,
    sizes as sizes_of,
)

Shape = Sequence[int]


def broadcast(operand: Any, sizes: Shape, *, out_sharding: Any = None) -> Any:
    """The operand repeated along new leading axes of the given sizes.

    >>> broadcast(np.arange(2), (3,)).tolist()
    [[0, 1], [0, 1], [0, 1]]
    """
    x, sizes = operand_of("broadcast", operand), sizes_of("broadcast", sizes)
    if not sizes:
        return as_array("broadcast", x)
    shape = np.shape(x)
    dims = tuple(range(len(sizes), len(sizes) + len(shape)))
    return ops.broadcast_in_dim(x, shape=(*sizes, *shape), broadcast_dimensions=dims)


def broadcast_in_dim(
    operand: Any, shape: Shape, broadcast_dimensions: Sequence[int], *, out_sharding: Any = None
) -> Any:
    """The operand repeated: its axis k is axis broadcast_dimensions[k] of `shape`.

    Axes of extent 1 are repeated too. TypeError where the shapes do not fit.

    >>> broadcast_in_dim(np.arange(2), (2, 3), (0,)).tolist()
    [[0, 0, 0], [1, 1, 1]]
    """
    x, shape = operand_of("broadcast_in_dim", operand), sizes_of("broadcast_in_dim", shape)
    dims = integers("broadcast_in_dim", "broadcast_dimensions", broadcast_dimensions)
    if np.shape(x) == shape and dims == tuple(range(len(shape))):
        return as_array("broadcast_in_dim", x)
    return ops.broadcast_in_dim(x, shape=shape, broadcast_dimensions=dims)


def broadcast_to_rank(x: Any, rank: int) -> Any:
    """x with axes of extent 1 in front, `rank` axes in all."""
    missing = rank - np.ndim(operand_of("broadcast_to_rank", x))
    if missing < 0:
        raise ValueError(f"cannot broadcast {aval_of(x)} to rank {rank}, which is lower.")
    return expand_dims(x, range(missing))


def broadcast_like(arr: Any, like_arr: Any) -> Any:
    """arr broadcast to the shape of like_arr by NumPy's rules."""
    shape = np.shape(operand_of("broadcast_like", like_arr, 1))
    rank = len(shape) - np.ndim(operand_of("broadcast_like", arr))
    return broadcast_in_dim(arr, shape, range(rank, len(shape)))


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that arrays of the shapes broadcast to, by NumPy's rules.

    >>> broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    found = [sizes_of("broadcast_shapes", s) for s in shapes]
    rank = max(map(len, found), default=0)
    padded = [(1,) * (rank - len(s)) + s for s in found]
    result = []
    for extents in zip(*padded):
        long = {n for n in extents if n != 1}
        if len(long) > 1:
            text = ", ".join(map(str, found))
            raise ValueError(f"Incompatible shapes for broadcasting: shapes={text}")
        result.append(next(iter(long), 1))
    return tuple(result)


def reshape(
    operand: Any, new_sizes: Shape, dimensions: Sequence[int] | None = None, *,
    out_sharding: Any = None,
) -> Any:  # fmt: skip
    """The elements in row-major order (of the axes as `dimensions` orders them) as `new_sizes`.

    TypeError where the number of elements differs; sizes are never worked out from -1.

    >>> reshape(np.arange(4), (2, 2)).tolist()
    [[0, 1], [2, 3]]
    """
    x = operand_of("reshape", operand)
    sizes = integers("reshape", "new_sizes", new_sizes)
    if dimensions is not None:
        x = transpose(x, axes_of(dimensions, np.ndim(x)))
    if np.shape(x) == sizes:
        return as_array("reshape", x)
    return ops.reshape(x, new_sizes=sizes)


def transpose(operand: Any, permutation: Any) -> Any:
    """The operand whose axis k is axis permutation[k] of the given one.

    >>> transpose(np.ones((2, 3)), (1, 0)).shape
    (3, 2)
    """
    x = operand_of("transpose", operand)
    order = integers("transpose", "permutation", permutation)
    if order == tuple(range(np.ndim(x))):
        return as_array("transpose", x)
    return ops.transpose(x, permutation=order)


def squeeze(array: Any, dimensions: Sequence[int]) -> Any:
    """The array without the given axes, which have extent 1 (ValueError otherwise).

    >>> squeeze(np.ones((1, 3, 1)), (0, -1)).shape
    (3,)
    """
    x = operand_of("squeeze", array)
    dims = tuple(sorted(axes_of(dimensions, np.ndim(x))))
    return ops.squeeze(x, dimensions=dims) if dims else as_array("squeeze", x)


def expand_dims(array: Any, dimensions: Sequence[int]) -> Any:
    """The array with new axes of extent 1, at places counted in the result.

    >>> expand_dims(np.ones(3), (0, -1)).shape
    (1, 3, 1)
    """
    x = operand_of("expand_dims", array)
    dimensions = tuple(dimensions)
    rank = np.ndim(x) + len(dimensions)
    added = axes_of(dimensions, rank)
    if len(set(added)) != len(added):
        raise ValueError(f"repeated axis in lax.expand_dims: {dimensions}")
    if not added:
        return as_array("expand_dims", x)
    kept = tuple(a for a in range(rank) if a not in added)
    shape = [1] * rank
    for a, n in zip(kept, np.shape(x), strict=True):
        shape[a] = n
    return ops.broadcast_in_dim(x, shape=tuple(shape), broadcast_dimensions=kept)


def collapse(operand: Any, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """The operand with the axes from start up to stop (exclusive) made one.

    >>> collapse(np.ones((2, 3, 4)), 0, 2).shape
    (6, 4)
    """
    shape = np.shape(operand_of("collapse", operand))
    low, high, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    if high < low:
        raise ValueError(f"lax.collapse: start {start_dimension} is after stop {stop_dimension}.")
    joined = math.prod(shape[low:high])
    return reshape(operand, (*shape[:low], joined, *shape[high:]))


def rev(operand: Any, dimensions: Sequence[int]) -> Any:
    """The operand with the given axes in reversed order.

    >>> rev(np.arange(3), (0,)).tolist()
    [2, 1, 0]
    """
    x = operand_of("rev", operand)
    return ops.rev(x, dimensions=integers("rev", "dimensions", dimensions))


def concatenate(operands: Any, dimension: int) -> Any:
    """The operands, of one dtype, one after the other along an axis that they have.

    >>> concatenate([np.ones((1, 2)), np.zeros((2, 2))], 0).shape
    (3, 2)
    """
    if len(operands) == 0:
        raise ValueError("concatenate requires a non-empty sequences of arrays")
    xs = [operand_of("concatenate", x, k) for k, x in enumerate(operands)]
    if len(xs) == 1:
        return as_array("concatenate", xs[0])
    return ops.concatenate(*xs, dimension=operator.index(dimension))


def stack(operands: Sequence[Any], axis: int = 0) -> Any:
    """The operands, of one shape, along a new axis.

    >>> stack([np.zeros(2), np.ones(2)], axis=1).tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    if len(operands) == 0:
        raise ValueError("stack requires a non-empty sequence of arrays")
    xs = [operand_of("stack", x, k) for k, x in enumerate(operands)]
    return ops.stack(*xs, axis=axis_of(axis, np.ndim(xs[0]) + 1))


def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """The slices of x along an axis, without that axis.

    >>> [v.tolist() for v in unstack(np.arange(4).reshape(2, 2))]
    [[0, 1], [2, 3]]
    """
    x = operand_of("unstack", x)
    return tuple(ops.unstack(x, axis=axis_of(axis, np.ndim(x))))


def split(operand: Any, sizes: Shape, axis: int = 0) -> list[Any]:
    """Consecutive pieces along an axis, of sizes that sum to its extent (ValueError otherwise).

    >>> [v.tolist() for v in split(np.arange(3), (1, 2))]
    [[0], [1, 2]]
    """
    x = operand_of("split", operand)
    at = axis_of(axis, np.ndim(x))
    return list(ops.split(x, sizes=integers("split", "sizes", sizes), axis=at))


def tile(operand: Any, reps: Sequence[int]) -> Any:
    """The operand repeated reps[k] times along each axis k.

    >>> tile(np.arange(2), (2,)).tolist()
    [0, 1, 0, 1]
    """
    x, counts = operand_of("tile", operand), integers("tile", "reps", reps)
    return ops.tile(x, reps=counts)


def pad(operand: Any, padding_value: Any, padding_config: Sequence[tuple[int, int, int]]) -> Any:
    """The operand with padding_value before, after and between its elements along each axis.

    Negative numbers before and after cut elements off.

    >>> pad(np.array([1.0, 2.0], 'float32'), np.float32(0), [(1, 0, 1)]).tolist()
    [0.0, 1.0, 0.0, 2.0]
    """
    x = operand_of("pad", operand)
    config = tuple([integers("pad", "padding_config", c) for c in padding_config])
    return ops.pad(x, operand_of("pad", padding_value, 1), padding_config=config)


def iota(dtype: Any, size: int) -> Any:
    """0, 1, ..., size - 1 in a numeric dtype.

    >>> iota('int32', 3).tolist()
    [0, 1, 2]
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype: Any, shape: Shape, dimension: int, *, out_sharding: Any = None) -> Any:
    """The index along `dimension` at every place of an array of the shape.

    >>> broadcasted_iota('int32', (2, 2), 1).tolist()
    [[0, 1], [0, 1]]
    """
    dtype, shape = requested_dtype("iota", dtype), sizes_of("iota", shape)
    return ops.iota(dtype=dtype, shape=shape, dimension=operator.index(dimension))


def full(shape: Shape, fill_value: Any, dtype: Any = None, *, sharding: Any = None) -> Any:
    """An array of one value, in its own dtype or the given one.

    >>> full((2,), 7).tolist()
    [7, 7]
    """
    shape = sizes_of("full", shape)
    if np.ndim(fill_value):
        raise TypeError(f"lax.full must be called with scalar fill_value; got {fill_value!r}.")
    value = operand_of("full", fill_value, 1)
    aval = aval_of(value)
    weak = dtype is None and aval.weak_type
    wanted = aval.dtype if dtype is None else requested_dtype("full", dtype)
    if dtypes.is_key(wanted) or (aval.dtype == wanted and aval.weak_type == weak):
        return broadcast(value, shape)
    if isinstance(value, bool | int | float | complex | np.generic):
        return broadcast(np.asarray(value).astype(wanted)[()], shape)
    return broadcast(ops.convert_element_type(value, new_dtype=wanted, weak_type=weak), shape)


def full_like(
    x: Any, fill_value: Any, dtype: Any = None, shape: Shape | None = None, sharding: Any = None
) -> Any:
    """An array of one value, of the shape and dtype of x where none are given.

    >>> full_like(np.ones(2, 'float32'), 3).dtype
    dtype('float32')
    """
    like = x if hasattr(x, "shape") and hasattr(x, "dtype") else aval_of(x)
    made = full(like.shape if shape is None else shape, fill_value, dtype or like.dtype)
    if dtype is None and getattr(like, "weak_type", isinstance(x, int | float | complex)):
        return ops.convert_element_type(made, new_dtype=made.dtype, weak_type=True)
    return made


def empty(shape: Shape, dtype: Any, *, out_sharding: Any = None) -> Any:
    """An array of zeros: there is no uninitialised memory to see."""
    return full(shape, 0, dtype)
