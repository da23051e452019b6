"""The binomial distribution whose probability has a beta distribution."""

from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.scipy import special
from jacana.scipy.special.operands import floats


@jit
def logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k; -inf outside, nan for bad n, a or b."""
    k, n, a, b, loc = floats("betabinom.logpmf", k, n, a, b, loc)
    y = jnp.floor(k) - loc
    outside = (y < 0) | (y > n)
    y = jnp.where(outside, 0, y)
    ways = -jnp.log1p(n) - special.betaln(n - y + 1, y + 1)
    value = ways + special.betaln(y + a, n - y + b) - special.betaln(a, b)
    value = jnp.where(outside, -np.inf, value)
    return jnp.where((n < 0) | (a < 0) | (b < 0), np.nan, value)


@jit
def pmf(k: Any, n: Any, a: Any, b: Any, loc: Any = 0) -> Any:
    """The probability of k."""
    return jnp.exp(logpmf(k, n, a, b, loc))
