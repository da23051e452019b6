"""The uniform distribution on loc .. loc + scale."""

from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.scipy.special.operands import floats


@jit
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x: -log(scale) inside, -inf outside."""
    x, loc, scale = floats("uniform.logpdf", x, loc, scale)
    outside = (x < loc) | (x > loc + scale)
    return jnp.where(jnp.isnan(x), x, jnp.where(outside, -np.inf, -jnp.log(scale)))


@jit
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x."""
    return jnp.exp(logpdf(x, loc, scale))


@jit
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of less than x."""
    x, loc, scale = floats("uniform.cdf", x, loc, scale)
    below, above = x <= loc, x >= loc + scale
    return jnp.where(below, 0, jnp.where(above, 1, (x - loc) / scale))


@jit
def ppf(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of cdf; nan beyond 0 and 1."""
    q, loc, scale = floats("uniform.ppf", q, loc, scale)
    outside = jnp.isnan(q) | (q < 0) | (q > 1)
    return jnp.where(outside, np.nan, loc + scale * jnp.where(outside, 0, q))
