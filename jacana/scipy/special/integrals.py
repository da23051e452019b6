"""Exponential integrals, by series near 0 and continued fractions beyond."""

from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana import ops
from jacana.api.jit import jit
from jacana.scipy.special.operands import floats

EULER = 0.57721566490153286061


def by_fraction(n: Any, x: Any, levels: int = 60) -> Any:
    """E_n(x) for x of 1.5 and more: exp(-x) / (x + n - n / (x + n + 2 - 2 (n + 1) / ...))."""
    tail = x + n + 2 * levels
    for k in range(levels, 0, -1):
        tail = x + n + 2 * (k - 1) - k * (n + k - 1) / tail
    return jnp.exp(-x) / tail


def by_series(n: Any, x: Any, terms: int = 36) -> Any:
    """E_n(x) for 0 < x below 1.5 and integers n >= 1."""
    # The term of power n - 1 has a logarithm in place of its quotient.
    total = 0 * x
    power = 0 * x + 1
    for m in range(terms):
        if m:
            power = power * (-x / m)
        is_it = n == m + 1
        quotient = m - n + 1
        term = power / jnp.where(is_it, 1, -quotient)
        total = total + jnp.where(is_it, power * (ops.digamma(n) - jnp.log(x)), term)
    return total


@jit
def expn(n: Any, x: Any) -> Any:
    """E_n(x), the integral of exp(-x t) / t**n over t from 1, for integers n >= 0.

    nan for negative x or n. Its derivative in x is -E_(n - 1)(x).

    >>> expn(2, np.float32(1.5))
    Array(0.07310079, dtype=float32)
    """
    n, x = floats("expn", n, x)
    far = x >= 1.5
    first = jnp.where(n < 1, 1, n)
    series = by_series(first, jnp.where(far | (x <= 0), 1, x))
    value = jnp.where(far, by_fraction(first, jnp.where(far, x, 2)), series)
    positive = jnp.where(x > 0, x, 1)
    value = jnp.where(n == 0, jnp.exp(-positive) / positive, value)
    at_zero = jnp.where(n > 1, 1 / jnp.where(n > 1, n - 1, 1), np.inf)
    value = jnp.where(x == 0, at_zero, value)
    value = jnp.where(x == np.inf, 0, value)
    return jnp.where((x >= 0) & (n >= 0), value, np.nan)


def exp1(x: Any) -> Any:
    """E_1(x), the integral of exp(-t) / t from x; nan for negative x.

    >>> exp1(np.float32(0.5))
    Array(0.55977356, dtype=float32)
    """
    return expn(1, x)


@jit
def expi(x: Any) -> Any:
    """Ei(x), the principal value of the integral of exp(t) / t up to x; -E_1(-x) below 0.

    >>> expi(np.float32([-1, 0.5]))
    Array([-0.21938393,  0.45421994], dtype=float32)
    """
    (x,) = floats("expi", x)
    negative = x < 0
    below = -expn(1, jnp.where(negative, -x, 1))
    far = x > 40
    y = jnp.where(negative | far | (x == 0), 1, x)
    series = 0 * y + 1
    # The sum of y**k / (k k!), whose terms are those of the exponential series.
    for k in range(120, 0, -1):
        series = 1 / k + y / (k + 1) * series if k < 120 else 1 / k + 0 * y
    near = EULER + jnp.log(y) + y * series
    inverse = 1 / jnp.where(far, x, 41)
    asymptotic = 0 * inverse + 1
    for k in range(36, 0, -1):
        asymptotic = 1 + k * inverse * asymptotic
    beyond = jnp.exp(x) * inverse * asymptotic
    value = jnp.where(far, beyond, jnp.where(x == 0, -np.inf, near))
    value = jnp.where(jnp.isinf(x) & (x > 0), np.inf, value)
    return jnp.where(negative, below, value)
