"""The Laplace distribution: exponential to both sides of loc."""

from typing import Any

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.scipy.special.operands import floats


@jit
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x."""
    x, loc, scale = floats("laplace.logpdf", x, loc, scale)
    return -jnp.abs(x - loc) / scale - jnp.log(2 * scale)


@jit
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x."""
    return jnp.exp(logpdf(x, loc, scale))


@jit
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of less than x."""
    x, loc, scale = floats("laplace.cdf", x, loc, scale)
    z = (x - loc) / scale
    below = z <= 0
    tail = 0.5 * jnp.exp(jnp.where(below, z, -z))
    return jnp.where(below, tail, 1 - tail)
