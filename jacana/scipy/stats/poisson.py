"""The Poisson distribution of mean mu."""

from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.scipy import special
from jacana.scipy.special.operands import floats


@jit
def logpmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The logarithm of the probability of k; -inf below loc and between integers."""
    k, mu, loc = floats("poisson.logpmf", k, mu, loc)
    x = k - loc
    outside = (x < 0) | (x != jnp.floor(x))
    x = jnp.where(outside, 0, x)
    return jnp.where(outside, -np.inf, special.xlogy(x, mu) - special.gammaln(x + 1) - mu)


@jit
def pmf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of k."""
    return jnp.exp(logpmf(k, mu, loc))


@jit
def cdf(k: Any, mu: Any, loc: Any = 0) -> Any:
    """The probability of at most k."""
    k, mu, loc = floats("poisson.cdf", k, mu, loc)
    x = k - loc
    below = x < 0
    value = special.gammaincc(jnp.floor(jnp.where(below, 0, x)) + 1, mu)
    return jnp.where(below, 0, value)


@jit
def entropy(mu: Any, loc: Any = 0) -> Any:
    """The entropy in nats; nan for negative mu.

    Up to a mean of 100 it is a sum, beyond an asymptotic series, with an error below 2e-9.
    """
    (mu, _) = floats("poisson.entropy", mu, loc)
    large = mu > 100
    low = jnp.expand_dims(jnp.where(large, 1, mu), -1)
    k = jnp.arange(250, dtype=mu.dtype)
    terms = special.xlogy(k, low) - special.gammaln(k + 1) - low
    total = -jnp.sum(jnp.exp(terms) * terms, -1, where=jnp.isfinite(terms))
    u = 1 / jnp.where(large, mu, 100)
    series = 0.5 * jnp.log(2 * np.pi * np.e / u) - u / 12 - u**2 / 24 - 19 * u**3 / 360
    return jnp.where(mu < 0, np.nan, jnp.where(large, series, total))
