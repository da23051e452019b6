"""Distributions that are a formula of uniform numbers."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.core import config, dtypes
from jacana.numpy import elementwise as jnp
from jacana.numpy.promotion import broadcast_to
from jacana.numpy.selection import where
from jacana.random.keys import check_key, pair_of
from jacana.random.normal import normal_of
from jacana.random.program import (
    Shape,
    canonical_shape,
    float_dtype,
    joint_shape,
    literal,
    parameter,
    program,
    spread,
)
from jacana.random.uniform import two_uniforms, uniform_between, unit_uniform


def exponential(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Exponential numbers of rate 1."""
    check_key(key, "exponential")
    dtype = float_dtype(dtype, "exponential")
    return _exponential(key, shape=canonical_shape(shape), dtype=dtype)


@program
def _exponential(key: Any, *, shape: Shape, dtype: Any) -> Any:
    return exponential_of(key, shape, dtype)


def exponential_of(key: Any, shape: Shape, dtype: Any) -> Any:
    return ops.neg(ops.log1p(ops.neg(unit_uniform(key, shape, dtype))))


def gumbel(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Gumbel numbers; mode "high" resolves the upper tail with twice the bits of "low".

    Without a mode, the option jax_high_dynamic_range_gumbel decides. ValueError for other modes.
    """
    check_key(key, "gumbel")
    dtype, mode = float_dtype(dtype, "gumbel"), gumbel_mode(mode)
    return _gumbel(key, shape=canonical_shape(shape), dtype=dtype, mode=mode)


def gumbel_mode(mode: str | None) -> str:
    if mode is None:
        return "high" if config.current().high_dynamic_range_gumbel else "low"
    if mode not in ("low", "high"):
        raise ValueError(f"Must provide valid mode for gumbel got: {mode}")
    return mode


@program
def _gumbel(key: Any, *, shape: Shape, dtype: Any, mode: str) -> Any:
    return gumbel_of(key, shape, dtype, mode)


def gumbel_of(key: Any, shape: Shape, dtype: Any, mode: str) -> Any:
    """Gumbel numbers from a typed key."""
    info = dtypes.finfo(dtype)
    tiny, one = literal(float(info.tiny), dtype), literal(1.0, dtype)
    if mode == "low":
        drawn = uniform_between(key, shape, dtype, tiny, one)
        return ops.neg(ops.log(ops.neg(ops.log(drawn))))
    high, low = two_uniforms(key, shape, dtype)
    # Below one half, numbers in [0, 1) have bits to spare; the second draw fills them.
    finer = ops.add(ops.add(high, ops.mul(literal(float(info.eps), dtype), low)), tiny)
    drawn = where(ops.ge(high, literal(0.5, dtype)), high, finer)
    return ops.neg(ops.log(ops.neg(ops.log1p(ops.neg(drawn)))))


def laplace(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Laplace numbers: exponential ones with a random sign."""
    check_key(key, "laplace")
    return _laplace(key, shape=canonical_shape(shape), dtype=float_dtype(dtype, "laplace"))


@program
def _laplace(key: Any, *, shape: Shape, dtype: Any) -> Any:
    low = literal(float(dtypes.finfo(dtype).epsneg) - 1, dtype)
    drawn = uniform_between(key, shape, dtype, low, literal(1.0, dtype))
    return ops.mul(ops.sign(drawn), ops.log1p(ops.neg(ops.abs(drawn))))


def logistic(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Logistic numbers: log(u / (1 - u)) for uniform u."""
    check_key(key, "logistic")
    return _logistic(key, shape=canonical_shape(shape), dtype=float_dtype(dtype, "logistic"))


@program
def _logistic(key: Any, *, shape: Shape, dtype: Any) -> Any:
    tiny = literal(float(dtypes.finfo(dtype).tiny), dtype)
    drawn = uniform_between(key, shape, dtype, tiny, literal(1.0, dtype))
    return ops.sub(ops.log(drawn), ops.log1p(ops.neg(drawn)))


def cauchy(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Cauchy numbers: tangents of uniform angles."""
    check_key(key, "cauchy")
    return _cauchy(key, shape=canonical_shape(shape), dtype=float_dtype(dtype, "cauchy"))


@program
def _cauchy(key: Any, *, shape: Shape, dtype: Any) -> Any:
    eps = literal(float(dtypes.finfo(dtype).eps), dtype)
    drawn = uniform_between(key, shape, dtype, eps, literal(1.0, dtype))
    return ops.tan(ops.mul(literal(np.pi, dtype), ops.sub(drawn, literal(0.5, dtype))))


def weibull_min(
    key: Any, scale: Any, concentration: Any, shape: Any = (), dtype: Any = None
) -> Any:
    """scale e**(1 / concentration) for exponential numbers e."""
    check_key(key, "weibull_min")
    dtype = float_dtype(dtype, "weibull_min")
    given = [parameter(v, dtype, "weibull_min") for v in (scale, concentration)]
    return _weibull_min(key, *given, shape=canonical_shape(shape), dtype=dtype)


@program
def _weibull_min(key: Any, scale: Any, concentration: Any, *, shape: Shape, dtype: Any) -> Any:
    exponent = jnp.true_divide(literal(1.0, dtype), concentration)
    return jnp.multiply(jnp.power(exponential_of(key, shape, dtype), exponent), scale)


def pareto(
    key: Any, b: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Pareto numbers of exponent b and scale 1."""
    check_key(key, "pareto")
    dtype = float_dtype(dtype, "pareto")
    b = parameter(b, dtype, "pareto")
    return _pareto(key, b, shape=joint_shape(shape, b), dtype=dtype)


@program
def _pareto(key: Any, b: Any, *, shape: Shape, dtype: Any) -> Any:
    return ops.exp(jnp.true_divide(exponential_of(key, shape, dtype), spread(b, shape)))


def rayleigh(
    key: Any, scale: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """scale times the length of a vector of two standard normal numbers."""
    check_key(key, "rayleigh")
    dtype = float_dtype(dtype, "rayleigh")
    scale = parameter(scale, dtype, "rayleigh")
    return _rayleigh(key, scale, shape=joint_shape(shape, scale), dtype=dtype)


@program
def _rayleigh(key: Any, scale: Any, *, shape: Shape, dtype: Any) -> Any:
    squares = ops.mul(ops.log(unit_uniform(key, shape, dtype)), literal(-2.0, dtype))
    return jnp.multiply(spread(scale, shape), ops.sqrt(squares))


def triangular(
    key: Any,
    left: Any,
    mode: Any,
    right: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Numbers in (left, right) whose density rises linearly to `mode` and falls again."""
    check_key(key, "triangular")
    dtype = float_dtype(dtype, "triangular")
    given = [parameter(v, dtype, "triangular") for v in (left, mode, right)]
    return _triangular(key, *given, shape=joint_shape(shape, *given), dtype=dtype)


@program
def _triangular(key: Any, left: Any, mode: Any, right: Any, *, shape: Shape, dtype: Any) -> Any:
    left, mode, right = (broadcast_to(v, shape) for v in (left, mode, right))
    rise, fall, width = ops.sub(mode, left), ops.sub(right, mode), ops.sub(right, left)
    drawn = unit_uniform(key, shape, dtype)
    rest = ops.sub(broadcast_to(literal(1.0, dtype), shape), drawn)
    up = ops.add(left, ops.sqrt(ops.mul(ops.mul(drawn, width), rise)))
    down = ops.sub(right, ops.sqrt(ops.mul(ops.mul(rest, width), fall)))
    return where(ops.lt(drawn, ops.div(rise, width)), up, down)


def wald(
    key: Any, mean: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Inverse Gaussian numbers of this mean and scale 1."""
    check_key(key, "wald")
    dtype = float_dtype(dtype, "wald")
    mean = parameter(mean, dtype, "wald")
    return _wald(key, mean, shape=joint_shape(shape, mean), dtype=dtype)


@program
def _wald(key: Any, mean: Any, *, shape: Shape, dtype: Any) -> Any:
    normal_key, uniform_key = pair_of(key)
    mean = broadcast_to(mean, shape)
    square = jnp.square(normal_of(normal_key, shape, dtype))
    drawn = unit_uniform(uniform_key, shape, dtype)
    mean_square = jnp.square(mean)
    two, four = (broadcast_to(literal(n, dtype), shape) for n in (2.0, 4.0))
    root = ops.sqrt(
        ops.add(ops.mul(ops.mul(four, mean), square), ops.mul(mean_square, jnp.square(square)))
    )
    middle = ops.add(mean, ops.div(ops.mul(mean_square, square), two))
    smaller = ops.sub(middle, ops.mul(ops.div(mean, two), root))
    # The two roots of the equation that transforms a normal square, with their probabilities.
    chosen = ops.le(drawn, ops.div(mean, ops.add(mean, smaller)))
    return where(chosen, smaller, ops.div(mean_square, smaller))
