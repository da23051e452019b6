"""The Cauchy distribution wrapped around the circle, angles 0 .. 2 pi."""

from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.scipy.special.operands import floats


@jit
def logpdf(x: Any, c: Any) -> Any:
    """The logarithm of the density at x; -inf outside the circle, nan unless 0 < c < 1."""
    x, c = floats("wrapcauchy.logpdf", x, c)
    valid = (c > 0) & (c < 1)
    inside = (x >= 0) & (x <= 2 * np.pi)
    square = jnp.square(c)
    value = jnp.log1p(-square) - np.log(2 * np.pi).item()
    value = value - jnp.log(1 + square - 2 * c * jnp.cos(x))
    return jnp.where(valid, jnp.where(inside, value, -np.inf), np.nan)


@jit
def pdf(x: Any, c: Any) -> Any:
    """The density at x."""
    return jnp.exp(logpdf(x, c))
