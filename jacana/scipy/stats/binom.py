"""The binomial distribution: how many of n succeed, each with probability p."""

from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.scipy import special
from jacana.scipy.special.operands import floats


@jit
def logpmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k; -inf outside loc .. loc + n."""
    k, n, p, loc = floats("binom.logpmf", k, n, p, loc)
    y = k - loc
    outside = (y < 0) | (y > n)
    y = jnp.where(outside, 0, y)
    ways = special.gammaln(n + 1) - special.gammaln(y + 1) - special.gammaln(n - y + 1)
    value = ways + special.xlogy(y, p) + special.xlog1py(n - y, -p)
    return jnp.where(outside, -np.inf, value)


@jit
def pmf(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k."""
    return jnp.exp(logpmf(k, n, p, loc))
