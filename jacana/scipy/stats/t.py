"""Student's t distribution with df degrees of freedom."""

from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.scipy import special
from jacana.scipy.special.operands import floats


@jit
def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density at x."""
    x, df, loc, scale = floats("t.logpdf", x, df, loc, scale)
    z = (x - loc) / scale
    ratio = special.gammaln((df + 1) / 2) - special.gammaln(df / 2)
    norm = 0.5 * jnp.log(np.pi * df) + jnp.log(scale)
    return ratio - norm - (df + 1) / 2 * jnp.log1p(jnp.square(z) / df)


@jit
def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density at x."""
    return jnp.exp(logpdf(x, df, loc, scale))
