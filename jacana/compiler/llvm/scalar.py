"""One operation of the kernel language as LLVM text, for a scalar or a vector of any width.

Operands and results are in register form (code.py). `convert` and `bitcast` are in convert.py.
"""

from collections.abc import Callable, Sequence

from jacana.compiler.llvm.code import REGISTER, Code, float_text, vector_type
from jacana.compiler.llvm.narrow_floats import narrow, widen
from jacana.compiler.llvm.operator import Operator
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


def operation(code: Code, width: int, name: str, type: str, args: Sequence[str]) -> str:
    """The result of the operation on operands of `type` (of `select`: the type of its sides)."""
    on = Operator(code, REGISTER[type], width)
    if name == "select":
        return on.select(*args)
    if type in ir.NARROW_FLOATS:
        return narrow_float(on, name, type, args)
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


def narrow_float(on: Operator, name: str, type: str, args: Sequence[str]) -> str:
    """Operations of narrow floats: on their bits, or in float32 and rounded once."""
    if name in ("neg", "abs", "copysign") and type not in ir.SMALL_FLOATS:
        return _of_sign_bit(on, name, args)
    wide = on.other("float")
    a = [widen(on, type, x) for x in args]
    if name in ("min", "max"):
        test = wide.compare("ogt" if name == "max" else "olt", *a)
        return on.select(wide.compare("uno", a[0], a[0]), args[0], on.select(test, *args))
    result = floating(wide, name, a)
    return result if name in FLOAT_TESTS else narrow(wide, type, result)


def _of_sign_bit(on: Operator, name: str, args: Sequence[str]) -> str:
    """Operations on the sign bit of 16-bit floats, so that nan keeps its other bits."""
    if name == "neg":
        return on.op("xor", args[0], on.const(-0x8000))
    magnitude = on.op("and", args[0], on.const(0x7FFF))
    if name == "abs":
        return magnitude
    return on.op("or", magnitude, on.op("and", args[1], on.const(-0x8000)))


def integer(on: Operator, name: str, type: str, args: Sequence[str]) -> str:
    """Operations of bool and integers."""
    signed = type in ir.SIGNED
    if name in SIGNED_TESTS:
        return on.compare((SIGNED_TESTS if signed else UNSIGNED_TESTS)[name], *args)
    if name in PLAIN_INTEGER:
        result = on.op(name, *args)
    else:
        result = INTEGER[name](on, type, signed, args)
    return within_byte(on, type, result)


def within_byte(on: Operator, type: str, x: str) -> str:
    """The i8 that a value of less than 8 bits is kept as, from one whose low bits are right."""
    width = ir.WIDTH[type]
    if not 1 < width < 8:
        return x
    if type in ir.SIGNED:
        unused = on.const(8 - width)
        return on.op("ashr", on.op("shl", x, unused), unused)
    return on.op("and", x, on.const((1 << width) - 1))


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
    unused = 8 - ir.WIDTH[type]
    return on.op("sub", zeros, on.const(unused)) if unused > 0 else zeros


def _bits(on: Operator, type: str, x: str) -> str:
    width = ir.WIDTH[type]
    narrow_type = type in ir.SIGNED and width < 8
    return on.op("and", x, on.const((1 << width) - 1)) if narrow_type else x


def _mulhi(on: Operator, type: str, signed: bool, args: Sequence[str]) -> str:
    width = ir.WIDTH[type]
    shift = "ashr" if signed else "lshr"
    if width < 8:
        return on.op(shift, on.op("mul", *args), on.const(width))
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
