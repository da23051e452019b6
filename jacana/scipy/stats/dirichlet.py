"""The Dirichlet distribution of weights alpha on the simplex."""

from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana.api.jit import jit
from jacana.scipy import special


@jit
def logpdf(x: Any, alpha: Any) -> Any:
    """The logarithm of the density at x; -inf off the simplex.

    x: numbers along its first axis, as many as alpha, or one fewer: the last is what is left.
    alpha: a vector of positive weights.
    """
    x, alpha = as_floats(x, alpha)
    if alpha.ndim != 1 or x.ndim == 0 or x.shape[0] not in (len(alpha), len(alpha) - 1):
        raise ValueError(
            f"`x` must have either the same number of entries as `alpha` or one entry fewer; got "
            f"x of shape {x.shape}, alpha of shape {alpha.shape}"
        )
    if x.shape[0] != len(alpha):
        x = jnp.concatenate([x, 1 - jnp.sum(x, 0, keepdims=True)])
    norm = jnp.sum(special.gammaln(alpha)) - special.gammaln(jnp.sum(alpha))
    weights = jnp.reshape(alpha, (-1,) + (1,) * (x.ndim - 1))
    on_simplex = jnp.all(x >= 0, 0) & (jnp.abs(jnp.sum(x, 0) - 1) < 1e-6)
    value = jnp.sum(special.xlogy(weights - 1, x), 0) - norm
    return jnp.where(on_simplex, value, -np.inf)


def as_floats(x: Any, alpha: Any) -> list[Any]:
    """Both in floating point, their shapes as they are."""
    return [jnp.asarray(v, jnp.result_type(float, x, alpha)) for v in (x, alpha)]


@jit
def pdf(x: Any, alpha: Any) -> Any:
    """The density at x."""
    return jnp.exp(logpdf(x, alpha))
