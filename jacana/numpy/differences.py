"""Differences between neighbours, and sums over them: diff, gradient, trapezoid, unwrap."""

from collections.abc import Sequence
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
from jacana.numpy.joining import concatenate
from jacana.numpy.logic import (
    not_equal,
)
from jacana.numpy.manipulation import moveaxis, reshape
from jacana.numpy.promotion import (
    as_array,
    broadcast_to,
    convert,
    inexact_dtype,
    literal,
    normalized_axes,
    normalized_axis,
    promote_dtypes,
)
from jacana.numpy.reductions import cumsum, sum as sum_of
from jacana.numpy.selection import where


def part(x: Any, axis: int, start: int, stop: int, step: int = 1) -> Any:
    """x[start:stop:step] along an axis."""
    low, high, by = [0] * x.ndim, list(x.shape), [1] * x.ndim
    low[axis], high[axis], by[axis] = start, max(start, stop), step
    strides = None if step == 1 else tuple(by)
    return ops.slice(x, start_indices=tuple(low), limit_indices=tuple(high), strides=strides)


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """The differences of neighbours along an axis, taken n times.

    >>> jnp.diff(jnp.array([1, 4, 9]))
    Array([3, 5], dtype=int32)
    """
    x = as_array("diff", a)
    if n == 0:
        return x
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if x.ndim == 0:
        raise ValueError(f"diff requires input that is at least one dimensional; got {x.aval}")
    d = normalized_axis(axis, x.ndim)
    ends = [_end(x, v, d) for v in (prepend, append)]
    parts = [v for v in (ends[0], x, ends[1]) if v is not None]
    x = concatenate(parts, d) if len(parts) > 1 else x
    for _ in range(n):
        length = x.shape[d]
        upper, lower = part(x, d, min(1, length), length), part(x, d, 0, max(length - 1, 0))
        x = not_equal(upper, lower) if dtypes.is_bool(x.dtype) else ops.sub(upper, lower)
    return x


def _end(x: Any, value: Any, d: int) -> Any:
    """What is put before or after x along an axis: a scalar becomes one slice."""
    if value is None:
        return None
    value = as_array("diff", value)
    if value.ndim:
        return value
    return broadcast_to(value, (*x.shape[:d], 1, *x.shape[d + 1 :]))


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbours of the flat array, with values put before and after.

    >>> jnp.ediff1d(jnp.array([1, 4, 9]))
    Array([3, 5], dtype=int32)
    """
    x = as_array("ediff1d", ary)
    out = diff(reshape(x, (x.size,)))
    ends = [
        None if v is None else reshape(convert(as_array("ediff1d", v), out.dtype), (-1,))
        for v in (to_begin, to_end)
    ]
    parts = [v for v in (ends[0], out, ends[1]) if v is not None]
    return concatenate(parts) if len(parts) > 1 else out


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int | None = None) -> Any:
    """Slopes by central differences (one-sided at the ends), along each of the axes.

    varargs: one spacing for all axes, or for each a spacing or the coordinates.

    >>> jnp.gradient(jnp.array([1.0, 2.0, 4.0]))
    Array([1. , 1.5, 2. ], dtype=float32)
    """
    if edge_order is not None:
        raise NotImplementedError("The 'edge_order' argument to jnp.gradient is not supported.")
    x = as_array("gradient", f)
    x = convert(x, inexact_dtype(x.dtype))
    axes = tuple(range(x.ndim)) if axis is None else normalized_axes(axis, x.ndim)
    if any(x.shape[d] < 2 for d in axes):
        raise ValueError(
            f"Shape of array too small to calculate a numerical gradient: {x.shape}; at least 2 "
            f"elements are required along axes {axes}."
        )
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError(f"Invalid number of spacing arguments {len(varargs)} for axes={axes}")
    spacing: Sequence[Any] = varargs * len(axes) if len(varargs) == 1 else varargs
    steps = spacing or (1.0,) * len(axes)
    made = [_slope(x, d, h) for d, h in zip(axes, steps)]
    return made[0] if len(made) == 1 else made


def _slope(x: Any, d: int, step: Any) -> Any:
    n = x.shape[d]
    if np.ndim(step) == 0:
        rise = ops.sub(part(x, d, 1, n), part(x, d, 0, n - 1))
        h = convert(step, x.dtype)
        central = ops.add(part(rise, d, 1, n - 1), part(rise, d, 0, n - 2))
        middle = divide(central, multiply(h, literal(2, x)))
        ends = [divide(part(rise, d, k, k + 1), h) for k in (0, n - 2)]
        return concatenate([ends[0], middle, ends[1]], d)
    at = as_array("gradient", step)
    if at.shape != (n,):
        raise ValueError(f"Spacing arrays must be of length {n} as the axis, got {at.shape}.")
    x, at = promote_dtypes(x, at)
    rise = ops.sub(part(x, d, 1, n), part(x, d, 0, n - 1))
    h = diff(at)
    lower, upper = (_along(v, d, x.ndim) for v in (part(h, 0, 0, n - 2), part(h, 0, 1, n - 1)))
    left, right = part(rise, d, 0, n - 2), part(rise, d, 1, n - 1)
    # The parabola through three unevenly spaced points.
    weighed = add(
        divide(multiply(left, upper), multiply(lower, add(lower, upper))),
        divide(multiply(right, lower), multiply(upper, add(lower, upper))),
    )
    ends = [
        divide(part(rise, d, k, k + 1), _along(part(h, 0, k, k + 1), d, x.ndim)) for k in (0, n - 2)
    ]
    return concatenate([ends[0], weighed, ends[1]], d)


def _along(v: Any, d: int, rank: int) -> Any:
    return reshape(v, (1,) * d + v.shape + (1,) * (rank - d - 1))


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """The integral along an axis by the trapezoid rule, at points x or `dx` apart.

    >>> jnp.trapezoid(jnp.array([1.0, 2.0, 3.0]))
    Array(4., dtype=float32)
    """
    values = as_array("trapezoid", y)
    values = convert(values, inexact_dtype(values.dtype))
    step = dx
    if x is not None:
        at = as_array("trapezoid", x)
        at = convert(at, inexact_dtype(at.dtype))
        step = diff(at) if at.ndim == 1 else moveaxis(diff(at, axis=axis), axis, -1)
    values = moveaxis(values, axis, -1)
    n = values.shape[-1]
    last = values.ndim - 1
    pairs = ops.add(part(values, last, 1, n), part(values, last, 0, n - 1))
    return multiply(literal(0.5, values), sum_of(multiply(pairs, step), -1))


def unwrap(p: Any, discont: Any = None, axis: int = -1, period: Any = 2 * np.pi) -> Any:
    """Phases with jumps of half a period or more replaced by their complement.

    >>> jnp.unwrap(jnp.array([0.0, 7.0]))
    Array([0.      , 0.716815], dtype=float32)
    """
    x = as_array("unwrap", p)
    if dtypes.is_complex(x.dtype):
        raise ValueError("jnp.unwrap does not support complex inputs.")
    if x.shape[normalized_axis(axis, x.ndim)] == 0:
        return x
    if not (dtypes.is_integer(x.dtype) and isinstance(period, int)):
        x = convert(x, inexact_dtype(x.dtype))
    d = normalized_axis(axis, x.ndim)
    whole = convert(period, x.dtype)
    half = divide(whole, 2) if dtypes.is_float(x.dtype) else whole // 2
    steps = diff(x, axis=d)
    wrapped = subtract(remainder(add(steps, half), whole), half)
    # A jump of exactly half a period keeps its direction.
    upward = ops.and_(_equal(wrapped, ops.neg(as_array("unwrap", half))), _positive(steps))
    wrapped = where(upward, half, wrapped)
    change = subtract(wrapped, steps)
    limit = half if discont is None else convert(discont, x.dtype)
    change = where(_less(ops.abs(steps), limit), literal(0, x), change)
    n = x.shape[d]
    rest = add(part(x, d, 1, n), cumsum(change, d))
    return concatenate([part(x, d, 0, 1), rest], d)


def _equal(x: Any, y: Any) -> Any:
    return ops.eq(x, broadcast_to(y, x.shape))


def _less(x: Any, y: Any) -> Any:
    return ops.lt(x, broadcast_to(y, x.shape))


def _positive(x: Any) -> Any:
    return ops.gt(x, literal(0, x))
