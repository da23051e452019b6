"""The logistic distribution."""

from typing import Any

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.nn.activations import softplus
from jacana.scipy import special
from jacana.scipy.special.operands import floats


@jit
def logpdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x."""
    x, loc, scale = floats("logistic.logpdf", x, loc, scale)
    z = (x - loc) / scale
    return -softplus(z) - softplus(-z) - jnp.log(scale)


@jit
def pdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x."""
    return jnp.exp(logpdf(x, loc, scale))


@jit
def cdf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of less than x."""
    x, loc, scale = floats("logistic.cdf", x, loc, scale)
    return special.expit((x - loc) / scale)


@jit
def sf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of more than x."""
    x, loc, scale = floats("logistic.sf", x, loc, scale)
    return special.expit((loc - x) / scale)


@jit
def ppf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of cdf."""
    x, loc, scale = floats("logistic.ppf", x, loc, scale)
    return special.logit(x) * scale + loc


@jit
def isf(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The inverse of sf."""
    x, loc, scale = floats("logistic.isf", x, loc, scale)
    return loc - special.logit(x) * scale
