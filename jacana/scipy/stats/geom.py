"""The geometric distribution: the number of the first success, each of probability p."""

from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.scipy import special
from jacana.scipy.special.operands import floats


@jit
def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k; -inf below loc + 1."""
    k, p, loc = floats("geom.logpmf", k, p, loc)
    x = k - loc
    below = x <= 0
    value = special.xlog1py(jnp.where(below, 0, x - 1), -p) + jnp.log(p)
    return jnp.where(below, -np.inf, value)


@jit
def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k."""
    return jnp.exp(logpmf(k, p, loc))
