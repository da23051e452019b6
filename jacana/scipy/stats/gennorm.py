"""The generalized normal distribution of exponent beta."""

from typing import Any

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.scipy import special
from jacana.scipy.special.operands import floats


@jit
def logpdf(x: Any, beta: Any) -> Any:
    """The logarithm of the density at x."""
    x, beta = floats("gennorm.logpdf", x, beta)
    return jnp.log(0.5 * beta) - special.gammaln(1 / beta) - jnp.abs(x) ** beta


@jit
def pdf(x: Any, beta: Any) -> Any:
    """The density at x."""
    return jnp.exp(logpdf(x, beta))


@jit
def cdf(x: Any, beta: Any) -> Any:
    """The probability of less than x."""
    x, beta = floats("gennorm.cdf", x, beta)
    tail = 0.5 * special.gammaincc(1 / beta, jnp.abs(x) ** beta)
    return jnp.where(x < 0, tail, 1 - tail)
