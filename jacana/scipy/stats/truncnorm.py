"""The normal distribution of mean loc and deviation scale, cut to a .. b deviations."""

from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.nn.activations import log1mexp
from jacana.scipy import special
from jacana.scipy.special.operands import floats
from jacana.scipy.stats import norm


def log_mass(a: Any, b: Any) -> Any:
    """The logarithm of a standard normal number's probability of a .. b, for a < b."""
    # Mirrored so that the larger part of the interval is below 0, where the logarithm is exact.
    mirrored = a + b > 0
    low, high = jnp.where(mirrored, -b, a), jnp.where(mirrored, -a, b)
    upper = special.log_ndtr(high)
    gap = upper - special.log_ndtr(low)
    return upper + log1mexp(gap)


def standard(name: str, x: Any, a: Any, b: Any, loc: Any, scale: Any) -> tuple[Any, ...]:
    x, a, b, loc, scale = floats(f"truncnorm.{name}", x, a, b, loc, scale)
    return (x - loc) / scale, a, b, scale


@jit
def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x; -inf outside, nan unless a < b."""
    z, a, b, scale = standard("logpdf", x, a, b, loc, scale)
    outside = (z < a) | (z > b)
    z = jnp.where(outside, a, z)
    value = norm.logpdf(z) - log_mass(a, b) - jnp.log(scale)
    return jnp.where(a >= b, np.nan, jnp.where(outside, -np.inf, value))


@jit
def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x."""
    return jnp.exp(logpdf(x, a, b, loc, scale))


@jit
def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of less than x."""
    z, a, b, _ = standard("logcdf", x, a, b, loc, scale)
    inside = (z > a) & (z < b)
    value = log_mass(a, jnp.where(inside, z, b)) - log_mass(a, b)
    value = jnp.where(inside, value, jnp.where(z >= b, 0, jnp.where(z <= a, -np.inf, np.nan)))
    return jnp.where(a >= b, np.nan, value)


@jit
def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of less than x."""
    return jnp.exp(logcdf(x, a, b, loc, scale))


@jit
def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of more than x."""
    x, a, b, loc, scale = floats("truncnorm.logsf", x, a, b, loc, scale)
    return logcdf(-x, -b, -a, -loc, scale)


@jit
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x."""
    return jnp.exp(logsf(x, a, b, loc, scale))
