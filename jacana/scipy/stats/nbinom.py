"""The negative binomial distribution: failures before n successes of probability p."""

from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.scipy import special
from jacana.scipy.special.operands import floats


@jit
def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k; -inf below loc."""
    k, n, p, loc = floats("nbinom.logpmf", k, n, p, loc)
    y = k - loc
    below = y < 0
    y = jnp.where(below, 0, y)
    ways = special.gammaln(y + n) - special.gammaln(n) - special.gammaln(y + 1)
    value = ways + special.xlogy(n, p) + special.xlog1py(y, -p)
    return jnp.where(below, -np.inf, value)


@jit
def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k."""
    return jnp.exp(logpmf(k, n, p, loc))
