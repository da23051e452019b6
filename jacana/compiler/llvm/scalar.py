"""One operation of the kernel language as LLVM text, for a scalar or a vector of any width.

Operands and results are in register form (code.py). `convert` and `bitcast` are in convert.py.
"""

from collections.abc import Callable, Sequence

from jacana.compiler.llvm.code import (
    HALF_FLOATS,
    REGISTER,
    Code,
    float_text,
    splat,
    suffix,
    vector_type,
)
from jacana.kernel import ir

FLOAT_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
FLOAT_INTRINSICS = {
    "fma": "fma", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
    "round": "roundeven",
}  # fmt: skip
FLOAT_TESTS = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
SIGNED_TESTS = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
UNSIGNED_TESTS = {"eq": "eq", "ne": "ne", "lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge"}
PLAIN_INTEGER = ("add", "sub", "mul", "and", "or", "xor")


class Operator:
    """Writes instructions on values of one register type and width."""

    def __init__(self, code: Code, register: str, width: int):
        self.code, self.width, self.register = code, width, register
        self.vector = vector_type(register, width)
        self.suffix = suffix(register, width)

    def const(self, value: int | float) -> str:
        if self.register in ("float", "double"):
            type = "float32" if self.register == "float" else "float64"
            return splat(self.register, float_text(float(value), type), self.width)
        return splat(self.register, str(value), self.width)

    def op(self, name: str, *operands: str) -> str:
        return self.code.let(f"{name} {self.vector} {', '.join(operands)}")

    def call(self, name: str, *operands: str, flag: str = "") -> str:
        listed = ", ".join(f"{self.vector} {o}" for o in operands)
        return self.code.let(f"call {self.vector} @llvm.{name}.{self.suffix}({listed}{flag})")

    def compare(self, test: str, a: str, b: str) -> str:
        kind = "fcmp" if self.register in ("float", "double") else "icmp"
        return self.code.let(f"{kind} {test} {self.vector} {a}, {b}")

    def select(self, cond: str, a: str, b: str) -> str:
        mask = vector_type("i1", self.width)
        return self.code.let(f"select {mask} {cond}, {self.vector} {a}, {self.vector} {b}")

    def cast(self, name: str, register: str, x: str) -> str:
        """x cast to another register type."""
        to = vector_type(register, self.width)
        return self.code.let(f"{name} {self.vector} {x} to {to}")

    def other(self, register: str) -> "Operator":
        return Operator(self.code, register, self.width)


def operation(code: Code, width: int, name: str, type: str, args: Sequence[str]) -> str:
    """The result of the operation on operands of `type` (of `select`: the type of its sides)."""
    on = Operator(code, REGISTER[type], width)
    if name == "select":
        return on.select(*args)
    if type in HALF_FLOATS:
        return half_float(on, name, type, args)
    if type in ir.FLOATS:
        return floating(on, name, args)
    return integer(on, name, type, args)


def floating(on: Operator, name: str, args: Sequence[str]) -> str:
    """Operations of float32 and float64."""
    if name in FLOAT_ARITHMETIC:
        return on.op(FLOAT_ARITHMETIC[name], *args)
    if name in FLOAT_TESTS:
        return on.compare(FLOAT_TESTS[name], *args)
    if name in FLOAT_INTRINSICS:
        return on.call(FLOAT_INTRINSICS[name], *args)
    match name:
        case "neg":
            return on.op("fneg", *args)
        case "abs":
            return on.call("fabs", *args)
        case "copysign":
            return on.call("copysign", *args)
        case "max" | "min":
            picked = on.select(on.compare("ogt" if name == "max" else "olt", *args), *args)
            return on.select(on.compare("uno", args[0], args[0]), args[0], picked)
    raise KeyError(f"{name} is no operation of floats")


def half_float(on: Operator, name: str, type: str, args: Sequence[str]) -> str:
    """Operations of float16 and bfloat16: on their bits, or in float32 and rounded once."""
    match name:
        case "neg":
            return on.op("xor", args[0], on.const(-0x8000))
        case "abs":
            return on.op("and", args[0], on.const(0x7FFF))
        case "copysign":
            magnitude = on.op("and", args[0], on.const(0x7FFF))
            return on.op("or", magnitude, on.op("and", args[1], on.const(-0x8000)))
    wide = on.other("float")
    a = [widen(on, type, x) for x in args]
    if name in ("min", "max"):
        test = wide.compare("ogt" if name == "max" else "olt", *a)
        return on.select(wide.compare("uno", a[0], a[0]), args[0], on.select(test, *args))
    result = floating(wide, name, a)
    return result if name in FLOAT_TESTS else narrow(wide, type, result)


def widen(on: Operator, type: str, x: str) -> str:
    """The float32 of the same value as the float16 or bfloat16 whose bits are x."""
    wide = on.other("i32")
    if type == "float16" and on.code.facts.has_half:
        return on.other("half").cast("fpext", "float", on.cast("bitcast", "half", x))
    if type == "float16":
        return _widen_half(wide, on.cast("zext", "i32", x))
    bits = wide.op("shl", on.cast("zext", "i32", x), wide.const(16))
    return wide.cast("bitcast", "float", bits)


def narrow(wide: Operator, type: str, x: str) -> str:
    """The bits of the float32 x rounded to float16 or bfloat16, to nearest even."""
    on = wide.other("i32")
    if type == "float16" and on.code.facts.has_half:
        return wide.other("half").cast("bitcast", "i16", wide.cast("fptrunc", "half", x))
    bits = wide.cast("bitcast", "i32", x)
    if type == "float16":
        return on.cast("trunc", "i16", _narrow_half(on, bits))
    upper = on.op("lshr", bits, on.const(16))
    bump = on.op("add", on.op("and", upper, on.const(1)), on.const(0x7FFF))
    rounded = on.op("lshr", on.op("add", bits, bump), on.const(16))
    quiet = on.op("or", upper, on.const(0x40))
    chosen = on.select(wide.compare("uno", x, x), quiet, rounded)
    return on.cast("trunc", "i16", chosen)


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


def integer(on: Operator, name: str, type: str, args: Sequence[str]) -> str:
    """Operations of bool and integers."""
    signed = type in ir.SIGNED
    if name in SIGNED_TESTS:
        return on.compare((SIGNED_TESTS if signed else UNSIGNED_TESTS)[name], *args)
    if name in PLAIN_INTEGER:
        result = on.op(name, *args)
    else:
        result = INTEGER[name](on, type, signed, args)
    return nibble(on, type, result)


def nibble(on: Operator, type: str, x: str) -> str:
    """The i8 that a 4-bit integer is kept as, from one whose low bits are right."""
    if type == "uint4":
        return on.op("and", x, on.const(15))
    if type == "int4":
        return on.op("ashr", on.op("shl", x, on.const(4)), on.const(4))
    return x


def _neg(on: Operator, type: str, signed: bool, args: Sequence[str]) -> str:
    return on.op("sub", on.const(0), args[0])


def _abs(on: Operator, type: str, signed: bool, args: Sequence[str]) -> str:
    return on.call("abs", args[0], flag=", i1 false") if signed else args[0]


def _not(on: Operator, type: str, signed: bool, args: Sequence[str]) -> str:
    return on.op("xor", args[0], on.const(-1))


def _min(on: Operator, type: str, signed: bool, args: Sequence[str]) -> str:
    return on.call("smin" if signed else "umin", *args)


def _max(on: Operator, type: str, signed: bool, args: Sequence[str]) -> str:
    return on.call("smax" if signed else "umax", *args)


def _shl(on: Operator, type: str, signed: bool, args: Sequence[str]) -> str:
    return _logical_shift(on, "shl", type, args)


def _shr(on: Operator, type: str, signed: bool, args: Sequence[str]) -> str:
    if not signed:
        return _logical_shift(on, "lshr", type, args)
    last = int(on.register[1:]) - 1
    return on.op("ashr", args[0], on.call("umin", args[1], on.const(last)))


def _logical_shift(on: Operator, name: str, type: str, args: Sequence[str]) -> str:
    width = ir.WIDTH[type]
    amount = known_integer(args[1])
    if amount is not None:
        return on.op(name, *args) if 0 <= amount < width else on.const(0)
    if type == "bool":
        return on.op("and", args[0], on.op("xor", args[1], on.const(-1)))
    inside = on.compare("ult", args[1], on.const(width))
    return on.select(inside, on.op(name, *args), on.const(0))


def _popcount(on: Operator, type: str, signed: bool, args: Sequence[str]) -> str:
    return on.call("ctpop", _bits(on, type, args[0]))


def _clz(on: Operator, type: str, signed: bool, args: Sequence[str]) -> str:
    zeros = on.call("ctlz", _bits(on, type, args[0]), flag=", i1 false")
    return on.op("sub", zeros, on.const(4)) if ir.WIDTH[type] == 4 else zeros


def _bits(on: Operator, type: str, x: str) -> str:
    return on.op("and", x, on.const(15)) if type == "int4" else x


def _mulhi(on: Operator, type: str, signed: bool, args: Sequence[str]) -> str:
    width = ir.WIDTH[type]
    shift = "ashr" if signed else "lshr"
    if width == 4:
        return on.op(shift, on.op("mul", *args), on.const(4))
    if width == 64 and on.width > 1:
        return _mulhi_by_halves(on, signed, *args)
    wide = on.other(f"i{2 * width}")
    a, b = (on.cast("sext" if signed else "zext", wide.register, x) for x in args)
    return wide.cast("trunc", on.register, wide.op("lshr", wide.op("mul", a, b), wide.const(width)))


def _mulhi_by_halves(on: Operator, signed: bool, a: str, b: str) -> str:
    """The upper 64 bits of a product from products of 32-bit halves, which vectors have."""
    low, shift = on.const(0xFFFFFFFF), on.const(32)
    a0, b0 = on.op("and", a, low), on.op("and", b, low)
    a1, b1 = on.op("lshr", a, shift), on.op("lshr", b, shift)
    carry = on.op("lshr", on.op("mul", a0, b0), shift)
    middle = on.op("add", on.op("mul", a1, b0), carry)
    second = on.op("add", on.op("mul", a0, b1), on.op("and", middle, low))
    upper = on.op("add", on.op("mul", a1, b1), on.op("lshr", middle, shift))
    high = on.op("add", upper, on.op("lshr", second, shift))
    if not signed:
        return high
    # As signed numbers, a negative operand counts 2**64 less.
    high = on.op("sub", high, on.op("and", on.op("ashr", a, on.const(63)), b))
    return on.op("sub", high, on.op("and", on.op("ashr", b, on.const(63)), a))


def known_integer(text: str) -> int | None:
    """The value of an operand that is a constant integer in every lane."""
    if text[0] == "%":
        return None
    if text.startswith("splat ("):
        text = text[7:-1].split()[1]
    return int(text) if text.lstrip("-").isdigit() else None


def _div(on: Operator, type: str, signed: bool, args: Sequence[str]) -> str:
    """The quotient toward zero; x / 0 is all ones and min / -1 is min.

    A third operand is 1 / y, see `reciprocal`.
    """
    x, y = args[:2]
    if type == "bool":
        return on.op("or", x, on.op("xor", y, on.const(-1)))
    divisor = known_integer(y)
    if divisor is not None and divisor not in (0, -1):
        return on.op("sdiv" if signed else "udiv", x, y)
    zero = on.compare("eq", y, on.const(0))
    if on.width > 1 and ir.WIDTH[type] <= 32:
        quotient = _divide_as_floats(on, signed, x, y, args[2:])
    elif on.width > 1:
        quotient = _divide_long(on, signed, x, y)
    else:
        quotient = _divide_exactly(on, signed, x, y)
    if signed:
        negated = on.op("sub", on.const(0), x)
        quotient = on.select(on.compare("eq", y, on.const(-1)), negated, quotient)
    return on.select(zero, on.const(-1), quotient)


def _divide_exactly(on: Operator, signed: bool, x: str, y: str) -> str:
    """The quotient by the instruction, with another divisor where it would fault."""
    faults = on.compare("eq", y, on.const(0))
    if signed:
        overflows = on.compare("eq", y, on.const(-1))
        faults = on.code.let(f"or {vector_type('i1', on.width)} {faults}, {overflows}")
    return on.op("sdiv" if signed else "udiv", x, on.select(faults, on.const(1), y))


def _divide_long(on: Operator, signed: bool, x: str, y: str) -> str:
    """The quotient of 64-bit integers, as doubles if all are below 2**51 in magnitude.

    There is no vector instruction for the division of integers.
    """
    code, width = on.code, on.width
    sizes, limit = [x, y], 1 << 51
    if signed:
        sizes, limit = [on.op("add", v, on.const(limit)) for v in sizes], 2 * limit
    large = [on.compare("uge", v, on.const(limit)) for v in sizes]
    either = code.let(f"or {vector_type('i1', width)} {large[0]}, {large[1]}")
    exactly, quickly, after = code.label(), code.label(), code.label()
    code.jump_if(code.any(either, width), exactly, quickly)
    code.start(exactly)
    exact = _divide_exactly(on, signed, x, y)
    code.jump(after)
    code.start(quickly)
    double = on.other("double")
    quotient = double.op("fdiv", *(on.cast("sitofp", "double", v) for v in (x, y)))
    quick = double.cast("fptosi", "i64", quotient)
    code.jump(after)
    code.start(after)
    return code.phi(on.vector, (exact, exactly), (quick, quickly))


def reciprocal(code: Code, type: str, y: str) -> str:
    """1 / y for an int32 or uint32, as a double that is a little larger in magnitude.

    By less than one part in 2**49: the product with x reaches x / y where that is an integer, and
    where it is not, the next integer is 1 / y away.
    """
    double = code.let(f"{'sitofp' if type in ir.SIGNED else 'uitofp'} i32 {y} to double")
    return code.let(f"fdiv double {float_text(1 + 2.0**-50)}, {double}")


def _divide_as_floats(
    on: Operator, signed: bool, x: str, y: str, inverse: Sequence[str] = ()
) -> str:
    """The quotient of integers by a float division too precise to round up to an integer.

    The float has more bits than x times two, and x / y is at least 1 / y below the next integer.
    """
    narrow_type = on.register in ("i8", "i16")
    wide = on.other("float" if narrow_type else "double")
    a, b = (on.cast("sitofp" if signed else "uitofp", wide.register, v) for v in (x, y))
    quotient = wide.op("fmul", a, inverse[0]) if inverse else wide.op("fdiv", a, b)
    if not narrow_type:
        return wide.cast("fptosi" if signed else "fptoui", "i32", quotient)
    return on.other("i32").cast("trunc", on.register, wide.cast("fptosi", "i32", quotient))


def _rem(on: Operator, type: str, signed: bool, args: Sequence[str]) -> str:
    """What division leaves; x % 0 is x."""
    x, y = args[:2]
    divisor = known_integer(y)
    if divisor is not None and divisor not in (0, -1) and type != "bool":
        return on.op("srem" if signed else "urem", x, y)
    quotient = _div(on, type, signed, args)
    return on.op("sub", x, on.op("mul", quotient, y))


INTEGER: dict[str, Callable[[Operator, str, bool, Sequence[str]], str]] = {
    "neg": _neg, "abs": _abs, "not": _not, "min": _min, "max": _max, "shl": _shl, "shr": _shr,
    "popcount": _popcount, "clz": _clz, "mulhi": _mulhi, "div": _div, "rem": _rem,
}  # fmt: skip
