"""The normal distribution."""

import math
from typing import Any

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.scipy import special
from jacana.scipy.special.operands import floats

LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)


@jit
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x, for mean loc and standard deviation scale.

    >>> logpdf(np.float32(0))
    Array(-0.9189385, dtype=float32)
    """
    x, loc, scale = floats("norm.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return -0.5 * jnp.square(z) - (jnp.log(scale) + LOG_ROOT_TWO_PI)


@jit
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x."""
    return jnp.exp(logpdf(x, loc, scale))


@jit
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of less than x."""
    x, loc, scale = floats("norm.cdf", x, loc, scale)
    return special.ndtr((x - loc) / scale)


@jit
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of less than x, accurate in the tail."""
    x, loc, scale = floats("norm.logcdf", x, loc, scale)
    return special.log_ndtr((x - loc) / scale)


@jit
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x."""
    x, loc, scale = floats("norm.sf", x, loc, scale)
    return special.ndtr((loc - x) / scale)


@jit
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of more than x, accurate in the tail."""
    x, loc, scale = floats("norm.logsf", x, loc, scale)
    return special.log_ndtr((loc - x) / scale)


@jit
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The number that is exceeded with probability 1 - q: the inverse of cdf."""
    q, loc, scale = floats("norm.ppf", q, loc, scale)
    return special.ndtri(q) * scale + loc


@jit
def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The number that is exceeded with probability q: the inverse of sf."""
    q, loc, scale = floats("norm.isf", q, loc, scale)
    return loc - special.ndtri(q) * scale
