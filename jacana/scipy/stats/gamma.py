"""The gamma distribution of shape a."""

from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.scipy import special
from jacana.scipy.special.operands import floats


def standard(name: str, x: Any, a: Any, loc: Any, scale: Any) -> tuple[Any, ...]:
    """Distance from loc in units of scale, 0 below; whether x is below; a; scale."""
    x, a, loc, scale = floats(f"gamma.{name}", x, a, loc, scale)
    z = (x - loc) / scale
    below = z < 0
    return jnp.where(below, 0, z), below, a, scale


@jit
def logpdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x; -inf below loc."""
    z, below, a, scale = standard("logpdf", x, a, loc, scale)
    value = special.xlogy(a - 1, z) - z - special.gammaln(a)
    return jnp.where(below, -np.inf, value - jnp.log(scale))


@jit
def pdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x."""
    return jnp.exp(logpdf(x, a, loc, scale))


@jit
def cdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of less than x."""
    z, _, a, _ = standard("cdf", x, a, loc, scale)
    return special.gammainc(a, z)


@jit
def logcdf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of less than x."""
    return jnp.log(cdf(x, a, loc, scale))


@jit
def sf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x."""
    z, _, a, _ = standard("sf", x, a, loc, scale)
    return special.gammaincc(a, z)


@jit
def logsf(x: Any, a: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of more than x."""
    return jnp.log(sf(x, a, loc, scale))
