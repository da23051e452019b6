"""Polynomials as vectors of coefficients, highest power first."""

from typing import Any

import numpy as np

from jacana import numpy as jnp, ops
from jacana.core import dtypes
from jacana.numpy.elementwise import (
    add,
    divide,
    multiply,
    sqrt,
    subtract,
)
from jacana.numpy.joining import concatenate
from jacana.numpy.manipulation import transpose
from jacana.numpy.matrices import eye, vander
from jacana.numpy.products import dot, outer
from jacana.numpy.promotion import (
    as_array,
    as_arrays,
    broadcast_to,
    convert,
    inexact_dtype,
    literal,
    promote_dtypes,
)
from jacana.numpy.reductions import sum as sum_of
from jacana.numpy.statistics import convolve


def _vectors(name: str, *values: Any) -> list[Any]:
    xs = as_arrays(name, *promote_dtypes(*as_arrays(name, *values)))
    return [ops.reshape(x, new_sizes=(1,)) if x.ndim == 0 else x for x in xs]


def _element(x: Any, k: int) -> Any:
    start = (k,) + (0,) * (x.ndim - 1)
    row = ops.slice(x, start_indices=start, limit_indices=(k + 1, *x.shape[1:]), strides=None)
    return ops.reshape(row, new_sizes=x.shape[1:])


def _tail(x: Any, k: int) -> Any:
    return ops.slice(x, start_indices=(k,), limit_indices=x.shape, strides=None)


def polyval(p: Any, x: Any, *, unroll: int = 16) -> Any:
    """p[0] x**(n-1) + ... + p[n-1], by Horner's rule.

    Further axes of p are broadcast with those of x: a polynomial for each element.

    >>> jnp.polyval(jnp.array([1.0, 0.0, 2.0]), 3.0)
    Array(11., dtype=float32)
    """
    coefficients, at = promote_dtypes(as_array("polyval", p), x)
    coefficients = as_array("polyval", coefficients)
    at = as_array("polyval", at)
    if coefficients.ndim == 0:
        raise ValueError(f"polyval needs coefficients along an axis, got {coefficients.aval}.")
    shape = np.broadcast_shapes(coefficients.shape[1:], at.shape)
    total = broadcast_to(literal(0, at), shape)
    for k in range(coefficients.shape[0]):
        total = add(multiply(total, at), _element(coefficients, k))
    return total


def _widened(x: Any, n: int) -> Any:
    return ops.pad(x, literal(0, x), padding_config=((n - x.shape[0], 0, 0),))


def polyadd(a1: Any, a2: Any) -> Any:
    """The sum of two polynomials.

    >>> jnp.polyadd(jnp.array([1, 2]), jnp.array([3]))
    Array([1, 5], dtype=int32)
    """
    x, y = _vectors("polyadd", a1, a2)
    n = max(x.shape[0], y.shape[0])
    return ops.add(_widened(x, n), _widened(y, n))


def polysub(a1: Any, a2: Any) -> Any:
    """The difference of two polynomials.

    >>> jnp.polysub(jnp.array([1, 2]), jnp.array([1]))
    Array([1, 1], dtype=int32)
    """
    x, y = _vectors("polysub", a1, a2)
    n = max(x.shape[0], y.shape[0])
    return ops.sub(_widened(x, n), _widened(y, n))


def _trimmed(x: Any) -> Any:
    """A concrete polynomial without its leading zeros."""
    values = np.asarray(x)
    first = int(np.flatnonzero(values)[0]) if np.any(values) else len(values)
    return _tail(x, first)


def polymul(a1: Any, a2: Any, *, trim_leading_zeros: bool = False) -> Any:
    """The product of two polynomials.

    >>> jnp.polymul(jnp.array([1, 1]), jnp.array([1, -1]))
    Array([ 1.,  0., -1.], dtype=float32)
    """
    x, y = _vectors("polymul", a1, a2)
    if trim_leading_zeros:
        x, y = _trimmed(x), _trimmed(y)
        x = x if x.size else broadcast_to(literal(0, x), (1,))
        y = y if y.size else broadcast_to(literal(0, y), (1,))
    return convolve(x, y)


def polydiv(u: Any, v: Any, *, trim_leading_zeros: bool = False) -> tuple[Any, Any]:
    """(quotient, remainder) of two polynomials.

    >>> jnp.polydiv(jnp.array([1.0, 3.0, 2.0]), jnp.array([1.0, 1.0]))[0]
    Array([1., 2.], dtype=float32)
    """
    x, y = _vectors("polydiv", u, v)
    found = inexact_dtype(x.dtype)
    x, y = convert(x, found), convert(y, found)
    m, n = x.shape[0], y.shape[0]
    steps = max(m - n + 1, 1)
    scale = ops.div(literal(1, x), _element(y, 0))
    quotient = []
    for k in range(m - n + 1):
        d = ops.mul(scale, _element(x, k))
        quotient.append(ops.reshape(d, new_sizes=(1,)))
        part = multiply(y, d)
        x = ops.sub(x, ops.pad(part, literal(0, x), padding_config=((k, m - n - k, 0),)))
    out = concatenate(quotient) if quotient else broadcast_to(literal(0, x), (steps,))
    return out, _trimmed(x) if trim_leading_zeros else x


def polyder(p: Any, m: int = 1) -> Any:
    """The m-th derivative of a polynomial.

    >>> jnp.polyder(jnp.array([1.0, 2.0, 3.0]))
    Array([2., 2.], dtype=float32)
    """
    if m < 0:
        raise ValueError("Order of derivative must be positive")
    x = as_array("polyder", p)
    x = convert(x, inexact_dtype(x.dtype))
    for _ in range(m):
        n = x.shape[0]
        if n <= 1:
            return broadcast_to(literal(0, x), (0,))
        power = as_array("polyder", np.arange(n - 1, 0, -1).astype(x.dtype))
        x = ops.mul(ops.slice(x, start_indices=(0,), limit_indices=(n - 1,), strides=None), power)
    return x


def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The m-th integral of a polynomial, with k the constants of integration.

    >>> jnp.polyint(jnp.array([2.0, 1.0]))
    Array([1., 1., 0.], dtype=float32)
    """
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    x = as_array("polyint", p)
    x = convert(x, inexact_dtype(x.dtype))
    constants = as_array("polyint", np.zeros(max(m, 1), np.float32) if k is None else np.asarray(k))
    constants = convert(broadcast_to(_vector(constants), (max(m, 1),)), x.dtype)
    for step in range(m):
        n = x.shape[0]
        power = as_array("polyint", np.arange(n, 0, -1).astype(x.dtype))
        constant = ops.reshape(_element(constants, step), new_sizes=(1,))
        x = concatenate([ops.div(x, power), constant])
    return x


def _vector(x: Any) -> Any:
    return x if x.ndim else ops.reshape(x, new_sizes=(1,))


def poly(seq_of_zeros: Any) -> Any:
    """The polynomial with leading coefficient 1 that has the given zeros.

    >>> jnp.poly(jnp.array([1.0, 2.0]))
    Array([ 1., -3.,  2.], dtype=float32)
    """
    x = as_array("poly", seq_of_zeros)
    x = convert(x, inexact_dtype(x.dtype))
    if x.ndim == 2 and x.shape[0] == x.shape[1]:
        x = jnp.linalg.eigvals(x)
    if x.ndim != 1:
        raise ValueError(f"poly needs a vector of zeros or a square matrix, got {x.aval}.")
    out = broadcast_to(literal(1, x), (1,))
    for k in range(x.shape[0]):
        shifted = ops.pad(out, literal(0, x), padding_config=((0, 1, 0),))
        lower = ops.pad(out, literal(0, x), padding_config=((1, 0, 0),))
        out = subtract(shifted, multiply(lower, _element(x, k)))
    return out


def roots(p: Any, *, strip_zeros: bool = True) -> Any:
    """The complex zeros of a polynomial, as the eigenvalues of its companion matrix.

    Leading and trailing zeros are taken off first, for which p must be concrete; under jit pass
    strip_zeros=False.

    >>> jnp.roots(jnp.array([1.0, 0.0, -4.0])).real.sort()
    Array([-1.9999999,  2.0000002], dtype=float32)
    """
    x = as_array("roots", p)
    x = convert(x, inexact_dtype(x.dtype))
    if x.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    zeros = 0
    if strip_zeros:
        nonzero = np.flatnonzero(np.asarray(x))
        first, last = (int(nonzero[0]), int(nonzero[-1])) if len(nonzero) else (0, -1)
        zeros = x.shape[0] - 1 - last if len(nonzero) else 0
        x = ops.slice(x, start_indices=(first,), limit_indices=(last + 1,), strides=None)
    found = dtypes.complex_dtype(x.dtype)
    n = x.shape[0] - 1
    origin = broadcast_to(np.asarray(0).astype(found)[()], (zeros,))
    if n < 1:
        return origin
    top = divide(ops.neg(_tail(x, 1)), _element(x, 0))
    companion = concatenate([ops.reshape(top, new_sizes=(1, n)), eye(n - 1, n, dtype=x.dtype)])
    return concatenate([convert(jnp.linalg.eigvals(companion), found), origin])


def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: Any = False,
) -> Any:
    """The polynomial of degree `deg` nearest to the points (x, y) in the sum of squares.

    w: weights of the points. With full, also residuals, rank, singular values and rcond; with cov
    also the covariance of the coefficients ("unscaled" takes the weights as they are).

    >>> jnp.polyfit(jnp.array([0.0, 1.0, 2.0]), jnp.array([1.0, 3.0, 5.0]), 1).round(3)
    Array([2., 1.], dtype=float32)
    """
    at, values = (convert(v, inexact_dtype(v.dtype)) for v in as_arrays("polyfit", x, y))
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if at.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if at.size == 0:
        raise TypeError("expected non-empty vector for x")
    if values.ndim not in (1, 2):
        raise TypeError("expected 1D or 2D array for y")
    if at.shape[0] != values.shape[0]:
        raise TypeError("expected x and y to have same length")
    order = deg + 1
    tolerance = at.size * float(dtypes.finfo(at.dtype).eps) if rcond is None else rcond
    matrix = vander(at, order)
    if w is not None:
        weight = as_array("polyfit", w)
        if weight.shape != at.shape:
            raise TypeError("expected w and y to have the same length")
        column = ops.reshape(convert(weight, matrix.dtype), new_sizes=(weight.size, 1))
        matrix = multiply(matrix, column)
        values = multiply(values, column if values.ndim == 2 else convert(weight, values.dtype))
    # Columns of one length make the system better conditioned.
    scale = sqrt(sum_of(ops.square(matrix), 0))
    matrix = divide(matrix, scale)
    c, residuals, rank, singular = jnp.linalg.lstsq(matrix, values, tolerance)
    c = divide(c, scale if c.ndim == 1 else ops.reshape(scale, new_sizes=(order, 1)))
    if full:
        return c, residuals, rank, singular, as_array("polyfit", tolerance)
    if not cov:
        return c
    inverse = jnp.linalg.inv(dot(transpose(matrix), matrix))
    inverse = divide(inverse, outer(scale, scale))
    if cov == "unscaled":
        return c, inverse
    if at.shape[0] <= order:
        raise ValueError("the number of data points must exceed order to scale the covariance.")
    factor = divide(residuals, at.shape[0] - order)
    if values.ndim == 1:
        return c, multiply(inverse, factor)
    return c, multiply(ops.reshape(inverse, new_sizes=(order, order, 1)), factor)
