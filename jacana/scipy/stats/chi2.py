"""The chi-squared distribution with df degrees of freedom."""

from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.scipy import special
from jacana.scipy.special.operands import floats


def standard(name: str, x: Any, df: Any, loc: Any, scale: Any) -> tuple[Any, ...]:
    """Distance from loc in units of scale, 0 below; whether x is below; df; scale."""
    x, df, loc, scale = floats(f"chi2.{name}", x, df, loc, scale)
    z = (x - loc) / scale
    below = z < 0
    return jnp.where(below, 0, z), below, df, scale


@jit
def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x; -inf below loc."""
    z, below, df, scale = standard("logpdf", x, df, loc, scale)
    half = df / 2
    value = special.xlogy(half - 1, z) - z / 2 - special.gammaln(half) - half * np.log(2).item()
    return jnp.where(below, -np.inf, value - jnp.log(scale))


@jit
def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x."""
    return jnp.exp(logpdf(x, df, loc, scale))


@jit
def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of less than x."""
    z, _, df, _ = standard("cdf", x, df, loc, scale)
    return special.gammainc(df / 2, z / 2)


@jit
def logcdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of less than x."""
    return jnp.log(cdf(x, df, loc, scale))


@jit
def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x."""
    z, _, df, _ = standard("sf", x, df, loc, scale)
    return special.gammaincc(df / 2, z / 2)


@jit
def logsf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the probability of more than x."""
    return jnp.log(sf(x, df, loc, scale))
