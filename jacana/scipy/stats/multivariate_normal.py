"""The multivariate normal distribution."""

import math
from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana import lax
from jacana.api.jit import jit


@jit
def logpdf(x: Any, mean: Any, cov: Any, allow_singular: None = None) -> Any:
    """The logarithm of the density at x, vectors along its last axis.

    mean: a number, or vectors along its last axis. cov: a variance, or matrices along the last two
    axes; nan unless they are symmetric and positive definite. Axes before these broadcast.
    """
    if allow_singular is not None:
        raise NotImplementedError("allow_singular argument of multivariate_normal.logpdf")
    dtype = jnp.result_type(x, mean, cov, float)
    x, mean, cov = (jnp.asarray(v, dtype) for v in (x, mean, cov))
    if not mean.shape:
        log_variance = jnp.log(2 * np.pi * cov)
        return -0.5 * jnp.square(x - mean) / cov - 0.5 * log_variance
    n = mean.shape[-1]
    if not cov.shape:
        square = jnp.sum(jnp.square(x - mean), -1) / cov
        return -0.5 * square - n / 2 * jnp.log(2 * np.pi * cov)
    if cov.ndim < 2 or cov.shape[-2:] != (n, n):
        raise ValueError(
            f"multivariate_normal.logpdf got incompatible shapes: mean {mean.aval}, cov {cov.aval}."
        )
    lower = lax.linalg.cholesky(cov)
    distance = whitened(lower, x - mean)
    size = jnp.sum(jnp.log(jnp.diagonal(lower, axis1=-1, axis2=-2)), -1)
    return -0.5 * jnp.sum(jnp.square(distance), -1) - n / 2 * math.log(2 * math.pi) - size


def whitened(lower: Any, difference: Any) -> Any:
    """The solution y of lower y = difference, both broadcast along leading axes."""
    n = lower.shape[-1]
    lead = jnp.broadcast_shapes(lower.shape[:-2], difference.shape[:-1])
    lower = jnp.broadcast_to(lower, (*lead, n, n))
    difference = jnp.broadcast_to(difference, (*lead, n))
    right = jnp.expand_dims(difference, -1)
    solved = lax.linalg.triangular_solve(lower, right, left_side=True, lower=True)
    return jnp.squeeze(solved, -1)


@jit
def pdf(x: Any, mean: Any, cov: Any) -> Any:
    """The density at x."""
    return jnp.exp(logpdf(x, mean, cov))
