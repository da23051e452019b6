"""Counting: bincount and histograms in one and more dimensions."""

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.errors import ConcretizationTypeError
from jacana.core.trace import Tracer
from jacana.numpy.creation import zeros
from jacana.numpy.differences import diff
from jacana.numpy.elementwise import (
    divide,
)
from jacana.numpy.indexing import update
from jacana.numpy.manipulation import reshape
from jacana.numpy.positions import ravel_multi_index
from jacana.numpy.promotion import (
    as_array,
    as_arrays,
    broadcast_to,
    convert,
    inexact_dtype,
    literal,
)
from jacana.numpy.ranges import linspace
from jacana.numpy.reductions import max as max_of, min as min_of, sum as sum_of
from jacana.numpy.selection import where
from jacana.numpy.sorting import index_dtype, searchsorted


def bincount(
    x: Any,
    weights: Any = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: Any = None,
) -> Any:
    """How often each of 0, 1, 2, ... occurs (or the sum of its weights).

    Under jit give `length`, the number of counts; larger values are then left out. Negative values
    count as 0.

    >>> jnp.bincount(jnp.array([1, 1, 2]))
    Array([0, 2, 1], dtype=int32)
    """
    values = as_array("bincount", x)
    if not dtypes.is_integer(values.dtype):
        raise TypeError(f"x argument to bincount must have an integer type; got {values.dtype}")
    if values.ndim != 1:
        raise ValueError("only 1-dimensional input supported.")
    if length is None:
        length = max(minlength, _count(values))
    weight = (
        broadcast_to(index_dtype().type(1), values.shape)
        if weights is None
        else as_array("bincount", weights)
    )
    if weight.shape != values.shape:
        raise ValueError("shape of weights must match shape of x.")
    values = ops.max(values, literal(0, values))
    empty = zeros((length,), weight.dtype)
    return update(empty, values, "add", weight, "drop")


def _count(values: Any) -> int:
    known = values.concrete() if isinstance(values, Tracer) else values
    if known is None:
        raise ConcretizationTypeError(
            values, "the number of counts that jnp.bincount gives", "Pass length= to fix it."
        )
    return int(np.max(np.asarray(known))) + 1 if values.size else 0


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of the bins of `histogram`: so many of one width, or those given.

    >>> jnp.histogram_bin_edges(jnp.array([0.0, 2.0]), 2)
    Array([0., 1., 2.], dtype=float32)
    """
    if isinstance(bins, str):
        raise NotImplementedError("string values for `bins` not implemented.")
    x = as_array("histogram_bin_edges", a)
    found = inexact_dtype(x.dtype)
    if np.ndim(bins) == 1:
        edges = as_array("histogram_bin_edges", np.asarray(bins) if _is_list(bins) else bins)
        return convert(edges, found)
    if range is None and x.size == 0:
        low, high = literal(0, zeros((), found)), literal(1, zeros((), found))
    elif range is None:
        low, high = convert(min_of(x), found), convert(max_of(x), found)
    else:
        low, high = (convert(v, found) for v in _pair(range))
    low, high = as_arrays("histogram", low, high)
    half = literal(0.5, low)
    same = ops.eq(low, high)
    low, high = where(same, ops.sub(low, half), low), where(same, ops.add(high, half), high)
    return linspace(low, high, int(bins) + 1, dtype=found)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _pair(values: Any) -> list[Any]:
    if isinstance(values, list | tuple):
        return list(values)
    whole = as_array("histogram", values)
    return [reshape(v, ()) for v in ops.split(whole, sizes=(1, 1), axis=0)]


def _bin_of(edges: Any, x: Any) -> Any:
    """The bin of each element: 1 for the first, 0 before it; the last edge belongs to the last."""
    n = edges.shape[0]
    found = searchsorted(edges, x, side="right")
    last = ops.slice(edges, start_indices=(n - 1,), limit_indices=(n,), strides=None)
    on_last = ops.eq(x, broadcast_to(reshape(last, ()), x.shape))
    return where(on_last, literal(n - 1, found), found)


def histogram(
    a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool | None = None
) -> tuple[Any, Any]:
    """(counts, edges): how many elements (what weight) fall into each bin.

    >>> jnp.histogram(jnp.array([1.0, 1.0, 2.0]), bins=2)[0]
    Array([2., 1.], dtype=float32)
    """
    x = as_array("histogram", a)
    x = convert(x, inexact_dtype(x.dtype))
    edges = histogram_bin_edges(x, bins, range)
    n = edges.shape[0]
    if weights is None:
        weight = broadcast_to(literal(1, x), x.shape)
    else:
        weight = as_array("histogram", weights)
        if weight.shape != x.shape:
            raise ValueError("weights should have the same shape as a.")
    flat = reshape(x, (x.size,))
    where_to = _bin_of(convert(edges, x.dtype), flat)
    counted = update(zeros((n,), weight.dtype), where_to, "add", reshape(weight, (x.size,)), "drop")
    counts = ops.slice(counted, start_indices=(1,), limit_indices=(n,), strides=None)
    if density:
        width = convert(diff(edges), inexact_dtype(counts.dtype))
        counts = divide(divide(counts, width), sum_of(counts))
    return counts, edges


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None,
    density: bool | None = None,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """(counts, edges of x, edges of y) of pairs.

    >>> jnp.histogram2d(jnp.array([0.0, 1.0]), jnp.array([0.0, 1.0]), 2)[0]
    Array([[1, 0],
           [0, 1]], dtype=int32)
    """
    first, second = as_arrays("histogram2d", x, y)
    single = not _is_list(bins) and np.ndim(bins) == 0
    if not single and len(bins) not in (1, 2):
        bins = [bins, bins]
    columns = [reshape(v, (v.size, 1)) for v in (first, second)]
    found = inexact_dtype(columns[0].dtype)
    sample = ops.concatenate(*[convert(c, found) for c in columns], dimension=1)
    counts, edges = histogramdd(sample, bins, range, weights, density)
    return counts, edges[0], edges[1]


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, weights: Any = None,
    density: bool | None = None,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """(counts, edges of each axis) of points, given as rows of coordinates.

    >>> jnp.histogramdd(jnp.array([[0.0, 0.0], [1.0, 1.0]]), 2)[0]
    Array([[1, 0],
           [0, 1]], dtype=int32)
    """
    if isinstance(sample, list | tuple):
        columns = as_arrays("histogramdd", *sample)
    else:
        points = as_array("histogramdd", sample)
        points = reshape(points, (points.size, 1)) if points.ndim == 1 else points
        pieces = ops.split(points, sizes=(1,) * points.shape[1], axis=1)
        columns = [reshape(c, (c.size,)) for c in pieces]
    columns = [convert(c, inexact_dtype(c.dtype)) for c in columns]
    rank = len(columns)
    each = list(bins) if _is_list(bins) or np.ndim(bins) else [bins] * rank
    if len(each) != rank:
        raise ValueError("should be a bin for each dimension.")
    ranges: Sequence[Any] = [None] * rank if range is None else list(range)
    edges = [histogram_bin_edges(c, b, r) for c, b, r in zip(columns, each, ranges)]
    places = [_bin_of(convert(e, c.dtype), c) for e, c in zip(edges, columns)]
    # One bin more on each side takes what is outside.
    shape = tuple(e.shape[0] + 1 for e in edges)
    flat = ravel_multi_index(places, shape, mode="clip")
    weight = (
        broadcast_to(index_dtype().type(1), flat.shape)
        if weights is None
        else as_array("histogramdd", weights)
    )
    counted = update(zeros((int(np.prod(shape)),), weight.dtype), flat, "add", weight, "drop")
    counts = ops.slice(
        reshape(counted, shape), start_indices=(1,) * rank,
        limit_indices=tuple(n - 1 for n in shape), strides=None,
    )  # fmt: skip
    if density:
        counts = divide(counts, sum_of(counts))
        for d, e in enumerate(edges):
            width = reshape(diff(e), tuple(-1 if k == d else 1 for k in builtins.range(rank)))
            counts = divide(counts, width)
    return counts, edges
