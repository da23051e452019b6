"""The von Mises distribution of angles around 0, of concentration kappa."""

from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.scipy import special
from jacana.scipy.special.operands import floats


@jit
def logpdf(x: Any, kappa: Any) -> Any:
    """The logarithm of the density at x; nan for negative kappa."""
    x, kappa = floats("vonmises.logpdf", x, kappa)
    value = kappa * (jnp.cos(x) - 1) - jnp.log(2 * np.pi * special.i0e(kappa))
    return jnp.where(kappa >= 0, value, np.nan)


@jit
def pdf(x: Any, kappa: Any) -> Any:
    """The density at x."""
    return jnp.exp(logpdf(x, kappa))
