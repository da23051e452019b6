"""The Gumbel distribution of the largest of many numbers."""

from typing import Any

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.nn.activations import log1mexp
from jacana.scipy.special.operands import floats


def standard(name: str, x: Any, loc: Any, scale: Any) -> tuple[Any, Any]:
    x, loc, scale = floats(f"gumbel_r.{name}", x, loc, scale)
    return (x - loc) / scale, scale


@jit
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x."""
    z, scale = standard("logpdf", x, loc, scale)
    return -z - jnp.exp(-z) - jnp.log(scale)


@jit
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x."""
    return jnp.exp(logpdf(x, loc, scale))


@jit
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of less than x."""
    z, _ = standard("cdf", x, loc, scale)
    return jnp.exp(-jnp.exp(-z))


@jit
def logcdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of less than x."""
    z, _ = standard("logcdf", x, loc, scale)
    return -jnp.exp(-z)


@jit
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x."""
    z, _ = standard("sf", x, loc, scale)
    return -jnp.expm1(-jnp.exp(-z))


@jit
def logsf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of more than x."""
    z, _ = standard("logsf", x, loc, scale)
    return log1mexp(jnp.exp(-z))


@jit
def ppf(p: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of cdf; nan beyond 0 and 1."""
    p, loc, scale = floats("gumbel_r.ppf", p, loc, scale)
    return loc - scale * jnp.log(-jnp.log(p))
