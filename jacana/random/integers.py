"""Random integers, and yes-or-no draws."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.core import config, dtypes
from jacana.core.values import aval_of
from jacana.numpy import elementwise as jnp, logic
from jacana.numpy.promotion import broadcast_to, check_operands, convert
from jacana.numpy.selection import where
from jacana.random.keys import bits_of, check_key, pair_of
from jacana.random.normal import signs_of
from jacana.random.program import (
    Shape,
    as_operand,
    canonical_shape,
    float_dtype,
    int_dtype,
    joint_shape,
    literal,
    parameter,
    program,
    spread,
)
from jacana.random.uniform import two_uniforms, unit_uniform


def randint(
    key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Integers in [minval, maxval), nearly equally likely; minval where that range is empty.

    The bounds broadcast to `shape`. One beyond the dtype's range is taken as its end, so that
    maxval may be one more than the largest number. TypeError for dtypes that are not integers.

    >>> from jacana.random import key
    >>> randint(key(0), (3,), 0, 100)
    Array([89,  0, 12], dtype=int32)
    """
    check_key(key, "randint")
    check_operands("randint", minval, maxval)
    x64 = config.current().enable_x64
    dtype = dtypes.requested(int if dtype is None else dtype, x64, "randint")
    if not dtypes.is_integer(dtype):
        raise TypeError(f"randint only accepts integer dtypes, got {dtype}")
    shape = canonical_shape(shape)
    joint_shape(shape, minval, maxval)
    # Dtypes of fewer than 32 bits are drawn as int32, which holds one beyond their range.
    drawn = dtypes.int32 if dtype.itemsize < 4 else dtype
    info = dtypes.iinfo(dtype)
    last = info.max + (drawn != dtype)
    bounds = [bounded(minval, drawn, info.min, info.max), bounded(maxval, drawn, info.min, last)]
    if drawn == dtype:
        beyond = is_beyond(maxval, info.max)
        bounds += [] if beyond is False else [as_operand(beyond)]
    return _randint(key, *bounds, shape=shape, drawn=drawn, dtype=dtype)


def bounded(bound: Any, dtype: Any, smallest: int, largest: int) -> Any:
    """A bound in the dtype, clamped to [smallest, largest]; floats are truncated."""
    if isinstance(bound, int | float | np.integer | np.floating):
        if isinstance(bound, int) and dtype.itemsize >= 4:
            wide = dtypes.iinfo(dtypes.python_scalar_dtype(int, config.current().enable_x64))
            if not wide.min <= bound <= wide.max:
                raise OverflowError(
                    f"Python integer {bound} is too large to convert to {wide.dtype}"
                )
        return as_operand(dtype.type(max(smallest, min(int(bound), largest))))
    own = aval_of(bound).dtype
    if not dtypes.is_integer(own):
        return convert(bound, dtype)
    if dtypes.iinfo(own).max > largest:
        bound = jnp.minimum(bound, own.type(largest))
    if dtypes.iinfo(own).min < smallest:
        bound = jnp.maximum(bound, own.type(smallest))
    return convert(bound, dtype)


def is_beyond(maxval: Any, largest: int) -> Any:
    """Whether maxval is above the dtype's largest number: a bool where that is known."""
    if isinstance(maxval, int | float | np.integer | np.floating):
        return int(maxval) > largest
    own = aval_of(maxval).dtype
    if not dtypes.is_integer(own) or dtypes.iinfo(own).max <= largest:
        return False
    return logic.greater(maxval, own.type(largest))


@program
def _randint(
    key: Any, low: Any, high: Any, beyond: Any = None, *, shape: Shape, drawn: Any, dtype: Any
) -> Any:
    made = integers_between(key, shape, drawn, spread(low, shape), spread(high, shape), beyond)
    return convert(made, dtype)


def integers_between(
    key: Any, shape: Shape, dtype: Any, low: Any, high: Any, beyond: Any = None
) -> Any:
    """Integers in [low, high), or [low, high] where `beyond`, from a typed key."""
    width = 8 * dtype.itemsize
    unsigned = np.dtype(f"uint{width}")
    span = ops.bitcast_convert_type(jnp.subtract(high, low), new_dtype=unsigned)
    one = unsigned.type(1)
    span = where(logic.less_equal(high, low), one, span)
    if beyond is not None:
        wider = logic.logical_and(spread(beyond, shape), logic.greater(high, low))
        span = where(wider, jnp.add(span, one), span)
    # A number of twice the width, modulo the span: its halves are reduced one by one.
    upper, lower = (bits_of(k, width, shape) for k in pair_of(key))
    multiplier = remainder(unsigned.type(1 << (width // 2)), span)
    multiplier = remainder(jnp.multiply(multiplier, multiplier), span)
    offset = jnp.add(jnp.multiply(remainder(upper, span), multiplier), remainder(lower, span))
    offset = remainder(offset, span)
    return jnp.add(low, ops.convert_element_type(offset, new_dtype=dtype, weak_type=False))


def remainder(x: Any, span: Any) -> Any:
    """x % span; a span of 0 stands for 2**width, which leaves x as it is."""
    shape = np.shape(x) or np.shape(span)
    return ops.rem(*[broadcast_to(v, shape) if np.ndim(v) else v for v in (x, span)])


def bernoulli(
    key: Any,
    p: Any = 0.5,
    shape: Any = None,
    mode: str = "low",
    *,
    out_sharding: Any = None,
) -> Any:
    """True with probability p; mode "high" resolves small probabilities with twice the bits.

    TypeError if p is not floating point.

    >>> from jacana.random import key
    >>> bernoulli(key(0), 0.5, (4,)).dtype
    dtype('bool')
    """
    check_key(key, "bernoulli")
    if mode not in ("low", "high"):
        raise ValueError(f"got {mode=}, expected 'high' or 'low'")
    check_operands("bernoulli", p)
    dtype = aval_of(p).dtype
    if not dtypes.is_float(dtype):
        raise TypeError(f"bernoulli probability `p` must have a floating dtype, got {dtype}.")
    p = parameter(p, dtype, "bernoulli")
    return _bernoulli(key, p, shape=joint_shape(shape, p), mode=mode)


@program
def _bernoulli(key: Any, p: Any, *, shape: Shape, mode: str) -> Any:
    dtype = p.dtype
    p = spread(p, shape)
    if mode == "low":
        return logic.less(unit_uniform(key, shape, dtype), p)
    high, low = two_uniforms(key, shape, dtype)
    eps = literal(float(dtypes.finfo(dtype).eps), dtype)
    return logic.less(jnp.multiply(low, eps), jnp.subtract(p, high))


def rademacher(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """-1 or 1, equally likely, in any numeric dtype (int by default).

    >>> from jacana.random import key
    >>> abs(rademacher(key(0), (3,)))
    Array([1, 1, 1], dtype=int32)
    """
    check_key(key, "rademacher")
    x64 = config.current().enable_x64
    dtype = dtypes.requested(int if dtype is None else dtype, x64, "rademacher")
    return _rademacher(key, shape=canonical_shape(shape), dtype=dtype)


@program
def _rademacher(key: Any, *, shape: Shape, dtype: Any) -> Any:
    return signs_of(key, shape, dtype)


def geometric(
    key: Any, p: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """How many trials, each successful with probability p, it takes to the first success."""
    check_key(key, "geometric")
    dtype = int_dtype(dtype, "geometric")
    check_operands("geometric", p)
    own = aval_of(p).dtype
    real = own if dtypes.is_float(own) else float_dtype(None, "geometric")
    p = parameter(p, real, "geometric")
    return _geometric(key, p, shape=joint_shape(shape, p), dtype=dtype)


@program
def _geometric(key: Any, p: Any, *, shape: Shape, dtype: Any) -> Any:
    drawn = unit_uniform(key, shape, p.dtype)
    drawn = where(logic.equal(drawn, literal(0, p.dtype)), literal(1, p.dtype), drawn)
    trials = jnp.true_divide(ops.log(drawn), spread(ops.log1p(ops.neg(p)), shape))
    return convert(ops.add(ops.floor(trials), literal(1, p.dtype)), dtype)
