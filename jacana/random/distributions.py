"""The basic distributions: uniform, normal and what is a formula of them."""
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import config, dtypes
from jacana.core.values import aval_of
from jacana.numpy import elementwise as jnp
from jacana.numpy.promotion import broadcast_to, convert
from jacana.numpy.selection import where
from jacana.random.keys import canonical_shape, random_bits, split, typed


def float_dtype(dtype: Any, function: str, complex_too: bool = False) -> Any:
    """The floating-point dtype asked for; ValueError for others."""
    x64 = config.current().enable_x64
    found = dtypes.requested(float if dtype is None else dtype, x64, function)
    if dtypes.is_float(found) or complex_too and dtypes.is_complex(found):
        return found
    raise ValueError(
        f"dtype argument to `{function}` must be a float{' or complex' if complex_too else ''} "
        f"dtype, got {found}"
    )


def literal(value: float, dtype: Any) -> Any:
    return np.asarray(value).astype(dtype)[()]


def parameter(value: Any, dtype: Any, shape: tuple[int, ...], function: str, name: str) -> Any:
    """A distribution's parameter in its dtype, of rank 0 or of the result's shape."""
    value = convert(value, dtype)
    if np.ndim(value) == 0 or np.shape(value) == shape:
        return value
    try:
        np.broadcast_shapes(np.shape(value), shape)
        return broadcast_to(value, shape)
    except (ValueError, TypeError):
        raise ValueError(
            f"{function}: {name} of shape {np.shape(value)} does not broadcast to the shape {shape}"
        ) from None


def uniform(
    key: Any, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0,
    *, out_sharding: Any = None,
) -> Any:
    """Numbers in [minval, maxval), all equally likely; the mantissa's bits are random.

    >>> uniform(key(0), (2,)).shape
    (2,)
    """
    found, _ = typed(key, "uniform", batched=False)
    dtype = float_dtype(dtype, "uniform")
    shape = canonical_shape(shape)
    return uniform_of(found, shape, dtype, minval, maxval)


def uniform_of(key: Any, shape: tuple[int, ...], dtype: Any, minval: Any, maxval: Any) -> Any:
    minval = parameter(minval, dtype, shape, "uniform", "minval")
    maxval = parameter(maxval, dtype, shape, "uniform", "maxval")
    info = dtypes.finfo(dtype)
    width = 8 * dtype.itemsize
    if width < 16:
        raise NotImplementedError(f"uniform numbers of dtype {dtype} are not there yet")
    unsigned = np.dtype(f"uint{width}")
    drawn = random_bits(key, width, shape)
    # Random mantissa under the exponent of 1 is a number in [1, 2).
    drawn = ops.shift_right_logical(drawn, unsigned.type(width - info.nmant))
    one = np.asarray(1.0).astype(dtype).view(unsigned)[()]
    unit = ops.bitcast_convert_type(ops.or_(drawn, one), new_dtype=dtype)
    unit = ops.sub(unit, literal(1.0, dtype))
    span = span_of(minval, maxval)
    scaled = jnp.add(jnp.multiply(unit, span), minval)
    return jnp.maximum(minval, scaled)


def span_of(minval: Any, maxval: Any) -> Any:
    if isinstance(minval, float) and isinstance(maxval, float):
        return maxval - minval
    if isinstance(minval, np.generic | float) and isinstance(maxval, np.generic | float):
        kind = next(type(v) for v in (minval, maxval) if isinstance(v, np.generic))
        return kind(kind(maxval) - kind(minval))
    return jnp.subtract(maxval, minval)


def normal(key: Any, shape: Any = (), dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Standard normal numbers (for complex dtypes of unit variance in all)."""
    found, _ = typed(key, "normal", batched=False)
    dtype = float_dtype(dtype, "normal", complex_too=True)
    shape = canonical_shape(shape)
    if dtypes.is_complex(dtype):
        real = dtypes.real_dtype(dtype)
        keys = split(found)
        re, im = (normal_of(keys[i], shape, real) for i in range(2))
        both = ops.complex(re, im)
        return jnp.true_divide(both, literal(np.sqrt(2), dtype))
    return normal_of(found, shape, dtype)


def normal_of(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    low = np.nextafter(np.array(-1.0, dtype), np.array(0.0, dtype), dtype=dtype)[()]
    drawn = uniform_of(key, shape, dtype, low, literal(1.0, dtype))
    return ops.mul(literal(np.sqrt(2), dtype), ops.erf_inv(drawn))


def exponential(key: Any, shape: Any = (), dtype: Any = None) -> Any:
    """Exponential numbers of rate 1."""
    drawn = uniform(key, shape, float_dtype(dtype, "exponential"))
    return ops.neg(ops.log1p(ops.neg(drawn)))


def gumbel(key: Any, shape: Any = (), dtype: Any = None, mode: str | None = None) -> Any:
    """Gumbel numbers; mode "high" draws the tails with more resolution than "low"."""
    found, _ = typed(key, "gumbel", batched=False)
    dtype = float_dtype(dtype, "gumbel")
    shape = canonical_shape(shape)
    if mode is None:
        mode = "high" if config.current().high_dynamic_range_gumbel else "low"
    if mode not in ("low", "high"):
        raise ValueError(f"Must provide valid mode for gumbel got: {mode!r}")
    if mode == "high":
        high, low = (uniform_of(k, shape, dtype, 0.0, 1.0) for k in _pair(found))
        # A uniform number with twice the bits: the second fills in below the first's last place.
        info = dtypes.finfo(dtype)
        drawn = ops.add(high, ops.mul(low, literal(float(info.eps) / 2, dtype)))
        return ops.neg(ops.log(ops.neg(ops.log1p(ops.neg(drawn)))))
    tiny = literal(float(dtypes.finfo(dtype).tiny), dtype)
    drawn = uniform_of(found, shape, dtype, tiny, literal(1.0, dtype))
    return ops.neg(ops.log(ops.neg(ops.log(drawn))))


def _pair(key: Any) -> tuple[Any, Any]:
    keys = split(key)
    return keys[0], keys[1]


def bernoulli(key: Any, p: Any = 0.5, shape: Any = None, mode: str = "low") -> Any:
    """True with probability p."""
    found, _ = typed(key, "bernoulli", batched=False)
    aval = aval_of(p)
    dtype = aval.dtype if dtypes.is_float(aval.dtype) else float_dtype(None, "bernoulli")
    if not isinstance(p, int | float) and not dtypes.is_float(aval.dtype):
        raise TypeError(f"bernoulli probability `p` must have a floating dtype, got {aval.dtype}.")
    shape = np.shape(p) if shape is None else canonical_shape(shape)
    p = parameter(p, dtype, shape, "bernoulli", "p")
    if mode not in ("low", "high"):
        raise ValueError(f"got {mode=}, expected 'high' or 'low'")
    if mode == "high":
        high, low = (uniform_of(k, shape, dtype, 0.0, 1.0) for k in _pair(found))
        scale = literal(float(dtypes.finfo(dtype).eps) / 2, dtype)
        return jnp.less(jnp.multiply(low, scale), jnp.subtract(p, high))
    return jnp.less(uniform_of(found, shape, dtype, 0.0, 1.0), p)


def truncated_normal(
    key: Any, lower: Any, upper: Any, shape: Any = None, dtype: Any = None,
    *, out_sharding: Any = None,
) -> Any:
    """Standard normal numbers given that they lie in (lower, upper)."""
    found, _ = typed(key, "truncated_normal", batched=False)
    dtype = float_dtype(dtype, "truncated_normal")
    if shape is None:
        shape = np.broadcast_shapes(np.shape(lower), np.shape(upper))
    shape = canonical_shape(shape)
    lower = convert(lower, dtype)
    upper = convert(upper, dtype)
    root = literal(np.sqrt(2), dtype)
    a = ops.erf(jnp.true_divide(lower, root))
    b = ops.erf(jnp.true_divide(upper, root))
    drawn = uniform_of(found, shape, dtype, a, b)
    out = ops.mul(root, ops.erf_inv(drawn))
    low = jnp.nextafter(lower, literal(np.inf, dtype))
    high = jnp.nextafter(upper, literal(-np.inf, dtype))
    return jnp.minimum(jnp.maximum(out, low), high)


def randint(
    key: Any, shape: Any, minval: Any, maxval: Any, dtype: Any = int, *, out_sharding: Any = None
) -> Any:
    """Integers in [minval, maxval), nearly equally likely; minval where the range is empty."""
    found, _ = typed(key, "randint", batched=False)
    dtype = dtypes.requested(dtype, config.current().enable_x64, "randint")
    if not dtypes.is_integer(dtype):
        raise TypeError(f"randint only accepts integer dtypes, got {dtype}")
    shape = canonical_shape(shape)
    for name, bound in (("minval", minval), ("maxval", maxval)):
        if not dtypes.is_integer(aval_of(bound).dtype):
            raise TypeError(
                f"randint only accepts integer {name}, got {aval_of(bound).dtype}"
            )
    return randint_of(found, shape, minval, maxval, dtype)


def randint_of(key: Any, shape: tuple[int, ...], minval: Any, maxval: Any, dtype: Any) -> Any:
    info = np.iinfo(dtype)
    width = 8 * dtype.itemsize
    unsigned = np.dtype(f"uint{width}")
    beyond = bound_beyond(maxval, info.max)
    low = bounded(minval, dtype, info)
    high = bounded(maxval, dtype, info)
    low, high = (broadcast_to(b, shape) if np.ndim(b) else b for b in (low, high))
    span = ops.bitcast_convert_type(jnp.subtract(high, low), new_dtype=unsigned) if np.ndim(
        low
    ) or np.ndim(high) or not isinstance(low, np.generic) or not isinstance(high, np.generic) else (
        unsigned.type((int(high) - int(low)) % (1 << width))
    )
    one = unsigned.type(1)
    span = where(jnp.less_equal(high, low), one, span)
    # A bound one beyond the dtype's largest number takes that number in.
    span = where(jnp.logical_and(beyond, jnp.greater(high, low)), jnp.add(span, one), span)
    higher, lower = (random_bits(k, width, shape) for k in _pair(key))
    half = unsigned.type(1 << (width // 2))
    multiplier = remainder_unsigned(half, span)
    multiplier = remainder_unsigned(jnp.multiply(multiplier, multiplier), span)
    offset = jnp.add(
        jnp.multiply(remainder_unsigned(higher, span), multiplier), remainder_unsigned(lower, span)
    )
    offset = remainder_unsigned(offset, span)
    return jnp.add(low, ops.convert_element_type(offset, new_dtype=dtype, weak_type=False))


def remainder_unsigned(x: Any, span: Any) -> Any:
    """x % span; a span of 0 stands for 2**width, which leaves x as it is."""
    return ops.rem(*_same_rank(x, span))


def _same_rank(x: Any, y: Any) -> tuple[Any, Any]:
    shape = np.shape(x) or np.shape(y)
    return tuple(broadcast_to(v, shape) if np.ndim(v) else v for v in (x, y))  # type: ignore[return-value]


def bound_beyond(maxval: Any, largest: int) -> Any:
    """Whether maxval is above the dtype's largest number."""
    if isinstance(maxval, int | np.integer):
        return bool(int(maxval) > largest)
    if np.iinfo(aval_of(maxval).dtype).max <= largest:
        return False
    return jnp.greater(maxval, largest)


def bounded(bound: Any, dtype: Any, info: Any) -> Any:
    """A bound in the dtype, clamped to its range."""
    if isinstance(bound, int | np.integer):
        if isinstance(bound, int) and dtype.itemsize >= 4:
            wide = dtypes.iinfo(dtypes.python_scalar_dtype(int, config.current().enable_x64))
            if not wide.min <= bound <= wide.max:
                raise OverflowError(f"Python int {bound} too large to convert to {wide.dtype}")
        return dtype.type(max(info.min, min(int(bound), info.max)))
    own = np.iinfo(aval_of(bound).dtype)
    if own.max > info.max:
        bound = jnp.minimum(bound, info.max)
    if own.min < info.min:
        bound = jnp.maximum(bound, info.min)
    return convert(bound, dtype)
