"""Rounding, kinds of floats (nan, infinite, ...), their signs and parts; complex parts."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.core import config, dtypes
from jacana.core.values import aval_of
from jacana.numpy.families import Function, binary
from jacana.numpy.promotion import (
    as_array,
    broadcast_operands,
    broadcast_to,
    check_operands,
    convert,
    inexact_dtype,
    kind_of,
    literal,
    promote_args,
    promote_args_inexact,
    refuse_out,
)
from jacana.numpy.selection import where

# --- rounding ---


def _rounding(name: str, primitive: Function, doc: str) -> Function:
    def function(x: Any, /) -> Any:
        (x,) = promote_args(name, x)
        return as_array(name, x) if kind_of(x) in ("bool", "int", "uint") else primitive(x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


floor = _rounding(
    "floor",
    ops.floor,
    """The largest integer not above x; integers stay as they are.

    >>> jnp.floor(jnp.array([1.5, -1.5]))
    Array([ 1., -2.], dtype=float32)
    """,
)
ceil = _rounding(
    "ceil",
    ops.ceil,
    """The smallest integer not below x; integers stay as they are.

    >>> jnp.ceil(jnp.array([1.5, -1.5]))
    Array([ 2., -1.], dtype=float32)
    """,
)


def trunc(x: Any) -> Any:
    """x rounded toward zero; integers stay as they are.

    >>> jnp.trunc(jnp.array([1.7, -1.7]))
    Array([ 1., -1.], dtype=float32)
    """
    (x,) = promote_args("trunc", x)
    if kind_of(x) in ("bool", "int", "uint"):
        return as_array("trunc", x)
    return where(ops.lt(x, literal(0, x)), ops.ceil(x), ops.floor(x))


fix = trunc


def default_float(function: str, x: Any) -> Any:
    """x as an array, integers and booleans as floats of the default width."""
    x = as_array(function, x)
    if dtypes.is_differentiable(x.dtype):
        return x
    found = dtypes.python_scalar_dtype(float, config.current().enable_x64)
    return convert(x, found, x.weak_type)


def rint(x: Any, /) -> Any:
    """x rounded to the nearest integer, halves to even.

    >>> jnp.rint(jnp.array([0.5, 1.5]))
    Array([0., 2.], dtype=float32)
    """
    x = default_float("rint", x)
    if kind_of(x) == "complex":
        return ops.complex(rint(ops.real(x)), rint(ops.imag(x)))
    return ops.round(x, rounding_method=1)


def round(a: Any, decimals: int = 0, out: None = None) -> Any:
    """`a` rounded to the given number of decimals, halves to even.

    >>> jnp.round(jnp.array([0.5, 1.5, 2.4]))
    Array([0., 2., 2.], dtype=float32)
    """
    refuse_out("round", out)
    check_operands("round", a)
    x = a
    if kind_of(x) == "bool":
        raise ValueError("round does not take booleans; convert them to integers first.")
    if kind_of(x) in ("int", "uint"):
        if decimals >= 0:
            return as_array("round", x)
        raise NotImplementedError(
            "integer np.round not implemented for decimals < 0. Convert to a float first."
        )
    if decimals == 0:
        return rint(x)
    factor = literal(10.0**decimals, x)
    if kind_of(x) == "complex":
        return ops.complex(round(ops.real(x), decimals), round(ops.imag(x), decimals))
    return ops.div(ops.round(ops.mul(x, factor), rounding_method=1), factor)


around = round


def isnan(x: Any, /) -> Any:
    """Whether x is not a number.

    >>> jnp.isnan(jnp.array([1.0, jnp.inf, jnp.nan]))
    Array([False, False,  True], dtype=bool)
    """
    (x,) = promote_args("isnan", x)
    if kind_of(x) == "complex":
        return ops.or_(isnan(ops.real(x)), isnan(ops.imag(x)))
    return ops.ne(x, x)


def isfinite(x: Any, /) -> Any:
    """Whether x is neither infinite nor nan.

    >>> jnp.isfinite(jnp.array([1.0, jnp.inf, jnp.nan]))
    Array([ True, False, False], dtype=bool)
    """
    (x,) = promote_args("isfinite", x)
    kind = kind_of(x)
    if kind == "float":
        return ops.is_finite(x)
    if kind == "complex":
        return ops.and_(ops.is_finite(ops.real(x)), ops.is_finite(ops.imag(x)))
    return ops.eq(x, x)


def isinf(x: Any, /) -> Any:
    """Whether x is infinite (or a part of it is).

    >>> jnp.isinf(jnp.array([1.0, jnp.inf, jnp.nan]))
    Array([False,  True, False], dtype=bool)
    """
    (x,) = promote_args("isinf", x)
    kind = kind_of(x)
    if kind == "float":
        return ops.eq(ops.abs(x), literal(np.inf, x))
    if kind == "complex":
        return ops.or_(isinf(ops.real(x)), isinf(ops.imag(x)))
    return ops.ne(x, x)


def _real(name: str, x: Any) -> Any:
    if kind_of(x) == "complex":
        raise ValueError(f"{name} is not well defined for complex inputs; take a part of them.")
    return as_array(name, x)


def isposinf(x: Any, /, out: None = None) -> Any:
    """Whether x is +infinity.

    >>> jnp.isposinf(jnp.array([-jnp.inf, jnp.inf]))
    Array([False,  True], dtype=bool)
    """
    (x,) = promote_args("isposinf", x)
    x = _real("isposinf", x)
    return ops.eq(x, literal(np.inf, x)) if kind_of(x) == "float" else ops.ne(x, x)


def isneginf(x: Any, /, out: None = None) -> Any:
    """Whether x is -infinity.

    >>> jnp.isneginf(jnp.array([-jnp.inf, jnp.inf]))
    Array([ True, False], dtype=bool)
    """
    (x,) = promote_args("isneginf", x)
    x = _real("isneginf", x)
    return ops.eq(x, literal(-np.inf, x)) if kind_of(x) == "float" else ops.ne(x, x)


# --- signs and parts ---
def signbit(x: Any, /) -> Any:
    """Whether the sign bit is set: true for -0.0 too.

    >>> jnp.signbit(jnp.array([-0.0, 0.0]))
    Array([ True, False], dtype=bool)
    """
    (x,) = promote_args("signbit", x)
    kind = kind_of(x)
    if kind == "int":
        return ops.lt(x, literal(0, x))
    if kind in ("uint", "bool"):
        return ops.ne(x, x)
    bits = ops.bitcast_convert_type(
        x, new_dtype=dtypes.dtype(f"int{dtypes.bit_width(aval_of(x).dtype)}")
    )
    return ops.lt(bits, literal(0, bits))


def copysign(x: Any, y: Any, /) -> Any:
    """x with the sign of y.

    >>> jnp.copysign(jnp.array([1.0, 2.0]), -1.0)
    Array([-1., -2.], dtype=float32)
    """
    x, y = promote_args_inexact("copysign", x, y)
    magnitude = ops.abs(x)
    return where(signbit(y), ops.neg(magnitude), magnitude)


nextafter = binary(
    "nextafter",
    ops.nextafter,
    """The float next to x in the direction of y.

    >>> jnp.nextafter(jnp.array([1.0]), 2.0) > 1
    Array([ True], dtype=bool)
    """,
    True,
)


def ldexp(x: Any, y: Any, /) -> Any:
    """x * 2**y for integers y, exact where the result is representable.

    >>> jnp.ldexp(jnp.array([1.5]), 3)
    Array([12.], dtype=float32)
    """
    check_operands("ldexp", x, y)
    if dtypes.is_bool(aval_of(y).dtype):
        y = convert(as_array("ldexp", y), dtypes.int32)
    if not dtypes.is_integer(aval_of(y).dtype):
        raise ValueError(
            f"ldexp needs integers as exponents, got dtype {aval_of(y).dtype}. Convert them first."
        )
    dtype = inexact_dtype(aval_of(x).dtype)
    if dtypes.is_complex(dtype):
        raise ValueError("ldexp does not support complex inputs; apply it to their parts.")
    x, y = broadcast_operands("ldexp", convert(x, dtype), as_array("ldexp", y))
    # Three factors, so that none of the powers of two overflows on its own.
    third = ops.div(y, literal(3, y))
    rest = ops.sub(y, ops.add(third, third))
    small, large = (ops.exp2(convert(v, dtype)) for v in (third, rest))
    x, small, large = broadcast_operands("ldexp", x, small, large)
    return ops.mul(ops.mul(ops.mul(x, small), small), large)


def frexp(x: Any, /) -> tuple[Any, Any]:
    """(m, e) with x = m * 2**e and 0.5 <= |m| < 1; zeros, infinities and nan have e = 0.

    >>> jnp.frexp(jnp.array([8.0]))
    (Array([0.5], dtype=float32), Array([4], dtype=int32))
    """
    (x,) = promote_args_inexact("frexp", x)
    if kind_of(x) == "complex":
        raise TypeError("frexp does not support complex-valued inputs")
    x = as_array("frexp", x)
    dtype = x.dtype
    wide = x if dtypes.bit_width(dtype) >= 32 else convert(x, dtypes.float32)
    mantissa, exponent = _frexp(wide)
    return convert(mantissa, dtype), convert(exponent, dtypes.int32)


def _frexp(x: Any) -> tuple[Any, Any]:
    info = np.finfo(x.dtype)
    bits = np.dtype(f"int{info.bits}").type
    # Subnormals are scaled up to normals first.
    tiny = ops.lt(ops.abs(x), literal(info.tiny, x))
    scaled = where(tiny, ops.mul(x, literal(2.0**info.nmant, x)), x)
    pattern = ops.bitcast_convert_type(scaled, new_dtype=np.dtype(bits))
    mask = (1 << info.nexp) - 1
    field = ops.and_(ops.shift_right_logical(pattern, bits(info.nmant)), bits(mask))
    half = bits(mask // 2 - 1)
    exponent = ops.sub(field, half)
    exponent = where(tiny, ops.sub(exponent, bits(info.nmant)), exponent)
    special = ops.or_(ops.eq(x, literal(0, x)), ops.not_(ops.is_finite(x)))
    exponent = where(special, bits(0), exponent)
    # Exact, and it carries the derivative.
    return where(special, x, ldexp(x, ops.neg(exponent))), exponent


def modf(x: Any, /, out: None = None) -> tuple[Any, Any]:
    """(fractional part, integral part), both with the sign of x.

    >>> jnp.modf(jnp.array([2.5]))
    (Array([0.5], dtype=float32), Array([2.], dtype=float32))
    """
    refuse_out("modf", out)
    (x,) = promote_args_inexact("modf", x)
    if kind_of(x) == "complex":
        raise TypeError("modf does not support complex-valued inputs")
    whole = trunc(x)
    part = where(isinf(x), literal(0, x), ops.sub(x, whole))
    return copysign(part, x), copysign(whole, x)


def spacing(x: Any, /) -> Any:
    """The distance from x to the next float away from zero, with the sign of x.

    >>> jnp.spacing(jnp.array([1.0]))
    Array([1.1920929e-07], dtype=float32)
    """
    (x,) = promote_args_inexact("spacing", x)
    size = ops.abs(x)
    further = nextafter(size, literal(np.inf, x))
    gap = where(
        isinf(further), ops.sub(size, nextafter(size, literal(0, x))), ops.sub(further, size)
    )
    gap = where(ops.is_finite(x), gap, literal(np.nan, x))
    return copysign(gap, x)


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """x with nan replaced by 0 (or `nan`) and infinities by the dtype's extremes.

    >>> jnp.nan_to_num(jnp.array([jnp.nan, 1.0]))
    Array([0., 1.], dtype=float32)
    """
    x = as_array("nan_to_num", x)
    kind = kind_of(x)
    if kind == "complex":
        return ops.complex(
            nan_to_num(ops.real(x), copy, nan, posinf, neginf),
            nan_to_num(ops.imag(x), copy, nan, posinf, neginf),
        )
    if kind != "float":
        return x
    info = dtypes.finfo(x.dtype)
    x = where(ops.ne(x, x), convert(nan, x.dtype), x)
    high = convert(float(info.max) if posinf is None else posinf, x.dtype)
    low = convert(float(info.min) if neginf is None else neginf, x.dtype)
    x = where(isposinf(x), high, x)
    return convert(where(isneginf(x), low, x), x.dtype)


# --- complex ---


def zeros_of(function: str, x: Any) -> Any:
    """Zeros of x's type, weak if x is."""
    x = as_array(function, x)
    zero = broadcast_to(literal(0, x), x.shape)
    return convert(zero, x.dtype, x.weak_type)


def real(x: Any, /) -> Any:
    """The real part; x itself if it is real.

    >>> jnp.real(jnp.array([1 + 2j]))
    Array([1.], dtype=float32)
    """
    (x,) = promote_args("real", x)
    return ops.real(x) if kind_of(x) == "complex" else as_array("real", x)


def imag(x: Any, /) -> Any:
    """The imaginary part; zeros if x is real.

    >>> jnp.imag(jnp.array([1 + 2j]))
    Array([2.], dtype=float32)
    """
    (x,) = promote_args("imag", x)
    return ops.imag(x) if kind_of(x) == "complex" else zeros_of("imag", x)


def iscomplex(x: Any) -> Any:
    """Whether the imaginary part is not zero.

    >>> jnp.iscomplex(jnp.array([1 + 2j, 3]))
    Array([ True, False], dtype=bool)
    """
    part = imag(x)
    return ops.ne(part, literal(0, part))


def isreal(x: Any) -> Any:
    """Whether the imaginary part is zero.

    >>> jnp.isreal(jnp.array([1 + 2j, 3]))
    Array([False,  True], dtype=bool)
    """
    part = imag(x)
    return ops.eq(part, literal(0, part))


def conjugate(x: Any, /) -> Any:
    """The complex conjugate; x itself if it is real.

    >>> jnp.conjugate(jnp.array([1 + 2j]))
    Array([1.-2.j], dtype=complex64)
    """
    (x,) = promote_args("conjugate", x)
    if kind_of(x) != "complex":
        return as_array("conjugate", x)
    return ops.conj(x, input_dtype=aval_of(x).dtype)


conj = conjugate


def angle(z: Any, deg: bool = False) -> Any:
    """The argument of a complex number, in radians (or degrees).

    >>> jnp.angle(jnp.array([1j]), deg=True)
    Array([90.], dtype=float32)
    """
    z = default_float("angle", z)
    is_complex = kind_of(z) == "complex"
    re, im = (ops.real(z), ops.imag(z)) if is_complex else (z, literal(0, z))
    result = ops.atan2(im, re)
    return ops.mul(result, literal(180 / np.pi, result)) if deg else result
