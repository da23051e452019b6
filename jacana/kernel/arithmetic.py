"""What each operation of the kernel language gives, on NumPy arrays.

An integer of less than 8 bits is held in the 8-bit type of its sign, reduced to its range.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from jacana.kernel import ir
from jacana.kernel.build import scalar_bits

Array = np.ndarray[Any, Any]

DTYPES: dict[str, np.dtype[Any]] = {
    "bool": np.dtype(np.bool_), "int2": np.dtype(np.int8), "uint2": np.dtype(np.uint8),
    "int4": np.dtype(np.int8), "uint4": np.dtype(np.uint8),
    "int8": np.dtype(np.int8), "uint8": np.dtype(np.uint8),
    "int16": np.dtype(np.int16), "uint16": np.dtype(np.uint16),
    "int32": np.dtype(np.int32), "uint32": np.dtype(np.uint32),
    "int64": np.dtype(np.int64), "uint64": np.dtype(np.uint64), "index": np.dtype(np.int64),
    "float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float32": np.dtype(np.float32), "float64": np.dtype(np.float64),
    **{name: np.dtype(getattr(ml_dtypes, name)) for name in ir.SMALL_FLOATS},
}  # fmt: skip


def apply(operation: str, result_type: str, arg_types: list[str], args: list[Array]) -> Array:
    """The operation on arrays that broadcast against each other."""
    type = arg_types[-1]
    if operation == "convert":
        return convert(args[0], type, result_type)
    if operation == "bitcast":
        return from_bits(to_bits(args[0], type), result_type)
    if operation == "select":
        return np.where(args[0], args[1], args[2])
    if operation in COMPARISONS:
        return COMPARISONS[operation](*args)
    if type in ir.NARROW_FLOATS:
        return _apply_narrow(operation, type, args)
    if type in ir.FLOATS:
        return FLOAT_OPERATIONS[operation](*args)
    if type == "bool":
        return BOOL_OPERATIONS[operation](*args)
    return wrap(INTEGER_OPERATIONS[operation](type, *args), type)


def _apply_narrow(operation: str, type: str, args: list[Array]) -> Array:
    of_sign = operation in ("neg", "abs", "copysign")
    if of_sign and type not in ir.SMALL_FLOATS:  # of one bit, so that nan keeps its others
        bits = [a.view(np.uint16) for a in args]
        made: Array = bits[0] ^ 0x8000
        if operation != "neg":
            made = bits[0] & 0x7FFF
        if operation == "copysign":
            made = made | bits[1] & 0x8000
        return made.view(DTYPES[type])
    return convert(
        FLOAT_OPERATIONS[operation](*[a.astype(np.float32) for a in args]), "float32", type
    )


@lru_cache(maxsize=4096)
def _constant(value: bool | int | float, type: str, bits: int) -> Array:
    made = from_bits(np.array([bits], np.uint64), type)
    made.flags.writeable = False
    return made


def constant(value: bool | int | float, type: str) -> Array:
    """The value as an array of one element."""
    return _constant(value, type, scalar_bits(value, type))


# --- bits -------------------------------------------------------------------------------------


def wrap(x: Array, type: str) -> Array:
    """Values reduced modulo 2**width where NumPy's type is wider than `type`."""
    width = ir.WIDTH[type]
    if 1 < width < 8 and type not in ir.FLOATS:
        x = x & (1 << width) - 1
        if type in ir.SIGNED:
            half = 1 << width - 1
            x = (x ^ half) - x.dtype.type(half)
    return x


def to_bits(x: Array, type: str) -> Array:
    """The value's own bits as unsigned 64-bit integers."""
    if type == "bool":
        return x.astype(np.uint64)
    bits: Array = np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}").astype(np.uint64)
    bits &= np.uint64((1 << ir.WIDTH[type]) - 1)
    return bits


def from_bits(bits: Array, type: str) -> Array:
    """The values of the type that have the low bits of the unsigned 64-bit integers."""
    if type == "bool":
        return (bits & np.uint64(0xFF)).astype(np.bool_)
    dtype = DTYPES[type]
    if ir.WIDTH[type] < 8:
        bits = bits & np.uint64((1 << ir.WIDTH[type]) - 1)
    made: Array = bits.astype(f"u{dtype.itemsize}").view(dtype)
    return wrap(made, type)


# --- conversions ------------------------------------------------------------------------------


def convert(x: Array, source: str, target: str) -> Array:
    """Values as those of the type `target`, as ir.OPERATIONS states."""
    if source == target:
        return x
    if target == "bool":
        return np.not_equal(x, 0)
    if source in ir.FLOATS:
        if source in ir.NARROW_FLOATS:
            x = x.astype(np.float32)
        if target in ir.FLOATS:
            return _narrow(x, target)
        return _to_integer(x, target)
    if target in ir.FLOATS:
        if target in FAR_REACHING and ir.WIDTH[source] > 16:
            return _narrow(_integer_to_odd(x), target)
        return x.astype(DTYPES[target])
    return wrap(x.astype(DTYPES[target]), target)


# Narrow floats that integers which float32 rounds do not overflow: such integers are rounded once.
FAR_REACHING = ("bfloat16", "float8_e8m0fnu")


def _narrow(x: Array, target: str) -> Array:
    if target == "float8_e8m0fnu":
        return _power_of_two(x)
    if target == "float4_e2m1fn":
        # The sign of a nan is nobody's: the zero that it becomes is the negative one.
        x = np.where(np.isnan(x), x.dtype.type(-0.0), x)
    if target in ir.NARROW_FLOATS and target != "float16" and x.dtype == np.float64:
        # ml_dtypes goes by way of float32.
        near = x.astype(np.float32)
        x = _make_odd(near, np.where(np.isinf(near), 0, x - near).astype(np.float64))
    return x.astype(DTYPES[target])


def _power_of_two(x: Array) -> Array:
    """The nearest float8_e8m0fnu, halves up; nan for what is no positive number."""
    fraction, exponent = np.frexp(x)
    rounded = np.maximum(exponent - 1 + (fraction >= 0.75), -127)
    inside = (x > 0) & np.isfinite(x) & (rounded <= 127)
    return np.where(inside, rounded + 127, 255).astype(np.uint8).view(ml_dtypes.float8_e8m0fnu)


def _integer_to_odd(x: Array) -> Array:
    """float64 with at least 52 bits of the integer, its last bit set if any bit was lost."""
    negative = x < 0
    size = np.where(negative, -x.astype(np.int64), x.astype(np.int64)).astype(np.uint64)
    if x.dtype == np.uint64:
        size = x
    lost = (size & np.uint64(0xFFF)) != 0
    kept = size & ~np.uint64(0xFFF) | lost.astype(np.uint64) << np.uint64(12)
    value = np.where(size >> np.uint64(53) != 0, kept, size).astype(np.float64)
    return np.where(negative, -value, value)


def _to_integer(x: Array, target: str) -> Array:
    width, signed = ir.WIDTH[target], target in ir.SIGNED
    low = -(1 << width - 1) if signed else 0
    high = (1 << width - 1) - 1 if signed else (1 << width) - 1
    whole = np.trunc(x).astype(np.float64)
    inside = (whole >= float(low)) & (whole < float(high + 1))
    made = np.where(inside, whole, 0.0).astype(DTYPES[target])
    made = np.where(whole >= float(high + 1), DTYPES[target].type(high), made)
    return np.where(whole < float(low), DTYPES[target].type(low), made)


# --- floats -----------------------------------------------------------------------------------


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The sum rounded, and the rounding error, exactly (barring overflow)."""
    s = a + b
    part = s - a
    return s, (a - (s - part)) + (b - part)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The product rounded, and the rounding error, exactly (barring overflow and underflow)."""
    p = a * b
    t = a * 134217729.0
    a_high = t - (t - a)
    a_low = a - a_high
    t = b * 134217729.0
    b_high = t - (t - b)
    b_low = b - b_high
    return p, a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _make_odd(rounded: Array, error: Array) -> Array:
    """Round to odd: where an error was made, the neighbour whose last bit is one."""
    bits = rounded.view(f"i{rounded.dtype.itemsize}")
    step = np.where((error > 0) == (rounded > 0), 1, -1).astype(bits.dtype)
    move = (error != 0) & (bits & 1 == 0) & np.isfinite(rounded)
    made: Array = (bits + np.where(move, step, 0).astype(bits.dtype)).view(rounded.dtype)
    least = np.copysign(np.finfo(rounded.dtype).smallest_subnormal, error)
    return np.where((rounded == 0) & (error != 0), least.astype(rounded.dtype), made)


def fma(a: Array, b: Array, c: Array) -> Array:
    """The value of a * b + c, rounded once."""
    if a.dtype == np.float32:
        total, error = two_sum(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))
        return _make_odd(total, error).astype(np.float32)
    a, b, c = np.broadcast_arrays(a, b, c)
    product = np.abs(a * b)
    safe = (product > 2.0**-900) & (product < 2.0**1000) & (np.abs(c) < 2.0**1000)
    safe &= (np.abs(a) < 2.0**990) & (np.abs(b) < 2.0**990)
    if safe.all():
        return _fma_safe(a, b, c)
    made, rest = np.empty(a.shape), ~safe
    made[safe] = _fma_safe(a[safe], b[safe], c[safe])
    made[rest] = _fma_unsafe(a[rest], b[rest], c[rest])
    return made


def _fma_safe(a: Array, b: Array, c: Array) -> Array:
    # S. Boldo, G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms
    # using rounding to odd", IEEE Transactions on Computers 57 (2008).
    high, low = two_product(a, b)
    t_high, t_low = two_sum(c, low)
    v_high, v_low = two_sum(high, t_high)
    result: Array = v_high + _make_odd(*two_sum(t_low, v_low))
    return result


def _fma_unsafe(a: Array, b: Array, c: Array) -> Array:
    """The value of fma where something is zero, not finite, huge or tiny."""
    finite = np.isfinite(a) & np.isfinite(b)
    made = np.where(np.isinf(c) & finite, c, a * b + c)
    index = np.flatnonzero(finite & np.isfinite(c) & (a != 0) & (b != 0))
    if not index.size:
        return made
    a, b, c = a[index], b[index], c[index]
    (am, ae), (bm, be), (cm, ce) = np.frexp(a), np.frexp(b), np.frexp(c)
    exponent = ae + be
    # An addend 2**600 times smaller or larger than the product acts by its sign alone.
    apart = np.where(c == 0, 0, ce - exponent)
    scale = np.where(apart > 600, ce - 600, exponent)
    scaled = _fma_safe(am, bm, np.ldexp(cm, np.clip(apart, -600, 600)))
    result = np.ldexp(scaled, scale)
    size = np.frexp(scaled)[1] + scale
    for i in np.flatnonzero((scaled != 0) & (size <= -1021) & (size > -1080)):
        result[i] = _fma_exact(float(a[i]), float(b[i]), float(c[i]))
    made[index] = result
    return made


def _fma_exact(a: float, b: float, c: float) -> float:
    (an, ad), (bn, bd), (cn, cd) = [x.as_integer_ratio() for x in (a, b, c)]
    # Division of integers is rounded correctly.
    return (an * bn * cd + cn * ad * bd) / (ad * bd * cd)


def _float_max(a: Array, b: Array) -> Array:
    return np.where((a > b) | (a != a), a, b)


def _float_min(a: Array, b: Array) -> Array:
    return np.where((a < b) | (a != a), a, b)


# --- integers ---------------------------------------------------------------------------------


def _divide(type: str, a: Array, b: Array) -> Array:
    ones = a.dtype.type(-1 if type in ir.SIGNED else (1 << ir.WIDTH[type]) - 1)
    if type in ir.UNSIGNED:
        return np.where(b == 0, ones, a // np.where(b == 0, b.dtype.type(1), b))
    plain = np.where((b == 0) | (b == -1), b.dtype.type(1), b)
    floor = a // plain
    inexact = (a - floor * plain != 0) & ((a < 0) != (plain < 0))
    made = np.where(b == -1, -a, floor + inexact.astype(a.dtype))
    return np.where(b == 0, ones, made)


def _remainder(type: str, a: Array, b: Array) -> Array:
    plain = b == 0 if type in ir.UNSIGNED else (b == 0) | (b == -1)
    made = np.fmod(a, np.where(plain, b.dtype.type(1), b))
    return np.where(b == 0, a, made)


def _shift_left(type: str, a: Array, b: Array) -> Array:
    width = ir.WIDTH[type]
    outside = (b < 0) | (b >= width)
    return np.where(outside, a.dtype.type(0), a << np.where(outside, b.dtype.type(0), b))


def _shift_right(type: str, a: Array, b: Array) -> Array:
    width = ir.WIDTH[type]
    outside = (b < 0) | (b >= width)
    filled = np.where(a < 0, a.dtype.type(-1), a.dtype.type(0)) if type in ir.SIGNED else 0 * a
    return np.where(outside, filled, a >> np.where(outside, b.dtype.type(0), b))


def _leading_zeros(type: str, a: Array) -> Array:
    bits, width = to_bits(a, type), ir.WIDTH[type]
    count = np.full(a.shape, width, np.int64)
    for shift in (32, 16, 8, 4, 2, 1):
        big = bits >> np.uint64(shift) != 0
        count -= np.where(big, shift, 0)
        bits = np.where(big, bits >> np.uint64(shift), bits)
    return np.where(bits != 0, count - 1, count).astype(a.dtype)


def _population(type: str, a: Array) -> Array:
    made: Array = np.bitwise_count(to_bits(a, type))
    return made.astype(a.dtype)


def _multiply_high(type: str, a: Array, b: Array) -> Array:
    width = ir.WIDTH[type]
    if width <= 32:
        wide = np.int64 if type in ir.SIGNED else np.uint64
        upper: Array = a.astype(wide) * b.astype(wide) >> wide(width)
        return upper.astype(a.dtype)
    x, y, half = a.astype(np.uint64), b.astype(np.uint64), np.uint64(32)
    mask = np.uint64(0xFFFFFFFF)
    low = (x & mask) * (y & mask)
    middle = (x >> half) * (y & mask) + (low >> half)
    other = (x & mask) * (y >> half) + (middle & mask)
    high = (x >> half) * (y >> half) + (middle >> half) + (other >> half)
    made: Array = high.astype(a.dtype)
    if type in ir.SIGNED:
        made = made - np.where(a < 0, b, 0 * b) - np.where(b < 0, a, 0 * a)
    return made


# --- tables -----------------------------------------------------------------------------------

COMPARISONS: dict[str, Callable[..., Array]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip

FLOAT_OPERATIONS: dict[str, Callable[..., Array]] = {
    "neg": np.negative, "abs": np.abs, "add": np.add, "sub": np.subtract, "mul": np.multiply,
    "div": np.divide, "rem": np.fmod, "min": _float_min, "max": _float_max,
    "fma": fma, "sqrt": np.sqrt, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "round": np.rint, "copysign": np.copysign,
}  # fmt: skip

INTEGER_OPERATIONS: dict[str, Callable[..., Array]] = {
    "neg": lambda _, a: np.negative(a), "abs": lambda _, a: np.abs(a),
    "add": lambda _, a, b: a + b, "sub": lambda _, a, b: a - b, "mul": lambda _, a, b: a * b,
    "div": _divide, "rem": _remainder,
    "min": lambda _, a, b: np.minimum(a, b), "max": lambda _, a, b: np.maximum(a, b),
    "and": lambda _, a, b: a & b, "or": lambda _, a, b: a | b, "xor": lambda _, a, b: a ^ b,
    "not": lambda _, a: ~a, "shl": _shift_left, "shr": _shift_right,
    "popcount": _population, "clz": _leading_zeros, "mulhi": _multiply_high,
}  # fmt: skip

BOOL_OPERATIONS: dict[str, Callable[..., Array]] = {
    "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor, "not": np.logical_not,
    "min": np.logical_and, "max": np.logical_or,
}  # fmt: skip
