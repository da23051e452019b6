"""Sets of values: unique, membership, union, intersection, difference.

How many values differ decides the size of these results. Under jit that is not known: there `size`
gives it, and what is missing is filled.
"""

from typing import Any, NamedTuple

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.errors import ConcretizationTypeError
from jacana.core.trace import Tracer
from jacana.numpy.floats import isnan
from jacana.numpy.joining import concatenate, take_rows
from jacana.numpy.logic import (
    equal,
    logical_and,
    logical_or,
    not_equal,
)
from jacana.numpy.manipulation import moveaxis, reshape
from jacana.numpy.promotion import (
    as_array,
    as_arrays,
    broadcast_to,
    convert,
    literal,
    normalized_axis,
    promote_dtypes,
)
from jacana.numpy.reductions import all as all_of, cumsum
from jacana.numpy.selection import where
from jacana.numpy.sorting import argsort, index_dtype, lexsort, searchsorted, sort
from jacana.numpy.take import flatnonzero


def _flat(x: Any) -> Any:
    return reshape(x, (x.size,))


def _positions(mask: Any, size: int | None, function: str) -> Any:
    """Where a vector of booleans holds; `size` positions, of which the missing are past the end."""
    if size is not None:
        return flatnonzero(mask, size=size, fill_value=mask.shape[0])
    if isinstance(mask, Tracer) and mask.concrete() is None:
        raise ConcretizationTypeError(
            mask,
            f"the number of values that jnp.{function} gives",
            f"Pass size= to jnp.{function} to fix it.",
        )
    return flatnonzero(mask)


def _filled(rows: Any, places: Any, size: int | None, fill: Any) -> Any:
    """The rows at places; those past the end are the fill value, or the first row."""
    n = rows.shape[0]
    if n == 0:
        value = literal(0, rows) if fill is None else convert(fill, rows.dtype)
        return broadcast_to(value, (size or 0, *rows.shape[1:]))
    found = take_rows(rows, places, 0)
    if size is None:
        return found
    beyond = ops.ge(places, literal(n, places))
    beyond = ops.broadcast_in_dim(beyond, shape=found.shape, broadcast_dimensions=(0,))
    if fill is None:
        return where(beyond, _row(rows, 0), found)
    return where(beyond, convert(fill, rows.dtype), found)


def _row(rows: Any, k: int) -> Any:
    low, high = [0] * rows.ndim, list(rows.shape)
    low[0], high[0] = k, k + 1
    return ops.slice(rows, start_indices=tuple(low), limit_indices=tuple(high), strides=None)


def _starts(rows: Any, equal_nan: bool) -> Any:
    """Where in sorted rows (or numbers) a value begins that the one before is not."""
    n = rows.shape[0]
    if n == 0:
        return broadcast_to(np.bool_(True), (0,))
    low = (1, *[0] * (rows.ndim - 1))
    after = ops.slice(rows, start_indices=low, limit_indices=rows.shape, strides=None)
    before = ops.slice(
        rows, start_indices=(0,) * rows.ndim, limit_indices=(n - 1, *rows.shape[1:]), strides=None
    )
    same = equal(after, before)
    if equal_nan and dtypes.is_differentiable(rows.dtype):
        same = logical_or(same, logical_and(isnan(after), isnan(before)))
    same = all_of(same, tuple(range(1, rows.ndim)))
    return concatenate([broadcast_to(np.bool_(True), (1,)), ops.not_(same)])


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
    sorted: bool = True,
) -> Any:
    """The distinct elements (or slices along an axis) in increasing order.

    Also, where asked, the index of the first of each, the inverse (where each element is among the
    distinct ones) and how often each occurs. Under jit give `size`; missing values are fill_value,
    or the least one.

    >>> jnp.unique(jnp.array([3, 1, 3]))
    Array([1, 3], dtype=int32)
    """
    x = as_array("unique", ar)
    shape = x.shape
    if axis is None:
        rows, d = _flat(x), 0
        order = argsort(rows)
    else:
        d = normalized_axis(axis, x.ndim)
        moved = moveaxis(x, d, 0)
        rows = reshape(moved, (shape[d], -1)) if moved.size else reshape(moved, (shape[d], 0))
        order = _row_order(rows)
    n = rows.shape[0]
    ordered = take_rows(rows, order, 0) if n else rows
    starts = _starts(ordered, equal_nan)
    places = _positions(starts, size, "unique")
    found = _filled(ordered, places, size, fill_value)
    if axis is not None:
        rest = tuple(m for k, m in enumerate(shape) if k != d)
        found = moveaxis(reshape(found, (found.shape[0], *rest)), 0, d)
    out = [found]
    if return_index:
        out.append(_filled(order, places, size, None) if n else convert(places, index_dtype()))
    if return_inverse:
        inverse = _inverse(order, starts)
        out.append(reshape(inverse, shape) if axis is None else inverse)
    if return_counts:
        out.append(_counts(places, n))
    return out[0] if len(out) == 1 else tuple(out)


def _row_order(rows: Any) -> Any:
    if rows.shape[1] == 0:
        return ops.iota(dtype=index_dtype(), shape=(rows.shape[0],), dimension=0)
    columns = ops.split(rows, sizes=(1,) * rows.shape[1], axis=1)
    return lexsort([_flat(c) for c in columns[::-1]])


def _inverse(order: Any, starts: Any) -> Any:
    number = ops.sub(cumsum(convert(starts, index_dtype())), index_dtype().type(1))
    return take_rows(number, argsort(order), 0) if order.shape[0] else number


def _counts(places: Any, n: int) -> Any:
    """The distances between places, and from the last to the end; 0 for those past the end."""
    places = convert(places, index_dtype())
    following = concatenate([places, broadcast_to(index_dtype().type(n), (1,))])
    upper = ops.slice(following, start_indices=(1,), limit_indices=following.shape, strides=None)
    return ops.sub(upper, places)


class UniqueAll(NamedTuple):
    """What unique_all gives."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """What unique_counts gives."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What unique_inverse gives."""

    values: Any
    inverse_indices: Any


def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueAll:
    """The distinct values, where they are first, the inverse, and how often they occur.

    >>> jnp.unique_all(jnp.array([3, 1, 3])).values
    Array([1, 3], dtype=int32)
    """
    found = unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueAll(*found)


def unique_counts(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueCounts:
    """The distinct values, and how often they occur.

    >>> jnp.unique_counts(jnp.array([3, 1, 3])).counts
    Array([1, 2], dtype=int32)
    """
    found = unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueCounts(*found)


def unique_inverse(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueInverse:
    """The distinct values, and where each element is among them.

    >>> jnp.unique_inverse(jnp.array([3, 1, 3])).inverse_indices
    Array([1, 0, 1], dtype=int32)
    """
    found = unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueInverse(*found)


def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The distinct values.

    >>> jnp.unique_values(jnp.array([3, 1, 3]))
    Array([1, 3], dtype=int32)
    """
    return unique(x, equal_nan=False, size=size, fill_value=fill_value)


# --- operations on two sets ---


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Any:
    """Whether each element is among the test elements; nan is among none.

    >>> jnp.isin(jnp.array([1, 2]), jnp.array([2, 3]))
    Array([False,  True], dtype=bool)
    """
    x, among = as_arrays("isin", *promote_dtypes(*as_arrays("isin", element, test_elements)))
    if among.size == 0:
        return broadcast_to(as_array("isin", invert), x.shape)
    ordered = sort(_flat(among))
    place = _flat(searchsorted(ordered, x))
    found = reshape(equal(take_rows(ordered, place, 0), _flat(x)), x.shape)
    return ops.not_(found) if invert else found


def union1d(ar1: Any, ar2: Any, *, size: int | None = None, fill_value: Any = None) -> Any:
    """The distinct elements of both.

    >>> jnp.union1d(jnp.array([1, 2]), jnp.array([2, 3]))
    Array([1, 2, 3], dtype=int32)
    """
    x, y = as_arrays("union1d", ar1, ar2)
    return unique(concatenate([_flat(x), _flat(y)]), size=size, fill_value=fill_value)


def setdiff1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None,
    fill_value: Any = None,
) -> Any:  # fmt: skip
    """The distinct elements of the first that are not in the second.

    >>> jnp.setdiff1d(jnp.array([1, 2, 3]), jnp.array([2]))
    Array([1, 3], dtype=int32)
    """
    x, y = as_arrays("setdiff1d", ar1, ar2)
    x = _flat(x)
    if size is None and not assume_unique:
        x = unique(x)
        return take_rows(x, _positions(isin(x, y, invert=True), None, "setdiff1d"), 0)
    if assume_unique:
        return _filled_by(x, isin(x, y, invert=True), size, fill_value, "setdiff1d")
    ordered = sort(x)
    keep = ops.and_(_starts(ordered, True), isin(ordered, y, invert=True))
    return _filled_by(ordered, keep, size, fill_value, "setdiff1d")


def _filled_by(x: Any, keep: Any, size: int | None, fill: Any, function: str) -> Any:
    places = _positions(keep, size, function)
    return _filled(x, places, size, 0 if fill is None and size is not None else fill)


def setxor1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, *, size: int | None = None,
    fill_value: Any = None,
) -> Any:  # fmt: skip
    """The elements that are in just one of the two.

    >>> jnp.setxor1d(jnp.array([1, 2]), jnp.array([2, 3]))
    Array([1, 3], dtype=int32)
    """
    x, y = as_arrays("setxor1d", *promote_dtypes(*as_arrays("setxor1d", ar1, ar2)))
    both = sort(concatenate([_flat(x), _flat(y)]))
    keep = ops.and_(_starts(both, True), not_equal(isin(both, x), isin(both, y)))
    return _filled_by(both, keep, size, fill_value, "setxor1d")


def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False, *,
    size: int | None = None, fill_value: Any = None,
) -> Any:  # fmt: skip
    """The distinct elements that are in both; with return_indices also where they are first.

    >>> jnp.intersect1d(jnp.array([1, 2, 3]), jnp.array([2, 3, 4]))
    Array([2, 3], dtype=int32)
    """
    x, y = as_arrays("intersect1d", *promote_dtypes(*as_arrays("intersect1d", ar1, ar2)))
    x, y = _flat(x), _flat(y)
    order = argsort(x)
    ordered = take_rows(x, order, 0) if x.size else x
    keep = ops.and_(_starts(ordered, True), isin(ordered, y)) if x.size else _starts(x, True)
    places = _positions(keep, size, "intersect1d")
    fill = 0 if fill_value is None and size is not None else fill_value
    found = _filled(ordered, places, size, fill)
    if not return_indices:
        return found
    first = _filled(order, places, size, x.size) if x.size else places
    other = argsort(y)
    at = searchsorted(take_rows(y, other, 0), found) if y.size else found
    second = take_rows(other, at, 0) if y.size else places
    if size is not None:
        beyond = ops.ge(places, literal(x.size, places))
        second = where(beyond, literal(y.size, second), second)
    return found, first, second
