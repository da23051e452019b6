"""The beta distribution of shapes a and b on loc .. loc + scale."""

from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.scipy import special
from jacana.scipy.special.operands import floats


def standard(name: str, x: Any, a: Any, b: Any, loc: Any, scale: Any) -> tuple[Any, ...]:
    """x in the unit interval, limited to it; whether it is outside; a; b; scale."""
    x, a, b, loc, scale = floats(f"beta.{name}", x, a, b, loc, scale)
    z = (x - loc) / scale
    outside = (z < 0) | (z > 1)
    return jnp.where(z < 0, 0, jnp.where(z > 1, 1, z)), outside, a, b, scale


@jit
def logpdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x; -inf outside the interval."""
    z, outside, a, b, scale = standard("logpdf", x, a, b, loc, scale)
    z = jnp.where(outside, 0.5, z)
    value = special.xlogy(a - 1, z) + special.xlog1py(b - 1, -z) - special.betaln(a, b)
    return jnp.where(outside, -np.inf, value - jnp.log(scale))


@jit
def pdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x."""
    return jnp.exp(logpdf(x, a, b, loc, scale))


@jit
def cdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of less than x."""
    z, _, a, b, _ = standard("cdf", x, a, b, loc, scale)
    return special.betainc(a, b, z)


@jit
def logcdf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of less than x."""
    return jnp.log(cdf(x, a, b, loc, scale))


@jit
def sf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x."""
    z, _, a, b, _ = standard("sf", x, a, b, loc, scale)
    return special.betainc(b, a, 1 - z)


@jit
def logsf(x: Any, a: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of more than x."""
    return jnp.log(sf(x, a, b, loc, scale))
