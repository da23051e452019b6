"""The gamma distribution, and those made of gamma numbers."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.numpy import elementwise as jnp
from jacana.numpy.promotion import broadcast_to
from jacana.numpy.reductions import max as max_of, sum as sum_of
from jacana.random.continuous import exponential_of
from jacana.random.keys import check_key, pair_of, split_of
from jacana.random.normal import normal_of, signs_of
from jacana.random.program import (
    Shape,
    batch_shape,
    canonical_shape,
    float_dtype,
    joint_shape,
    literal,
    parameter,
    program,
    spread,
)


def gamma(
    key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Gamma numbers of shape parameter a and scale 1; differentiable in a.

    For small a many of them are 0 in floating point: `loggamma` is not. `a` broadcasts to `shape`
    (its own shape by default). ValueError for dtypes that are not floating point.

    >>> from jacana.random import key
    >>> gamma(key(0), 2.0, (3,)).shape
    (3,)
    """
    check_key(key, "gamma")
    dtype = float_dtype(dtype, "gamma")
    a = parameter(a, dtype, "gamma")
    return _gamma(key, a, shape=joint_shape(shape, a), log_space=False)


def loggamma(
    key: Any, a: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Logarithms of gamma numbers, which do not underflow for small a."""
    check_key(key, "loggamma")
    dtype = float_dtype(dtype, "loggamma")
    a = parameter(a, dtype, "loggamma")
    return _gamma(key, a, shape=joint_shape(shape, a), log_space=True)


@program
def _gamma(key: Any, a: Any, *, shape: Shape, log_space: bool) -> Any:
    return gamma_of(key, a, shape, log_space)


def gamma_of(key: Any, a: Any, shape: Shape, log_space: bool = False) -> Any:
    """Gamma numbers, each from a key of its own, or their logarithms."""
    return ops.random_gamma(split_of(key, shape), spread(a, shape), log_space=log_space)


def chisquare(
    key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Chi-square numbers of df degrees of freedom."""
    check_key(key, "chisquare")
    df = parameter(df, float_dtype(dtype, "chisquare"), "chisquare")
    return _chisquare(key, df, shape=joint_shape(shape, df))


@program
def _chisquare(key: Any, df: Any, *, shape: Shape) -> Any:
    return chisquare_of(key, df, shape)


def chisquare_of(key: Any, df: Any, shape: Shape) -> Any:
    two = literal(2, df.dtype)
    return ops.mul(ops.exp(gamma_of(key, jnp.true_divide(df, two), shape, True)), two)


def t(key: Any, df: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Student's t numbers of df degrees of freedom."""
    check_key(key, "t")
    dtype = float_dtype(dtype, "t")
    df = parameter(df, dtype, "t")
    return _t(key, df, shape=joint_shape(shape, df), dtype=dtype)


@program
def _t(key: Any, df: Any, *, shape: Shape, dtype: Any) -> Any:
    normal_key, gamma_key = pair_of(key)
    half = jnp.true_divide(df, literal(2, dtype))
    ratio = jnp.true_divide(spread(half, shape), gamma_of(gamma_key, half, shape))
    return ops.mul(normal_of(normal_key, shape, dtype), ops.sqrt(ratio))


def f(
    key: Any,
    dfnum: Any,
    dfden: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """F numbers: the ratio of two chi-square numbers, each over its degrees of freedom."""
    check_key(key, "f")
    dtype = float_dtype(dtype, "f")
    given = [parameter(v, dtype, "f") for v in (dfnum, dfden)]
    return _f(key, *given, shape=joint_shape(shape, *given))


@program
def _f(key: Any, dfnum: Any, dfden: Any, *, shape: Shape) -> Any:
    den_key, num_key = pair_of(key)
    num, den = (
        jnp.true_divide(chisquare_of(k, df, shape), spread(df, shape))
        for k, df in ((num_key, dfnum), (den_key, dfden))
    )
    return ops.div(num, den)


def beta(
    key: Any, a: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Beta numbers, in (0, 1), of parameters a and b; differentiable in both."""
    check_key(key, "beta")
    dtype = float_dtype(dtype, "beta")
    given = [parameter(v, dtype, "beta") for v in (a, b)]
    return _beta(key, *given, shape=joint_shape(shape, *given))


@program
def _beta(key: Any, a: Any, b: Any, *, shape: Shape) -> Any:
    log_a, log_b = (gamma_of(k, v, shape, True) for k, v in zip(pair_of(key), (a, b), strict=True))
    larger = jnp.maximum(log_a, log_b)
    first, second = ops.exp(ops.sub(log_a, larger)), ops.exp(ops.sub(log_b, larger))
    return ops.div(first, ops.add(first, second))


def dirichlet(
    key: Any, alpha: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Vectors of positive numbers that sum to 1, of the concentrations along alpha's last axis.

    `shape` is the result's without that axis. ValueError if alpha is a scalar.
    """
    check_key(key, "dirichlet")
    dtype = float_dtype(dtype, "dirichlet")
    if np.ndim(alpha) < 1:
        raise ValueError(f"dirichlet requires alpha.ndim >= 1, got alpha.ndim == {np.ndim(alpha)}")
    alpha = parameter(alpha, dtype, "dirichlet")
    batch, last = alpha.shape[:-1], alpha.shape[-1:]
    return _dirichlet(key, alpha, shape=(*batch_shape(shape, batch), *last))


@program
def _dirichlet(key: Any, alpha: Any, *, shape: Shape) -> Any:
    logs = gamma_of(key, broadcast_to(alpha, shape), shape, True)
    powers = ops.exp(jnp.subtract(logs, max_of(logs, axis=-1, keepdims=True)))
    return jnp.true_divide(powers, sum_of(powers, axis=-1, keepdims=True))


def generalized_normal(
    key: Any, p: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Numbers whose density is proportional to exp(-|x|**p)."""
    check_key(key, "generalized_normal")
    dtype = float_dtype(dtype, "generalized_normal")
    p = parameter(p, dtype, "generalized_normal")
    return _generalized_normal(key, p, shape=canonical_shape(shape), dtype=dtype)


@program
def _generalized_normal(key: Any, p: Any, *, shape: Shape, dtype: Any) -> Any:
    return generalized_normal_of(key, p, shape, dtype)


def generalized_normal_of(key: Any, p: Any, shape: Shape, dtype: Any) -> Any:
    gamma_key, sign_key = pair_of(key)
    exponent = jnp.true_divide(literal(1, dtype), p)
    size = jnp.power(gamma_of(gamma_key, exponent, shape), spread(exponent, shape))
    return ops.mul(signs_of(sign_key, shape, dtype), size)


def ball(
    key: Any, d: int, p: Any = 2, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Points uniform in the unit ball of the p-norm in d dimensions, along a new last axis."""
    check_key(key, "ball")
    dtype = float_dtype(dtype, "ball")
    p = parameter(p, dtype, "ball")
    return _ball(key, p, shape=(*canonical_shape(shape), *canonical_shape(d)), dtype=dtype)


@program
def _ball(key: Any, p: Any, *, shape: Shape, dtype: Any) -> Any:
    points_key, radius_key = pair_of(key)
    points = generalized_normal_of(points_key, p, shape, dtype)
    radius = exponential_of(radius_key, shape[:-1], dtype)
    total = ops.add(sum_of(jnp.power(ops.abs(points), p), axis=-1), radius)
    norm = jnp.power(total, jnp.true_divide(literal(1, dtype), p))
    return jnp.true_divide(points, norm[..., None])
