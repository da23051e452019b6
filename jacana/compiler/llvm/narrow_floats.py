"""Narrow floats as LLVM text: from their bits to float32 and back, rounded to nearest even once."""

from jacana.compiler.llvm.operator import Operator
from jacana.core.records import record
from jacana.kernel import ir
from jacana.kernel.math.floats import LAYOUT


@record
class Special:
    """The bits, apart from the sign, of what is no finite number in a small float type.

    `overflow` is what greater numbers than `largest` become. Types without a negative zero have one
    nan, which is where that would be.
    """

    largest: int
    overflow: int
    nan: int
    negative_zero: bool = True


SPECIAL = {
    "float8_e3m4": Special(0x6F, 0x70, 0x78), "float8_e4m3": Special(0x77, 0x78, 0x7C),
    "float8_e5m2": Special(0x7B, 0x7C, 0x7E), "float8_e4m3fn": Special(0x7E, 0x7F, 0x7F),
    "float8_e4m3fnuz": Special(0x7F, 0x80, 0x80, False),
    "float8_e4m3b11fnuz": Special(0x7F, 0x80, 0x80, False),
    "float8_e5m2fnuz": Special(0x7F, 0x80, 0x80, False),
}  # fmt: skip


def widen(on: Operator, type: str, x: str) -> str:
    """The float32 of the same value as the narrow float whose bits are x."""
    wide = on.other("i32")
    if type == "float16" and on.code.facts.has_half:
        return on.other("half").cast("fpext", "float", on.cast("bitcast", "half", x))
    bits = on.cast("zext", "i32", x)
    if type == "bfloat16":
        return wide.cast("bitcast", "float", wide.op("shl", bits, wide.const(16)))
    if type == "float16":
        return _widen_half(wide, bits)
    if type == "float8_e8m0fnu":
        return _widen_power(wide, bits)
    return _widen_small(wide, type, bits)


def narrow(wide: Operator, type: str, x: str) -> str:
    """The bits of the float32 x rounded to a narrow float, to nearest even."""
    on = wide.other("i32")
    if type == "float16" and on.code.facts.has_half:
        return wide.other("half").cast("bitcast", "i16", wide.cast("fptrunc", "half", x))
    bits = wide.cast("bitcast", "i32", x)
    if type == "bfloat16":
        return on.cast("trunc", "i16", _narrow_to_upper_half(on, bits))
    if type == "float16":
        return on.cast("trunc", "i16", _narrow_half(on, bits))
    if type == "float8_e8m0fnu":
        return on.cast("trunc", "i8", _narrow_to_power(on, bits))
    return on.cast("trunc", "i8", _narrow_small(on, type, bits))


def _narrow_to_upper_half(on: Operator, bits: str) -> str:
    """The bfloat16 bits of float32 bits."""
    upper = on.op("lshr", bits, on.const(16))
    bump = on.op("add", on.op("and", upper, on.const(1)), on.const(0x7FFF))
    rounded = on.op("lshr", on.op("add", bits, bump), on.const(16))
    quiet = on.op("or", upper, on.const(0x40))
    size = on.op("and", bits, on.const(0x7FFFFFFF))
    return on.select(on.compare("ugt", size, on.const(0x7F800000)), quiet, rounded)


def _widen_half(on: Operator, bits: str) -> str:
    """The float32 of float16 bits: the exponent moved by a multiplication, which is exact."""
    single = on.other("float")
    magnitude = on.op("shl", on.op("and", bits, on.const(0x7FFF)), on.const(13))
    scaled = single.op("fmul", on.cast("bitcast", "float", magnitude), single.const(2.0**112))
    moved = single.cast("bitcast", "i32", scaled)
    finite = on.compare("ult", magnitude, on.const(0x7C00 << 13))
    moved = on.select(finite, moved, on.op("or", magnitude, on.const(0x7F800000)))
    sign = on.op("shl", on.op("and", bits, on.const(0x8000)), on.const(16))
    return on.cast("bitcast", "float", on.op("or", moved, sign))


def _narrow_half(on: Operator, bits: str) -> str:
    """The float16 bits of float32 bits, rounded to nearest even."""
    single = on.other("float")
    size = on.op("and", bits, on.const(0x7FFFFFFF))
    # Next to 0.5 a float32 has the spacing of subnormal float16 numbers: adding it rounds.
    shifted = single.op("fadd", on.cast("bitcast", "float", size), single.const(0.5))
    tiny = on.op("sub", single.cast("bitcast", "i32", shifted), on.const(0x3F000000))
    odd = on.op("and", on.op("lshr", size, on.const(13)), on.const(1))
    bumped = on.op("add", on.op("sub", size, on.const(0x38000000 - 0xFFF)), odd)
    normal = on.call("umin", on.op("lshr", bumped, on.const(13)), on.const(0x7C00))
    made = on.select(on.compare("ult", size, on.const(0x38800000)), tiny, normal)
    is_nan = on.compare("ugt", size, on.const(0x7F800000))
    made = on.select(is_nan, on.const(0x7E00), made)
    return on.op("or", made, on.op("and", on.op("lshr", bits, on.const(16)), on.const(0x8000)))


def _widen_small(on: Operator, type: str, bits: str) -> str:
    """The float32 of small float bits, as that of float16 bits."""
    single, (mantissa, bias) = on.other("float"), LAYOUT[type]
    sign_bit = 1 << ir.WIDTH[type] - 1
    size = on.op("and", bits, on.const(sign_bit - 1))
    magnitude = on.cast("bitcast", "float", on.op("shl", size, on.const(23 - mantissa)))
    scaled = single.op("fmul", magnitude, single.const(2.0 ** (127 - bias)))
    made = single.cast("bitcast", "i32", scaled)
    special = SPECIAL.get(type)
    if special is not None and special.negative_zero:
        # The least that is not finite is infinite, if the type has infinities.
        least = special.overflow
        infinite = on.select(
            on.compare("eq", size, on.const(least)),
            on.const(0x7F800000 if least < special.nan else 0x7FC00000), on.const(0x7FC00000),
        )  # fmt: skip
        made = on.select(on.compare("uge", size, on.const(least)), infinite, made)
    elif special is not None:
        made = on.select(on.compare("eq", bits, on.const(special.nan)), on.const(0x7FC00000), made)
    sign = on.op("shl", on.op("and", bits, on.const(sign_bit)), on.const(32 - ir.WIDTH[type]))
    return on.cast("bitcast", "float", on.op("or", made, sign))


def _narrow_small(on: Operator, type: str, bits: str) -> str:
    """The small float bits of float32 bits, as those of float16."""
    single, (mantissa, bias) = on.other("float"), LAYOUT[type]
    dropped, sign_bit = 23 - mantissa, 1 << ir.WIDTH[type] - 1
    size = on.op("and", bits, on.const(0x7FFFFFFF))
    # A float32 next to this has the spacing of subnormal numbers of the type: adding it rounds.
    spaced = 2.0 ** (24 - bias - mantissa)
    shifted = single.op("fadd", on.cast("bitcast", "float", size), single.const(spaced))
    base = (127 + 24 - bias - mantissa) << 23
    tiny = on.op("sub", single.cast("bitcast", "i32", shifted), on.const(base))
    odd = on.op("and", on.op("lshr", size, on.const(dropped)), on.const(1))
    moved = (127 - bias << 23) - (1 << dropped - 1) + 1
    bumped = on.op("add", on.op("sub", size, on.const(moved)), odd)
    made = on.op("lshr", bumped, on.const(dropped))
    made = on.select(on.compare("ult", size, on.const(128 - bias << 23)), tiny, made)
    sign = on.op("and", on.op("lshr", bits, on.const(32 - ir.WIDTH[type])), on.const(sign_bit))
    is_nan = on.compare("ugt", size, on.const(0x7F800000))
    special = SPECIAL.get(type)
    if special is None:
        # Without infinity and nan: numbers stop at the largest, and nan is -0.0.
        made = on.call("umin", made, on.const(sign_bit - 1))
        return on.select(is_nan, on.const(sign_bit), on.op("or", made, sign))
    too_large = on.compare("ugt", made, on.const(special.largest))
    made = on.select(too_large, on.const(special.overflow), made)
    made = on.select(is_nan, on.const(special.nan), made)
    if not special.negative_zero:
        sign = on.select(on.compare("eq", made, on.const(0)), on.const(0), sign)
    return on.op("or", made, sign)


def _widen_power(on: Operator, bits: str) -> str:
    """The float32 of float8_e8m0fnu bits, which are an exponent: 0 is 2**-127 and 255 is nan."""
    made = on.op("shl", bits, on.const(23))
    made = on.select(on.compare("eq", bits, on.const(0)), on.const(0x00400000), made)
    made = on.select(on.compare("eq", bits, on.const(255)), on.const(0x7FC00000), made)
    return on.cast("bitcast", "float", made)


def _narrow_to_power(on: Operator, bits: str) -> str:
    """The exponent of float32 bits, rounded half up; nan for what is no positive number."""
    rounded = on.op("lshr", on.op("add", bits, on.const(0x00400000)), on.const(23))
    upper = on.compare("uge", bits, on.const(0x00600000))
    least = on.other("i1").cast("zext", "i32", upper)
    made = on.select(on.compare("ult", bits, on.const(0x00800000)), least, rounded)
    # Zero less one is the largest unsigned integer; negative floats are above infinity.
    outside = on.compare("uge", on.op("sub", bits, on.const(1)), on.const(0x7F800000 - 1))
    return on.select(outside, on.const(255), made)
