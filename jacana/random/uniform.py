"""Random bits, and uniform numbers made of them: what every distribution begins with."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.core import config, dtypes
from jacana.numpy import elementwise as jnp
from jacana.random.keys import bits_of, check_key
from jacana.random.program import (
    Shape,
    canonical_shape,
    float_dtype,
    is_given,
    joint_shape,
    literal,
    parameter,
    program,
    spread,
)


def bits(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Random bits as unsigned integers of a dtype (uint by default); ValueError for others.

    >>> from jacana.random import key
    >>> bits(key(0), (2,), "uint8")
    Array([167, 146], dtype=uint8)
    """
    check_key(key, "bits")
    x64 = config.current().enable_x64
    default = dtypes.uint64 if x64 else dtypes.uint32
    found = dtypes.requested(default if dtype is None else dtype, x64, "bits")
    if not dtypes.is_unsigned_integer(found):
        raise ValueError(f"dtype argument to `bits` must be an unsigned int dtype, got {found}")
    return _bits(key, shape=canonical_shape(shape), width=8 * found.itemsize)


@program
def _bits(key: Any, *, shape: Shape, width: int) -> Any:
    return bits_of(key, width, shape)


def uniform(
    key: Any,
    shape: Any = (),
    dtype: Any = None,
    minval: Any = 0.0,
    maxval: Any = 1.0,
    *,
    out_sharding: Any = None,
) -> Any:
    """Numbers in [minval, maxval), all equally likely.

    As many bits are random as the dtype's mantissa has. The bounds broadcast to `shape`. ValueError
    for dtypes that are not floating point.

    >>> from jacana.random import key
    >>> uniform(key(0), (2,)).shape
    (2,)
    """
    check_key(key, "uniform")
    dtype, shape = float_dtype(dtype, "uniform"), canonical_shape(shape)
    if is_given(minval, 0) and is_given(maxval, 1):
        return _unit_uniform(key, shape=shape, dtype=dtype)
    bounds = [parameter(v, dtype, "uniform") for v in (minval, maxval)]
    joint_shape(shape, *bounds)
    return _uniform(key, *bounds, shape=shape, dtype=dtype)


@program
def _unit_uniform(key: Any, *, shape: Shape, dtype: Any) -> Any:
    return unit_uniform(key, shape, dtype)


@program
def _uniform(key: Any, minval: Any, maxval: Any, *, shape: Shape, dtype: Any) -> Any:
    return uniform_between(key, shape, dtype, minval, maxval)


def unit_uniform(key: Any, shape: Shape, dtype: Any) -> Any:
    """Numbers in [0, 1) from a typed key."""
    info = dtypes.finfo(dtype)
    width = 8 * dtype.itemsize
    unsigned = np.dtype(f"uint{width}")
    # Dtypes with a short mantissa draw no more bits than they need.
    drawn_width = 8 if info.nmant < 8 else width
    drawn = bits_of(key, drawn_width, shape)
    if drawn_width != width:
        drawn = ops.convert_element_type(drawn, new_dtype=unsigned, weak_type=False)
    # Random mantissa under the exponent of 1 is a number in [1, 2).
    drawn = ops.shift_right_logical(drawn, unsigned.type(drawn_width - info.nmant))
    one = np.asarray(1.0).astype(dtype).view(unsigned)[()]
    found = ops.bitcast_convert_type(ops.or_(drawn, one), new_dtype=dtype)
    return ops.sub(found, literal(1.0, dtype))


def uniform_between(key: Any, shape: Shape, dtype: Any, minval: Any, maxval: Any) -> Any:
    """Numbers in [minval, maxval) from a typed key; the bounds are of the dtype."""
    minval, maxval = spread(minval, shape), spread(maxval, shape)
    span = span_of(minval, maxval)
    scaled = jnp.add(jnp.multiply(unit_uniform(key, shape, dtype), span), minval)
    # Rounding must not lead below the lower bound.
    return jnp.maximum(minval, scaled)


def span_of(minval: Any, maxval: Any) -> Any:
    """maxval - minval, rounded once in their dtype; a constant for constants."""
    if isinstance(minval, np.generic) and isinstance(maxval, np.generic):
        return np.subtract(maxval, minval)
    return jnp.subtract(maxval, minval)


def two_uniforms(key: Any, shape: Shape, dtype: Any) -> tuple[Any, Any]:
    """Two independent arrays of numbers in [0, 1)."""
    both = unit_uniform(key, (2, *shape), dtype)
    return both[0], both[1]
