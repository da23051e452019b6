"""Functions that read and write by index: take, take_along_axis, nonzero and their kin."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes, errors
from jacana.core.trace import Tracer
from jacana.core.values import aval_of
from jacana.numpy.elementwise import (
    add,
    remainder,
)
from jacana.numpy.index_plan import Part, Plan
from jacana.numpy.indexing import index_in, mode_of, read, update
from jacana.numpy.logic import (
    truth,
)
from jacana.numpy.promotion import check_operands, convert, refuse_out
from jacana.numpy.selection import where
from jacana.ops import GatherScatterMode
from jacana.ops.shape import full


def canonical_axis(axis: int, rank: int, function: str) -> int:
    """The axis counted from the front; ValueError naming the function if there is none."""
    axis = int(axis)
    if not -rank <= axis < rank:
        raise ValueError(
            f"axis {axis} is out of bounds for array of dimension {rank} (in {function})"
        )
    return axis % rank


def take(
    a: Any,
    indices: Any,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: Any = None,
) -> Any:
    """Elements of `a` along an axis (of the flattened array without one).

    mode: "fill" (the default: nan, or the extreme of integers, where out of bounds), "clip",
    "wrap", "promise_in_bounds".

    >>> jnp.take(jnp.array([5, 6, 7]), jnp.array([0, 2]))
    Array([5, 7], dtype=int32)
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.take is not supported.")
    check_operands("take", a, indices)
    if axis is None:
        a, axis = ops.reshape(a, new_sizes=(int(np.size(a)),)), 0
    axis = canonical_axis(axis, np.ndim(a), "take")
    if mode is None and isinstance(indices, int) and 0 <= indices < np.shape(a)[axis]:
        mode = "clip"
    if mode == "clip" and not dtypes.is_unsigned_integer(aval_of(indices).dtype):
        # As in NumPy: indices before the first element are not counted from the end.
        indices = ops.max(indices, aval_of(indices).dtype.type(0))
    if mode == "wrap" and np.shape(a)[axis]:
        indices = remainder(add(indices, np.int32(0)), np.shape(a)[axis])
    plan = _axis_plan(np.shape(a), axis, indices)
    chosen = mode_of(mode, GatherScatterMode.FILL_OR_DROP)
    return read(a, plan, chosen, fill_value)


def _axis_plan(shape: tuple[int, ...], axis: int, at: Any) -> Plan:
    parts = tuple(Part(i, at) if i == axis else Part(i, None, 0, 1, n) for i, n in enumerate(shape))
    return Plan(parts, np.shape(at), axis, (), not np.shape(at))


def take_along_axis(
    arr: Any,
    indices: Any,
    axis: int | None = -1,
    mode: str | None = None,
    fill_value: Any = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Any:
    """arr[..., indices[...], ...]: along one axis, with the other axes walked together.

    Negative indices count from the end unless wrap_negative_indices is False; places out of bounds
    give nan (the extreme of integers), fill_value, or what another mode says.

    >>> x = jnp.array([[10, 30, 20], [60, 40, 50]])
    >>> jnp.take_along_axis(x, jnp.argsort(x, axis=1), axis=1)
    Array([[10, 20, 30],
           [40, 50, 60]], dtype=int32)
    """
    check_operands("take_along_axis", arr, indices)
    wraps = wrap_negative_indices is not False
    if axis is None:
        if np.ndim(indices) != 1:
            raise ValueError("take_along_axis with axis=None needs one-dimensional indices")
        flat = ops.reshape(arr, new_sizes=(int(np.size(arr)),))
        return take_along_axis(flat, indices, 0, mode, fill_value, wrap_negative_indices=wraps)
    if np.ndim(arr) != np.ndim(indices):
        raise ValueError(
            f"indices and arr must have the same number of dimensions; {np.ndim(indices)} vs. "
            f"{np.ndim(arr)}"
        )
    plan = _along_plan(
        np.shape(arr), indices, canonical_axis(axis, np.ndim(arr), "take_along_axis"), wraps
    )
    return read(arr, plan, mode_of(mode, GatherScatterMode.FILL_OR_DROP), fill_value)


def put_along_axis(
    arr: Any,
    indices: Any,
    values: Any,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Any:
    """arr with values at indices along an axis; pass inplace=False, since arrays never change.

    >>> jnp.put_along_axis(jnp.arange(3), jnp.array([0]), 9, 0, inplace=False)
    Array([9, 1, 2], dtype=int32)
    """
    if inplace:
        raise ValueError("jax.numpy.put_along_axis cannot modify arrays in place; inplace=False.")
    if axis is None:
        flat = ops.reshape(arr, new_sizes=(int(np.size(arr)),))
        result = put_along_axis(flat, indices, values, 0, False, mode=mode)
        return ops.reshape(result, new_sizes=np.shape(arr))
    axis = canonical_axis(axis, np.ndim(arr), "put_along_axis")
    index = tuple(
        np.arange(n, dtype=np.int32).reshape([-1 if j == i else 1 for j in range(np.ndim(arr))])
        if i != axis else indices
        for i, n in enumerate(np.shape(arr))
    )  # fmt: skip
    return update(arr, index, "set", values, mode)


def _along_plan(shape: tuple[int, ...], indices: Any, axis: int, wraps: bool) -> Plan:
    """Every axis gets an index array, the other axes' ones counting up."""
    rank = len(shape)
    parts, block = [], []
    for i, n in enumerate(shape):
        extent = np.shape(indices)[i]
        if i == axis:
            parts.append(Part(i, indices))
            block.append(extent)
            continue
        if n != 1 and extent not in (1, n):
            raise ValueError(
                f"take_along_axis: indices of shape {np.shape(indices)} do not broadcast against "
                f"an array of shape {shape} along axis {i}"
            )
        counted = np.arange(n, dtype=np.int32).reshape([-1 if j == i else 1 for j in range(rank)])
        parts.append(Part(i, counted))
        block.append(max(n, extent) if n and extent else 0)
    return Plan(tuple(parts), tuple(block), 0, (), False, wraps)


def nonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> tuple[Any, ...]:
    """The indices of nonzero elements, one array for each axis.

    Under jit the number of results must be given: the first `size` are returned, padded with
    fill_value (0 by default).

    >>> jnp.nonzero(jnp.array([0, 2, 3]))
    (Array([1, 2], dtype=int32),)
    """
    check_operands("nonzero", a)
    if np.ndim(a) == 0:
        raise ValueError("Calling nonzero on 0d arrays is not allowed. Use jnp.atleast_1d first.")
    mask = truth(a)
    if size is None:
        mask = _concrete_mask(mask)
        return tuple(convert(where_, dtypes.int32) for where_ in mask.nonzero())
    return _sized_nonzero(mask, size, fill_value)


def _concrete_mask(mask: Any) -> np.ndarray:
    if isinstance(mask, Tracer):
        value = mask.concrete()
        if value is None:
            raise errors.ConcretizationTypeError(
                mask,
                "the number of nonzero elements",
                "The size argument of jnp.nonzero must be statically specified to use "
                "jnp.nonzero within JAX transformations.",
            )
        mask = value
    return np.asarray(mask)


def _sized_nonzero(mask: Any, size: int, fill_value: Any) -> tuple[Any, ...]:
    shape = np.shape(mask)
    total = int(np.prod(shape, dtype=np.int64))
    if total == 0 or size == 0:
        fill = 0 if fill_value is None else fill_value
        return tuple(full((size,), fill, dtypes.int32) for _ in shape)
    flat = convert(ops.reshape(mask, new_sizes=(total,)), dtypes.int32)
    rank = ops.cumsum(flat, axis=0)
    # Element number k (counted from 1) goes to place k - 1; zeros go nowhere.
    target = where(ops.ne(flat, np.int32(0)), add(rank, -1), np.int32(size))
    at = ops.iota(dtype=dtypes.int32, shape=(total,), dimension=0)
    places = update(full((size,), total, dtypes.int32), target, "set", at, "drop")
    found = ops.lt(places, np.int32(total))
    fills = fill_value if isinstance(fill_value, tuple) else (fill_value,) * len(shape)
    results = []
    for axis, n in enumerate(shape):
        stride = int(np.prod(shape[axis + 1 :], dtype=np.int64))
        position = ops.rem(ops.div(places, np.int32(max(stride, 1))), np.int32(max(n, 1)))
        fill = 0 if fills[axis] is None else fills[axis]
        results.append(where(found, position, convert(fill, dtypes.int32)))
    return tuple(results)


def flatnonzero(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The indices of nonzero elements of the flattened array.

    >>> jnp.flatnonzero(jnp.array([0, 2, 3]))
    Array([1, 2], dtype=int32)
    """
    flat = ops.reshape(a, new_sizes=(int(np.size(a)),))
    return nonzero(flat, size=size, fill_value=fill_value)[0]


def argwhere(a: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The indices of nonzero elements as rows.

    >>> jnp.argwhere(jnp.array([0, 2, 3]))
    Array([[1],
           [2]], dtype=int32)
    """
    found = nonzero(a, size=size, fill_value=fill_value)
    columns = [ops.reshape(f, new_sizes=(f.shape[0], 1)) for f in found]
    return ops.concatenate(*columns, dimension=1)


def put(a: Any, ind: Any, v: Any, mode: str | None = None, *, inplace: bool = True) -> Any:
    """a with values at places of the flattened array; pass inplace=False.

    >>> jnp.put(jnp.arange(3), jnp.array([0]), 9, inplace=False)
    Array([9, 1, 2], dtype=int32)
    """
    if inplace:
        raise ValueError("jax.numpy.put cannot modify arrays in place; pass inplace=False.")
    flat = ops.reshape(a, new_sizes=(int(np.size(a)),))
    at = ops.reshape(ind, new_sizes=(int(np.size(ind)),)) if np.ndim(ind) else ind
    result = update(flat, index_in(at, flat.shape[0]), "set", v, mode or "clip")
    return ops.reshape(result, new_sizes=np.shape(a))


def compress(
    condition: Any, a: Any, axis: int | None = None, *, size: int | None = None,
    fill_value: Any = 0, out: None = None,
) -> Any:  # fmt: skip
    """The slices of `a` along an axis (elements of the flattened array) where a condition holds.

    The condition is a vector no longer than the axis. Under jit `size` says how many slices there
    are; what is missing is filled with fill_value.

    >>> jnp.compress(jnp.array([True, False, True]), jnp.arange(6).reshape(2, 3), axis=1)
    Array([[0, 2],
           [3, 5]], dtype=int32)
    """
    refuse_out("compress", out)
    check_operands("compress", condition, a)
    if np.ndim(condition) != 1:
        raise ValueError("condition must be a 1D array")
    if axis is None:
        a, axis = ops.reshape(a, new_sizes=(int(np.size(a)),)), 0
    axis = canonical_axis(axis, np.ndim(a), "compress")
    extent, length = np.shape(a)[axis], np.shape(condition)[0]
    if size is not None and not 0 <= size <= extent:
        raise ValueError(
            f"size must be positive and not greater than the size of the array axis; got "
            f"size={size} for a.shape[axis]={extent}"
        )
    if length > extent:
        rest = np.asarray(_concrete_mask(truth(condition)))[extent:]
        if rest.any():
            raise ValueError("condition contains entries that are out of bounds")
    (kept,) = nonzero(condition, size=size, fill_value=extent)
    # The fill is of a's dtype, as that of lax.pad.
    return take(a, kept, axis=axis, mode="fill", fill_value=fill_value)


def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Any:
    """The elements of arr where the condition holds, flattened.

    >>> jnp.extract(jnp.array([True, False]), jnp.array([5, 6]))
    Array([5], dtype=int32)
    """
    flat = ops.reshape(arr, new_sizes=(int(np.size(arr)),))
    kept = flatnonzero(condition, size=size, fill_value=aval_of(arr).size)
    return take(flat, kept, mode="fill", fill_value=fill_value)
