"""The Bernoulli distribution: 1 with probability p, else 0."""

from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.scipy import special
from jacana.scipy.special.operands import floats


@jit
def logpmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k; -inf unless k - loc is 0 or 1."""
    k, p, loc = floats("bernoulli.logpmf", k, p, loc)
    x = k - loc
    value = special.xlogy(x, p) + special.xlog1py(1 - x, -p)
    return jnp.where((x == 0) | (x == 1), value, -np.inf)


@jit
def pmf(k: Any, p: Any, loc: Any = 0) -> Any:
    """The probability of k."""
    return jnp.exp(logpmf(k, p, loc))


@jit
def cdf(k: Any, p: Any) -> Any:
    """The probability of at most k; nan unless p is a probability."""
    k, p = floats("bernoulli.cdf", k, p)
    value = jnp.where(k < 0, 0, jnp.where(k < 1, 1 - p, 1))
    return jnp.where(jnp.isnan(k) | jnp.isnan(p) | (p < 0) | (p > 1), np.nan, value)


@jit
def ppf(q: Any, p: Any) -> Any:
    """The smallest k of which cdf is at least q; nan unless both are probabilities."""
    q, p = floats("bernoulli.ppf", q, p)
    invalid = jnp.isnan(q) | jnp.isnan(p) | (p < 0) | (p > 1) | (q < 0) | (q > 1)
    return jnp.where(invalid, np.nan, jnp.where(q <= 1 - p, 0, 1))
