"""Logistic functions, products with logarithms, entropies and power transforms."""

from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana import ops
from jacana.api.custom import custom_jvp
from jacana.api.jit import jit
from jacana.numpy.promotion import literal
from jacana.scipy.special.operands import floats


@jit
def expit(x: Any) -> Any:
    """1 / (1 + exp(-x)).

    >>> expit(np.float32([0, 2]))
    Array([0.5      , 0.8807971], dtype=float32)
    """
    return ops.logistic(*floats("expit", x))


@jit
def logit(x: Any) -> Any:
    """log(x / (1 - x)), the inverse of expit; nan beyond 0 and 1.

    >>> logit(np.float32([0, 0.5, 0.75]))
    Array([     -inf, 0.       , 1.0986123], dtype=float32)
    """
    (x,) = floats("logit", x)
    # Around 1/2 the logarithms cancel.
    middle = (x > 0.25) & (x < 0.75)
    near = 2 * jnp.arctanh(2 * jnp.where(middle, x, 0.5) - 1)
    return jnp.where(middle, near, jnp.log(x) - jnp.log1p(-x))


# --- products with logarithms ---------------------------------------------------------------------


@jit
def xlogy(x: Any, y: Any) -> Any:
    """x * log(y), and 0 for x = 0 unless y is nan.

    Where x = 0 and the logarithm is not finite both derivatives are 0.

    >>> xlogy(np.float32([0, 2]), np.float32([0, 1]))
    Array([0., 0.], dtype=float32)
    """
    x, y = floats("xlogy", x, y)
    nothing = (x == 0) & ((y <= 0) | (y == np.inf))
    return x * jnp.log(jnp.where(nothing, 1, y))


@jit
def xlog1py(x: Any, y: Any) -> Any:
    """x * log1p(y), and 0 for x = 0 unless y is nan.

    Where x = 0 and the logarithm is not finite both derivatives are 0.

    >>> xlog1py(np.float32([0, 2]), np.float32([-1, 0]))
    Array([0., 0.], dtype=float32)
    """
    x, y = floats("xlog1py", x, y)
    nothing = (x == 0) & ((y <= -1) | (y == np.inf))
    return x * jnp.log1p(jnp.where(nothing, 0, y))


@custom_jvp
def _xlogx(x: Any) -> Any:
    return x * jnp.log(jnp.where(x == 0, 1, x))


@_xlogx.defjvp
def _xlogx_jvp(primals: Any, tangents: Any) -> Any:
    # The slope is infinite at 0, where the plain derivative would have 0.
    return _xlogx(*primals), tangents[0] * (jnp.log(primals[0]) + 1)


@jit
def entr(x: Any) -> Any:
    """-x * log(x), 0 at 0, -inf below. Its derivative at 0 is infinite.

    >>> entr(np.float32([-1, 0, 0.5]))
    Array([     -inf, 0.       , 0.3465736], dtype=float32)
    """
    (x,) = floats("entr", x)
    negative = x < 0
    return jnp.where(negative, -np.inf, 0 - _xlogx(jnp.where(negative, 1, x)))


@jit
def rel_entr(p: Any, q: Any) -> Any:
    """p * log(p / q) for positive p and q, 0 for p = 0 <= q, else inf.

    >>> rel_entr(np.float32([0, 2, 1]), np.float32([1, 1, 0]))
    Array([0.       , 1.3862944,       inf], dtype=float32)
    """
    p, q = floats("rel_entr", p, q)
    both = (p > 0) & (q > 0)
    none = (p == 0) & (q >= 0)
    undefined = jnp.isnan(p) | jnp.isnan(q)
    a, b = jnp.where(both, p, 1), jnp.where(both, q, 1)
    # Close numbers would cancel; for others the quotient might overflow.
    close = jnp.abs(a - b) < 0.5 * b
    near = jnp.log1p(jnp.where(close, a - b, 0) / b)
    value = a * jnp.where(close, near, jnp.log(a) - jnp.log(b))
    rest = jnp.where(none, 0, jnp.where(undefined, np.nan, np.inf))
    return jnp.where(both, value, rest)


@jit
def kl_div(p: Any, q: Any) -> Any:
    """rel_entr(p, q) - p + q, which is never negative.

    >>> kl_div(np.float32([0, 1]), np.float32([1, 1]))
    Array([1., 0.], dtype=float32)
    """
    p, q = floats("kl_div", p, q)
    return rel_entr(p, q) - p + q


# --- power transforms -----------------------------------------------------------------------------


def exprel(x: Any) -> Any:
    """(exp(x) - 1) / x, and 1 at 0; smooth there to every order."""
    near = ops.lt(ops.abs(x), literal(0.03, x))
    t = jnp.where(near, x, 0)
    series = literal(1, x)
    for k in range(9, 1, -1):
        series = 1 + t / k * series
    safe = jnp.where(near, 1, x)
    return jnp.where(near, series, jnp.expm1(safe) / safe)


def _transformed(logarithm: Any, power: Any) -> Any:
    """(exp(power * logarithm) - 1) / power, with its limits."""
    product = power * logarithm
    finite = jnp.isfinite(logarithm)
    value = logarithm * exprel(jnp.where(finite, product, 0))
    # At x = 0 the logarithm is -inf: the power is 0 or infinite.
    limit = jnp.where(power > 0, -1 / jnp.where(power > 0, power, 1), -np.inf)
    return jnp.where(logarithm == -np.inf, limit, value)


@jit
def boxcox(x: Any, lmbda: Any) -> Any:
    """(x**lmbda - 1) / lmbda, and log(x) for lmbda = 0; nan for negative x.

    >>> boxcox(np.float32(4), np.float32([0, 0.5]))
    Array([1.3862944, 2.       ], dtype=float32)
    """
    x, lmbda = floats("boxcox", x, lmbda)
    return _transformed(jnp.log(x), lmbda)


@jit
def boxcox1p(x: Any, lmbda: Any) -> Any:
    """boxcox(1 + x, lmbda), accurate for small x.

    >>> boxcox1p(np.float32(3), np.float32([0, 0.5]))
    Array([1.3862944, 2.       ], dtype=float32)
    """
    x, lmbda = floats("boxcox1p", x, lmbda)
    return _transformed(jnp.log1p(x), lmbda)
