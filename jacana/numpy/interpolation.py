"""Values between points, and bins: interp, digitize."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.numpy.elementwise import (
    add,
    divide,
    multiply,
    remainder,
    subtract,
)
from jacana.numpy.joining import concatenate, take_rows
from jacana.numpy.manipulation import reshape
from jacana.numpy.promotion import (
    as_array,
    as_arrays,
    convert,
    inexact_dtype,
    literal,
    promote_dtypes,
)
from jacana.numpy.selection import where
from jacana.numpy.sorting import argsort, searchsorted


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """The values at x of the piecewise linear function through the points (xp, fp).

    xp is increasing. Outside, fp's ends are continued (left and right replace them; "extrapolate"
    continues the lines), or with a period the function repeats.

    >>> jnp.interp(1.5, jnp.array([0.0, 1.0, 2.0]), jnp.array([0.0, 1.0, 4.0]))
    Array(2.5, dtype=float32)
    """
    points, values = as_arrays("interp", xp, fp)
    if points.shape != values.shape or points.ndim != 1 or points.size == 0:
        raise ValueError(
            f"xp and fp must be one-dimensional arrays of equal size, not empty, got {points.aval} "
            f"and {values.aval}."
        )
    at, points = promote_dtypes(as_array("interp", x), points)
    found = inexact_dtype(at.dtype)
    at, points = convert(at, found), convert(points, found)
    values = convert(values, inexact_dtype(values.dtype))
    if dtypes.is_complex(found):
        raise ValueError("jnp.interp: complex x values not supported.")
    if period is not None:
        at, points, values = _periodic(at, points, values, convert(period, found))
        left = right = None
    if points.size == 1:
        return add(multiply(at, literal(0, at)), reshape(values, ()))
    return _between(at, points, values, left, right)


def _periodic(at: Any, points: Any, values: Any, period: Any) -> tuple[Any, Any, Any]:
    """The points of one period in order, with one more before and after."""
    period = ops.abs(period)
    at, points = remainder(at, period), remainder(points, period)
    order = argsort(points)
    points, values = take_rows(points, order, 0), take_rows(values, order, 0)
    n = points.shape[0]
    last = ops.slice(points, start_indices=(n - 1,), limit_indices=(n,), strides=None)
    first = ops.slice(points, start_indices=(0,), limit_indices=(1,), strides=None)
    points = concatenate([subtract(last, period), points, add(first, period)])
    ends = [
        ops.slice(values, start_indices=(k,), limit_indices=(k + 1,), strides=None)
        for k in (n - 1, 0)
    ]
    return at, points, concatenate([ends[0], values, ends[1]])


def _between(at: Any, points: Any, values: Any, left: Any, right: Any) -> Any:
    shape = at.shape
    flat = reshape(at, (at.size,))
    n = points.shape[0]
    place = searchsorted(points, flat, side="right")
    upper = ops.clamp(literal(1, place), place, literal(n - 1, place))
    lower = ops.sub(upper, literal(1, upper))
    x0, x1 = take_rows(points, lower, 0), take_rows(points, upper, 0)
    f0, f1 = take_rows(values, lower, 0), take_rows(values, upper, 0)
    width, offset = ops.sub(x1, x0), ops.sub(flat, x0)
    # Two points at one place give the later value there, without a division by zero.
    narrow = ops.le(ops.abs(width), literal(np.spacing(float(dtypes.finfo(at.dtype).eps)), at))
    safe = where(narrow, literal(1, width), width)
    rise = multiply(ops.sub(f1, f0), divide(offset, safe))
    out = where(narrow, f0, add(f0, rise))
    ends = [
        ops.slice(v, start_indices=(k,), limit_indices=(k + 1,), strides=None)
        for v, k in ((points, 0), (points, n - 1), (values, 0), (values, n - 1))
    ]
    first_x, last_x, first_f, last_f = ends
    if not isinstance(left, str):
        below = reshape(first_f, ()) if left is None else left
        out = where(ops.lt(flat, _spread(first_x, flat)), below, out)
    if not isinstance(right, str):
        above = reshape(last_f, ()) if right is None else right
        out = where(ops.gt(flat, _spread(last_x, flat)), above, out)
    for given in (left, right):
        if isinstance(given, str) and given != "extrapolate":
            raise ValueError(f'left and right may be values or "extrapolate", got {given!r}.')
    return reshape(out, shape)


def _spread(x: Any, like: Any) -> Any:
    return ops.broadcast_in_dim(reshape(x, ()), shape=like.shape, broadcast_dimensions=())


def digitize(x: Any, bins: Any, right: bool = False, *, method: str | None = None) -> Any:
    """The number of the bin that each element falls into; bins increase or decrease.

    >>> jnp.digitize(jnp.array([0.5, 2.5]), jnp.array([0.0, 1.0, 2.0]))
    Array([1, 3], dtype=int32)
    """
    x, edges = as_arrays("digitize", x, bins)
    if edges.ndim != 1:
        raise ValueError(f"digitize: bins must be a 1-dimensional array; got {edges.aval}")
    if edges.shape[0] == 0:
        zero = np.int32(0)
        return ops.broadcast_in_dim(zero, shape=x.shape, broadcast_dimensions=())
    n = edges.shape[0]
    rising = searchsorted(edges, x, side="left" if right else "right")
    reversed_edges = ops.rev(edges, dimensions=(0,))
    counted = searchsorted(reversed_edges, x, side="left" if right else "right")
    falling = subtract(literal(n, counted), counted)
    first, last = (
        ops.slice(edges, start_indices=(k,), limit_indices=(k + 1,), strides=None)
        for k in (0, n - 1)
    )
    return where(reshape(ops.ge(last, first), ()), rising, falling)
