"""Keys of sorting: unsigned integers of 32 or 64 bits ordered as numbers are, as operations."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.values import aval_of


class Numbers(NamedTuple):
    """How the bits of a float dtype are ordered."""

    unsigned: np.dtype[Any]
    top: int  # the sign bit
    base: int  # the ordered bits of -inf, below which are nan with the sign bit alone
    infinity: int  # the bits of inf
    zero: int  # the key of -0.0, which 0.0 follows

    def constant(self, value: int) -> Any:
        return constant(value, self.unsigned)


def unsigned_of(bits: int) -> np.dtype[Any]:
    return np.dtype(f"uint{bits}")


def numbers_of(dtype: Any) -> Numbers:
    bits = 8 * dtype.itemsize
    unsigned = unsigned_of(bits)
    top = 1 << (bits - 1)
    infinity = int(np.array(np.inf, dtype).view(f"u{dtype.itemsize}"))
    base = ~(infinity | top) & (2 * top - 1)
    return Numbers(unsigned, top, base, infinity, top - 1 - base)


def constant(value: int, unsigned: np.dtype[Any]) -> Any:
    """A scalar of an unsigned dtype, even where 64-bit numbers are off."""
    if unsigned.itemsize < 8:
        return unsigned.type(value)
    high, low, by = (convert(np.uint32(v), unsigned) for v in (value >> 32, value % (1 << 32), 32))
    return ops.or_(ops.shift_left(high, by), low)


def convert(x: Any, dtype: Any) -> Any:
    if aval_of(x).dtype == dtype:
        return x
    return ops.convert_element_type(x, new_dtype=dtype, weak_type=False)


def bits_of(x: Any, dtype: Any) -> Any:
    return ops.bitcast_convert_type(x, new_dtype=dtype)


def full(value: Any, like: Any) -> Any:
    return ops.broadcast_in_dim(value, shape=np.shape(like), broadcast_dimensions=())


def chosen(condition: Any, then: Any, otherwise: Any) -> Any:
    return ops.select_n(condition, otherwise, then)


def simpler(x: Any) -> Any:
    """The same numbers in a dtype whose bits are ordered: floats of 8 bits become float32."""
    dtype = aval_of(x).dtype
    if dtypes.is_bool(dtype):
        return convert(x, dtypes.uint8)
    if dtypes.is_float(dtype):
        return x if dtype.itemsize > 1 else convert(x, dtypes.float32)
    if dtypes.bit_width(dtype) < 8:
        return convert(x, dtypes.int8 if dtypes.is_signed_integer(dtype) else dtypes.uint8)
    return x


def ordered_bits(x: Any, numbers: Numbers) -> Any:
    """The bits of a float, ordered by its sign and size: -nan, -inf, ..., inf, nan."""
    bits = bits_of(x, numbers.unsigned)
    negative = ops.ne(ops.and_(bits, numbers.constant(numbers.top)), numbers.constant(0))
    return chosen(negative, ops.not_(bits), ops.or_(bits, numbers.constant(numbers.top)))


def signed_ranks(x: Any) -> Any:
    dtype = aval_of(x).dtype
    unsigned = unsigned_of(8 * dtype.itemsize)
    top = constant(1 << (8 * dtype.itemsize - 1), unsigned)
    return ops.xor(bits_of(x, unsigned), top)


def widened(key: Any) -> Any:
    """A key as uint32, or uint64 if it has more bits."""
    return convert(key, dtypes.uint64 if aval_of(key).dtype.itemsize == 8 else dtypes.uint32)


def keys_of(x: Any) -> Any:
    """Keys that `values_of` has the values back from. All nan are last, by their bits."""
    x = simpler(x)
    dtype = aval_of(x).dtype
    if dtypes.is_float(dtype):
        numbers = numbers_of(dtype)
        return widened(ops.sub(ordered_bits(x, numbers), numbers.constant(numbers.base)))
    return widened(signed_ranks(x) if dtypes.is_signed_integer(dtype) else x)


def values_of(keys: Any, dtype: Any) -> Any:
    """The inverse of `keys_of`, for values of a dtype."""
    wide = dtype
    if dtypes.is_float(dtype):
        wide = dtype if dtype.itemsize > 1 else dtypes.float32
        numbers = numbers_of(wide)
        top = numbers.constant(numbers.top)
        ordered = ops.add(convert(keys, numbers.unsigned), numbers.constant(numbers.base))
        positive = ops.ne(ops.and_(ordered, top), numbers.constant(0))
        bits = chosen(positive, ops.xor(ordered, top), ops.not_(ordered))
        return convert(bits_of(bits, wide), dtype)
    if dtypes.is_signed_integer(dtype):
        wide = dtype if dtypes.bit_width(dtype) >= 8 else dtypes.int8
        unsigned = unsigned_of(8 * wide.itemsize)
        top = constant(1 << (8 * wide.itemsize - 1), unsigned)
        return convert(bits_of(ops.xor(convert(keys, unsigned), top), wide), dtype)
    if dtypes.is_bool(dtype):
        return ops.ne(keys, constant(0, unsigned_of(32)))
    return convert(keys, dtype)


def narrow_ranks(x: Any, signed_zeros: bool = False) -> Any:
    """Ranks in the width of x: all nan last and equal, -0.0 equal to 0.0 unless asked."""
    x = simpler(x)
    dtype = aval_of(x).dtype
    if not dtypes.is_float(dtype):
        return signed_ranks(x) if dtypes.is_signed_integer(dtype) else x
    numbers = numbers_of(dtype)
    ordered = ordered_bits(x, numbers)
    size = ops.and_(bits_of(x, numbers.unsigned), numbers.constant(numbers.top - 1))
    if not signed_zeros:
        is_zero = ops.eq(size, numbers.constant(0))
        ordered = chosen(is_zero, full(numbers.constant(numbers.top), ordered), ordered)
    last = full(numbers.constant(2 * numbers.top - 1), ordered)
    return chosen(ops.gt(size, numbers.constant(numbers.infinity)), last, ordered)


def ranked(x: Any, signed_zeros: bool = False) -> Any:
    """Unsigned integers of 32 or 64 bits that are ordered as x is."""
    return widened(narrow_ranks(x, signed_zeros))


def packed(xs: Sequence[Any]) -> list[Any]:
    """The keys, most significant first, joined into as few integers of up to 64 bits as hold them.

    A complex number is two keys, its real part first.
    """
    parts: list[Any] = []
    for x in xs:
        if dtypes.is_complex(aval_of(x).dtype):
            parts += [narrow_ranks(ops.real(x)), narrow_ranks(ops.imag(x))]
        else:
            parts.append(narrow_ranks(x))
    groups: list[list[Any]] = []
    for part in parts:
        if groups and sum(map(width, groups[-1])) + width(part) <= 64:
            groups[-1].append(part)
        else:
            groups.append([part])
    return [joined(group) for group in groups]


def width(key: Any) -> int:
    return 8 * int(aval_of(key).dtype.itemsize)


def joined(group: Sequence[Any]) -> Any:
    dtype = unsigned_of(64 if sum(map(width, group)) > 32 else 32)
    total = convert(group[0], dtype)
    for key in group[1:]:
        shifted = ops.shift_left(total, constant(width(key), dtype))
        total = ops.or_(shifted, convert(key, dtype))
    return total
