"""Normal numbers, and distributions that are functions of them alone."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.numpy import elementwise as jnp
from jacana.numpy.floats import nextafter
from jacana.numpy.reductions import sum as sum_of
from jacana.random.keys import check_key, pair_of
from jacana.random.program import (
    Shape,
    broadcast_shapes,
    canonical_shape,
    float_dtype,
    joint_shape,
    literal,
    parameter,
    program,
    spread,
)
from jacana.random.uniform import uniform_between, unit_uniform


def normal(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Standard normal numbers: mean 0, variance 1 (complex numbers: of both parts together).

    ValueError for dtypes that are neither floating point nor complex.

    >>> from jacana.random import key
    >>> normal(key(0), (2, 3)).shape
    (2, 3)
    """
    check_key(key, "normal")
    dtype = float_dtype(dtype, "normal", complex_too=True)
    return _normal(key, shape=canonical_shape(shape), dtype=dtype)


@program
def _normal(key: Any, *, shape: Shape, dtype: Any) -> Any:
    return normal_of(key, shape, dtype)


def normal_of(key: Any, shape: Shape, dtype: Any) -> Any:
    """Standard normal numbers from a typed key."""
    if dtypes.is_complex(dtype):
        real = dtypes.real_dtype(dtype)
        parts = ops.complex(*[normal_of(k, shape, real) for k in pair_of(key)])
        return jnp.true_divide(parts, literal(np.sqrt(2), dtype))
    # Above -1: erf_inv is infinite there.
    low = np.nextafter(np.array(-1.0, dtype), np.array(0.0, dtype), dtype=dtype)[()]
    drawn = uniform_between(key, shape, dtype, low, literal(1.0, dtype))
    return ops.mul(literal(np.sqrt(2), dtype), ops.erf_inv(drawn))


def truncated_normal(
    key: Any,
    lower: Any,
    upper: Any,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Standard normal numbers given that they lie in (lower, upper), whose shapes broadcast.

    >>> from jacana.random import key
    >>> bool((truncated_normal(key(0), 1.0, 2.0, (100,)) > 1.0).all())
    True
    """
    check_key(key, "truncated_normal")
    dtype = float_dtype(dtype, "truncated_normal")
    bounds = [parameter(v, dtype, "truncated_normal") for v in (lower, upper)]
    shape = joint_shape(shape, *bounds)
    return _truncated_normal(key, *bounds, shape=shape, dtype=dtype)


@program
def _truncated_normal(key: Any, lower: Any, upper: Any, *, shape: Shape, dtype: Any) -> Any:
    root = literal(np.sqrt(2), dtype)
    a, b = (ops.erf(jnp.true_divide(bound, root)) for bound in (lower, upper))
    out = ops.mul(root, ops.erf_inv(uniform_between(key, shape, dtype, a, b)))
    # The ends of the open interval.
    low = nextafter(lower, literal(np.inf, dtype))
    high = nextafter(upper, literal(-np.inf, dtype))
    return jnp.minimum(high, jnp.maximum(low, out))


def lognormal(
    key: Any,
    sigma: Any = 1.0,
    shape: Any = None,
    dtype: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """exp(sigma n) for standard normal n."""
    check_key(key, "lognormal")
    dtype = float_dtype(dtype, "lognormal")
    sigma = parameter(sigma, dtype, "lognormal")
    return _lognormal(key, sigma, shape=joint_shape(shape, sigma), dtype=dtype)


@program
def _lognormal(key: Any, sigma: Any, *, shape: Shape, dtype: Any) -> Any:
    return ops.exp(jnp.multiply(normal_of(key, shape, dtype), spread(sigma, shape)))


def maxwell(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Lengths of vectors of three standard normal numbers."""
    check_key(key, "maxwell")
    return _maxwell(key, shape=canonical_shape(shape), dtype=float_dtype(dtype, "maxwell"))


@program
def _maxwell(key: Any, *, shape: Shape, dtype: Any) -> Any:
    return maxwell_of(key, shape, dtype)


def maxwell_of(key: Any, shape: Shape, dtype: Any) -> Any:
    vectors = normal_of(key, (*shape, 3), dtype)
    return ops.sqrt(sum_of(ops.mul(vectors, vectors), axis=-1))


def double_sided_maxwell(key: Any, loc: Any, scale: Any, shape: Any = (), dtype: Any = None) -> Any:
    """loc + scale m, where m is Maxwell distributed with a random sign.

    The result's shape is `shape` followed by the shape that the parameters broadcast to.
    """
    check_key(key, "double_sided_maxwell")
    dtype = float_dtype(dtype, "double_sided_maxwell")
    given = [parameter(v, dtype, "double_sided_maxwell") for v in (loc, scale)]
    own = broadcast_shapes(*map(np.shape, given))
    shape = (*(canonical_shape(shape) or own), *own)
    return _double_sided_maxwell(key, *given, shape=shape, dtype=dtype)


@program
def _double_sided_maxwell(key: Any, loc: Any, scale: Any, *, shape: Shape, dtype: Any) -> Any:
    maxwell_key, sign_key = pair_of(key)
    signed = ops.mul(signs_of(sign_key, shape, dtype), maxwell_of(maxwell_key, shape, dtype))
    return jnp.add(jnp.multiply(signed, spread(scale, shape)), spread(loc, shape))


def signs_of(key: Any, shape: Shape, dtype: Any) -> Any:
    """-1 or 1 in any dtype, equally likely, from a typed key."""
    real = float_dtype(None, "rademacher")
    is_positive = ops.lt(unit_uniform(key, shape, real), literal(0.5, real))
    drawn = ops.convert_element_type(is_positive, new_dtype=dtype, weak_type=False)
    return ops.sub(ops.mul(literal(2, dtype), drawn), literal(1, dtype))
