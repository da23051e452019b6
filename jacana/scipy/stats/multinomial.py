"""The multinomial distribution: how often each outcome, of probability p, occurs."""

from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.scipy import special


@jit
def logpmf(x: Any, n: Any, p: Any) -> Any:
    """The logarithm of the probability of the counts x of n; -inf if they are not n in all.

    Outcomes are along the last axis of x and p.
    """
    p, x, n = floats_of(p, x, n)
    right = jnp.equal(jnp.sum(x, -1), n)
    terms = special.xlogy(x, p) - special.gammaln(x + 1)
    return jnp.where(right, special.gammaln(n + 1) + jnp.sum(terms, -1), -np.inf)


def floats_of(*xs: Any) -> list[Any]:
    """All in one floating-point dtype, their shapes as they are."""
    return [jnp.asarray(v, jnp.result_type(*xs, float)) for v in xs]


@jit
def pmf(x: Any, n: Any, p: Any) -> Any:
    """The probability of the counts x of n."""
    return jnp.exp(logpmf(x, n, p))
