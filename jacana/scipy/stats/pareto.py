"""The Pareto distribution of exponent b, which begins at loc + scale."""

from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.nn.activations import log1mexp
from jacana.scipy.special.operands import floats


def standard(name: str, x: Any, b: Any, loc: Any, scale: Any) -> tuple[Any, ...]:
    """log((x - loc) / scale), 0 where that is below; whether it is; b; scale."""
    x, b, loc, scale = floats(f"pareto.{name}", x, b, loc, scale)
    z = (x - loc) / scale
    below = z < 1
    return jnp.log(jnp.where(below, 1, z)), below, b, scale


@jit
def logpdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x; -inf below loc + scale."""
    z, below, b, scale = standard("logpdf", x, b, loc, scale)
    return jnp.where(below, -np.inf, jnp.log(b / scale) - (b + 1) * z)


@jit
def pdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x."""
    return jnp.exp(logpdf(x, b, loc, scale))


@jit
def cdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of less than x."""
    z, _, b, _ = standard("cdf", x, b, loc, scale)
    return -jnp.expm1(-b * z)


@jit
def logcdf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of less than x."""
    z, below, b, _ = standard("logcdf", x, b, loc, scale)
    return jnp.where(below, -np.inf, log1mexp(b * z))


@jit
def sf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x."""
    return jnp.exp(logsf(x, b, loc, scale))


@jit
def logsf(x: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of more than x."""
    z, _, b, _ = standard("logsf", x, b, loc, scale)
    return -b * z


@jit
def ppf(q: Any, b: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of cdf; nan beyond 0 and 1."""
    q, b, loc, scale = floats("pareto.ppf", q, b, loc, scale)
    outside = (q < 0) | (q > 1)
    found = loc + scale * jnp.exp(-jnp.log1p(-jnp.where(outside, 0, q)) / b)
    return jnp.where(outside, np.nan, found)
