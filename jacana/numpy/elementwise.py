"""Elementwise functions: promotion to one dtype and shape, then a primitive or a short formula."""
from collections.abc import Callable
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.values import aval_of
from jacana.numpy.promotion import (
    check_operands,
    convert,
    inexact_dtype,
    promote_args,
    promote_args_inexact,
)
from jacana.numpy.selection import where

Function = Callable[..., Any]


def unary(name: str, primitive: Any, doc: str, inexact: bool = True) -> Function:
    """A function of one array; `inexact` ones compute integers in floating point."""

    def function(x: Any, /) -> Any:
        (x,) = promote_args_inexact(name, x) if inexact else promote_args(name, x)
        return primitive(x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def binary(name: str, primitive: Any, doc: str, inexact: bool = False) -> Function:
    """A function of two arrays that broadcast against each other."""

    def function(x: Any, y: Any, /) -> Any:
        x, y = promote_args_inexact(name, x, y) if inexact else promote_args(name, x, y)
        return primitive(x, y)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _kind(x: Any) -> str:
    return dtypes.kind(aval_of(x).dtype)


# --- arithmetic --------------------------------------------------------------------------------------


def add(x: Any, y: Any, /) -> Any:
    """x + y, elementwise; booleans are or-ed."""
    x, y = promote_args("add", x, y)
    return ops.or_(x, y) if _kind(x) == "bool" else ops.add(x, y)


def subtract(x: Any, y: Any, /) -> Any:
    """x - y, elementwise."""
    x, y = promote_args("subtract", x, y)
    return ops.sub(x, y)


def multiply(x: Any, y: Any, /) -> Any:
    """x * y, elementwise; booleans are and-ed."""
    x, y = promote_args("multiply", x, y)
    return ops.and_(x, y) if _kind(x) == "bool" else ops.mul(x, y)


true_divide = binary("true_divide", ops.div, "x / y in floating point, elementwise.", True)
divide = true_divide


def negative(x: Any, /) -> Any:
    """-x, elementwise. TypeError for booleans, as NumPy."""
    (x,) = promote_args("negative", x)
    return ops.neg(x)


def positive(x: Any, /) -> Any:
    """x itself."""
    (x,) = promote_args("positive", x)
    return x


def absolute(x: Any, /) -> Any:
    """The magnitude of each element; real for complex x."""
    (x,) = promote_args("absolute", x)
    return x if _kind(x) in ("bool", "uint") else ops.abs(x)


abs = absolute
fabs = unary("fabs", ops.abs, "The absolute value in floating point.")
sign = unary("sign", ops.sign, "-1, 0 or 1 (x / |x| for complex x); nan stays nan.", False)


def floor_divide(x: Any, y: Any, /) -> Any:
    """The largest integer not above x / y, in the operands' dtype."""
    x, y = promote_args("floor_divide", x, y)
    kind = _kind(x)
    if kind in ("uint", "bool"):
        return ops.div(x, y) if kind == "uint" else ops.and_(x, y)
    if kind == "int":
        q = ops.div(x, y)
        # Truncation went up where the signs differ and the division was not exact.
        up = ops.and_(ops.ne(ops.sign(x), ops.sign(y)), ops.ne(ops.rem(x, y), _like(0, x)))
        return where(up, subtract(q, 1), q)
    if kind == "complex":
        raise TypeError("floor_divide does not support complex-valued inputs")
    return divmod(x, y)[0]


def remainder(x: Any, y: Any, /) -> Any:
    """x - y * floor(x / y): the remainder with the sign of y."""
    x, y = promote_args("remainder", x, y)
    r = ops.rem(x, y)
    if _kind(x) in ("uint", "bool"):
        return r
    zero = _like(0, x)
    fix = ops.and_(ops.ne(r, zero), ops.ne(ops.lt(r, zero), ops.lt(y, zero)))
    return where(fix, ops.add(r, y), r)


mod = remainder
fmod = binary("fmod", ops.rem, "The remainder with the sign of x.")


def divmod(x: Any, y: Any, /) -> tuple[Any, Any]:
    """(floor_divide(x, y), remainder(x, y))."""
    x, y = promote_args("divmod", x, y)
    if _kind(x) != "float":
        return floor_divide(x, y), remainder(x, y)
    r = remainder(x, y)
    q = ops.div(ops.sub(x, r), y)
    # (x - r) / y is an integer up to rounding; x / 0 keeps its infinity.
    rounded = ops.round(q, rounding_method=1)
    return where(ops.eq(y, _like(0, y)), ops.div(x, y), rounded), r


def _like(value: Any, x: Any) -> Any:
    """A scalar literal of x's dtype."""
    return np.asarray(value).astype(aval_of(x).dtype)[()]


def power(x: Any, y: Any, /) -> Any:
    """x to the power y; a Python integer y multiplies repeatedly and keeps integers exact."""
    check_operands("power", x, y)
    if isinstance(y, int) and not isinstance(y, bool):
        (x,) = promote_args("power", x)
        if _kind(x) != "bool":
            if _kind(x) in ("int", "uint") and y < 0:
                raise ValueError("Integers to negative integer powers are not allowed.")
            return ops.integer_pow(x, y=y)
    x_, y_ = promote_args("power", x, y)
    if _kind(x_) in ("int", "uint"):
        return _integer_power(x_, y_)
    if _kind(x_) == "bool":
        return ops.or_(x_, ops.not_(y_))
    return ops.pow(x_, y_)


def _integer_power(x: Any, y: Any) -> Any:
    """Exponentiation by squaring; a negative exponent gives 0, apart from bases 1 and -1."""
    bits = 8 * aval_of(x).dtype.itemsize
    one, zero = _like(1, x), _like(0, x)
    result = where(ops.ne(ops.and_(y, one), zero), x, one)
    base = x
    for k in range(1, bits):
        base = ops.mul(base, base)
        bit = ops.and_(ops.shift_right_logical(y, _like(k, y)), one)
        result = where(ops.ne(bit, zero), ops.mul(result, base), result)
    if _kind(x) == "uint":
        return result
    odd = ops.ne(ops.and_(y, one), zero)
    minus = ops.eq(x, _like(-1, x))
    inverse = where(ops.eq(x, one), one, where(minus, where(odd, x, one), zero))
    return where(ops.lt(y, zero), inverse, result)


pow = power
float_power = binary("float_power", ops.pow, "x to the power y in floating point.", True)


def square(x: Any, /) -> Any:
    """x * x, elementwise."""
    (x,) = promote_args("square", x)
    return ops.and_(x, x) if _kind(x) == "bool" else ops.square(x)


def reciprocal(x: Any, /) -> Any:
    """1 / x in floating point."""
    (x,) = promote_args_inexact("reciprocal", x)
    return ops.integer_pow(x, y=-1)


# --- extremes ----------------------------------------------------------------------------------------

maximum = binary("maximum", ops.max, "The larger of x and y; nan if either is.")
minimum = binary("minimum", ops.min, "The smaller of x and y; nan if either is.")


def fmax(x: Any, y: Any, /) -> Any:
    """The larger of x and y, ignoring a nan where the other is a number."""
    x, y = promote_args("fmax", x, y)
    return where(ops.or_(ops.gt(x, y), isnan(y)), x, y)


def fmin(x: Any, y: Any, /) -> Any:
    """The smaller of x and y, ignoring a nan where the other is a number."""
    x, y = promote_args("fmin", x, y)
    return where(ops.or_(ops.lt(x, y), isnan(y)), x, y)


# --- exponentials, logarithms, powers ----------------------------------------------------------------

exp = unary("exp", ops.exp, "e to the power x.")
exp2 = unary("exp2", ops.exp2, "2 to the power x.")
expm1 = unary("expm1", ops.expm1, "exp(x) - 1, accurate for small x.")
log = unary("log", ops.log, "The natural logarithm; nan below 0, -inf at 0.")
log1p = unary("log1p", ops.log1p, "log(1 + x), accurate for small x.")
sqrt = unary("sqrt", ops.sqrt, "The square root; nan below 0.")
cbrt = unary("cbrt", ops.cbrt, "The cube root.")


def log2(x: Any, /) -> Any:
    """The logarithm to base 2."""
    (x,) = promote_args_inexact("log2", x)
    return ops.div(ops.log(x), _like(np.log(2.0), x))


def log10(x: Any, /) -> Any:
    """The logarithm to base 10."""
    (x,) = promote_args_inexact("log10", x)
    return ops.div(ops.log(x), _like(np.log(10.0), x))


def hypot(x: Any, y: Any, /) -> Any:
    """sqrt(x**2 + y**2) without overflow or underflow on the way."""
    x, y = promote_args_inexact("hypot", x, y)
    x, y = ops.abs(x), ops.abs(y)
    infinite = ops.or_(isinf(x), isinf(y))
    big, small = ops.max(x, y), ops.min(x, y)
    zero = ops.eq(big, _like(0, big))
    ratio = ops.div(small, where(zero, _like(1, big), big))
    root = ops.mul(big, ops.sqrt(ops.add(ops.square(ratio), _like(1, big))))
    return where(infinite, _like(np.inf, big), where(zero, big, root))


# --- trigonometric and hyperbolic --------------------------------------------------------------------

sin = unary("sin", ops.sin, "The sine of an angle in radians.")
cos = unary("cos", ops.cos, "The cosine of an angle in radians.")
tan = unary("tan", ops.tan, "The tangent of an angle in radians.")
arcsin = asin = unary("arcsin", ops.asin, "The angle in [-pi/2, pi/2] whose sine is x.")
arccos = acos = unary("arccos", ops.acos, "The angle in [0, pi] whose cosine is x.")
arctan = atan = unary("arctan", ops.atan, "The angle in [-pi/2, pi/2] whose tangent is x.")
arctan2 = atan2 = binary(
    "arctan2", ops.atan2, "The angle of the point (y, x) in [-pi, pi]; arguments y, x.", True
)
sinh = unary("sinh", ops.sinh, "The hyperbolic sine.")
cosh = unary("cosh", ops.cosh, "The hyperbolic cosine.")
tanh = unary("tanh", ops.tanh, "The hyperbolic tangent.")
arcsinh = asinh = unary("arcsinh", ops.asinh, "The inverse hyperbolic sine.")
arccosh = acosh = unary("arccosh", ops.acosh, "The inverse hyperbolic cosine; nan below 1.")
arctanh = atanh = unary("arctanh", ops.atanh, "The inverse hyperbolic tangent.")


def deg2rad(x: Any, /) -> Any:
    """Degrees to radians."""
    (x,) = promote_args_inexact("deg2rad", x)
    return ops.mul(x, _like(np.pi / 180, x))


def rad2deg(x: Any, /) -> Any:
    """Radians to degrees."""
    (x,) = promote_args_inexact("rad2deg", x)
    return ops.mul(x, _like(180 / np.pi, x))


degrees, radians = rad2deg, deg2rad


def sinc(x: Any, /) -> Any:
    """sin(pi x) / (pi x), and 1 at 0; smooth there to every order."""
    (x,) = promote_args_inexact("sinc", x)
    zero = ops.eq(x, _like(0, x))
    pix = ops.mul(x, _like(np.pi, x))
    safe = where(zero, _like(1, x), pix)
    # Around 0 the series 1 - t/6 (1 - t/20 (1 - t/42 ...)), t = (pi x)**2, carries derivatives.
    t = ops.square(pix)
    series = _like(1, x)
    for k in (6, 5, 4, 3, 2, 1):
        series = subtract(1, multiply(divide(t, (2 * k) * (2 * k + 1)), series))
    return where(zero, series, ops.div(ops.sin(safe), safe))


# --- rounding and tests ------------------------------------------------------------------------------


def _rounding(name: str, primitive: Function, doc: str) -> Function:
    def function(x: Any, /) -> Any:
        (x,) = promote_args(name, x)
        return x if _kind(x) in ("bool", "int", "uint") else primitive(x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


floor = _rounding("floor", ops.floor, "The largest integer not above x; integers stay as they are.")
ceil = _rounding("ceil", ops.ceil, "The smallest integer not below x; integers stay as they are.")


def trunc(x: Any, /) -> Any:
    """x rounded toward zero; integers stay as they are."""
    (x,) = promote_args("trunc", x)
    if _kind(x) in ("bool", "int", "uint"):
        return x
    return where(ops.lt(x, _like(0, x)), ops.ceil(x), ops.floor(x))


fix = trunc


def rint(x: Any, /) -> Any:
    """x rounded to the nearest integer, halves to even."""
    (x,) = promote_args_inexact("rint", x)
    if _kind(x) == "complex":
        return ops.complex(rint(ops.real(x)), rint(ops.imag(x)))
    return ops.round(x, rounding_method=1)


def round(x: Any, decimals: int = 0) -> Any:
    """x rounded to the given number of decimals, halves to even."""
    check_operands("round", x)
    if _kind(x) in ("bool", "int", "uint"):
        if decimals >= 0:
            return promote_args("round", x)[0]
        raise NotImplementedError("round of integers to negative decimals is not there yet")
    if decimals == 0:
        return rint(x)
    factor = _like(10.0**decimals, x)
    if _kind(x) == "complex":
        return ops.complex(round(ops.real(x), decimals), round(ops.imag(x), decimals))
    return ops.div(ops.round(ops.mul(x, factor), rounding_method=1), factor)


around = round


def isnan(x: Any, /) -> Any:
    """Whether x is not a number."""
    (x,) = promote_args("isnan", x)
    if _kind(x) == "complex":
        return ops.or_(isnan(ops.real(x)), isnan(ops.imag(x)))
    return ops.ne(x, x)


def isfinite(x: Any, /) -> Any:
    """Whether x is neither infinite nor nan."""
    (x,) = promote_args("isfinite", x)
    kind = _kind(x)
    if kind == "float":
        return ops.is_finite(x)
    if kind == "complex":
        return ops.and_(ops.is_finite(ops.real(x)), ops.is_finite(ops.imag(x)))
    return ops.eq(x, x)


def isinf(x: Any, /) -> Any:
    """Whether x is infinite (or a part of it is)."""
    (x,) = promote_args("isinf", x)
    kind = _kind(x)
    if kind == "float":
        return ops.eq(ops.abs(x), _like(np.inf, x))
    if kind == "complex":
        return ops.or_(isinf(ops.real(x)), isinf(ops.imag(x)))
    return ops.ne(x, x)


def isposinf(x: Any, /) -> Any:
    """Whether x is +infinity."""
    (x,) = promote_args("isposinf", x)
    return ops.eq(x, _like(np.inf, x)) if _kind(x) == "float" else ops.ne(x, x)


def isneginf(x: Any, /) -> Any:
    """Whether x is -infinity."""
    (x,) = promote_args("isneginf", x)
    return ops.eq(x, _like(-np.inf, x)) if _kind(x) == "float" else ops.ne(x, x)


def signbit(x: Any, /) -> Any:
    """Whether the sign bit is set: true for -0.0 too."""
    (x,) = promote_args("signbit", x)
    kind = _kind(x)
    if kind == "int":
        return ops.lt(x, _like(0, x))
    if kind in ("uint", "bool"):
        return ops.ne(x, x)
    bits = np.dtype(f"int{8 * aval_of(x).dtype.itemsize}")
    return ops.lt(ops.bitcast_convert_type(x, new_dtype=bits), bits.type(0))


def copysign(x: Any, y: Any, /) -> Any:
    """x with the sign of y."""
    x, y = promote_args_inexact("copysign", x, y)
    magnitude = ops.abs(x)
    return where(signbit(y), ops.neg(magnitude), magnitude)


nextafter = binary("nextafter", ops.nextafter, "The float next to x in the direction of y.", True)


def heaviside(x: Any, y: Any, /) -> Any:
    """0 below zero, y at zero, 1 above, nan for nan."""
    x, y = promote_args_inexact("heaviside", x, y)
    zero = _like(0, x)
    step = where(ops.lt(x, zero), zero, where(ops.gt(x, zero), _like(1, x), y))
    return where(isnan(x), x, step)


def logaddexp(x: Any, y: Any, /) -> Any:
    """log(exp(x) + exp(y)) without overflow."""
    x, y = promote_args_inexact("logaddexp", x, y)
    larger, delta = ops.max(x, y), ops.sub(x, y)
    # inf - inf is nan; equal operands (infinite ones too) differ by nothing.
    equal = ops.eq(x, y)
    gap = where(equal, _like(0, x), delta)
    return ops.add(larger, ops.log1p(ops.exp(ops.neg(ops.abs(gap)))))


def logaddexp2(x: Any, y: Any, /) -> Any:
    """log2(2**x + 2**y) without overflow."""
    x, y = promote_args_inexact("logaddexp2", x, y)
    scale = _like(np.log(2.0), x)
    return ops.div(logaddexp(ops.mul(x, scale), ops.mul(y, scale)), scale)


# --- complex -----------------------------------------------------------------------------------------


def real(x: Any, /) -> Any:
    """The real part; x itself if it is real."""
    (x,) = promote_args("real", x)
    return ops.real(x) if _kind(x) == "complex" else x


def imag(x: Any, /) -> Any:
    """The imaginary part; zeros if x is real."""
    (x,) = promote_args("imag", x)
    return ops.imag(x) if _kind(x) == "complex" else ops.mul(x, _like(0, x))


def conjugate(x: Any, /) -> Any:
    """The complex conjugate; x itself if it is real."""
    (x,) = promote_args("conjugate", x)
    return ops.conj(x) if _kind(x) == "complex" else x


conj = conjugate


def angle(z: Any, deg: bool = False) -> Any:
    """The argument of a complex number, in radians (or degrees)."""
    (z,) = promote_args_inexact("angle", z)
    re, im = (ops.real(z), ops.imag(z)) if _kind(z) == "complex" else (z, _like(0, z))
    result = arctan2(im, re)
    return rad2deg(result) if deg else result


# --- comparison and logic ----------------------------------------------------------------------------

equal = binary("equal", ops.eq, "x == y, elementwise.")
not_equal = binary("not_equal", ops.ne, "x != y, elementwise; true for nan.")
less = binary("less", ops.lt, "x < y, elementwise.")
less_equal = binary("less_equal", ops.le, "x <= y, elementwise.")
greater = binary("greater", ops.gt, "x > y, elementwise.")
greater_equal = binary("greater_equal", ops.ge, "x >= y, elementwise.")


def _logical(name: str, primitive: Any, doc: str) -> Function:
    def function(*xs: Any) -> Any:
        check_operands(name, *xs)
        return primitive(*promote_args(name, *[truth(x) for x in xs]))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def truth(x: Any) -> Any:
    """Whether each element differs from zero."""
    if _kind(x) == "bool":
        return x
    if isinstance(x, int | float | complex | np.generic):
        return bool(x)
    return ops.ne(x, _like(0, x))


logical_and = _logical("logical_and", ops.and_, "Whether both are nonzero.")
logical_or = _logical("logical_or", ops.or_, "Whether either is nonzero.")
logical_xor = _logical("logical_xor", ops.xor, "Whether just one is nonzero.")
logical_not = _logical("logical_not", ops.not_, "Whether x is zero.")

bitwise_and = binary("bitwise_and", ops.and_, "The bits that both have.")
bitwise_or = binary("bitwise_or", ops.or_, "The bits that either has.")
bitwise_xor = binary("bitwise_xor", ops.xor, "The bits that just one has.")
bitwise_not = bitwise_invert = invert = unary("bitwise_not", ops.not_, "All bits flipped.", False)
left_shift = bitwise_left_shift = binary("left_shift", ops.shift_left, "x * 2**y in bits.")


def right_shift(x: Any, y: Any, /) -> Any:
    """x shifted right by y bits, keeping the sign of signed integers."""
    x, y = promote_args("right_shift", x, y)
    signed = _kind(x) == "int"
    return (ops.shift_right_arithmetic if signed else ops.shift_right_logical)(x, y)


bitwise_right_shift = right_shift
bitwise_count = unary("bitwise_count", ops.population_count, "How many bits are set.", False)


def ldexp(x: Any, y: Any, /) -> Any:
    """x * 2**y for integers y, exact where the result is representable."""
    check_operands("ldexp", x, y)
    dtype = inexact_dtype(aval_of(x).dtype)
    x, half = convert(x, dtype), floor_divide(y, 2)
    # Two steps, so that neither power of two overflows on its own.
    first = ops.exp2(convert(half, dtype))
    second = ops.exp2(convert(subtract(y, half), dtype))
    return multiply(multiply(x, first), second)


def gcd(x: Any, y: Any, /) -> Any:
    """The greatest common divisor of integers."""
    raise NotImplementedError("jnp.gcd needs loops, which are not there yet")
