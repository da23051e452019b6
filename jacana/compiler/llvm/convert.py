"""Conversions between types as LLVM text: to integers saturating, to floats rounded once."""

from jacana.compiler.llvm.code import REGISTER, Code
from jacana.compiler.llvm.narrow_floats import narrow, widen
from jacana.compiler.llvm.operator import Operator
from jacana.compiler.llvm.scalar import within_byte
from jacana.kernel import ir
from jacana.kernel.arithmetic import FAR_REACHING


def bitcast(code: Code, width: int, source: str, target: str, x: str) -> str:
    """The value of the target type with the same bits."""
    on = Operator(code, REGISTER[source], width)
    if REGISTER[source] != REGISTER[target]:
        return on.cast("bitcast", REGISTER[target], x)
    return x if source == target else within_byte(on, target, x)


def convert(code: Code, width: int, source: str, target: str, x: str) -> str:
    """The value converted as ir.OPERATIONS states."""
    on = Operator(code, REGISTER[source], width)
    if source == target:
        return x
    if source in ir.FLOATS:
        if source in ir.NARROW_FLOATS:
            x, on = widen(on, source, x), on.other("float")
        if target in ir.FLOATS:
            return _float_to_float(on, target, x)
        return _float_to_integer(on, target, x)
    if target in ir.FLOATS:
        return _integer_to_float(on, source, target, x)
    return _integer_to_integer(on, source, target, x)


def _float_to_float(on: Operator, target: str, x: str) -> str:
    register = REGISTER[target]
    if target in ir.NARROW_FLOATS:
        if on.register == "double":
            x, on = _round_to_odd(on, x), on.other("float")
        return narrow(on, target, x)
    if register == on.register:
        return x
    return on.cast("fpext" if register == "double" else "fptrunc", register, x)


def _round_to_odd(on: Operator, x: str) -> str:
    """The float32 next to the double x toward zero, its last bit set if that is not exact.

    Rounding it again to fewer bits gives what rounding x once would.
    """
    single, bits = on.other("float"), on.other("i32")
    near = on.cast("fptrunc", "float", x)
    back = single.cast("fpext", "double", near)
    too_far = on.compare("ogt", on.call("fabs", back), on.call("fabs", x))
    inexact = on.compare("one", back, x)
    pattern = single.cast("bitcast", "i32", near)
    mask = on.other("i1")
    toward_zero = bits.op("sub", pattern, mask.cast("zext", "i32", too_far))
    odd = bits.op("or", toward_zero, mask.cast("zext", "i32", inexact))
    return bits.cast("bitcast", "float", odd)


def _float_to_integer(on: Operator, target: str, x: str) -> str:
    if target == "bool":
        return on.compare("une", x, on.const(0.0))
    signed, bits = target in ir.SIGNED, ir.WIDTH[target]
    low = -(1 << bits - 1) if signed else 0
    high = (1 << bits - signed) - 1
    cast = "fptosi" if signed or bits < 32 else "fptoui"
    at_once = Operator(on.code, f"i{max(bits, 32)}", on.width)
    nan = on.compare("uno", x, x)
    raised = on.select(on.compare("ogt", x, on.const(low)), x, on.const(low))
    if bits - signed <= (24 if on.register == "float" else 53):
        inside = on.select(on.compare("olt", raised, on.const(high)), raised, on.const(high))
        result = on.cast(cast, at_once.register, inside)
    else:
        # The greatest integer is no float: compare with the power of two above it.
        fits = on.compare("olt", raised, on.const(high + 1))
        inside = on.select(fits, raised, on.const(0.0))
        largest = at_once.const(high if signed else -1)
        result = at_once.select(fits, on.cast(cast, at_once.register, inside), largest)
    result = at_once.select(nan, at_once.const(0), result)
    if bits >= 32:
        return result
    return at_once.cast("trunc", REGISTER[target], result)


def _integer_to_float(on: Operator, source: str, target: str, x: str) -> str:
    signed, bits = source in ir.SIGNED, ir.WIDTH[source]
    cast = "sitofp" if signed else "uitofp"
    if target not in ir.NARROW_FLOATS:
        register = REGISTER[target]
        if source != "bool":
            return on.cast(cast, register, x)
        number = on.other(register)
        return number.select(x, number.const(1.0), number.const(0.0))
    single = on.other("float")
    if target in FAR_REACHING and bits >= 32:
        if bits == 64:
            x = _keep_53_bits(on, signed, x)
        double = on.other("double")
        return narrow(single, target, _round_to_odd(double, on.cast(cast, "double", x)))
    # To other narrow types all integers that float32 does not hold overflow.
    return narrow(single, target, on.cast(cast, "float", x))


def _keep_53_bits(on: Operator, signed: bool, x: str) -> str:
    """x, or if it needs more than 53 bits, x rounded to odd so that it does not."""
    low = on.op("and", x, on.const(0x7FF))
    sticky = on.other("i1").cast("zext", "i64", on.compare("ne", low, on.const(0)))
    kept = on.op("or", on.op("lshr", x, on.const(11)), sticky)
    kept = on.op("shl", kept, on.const(11))
    distance = on.op("add", x, on.const(1 << 53)) if signed else x
    return on.select(on.compare("ult", distance, on.const(1 << 54 if signed else 1 << 53)), x, kept)


def _integer_to_integer(on: Operator, source: str, target: str, x: str) -> str:
    register = REGISTER[target]
    if target == "bool":
        return on.compare("ne", x, on.const(0))
    narrower, wider = int(register[1:]), int(on.register[1:])
    if narrower < wider:
        x = on.cast("trunc", register, x)
    elif narrower > wider:
        x = on.cast("sext" if source in ir.SIGNED else "zext", register, x)
    return within_byte(on.other(register), target, x)
