"""The exponential distribution, which begins at loc and has mean loc + scale."""

from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.nn.activations import log1mexp
from jacana.scipy.special.operands import floats


def standard(name: str, x: Any, loc: Any, scale: Any) -> tuple[Any, Any, Any]:
    """Distance from loc in units of scale, 0 below; whether x is below; scale."""
    x, loc, scale = floats(f"expon.{name}", x, loc, scale)
    z = (x - loc) / scale
    below = z < 0
    return jnp.where(below, 0, z), below, scale


@jit
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x; -inf below loc."""
    z, below, scale = standard("logpdf", x, loc, scale)
    return jnp.where(below, -np.inf, -z - jnp.log(scale))


@jit
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x."""
    return jnp.exp(logpdf(x, loc, scale))


@jit
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of less than x."""
    z, _, _ = standard("cdf", x, loc, scale)
    return -jnp.expm1(-z)


@jit
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of less than x."""
    z, below, _ = standard("logcdf", x, loc, scale)
    return jnp.where(below, -np.inf, log1mexp(z))


@jit
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x."""
    return jnp.exp(logsf(x, loc, scale))


@jit
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of more than x."""
    z, _, _ = standard("logsf", x, loc, scale)
    return -z


@jit
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of cdf; nan beyond 0 and 1."""
    q, loc, scale = floats("expon.ppf", q, loc, scale)
    outside = (q < 0) | (q > 1)
    return jnp.where(outside, np.nan, loc - scale * jnp.log1p(-jnp.where(outside, 0, q)))
