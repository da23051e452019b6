"""The Cauchy distribution."""

from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.scipy.special.operands import floats


def standard(name: str, x: Any, loc: Any, scale: Any) -> tuple[Any, Any]:
    x, loc, scale = floats(f"cauchy.{name}", x, loc, scale)
    return (x - loc) / scale, scale


def below(z: Any) -> Any:
    """The probability of less than z, accurate in the lower tail."""
    return jnp.arctan2(1, -z) / np.pi


@jit
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x."""
    z, scale = standard("logpdf", x, loc, scale)
    return -(jnp.log(np.pi * scale) + jnp.log1p(jnp.square(z)))


@jit
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x."""
    return jnp.exp(logpdf(x, loc, scale))


@jit
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of less than x."""
    return below(standard("cdf", x, loc, scale)[0])


@jit
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of less than x."""
    z, _ = standard("logcdf", x, loc, scale)
    upper = z > 0
    tail = jnp.log1p(-below(jnp.where(upper, -z, -1)))
    return jnp.where(upper, tail, jnp.log(below(jnp.where(upper, -1, z))))


@jit
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x."""
    return below(-standard("sf", x, loc, scale)[0])


@jit
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of more than x."""
    x, loc, scale = floats("cauchy.logsf", x, loc, scale)
    return logcdf(-x, -loc, scale)


@jit
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of cdf; nan beyond 0 and 1."""
    q, loc, scale = floats("cauchy.ppf", q, loc, scale)
    upper = q > 0.5
    tail = jnp.where(upper, 1 - q, q)
    inside = tail > 0
    near = tail > 0.25
    angle = np.pi * jnp.where(inside & ~near, tail, 0.25)
    middle = jnp.tan(np.pi * (0.5 - jnp.where(near, tail, 0.5)))
    size = jnp.where(near, middle, jnp.cos(angle) / jnp.sin(angle))
    size = jnp.where(inside, size, jnp.where(tail == 0, np.inf, np.nan))
    return loc + scale * jnp.where(upper, size, -size)


@jit
def isf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of sf; nan beyond 0 and 1."""
    q, loc, scale = floats("cauchy.isf", q, loc, scale)
    return -ppf(q, -loc, scale)
