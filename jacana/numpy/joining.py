"""Joining and cutting: concatenate, stack, split, block, repeat, insert, delete."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import config, dtypes
from jacana.core.errors import ConcretizationTypeError
from jacana.core.values import aval_of
from jacana.numpy.manipulation import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    moveaxis,
    reshape,
)
from jacana.numpy.promotion import (
    as_array,
    as_arrays,
    broadcast_to,
    check_operands,
    convert,
    literal,
    normalized_axes,
    normalized_axis,
    result_type_of,
)
from jacana.runtime.array import Array


def _operands(function: str, arrays: Any) -> list[Any]:
    """The arrays to join; a single array counts as the list of its rows."""
    if hasattr(arrays, "shape") and hasattr(arrays, "dtype"):
        whole = as_array(function, arrays)
        if whole.ndim == 0:
            raise TypeError(f"{function} needs a sequence of arrays, got a scalar array.")
        return list(ops.unstack(whole, axis=0))
    if not isinstance(arrays, list | tuple):
        if not hasattr(arrays, "__iter__"):
            raise TypeError(f"{function} needs a sequence of arrays, got {type(arrays)}.")
        raise TypeError(
            f"{function} needs a list or tuple of arrays, got {type(arrays)}. Make a list of it."
        )
    return as_arrays(function, *arrays)


def _promoted(function: str, arrays: Sequence[Any], dtype: Any) -> list[Any]:
    if dtype is None:
        avals = [x.aval for x in arrays]
        found, weak = result_type_of(avals)
        return [convert(x, found, weak and x.weak_type) for x in arrays]
    found = dtypes.requested(dtype, config.current().enable_x64, function)
    return [convert(x, found) for x in arrays]


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Any:
    """The arrays one after the other along an axis (flattened first if it is None).

    TypeError naming the shapes if they differ elsewhere.

    >>> jnp.concatenate([jnp.arange(2), jnp.arange(3)])
    Array([0, 1, 0, 1, 2], dtype=int32)
    """
    xs = _operands("concatenate", arrays)
    if not xs:
        raise ValueError("Need at least one array to concatenate.")
    if axis is None:
        return concatenate([reshape(x, (x.size,)) for x in xs], 0, dtype)
    if xs[0].ndim == 0:
        raise ValueError("Zero-dimensional arrays cannot be concatenated.")
    d = normalized_axis(axis, xs[0].ndim)
    shapes = [x.shape for x in xs]
    found = ", ".join(map(str, shapes))
    if any(len(s) != len(shapes[0]) for s in shapes):
        raise TypeError(
            f"Cannot concatenate arrays with different numbers of dimensions: got {found}."
        )
    if len({s[:d] + s[d + 1 :] for s in shapes}) > 1:
        raise TypeError(
            f"Cannot concatenate arrays with shapes that differ in dimensions other than the one "
            f"being concatenated: concatenating along dimension {d} for shapes {found}."
        )
    xs = _promoted("concatenate", xs, dtype)
    return xs[0] if len(xs) == 1 else ops.concatenate(*xs, dimension=d)


def concat(arrays: Any, /, *, axis: int | None = 0) -> Any:
    """The same as concatenate.

    >>> jnp.concat([jnp.arange(2), jnp.arange(2)])
    Array([0, 1, 0, 1], dtype=int32)
    """
    return concatenate(arrays, axis)


def stack(arrays: Any, axis: int = 0, out: None = None, dtype: Any = None) -> Any:
    """Arrays of one shape along a fresh axis.

    >>> jnp.stack([jnp.arange(2), jnp.arange(2)], axis=1)
    Array([[0, 0],
           [1, 1]], dtype=int32)
    """
    xs = _operands("stack", arrays)
    if not xs:
        raise ValueError("Need at least one array to stack.")
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.stack is not supported.")
    shapes = [x.shape for x in xs]
    if len(set(shapes)) > 1:
        found = ", ".join(map(str, shapes))
        raise ValueError(f"All input arrays must have the same shape. Got {found}.")
    d = normalized_axis(axis, xs[0].ndim + 1)
    return ops.stack(*_promoted("stack", xs, dtype), axis=d)


def hstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays side by side: along the second axis, vectors along their only one.

    >>> jnp.hstack([jnp.arange(2), jnp.arange(2)])
    Array([0, 1, 0, 1], dtype=int32)
    """
    xs = [atleast_1d(x) for x in _operands("hstack", tup)]
    return concatenate(xs, 0 if xs and xs[0].ndim == 1 else 1, dtype)


def vstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays one below the other; vectors are rows.

    >>> jnp.vstack([jnp.arange(2), jnp.arange(2)])
    Array([[0, 1],
           [0, 1]], dtype=int32)
    """
    return concatenate([atleast_2d(x) for x in _operands("vstack", tup)], 0, dtype)


def dstack(tup: Any, dtype: Any = None) -> Any:
    """Arrays one behind the other, along the third axis.

    >>> jnp.dstack([jnp.arange(2), jnp.arange(2)]).shape
    (1, 2, 2)
    """
    return concatenate([atleast_3d(x) for x in _operands("dstack", tup)], 2, dtype)


def column_stack(tup: Any) -> Any:
    """Vectors as columns, and matrices, side by side.

    >>> jnp.column_stack([jnp.arange(2), jnp.arange(2, 4)])
    Array([[0, 2],
           [1, 3]], dtype=int32)
    """
    columns = []
    for x in _operands("column_stack", tup):
        columns.append(x if x.ndim >= 2 else reshape(x, (x.size, 1)))
    return concatenate(columns, 1)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    """`arr` followed by `values`, flat or along an axis.

    >>> jnp.append(jnp.arange(3), 9)
    Array([0, 1, 2, 9], dtype=int32)
    """
    x, y = as_arrays("append", arr, values)
    if axis is None:
        return concatenate([reshape(x, (x.size,)), reshape(y, (y.size,))])
    return concatenate([x, y], axis)


def block(arrays: Any) -> Any:
    """An array of nested lists of blocks: the innermost lists join along the last axis.

    >>> jnp.block([[jnp.ones((1, 1)), jnp.zeros((1, 2))]])
    Array([[1., 0., 0.]], dtype=float32)
    """
    depth = _depth(arrays)
    leaf = arrays
    while isinstance(leaf, list):
        leaf = leaf[0]
    rank = max(depth, _rank(arrays))
    return _joined(arrays, depth, rank)


def _depth(arrays: Any) -> int:
    if isinstance(arrays, tuple):
        raise ValueError("jax.numpy.block does not allow tuples, got a tuple. Use lists.")
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("jax.numpy.block does not allow empty lists")
    depths = {_depth(x) for x in arrays}
    if len(depths) > 1:
        raise ValueError(f"Mismatched list depths in jax.numpy.block: {sorted(depths)}")
    return 1 + depths.pop()


def _rank(arrays: Any) -> int:
    return max(map(_rank, arrays)) if isinstance(arrays, list) else np.ndim(arrays)


def _joined(arrays: Any, depth: int, rank: int) -> Any:
    if not isinstance(arrays, list):
        x = as_array("block", arrays)
        return x if x.ndim == rank else reshape(x, (1,) * (rank - x.ndim) + x.shape)
    return concatenate([_joined(x, depth - 1, rank) for x in arrays], axis=-depth)


# --- cutting ---


def _pieces(function: str, ary: Any, sections: Any, axis: int, equal: bool) -> list[Any]:
    x = as_array(function, ary)
    d = normalized_axis(axis, x.ndim)
    n = x.shape[d]
    if np.ndim(sections) == 0:
        count = operator.index(sections)
        if count <= 0:
            raise ValueError(f"number sections must be larger than 0, got {count}.")
        each, rest = divmod(n, count)
        if rest and equal:
            raise ValueError(f"array split does not result in an equal division: rest is {rest}")
        sizes = [each + 1] * rest + [each] * (count - rest)
        return list(ops.split(x, sizes=tuple(sizes), axis=d))
    cuts = [operator.index(c) for c in sections]
    # Cuts are read as ends of slices: negative ones count from the end, others are limited.
    ends = [max(0, c + n) if c < 0 else min(c, n) for c in cuts]
    made = []
    for start, stop in zip([0, *ends], [*ends, n]):
        low, high = [0] * x.ndim, list(x.shape)
        low[d], high[d] = start, max(start, stop)
        made.append(ops.slice(x, start_indices=tuple(low), limit_indices=tuple(high), strides=None))
    return made


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """An array cut into equal sections, or at the given indices.

    >>> jnp.split(jnp.arange(4), 2)
    [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32)]
    """
    return _pieces("split", ary, indices_or_sections, axis, equal=True)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """An array cut into sections as equal as can be, or at the given indices.

    >>> jnp.array_split(jnp.arange(5), 2)
    [Array([0, 1, 2], dtype=int32), Array([3, 4], dtype=int32)]
    """
    return _pieces("array_split", ary, indices_or_sections, axis, equal=False)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """An array cut along its first axis.

    >>> jnp.vsplit(jnp.eye(2), 2)
    [Array([[1., 0.]], dtype=float32), Array([[0., 1.]], dtype=float32)]
    """
    return _pieces("vsplit", ary, indices_or_sections, 0, equal=True)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """An array cut along its second axis (its only one for vectors).

    >>> jnp.hsplit(jnp.arange(4), 2)
    [Array([0, 1], dtype=int32), Array([2, 3], dtype=int32)]
    """
    axis = 0 if np.ndim(ary) == 1 else 1
    return _pieces("hsplit", ary, indices_or_sections, axis, equal=True)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """An array cut along its third axis.

    >>> jnp.dsplit(jnp.zeros((1, 1, 2)), 2)
    [Array([[[0.]]], dtype=float32), Array([[[0.]]], dtype=float32)]
    """
    return _pieces("dsplit", ary, indices_or_sections, 2, equal=True)


# --- repeat, insert, delete ---


def repeat(
    a: Any,
    repeats: Any,
    axis: int | None = None,
    *,
    total_repeat_length: int | None = None,
    out_sharding: Any = None,
) -> Any:
    """Each element (or slice along an axis) repeated a number of times.

    Under jit an array of repeats needs total_repeat_length: the result is cut there, or filled with
    the last element.

    >>> jnp.repeat(jnp.arange(3), jnp.array([1, 0, 2]))
    Array([0, 2, 2], dtype=int32)
    """
    x = as_array("repeat", a)
    if axis is None:
        x, axis = reshape(x, (x.size,)), 0
    if x.ndim == 0:
        x = reshape(x, (1,))
    d = normalized_axis(axis, x.ndim)
    if np.ndim(repeats) == 0 and total_repeat_length is None:
        return _repeated_equally(x, operator.index(repeats), d)
    counts = broadcast_to(reshape(as_array("repeat", repeats), (-1,)), (x.shape[d],))
    if total_repeat_length is None:
        index = np.repeat(np.arange(x.shape[d], dtype=np.int32), _concrete(counts))
        return take_rows(x, as_array("repeat", index), d)
    ends = ops.cumsum(counts, axis=0)
    if x.shape[d] == 0:
        raise ValueError("repeat of an empty axis cannot fill total_repeat_length.")
    # Element j comes from the first slice whose repetitions end after j.
    places = ops.iota(dtype=counts.dtype, shape=(total_repeat_length,), dimension=0)
    shape = (total_repeat_length, x.shape[d])
    before = ops.le(
        ops.broadcast_in_dim(ends, shape=shape, broadcast_dimensions=(1,)),
        ops.broadcast_in_dim(places, shape=shape, broadcast_dimensions=(0,)),
    )
    counted = ops.convert_element_type(before, new_dtype=dtypes.int32, weak_type=False)
    return take_rows(x, ops.reduce_sum(counted, axes=(1,)), d)


def _repeated_equally(x: Any, times: int, d: int) -> Any:
    if times < 0:
        raise ValueError(f"repeats may not contain negative values, got {times}.")
    shape = x.shape
    spread = (*shape[: d + 1], times, *shape[d + 1 :])
    dims = tuple(k if k <= d else k + 1 for k in range(x.ndim))
    whole = ops.broadcast_in_dim(x, shape=spread, broadcast_dimensions=dims)
    return ops.reshape(whole, new_sizes=(*shape[:d], shape[d] * times, *shape[d + 1 :]))


def _concrete(x: Any) -> np.ndarray:
    """The values of a concrete array; an error of JAX's class for a traced one."""
    return np.asarray(x if isinstance(x, Array) else x._concretize(ConcretizationTypeError))


def take_rows(x: Any, index: Any, axis: int) -> Any:
    """The slices of x at positions along an axis; positions outside mean the nearest end."""
    offsets = tuple(k for k in range(x.ndim) if k != axis)
    numbers = ops.GatherDimensionNumbers(
        offset_dims=offsets, collapsed_slice_dims=(axis,), start_index_map=(axis,)
    )
    sizes = tuple(1 if k == axis else n for k, n in enumerate(x.shape))
    return ops.gather(
        x, reshape(index, (index.size, 1)), dimension_numbers=numbers, slice_sizes=sizes,
        mode=ops.GatherScatterMode.CLIP,
    )  # fmt: skip


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """`arr` with values put before the given (concrete) positions along an axis.

    >>> jnp.insert(jnp.arange(3), 1, 9)
    Array([0, 9, 1, 2], dtype=int32)
    """
    x, v = as_arrays("insert", arr, values)
    if axis is None:
        x, axis = reshape(x, (x.size,)), 0
    d = normalized_axis(axis, x.ndim)
    n = x.shape[d]
    scalar = not isinstance(obj, slice) and np.ndim(obj) == 0
    at = np.arange(n)[obj] if isinstance(obj, slice) else np.atleast_1d(np.asarray(obj))
    if np.any(at < -n) or np.any(at > n):
        raise IndexError(f"insert got positions {at.tolist()} for an axis of extent {n}.")
    at = np.where(at < 0, at + n, at).astype(np.int64)
    if scalar:
        # One position takes all the values; their first axis stands in the place of axis d.
        v = moveaxis(reshape(v, (1,) * (x.ndim - v.ndim) + v.shape), 0, d)
        at = np.repeat(at, v.shape[d])
    shape = (*x.shape[:d], len(at), *x.shape[d + 1 :])
    filling = convert(broadcast_to(v, shape), aval_of(x).dtype)
    order = np.argsort(np.concatenate([at, np.arange(n) + 0.5]), kind="stable")
    whole = ops.concatenate(filling, x, dimension=d)
    return take_rows(whole, as_array("insert", order.astype(np.int32)), d)


def delete(
    arr: Any, obj: Any, axis: int | None = None, *, assume_unique_indices: bool = False
) -> Any:
    """`arr` without the slices at the given (concrete) positions along an axis.

    >>> jnp.delete(jnp.arange(4), 1)
    Array([0, 2, 3], dtype=int32)
    """
    x = as_array("delete", arr)
    if axis is None:
        x, axis = reshape(x, (x.size,)), 0
    d = normalized_axis(axis, x.ndim)
    kept = np.delete(np.arange(x.shape[d], dtype=np.int32), obj)
    return take_rows(x, as_array("delete", kept), d)


def trim_zeros(filt: Any, trim: str = "fb", axis: int | Sequence[int] | None = None) -> Any:
    """A concrete array without the zeros at the front ("f" in trim) and back ("b") of axes.

    Of more than one axis the slices are cut in which every element is zero.

    >>> jnp.trim_zeros(jnp.array([0, 0, 1, 0, 2, 0]))
    Array([1, 0, 2], dtype=int32)
    """
    x = as_array("trim_zeros", filt)
    if set(trim.lower()) - set("fb"):
        raise ValueError(f"trim_zeros: trim must be made of 'f' and 'b', got {trim!r}.")
    places = np.nonzero(_concrete(x))
    chosen = range(x.ndim) if axis is None else normalized_axes(axis, x.ndim)
    starts, limits = [0] * x.ndim, list(x.shape)
    for d in chosen:
        found = places[d]
        if "f" in trim.lower():
            starts[d] = int(found.min()) if len(found) else x.shape[d]
        if "b" in trim.lower():
            limits[d] = int(found.max()) + 1 if len(found) else starts[d]
    return ops.slice(x, start_indices=tuple(starts), limit_indices=tuple(limits), strides=None)


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Any:
    """`a` with values on its main diagonal; inplace must be False, since arrays never change.

    >>> jnp.fill_diagonal(jnp.zeros((2, 2)), 5, inplace=False)
    Array([[5., 0.],
           [0., 5.]], dtype=float32)
    """
    if inplace:
        raise NotImplementedError(
            "JAX arrays are immutable, must use inplace=False. fill_diagonal gives a changed copy."
        )
    if wrap:
        raise NotImplementedError("wrap=True is not implemented, must use wrap=False.")
    check_operands("fill_diagonal", a, val)
    x = as_array("fill_diagonal", a)
    if x.ndim < 2 or x.ndim > 2 and len(set(x.shape)) > 1:
        raise ValueError("array must be at least 2-d, and of equal extents above 2-d")
    on = None
    first = ops.iota(dtype=dtypes.int32, shape=x.shape, dimension=0)
    for d in range(1, x.ndim):
        same = ops.eq(first, ops.iota(dtype=dtypes.int32, shape=x.shape, dimension=d))
        on = same if on is None else ops.and_(on, same)
    v = convert(reshape(as_array("fill_diagonal", val), (-1,)), x.dtype)
    n = min(x.shape)
    if v.size not in (1, n):
        v = take_rows(v, as_array("", np.arange(n, dtype=np.int32) % v.size), 0)
    v = broadcast_to(v, (n,))
    rows = ops.pad(v, literal(0, v), padding_config=((0, x.shape[0] - n, 0),))
    filling = ops.broadcast_in_dim(rows, shape=x.shape, broadcast_dimensions=(0,))
    return ops.select_n(on, x, filling)
