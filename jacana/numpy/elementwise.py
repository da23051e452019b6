"""Elementwise functions: operands of one dtype and shape, then a primitive or a short formula.

Rounding, and what concerns the parts of floats and complex numbers, is in `floats`.
"""

from typing import Any

import numpy as np

from jacana import ops
from jacana.api.custom import custom_jvp
from jacana.core import dtypes
from jacana.core.values import aval_of
from jacana.numpy.families import binary, unary
from jacana.numpy.floats import isinf, isnan
from jacana.numpy.logic import greater, less, logical_or
from jacana.numpy.promotion import (
    as_array,
    as_arrays,
    check_operands,
    kind_of,
    literal,
    promote_args,
    promote_args_inexact,
    promote_args_numeric,
)
from jacana.numpy.selection import where

# --- arithmetic ---


def add(x: Any, y: Any, /) -> Any:
    """x + y, elementwise; booleans are or-ed.

    >>> jnp.add(jnp.arange(3), 10)
    Array([10, 11, 12], dtype=int32)
    """
    x, y = promote_args("add", x, y)
    return ops.or_(x, y) if aval_of(x).dtype is dtypes.bool_ else ops.add(x, y)


def subtract(x: Any, y: Any, /) -> Any:
    """x - y, elementwise.

    >>> jnp.subtract(jnp.arange(3), 1)
    Array([-1,  0,  1], dtype=int32)
    """
    x, y = promote_args("subtract", x, y)
    return ops.sub(x, y)


def multiply(x: Any, y: Any, /) -> Any:
    """x * y, elementwise; booleans are and-ed.

    >>> jnp.multiply(jnp.arange(3), 2)
    Array([0, 2, 4], dtype=int32)
    """
    x, y = promote_args("multiply", x, y)
    return ops.and_(x, y) if aval_of(x).dtype is dtypes.bool_ else ops.mul(x, y)


true_divide = binary(
    "true_divide",
    ops.div,
    """x / y in floating point, elementwise.

    >>> jnp.divide(jnp.array([1, 2]), 4)
    Array([0.25, 0.5 ], dtype=float32)
    """,
    True,
)
divide = true_divide


def negative(x: Any, /) -> Any:
    """-x, elementwise. TypeError for booleans, as NumPy.

    >>> jnp.negative(jnp.arange(3))
    Array([ 0, -1, -2], dtype=int32)
    """
    (x,) = promote_args("negative", x)
    return ops.neg(x)


def positive(x: Any, /) -> Any:
    """x itself.

    >>> jnp.positive(jnp.arange(3))
    Array([0, 1, 2], dtype=int32)
    """
    return as_array("positive", x)


def absolute(x: Any, /) -> Any:
    """The magnitude of each element; real for complex x.

    >>> jnp.absolute(jnp.array([-2, 3]))
    Array([2, 3], dtype=int32)
    """
    (x,) = promote_args("absolute", x)
    return as_array("absolute", x) if kind_of(x) in ("bool", "uint") else ops.abs(x)


abs = absolute


def fabs(x: Any, /) -> Any:
    """The absolute value of real x in floating point.

    >>> jnp.fabs(jnp.array([-2, 3]))
    Array([2., 3.], dtype=float32)
    """
    (x,) = promote_args_inexact("fabs", x)
    if kind_of(x) == "complex":
        raise TypeError("ufunc 'fabs' does not support complex dtypes. Use abs instead.")
    return ops.abs(x)


sign = unary(
    "sign",
    ops.sign,
    """-1, 0 or 1 (x / |x| for complex x); nan stays nan.

    >>> jnp.sign(jnp.array([-2.0, 0.0, 3.0]))
    Array([-1.,  0.,  1.], dtype=float32)
    """,
    False,
)


def floor_divide(x: Any, y: Any, /) -> Any:
    """The largest integer not above x / y, in the operands' dtype.

    >>> jnp.floor_divide(jnp.array([7, -7]), 2)
    Array([ 3, -4], dtype=int32)
    """
    x, y = promote_args_numeric("floor_divide", x, y)
    kind = kind_of(x)
    if kind == "uint":
        return ops.div(x, y)
    if kind == "int":
        q = ops.div(x, y)
        # Truncation went up where the signs differ and the division was not exact.
        up = ops.and_(ops.ne(ops.sign(x), ops.sign(y)), ops.ne(ops.rem(x, y), literal(0, x)))
        return where(up, subtract(q, 1), q)
    if kind == "complex":
        raise TypeError("floor_divide does not support complex-valued inputs")
    return divmod(x, y)[0]


def remainder(x: Any, y: Any, /) -> Any:
    """x - y * floor(x / y): the remainder with the sign of y.

    >>> jnp.remainder(jnp.array([7, -7]), 3)
    Array([1, 2], dtype=int32)
    """
    x, y = promote_args_numeric("remainder", x, y)
    r = _rem(x, y)
    if kind_of(x) in ("uint", "bool"):
        return r
    zero = literal(0, x)
    fix = ops.and_(ops.ne(r, zero), ops.ne(ops.lt(r, zero), ops.lt(y, zero)))
    return where(fix, ops.add(r, y), r)


mod = remainder


def fmod(x: Any, y: Any, /) -> Any:
    """The remainder of x / y with the sign of x.

    >>> jnp.fmod(jnp.array([7, -7]), 3)
    Array([ 1, -1], dtype=int32)
    """
    x, y = promote_args_numeric("fmod", x, y)
    return _rem(x, y)


def _rem(x: Any, y: Any) -> Any:
    """The remainder with the sign of x; integers modulo 0 are 0, as in NumPy."""
    r = ops.rem(x, y)
    if kind_of(x) == "float":
        return r
    zero = literal(0, x)
    return where(ops.eq(y, zero), zero, r)


def divmod(x: Any, y: Any, /) -> tuple[Any, Any]:
    """(floor_divide(x, y), remainder(x, y)).

    >>> jnp.divmod(jnp.array([7, -7]), 3)
    (Array([ 2, -3], dtype=int32), Array([1, 2], dtype=int32))
    """
    x, y = promote_args_numeric("divmod", x, y)
    if kind_of(x) != "float":
        return floor_divide(x, y), remainder(x, y)
    r = remainder(x, y)
    q = ops.div(ops.sub(x, r), y)
    # (x - r) / y is an integer up to rounding; x / 0 keeps its infinity.
    rounded = ops.round(q, rounding_method=1)
    return where(ops.eq(y, literal(0, y)), ops.div(x, y), rounded), r


def power(x: Any, y: Any, /) -> Any:
    """x to the power y; a Python integer y multiplies repeatedly and keeps integers exact.

    >>> jnp.power(jnp.arange(4), 2)
    Array([0, 1, 4, 9], dtype=int32)
    """
    check_operands("power", x, y)
    if isinstance(y, int) and not isinstance(y, bool):
        (x,) = promote_args("power", x)
        if kind_of(x) != "bool":
            return ops.integer_pow(x, y=y)
    x_, y_ = promote_args_numeric("power", x, y)
    if kind_of(x_) in ("int", "uint"):
        return _integer_power(x_, y_)
    return ops.pow(x_, y_)


def _integer_power(x: Any, y: Any) -> Any:
    """Exponentiation by squaring; a negative exponent gives 0, apart from bases 1 and -1."""
    bits = 8 * aval_of(x).dtype.itemsize
    one, zero = literal(1, x), literal(0, x)
    result = where(ops.ne(ops.and_(y, one), zero), x, one)
    base = x
    for k in range(1, bits):
        base = ops.mul(base, base)
        bit = ops.and_(ops.shift_right_logical(y, literal(k, y)), one)
        result = where(ops.ne(bit, zero), ops.mul(result, base), result)
    if kind_of(x) == "uint":
        return result
    odd = ops.ne(ops.and_(y, one), zero)
    minus = ops.eq(x, literal(-1, x))
    inverse = where(ops.eq(x, one), one, where(minus, where(odd, x, one), zero))
    return where(ops.lt(y, zero), inverse, result)


pow = power
float_power = binary(
    "float_power",
    ops.pow,
    """x to the power y in floating point.

    >>> jnp.float_power(jnp.array([2, 3]), 2)
    Array([4., 9.], dtype=float32)
    """,
    True,
)


def square(x: Any, /) -> Any:
    """x * x, elementwise.

    >>> jnp.square(jnp.array([-3, 2]))
    Array([9, 4], dtype=int32)
    """
    (x,) = promote_args_numeric("square", x)
    return ops.square(x)


def reciprocal(x: Any, /) -> Any:
    """1 / x in floating point.

    >>> jnp.reciprocal(jnp.array([2.0, 4.0]))
    Array([0.5 , 0.25], dtype=float32)
    """
    (x,) = promote_args_inexact("reciprocal", x)
    return ops.integer_pow(x, y=-1)


# --- extremes ---

maximum = binary(
    "maximum",
    ops.max,
    """The larger of x and y; nan if either is.

    >>> jnp.maximum(jnp.array([1, 4]), 2)
    Array([2, 4], dtype=int32)
    """,
)
minimum = binary(
    "minimum",
    ops.min,
    """The smaller of x and y; nan if either is.

    >>> jnp.minimum(jnp.array([1, 4]), 2)
    Array([1, 2], dtype=int32)
    """,
)


def fmax(x1: Any, x2: Any) -> Any:
    """The larger of x and y, ignoring a nan where the other is a number.

    >>> jnp.fmax(jnp.array([1.0, jnp.nan]), 0.0)
    Array([1., 0.], dtype=float32)
    """
    x, y = promote_args("fmax", x1, x2)
    return where(logical_or(greater(x, y), isnan(y)), x, y)


def fmin(x1: Any, x2: Any) -> Any:
    """The smaller of x and y, ignoring a nan where the other is a number.

    >>> jnp.fmin(jnp.array([1.0, jnp.nan]), 0.0)
    Array([0., 0.], dtype=float32)
    """
    x, y = promote_args("fmin", x1, x2)
    return where(logical_or(less(x, y), isnan(y)), x, y)


# --- exponentials, logarithms, powers ---

exp = unary(
    "exp",
    ops.exp,
    """e to the power x.

    >>> jnp.exp(jnp.array([0.0, 1.0]))
    Array([1.       , 2.7182817], dtype=float32)
    """,
)
exp2 = unary(
    "exp2",
    ops.exp2,
    """2 to the power x.

    >>> jnp.exp2(jnp.array([0.0, 3.0]))
    Array([1., 8.], dtype=float32)
    """,
)
expm1 = unary(
    "expm1",
    ops.expm1,
    """exp(x) - 1, accurate for small x.

    >>> jnp.expm1(jnp.array([0.0]))
    Array([0.], dtype=float32)
    """,
)
log = unary(
    "log",
    ops.log,
    """The natural logarithm; nan below 0, -inf at 0.

    >>> jnp.log(jnp.array([1.0, 0.0]))
    Array([  0., -inf], dtype=float32)
    """,
)
log1p = unary(
    "log1p",
    ops.log1p,
    """log(1 + x), accurate for small x.

    >>> jnp.log1p(jnp.array([0.0]))
    Array([0.], dtype=float32)
    """,
)
sqrt = unary(
    "sqrt",
    ops.sqrt,
    """The square root; nan below 0.

    >>> jnp.sqrt(jnp.array([4.0, 9.0]))
    Array([2., 3.], dtype=float32)
    """,
)
cbrt = unary(
    "cbrt",
    ops.cbrt,
    """The cube root.

    >>> jnp.cbrt(jnp.array([27.0]))
    Array([3.], dtype=float32)
    """,
)


def log2(x: Any, /) -> Any:
    """The logarithm to base 2.

    >>> jnp.log2(jnp.array([1.0, 8.0]))
    Array([0., 3.], dtype=float32)
    """
    (x,) = promote_args_inexact("log2", x)
    return ops.div(ops.log(x), literal(np.log(2.0), x))


def log10(x: Any, /) -> Any:
    """The logarithm to base 10.

    >>> jnp.log10(jnp.array([1.0, 100.0]))
    Array([0., 2.], dtype=float32)
    """
    (x,) = promote_args_inexact("log10", x)
    return ops.div(ops.log(x), literal(np.log(10.0), x))


def hypot(x: Any, y: Any, /) -> Any:
    """sqrt(x**2 + y**2) without overflow or underflow on the way.

    >>> jnp.hypot(3.0, jnp.array([4.0]))
    Array([5.], dtype=float32)
    """
    x, y = promote_args_inexact("hypot", x, y)
    if kind_of(x) == "complex":
        raise ValueError("jnp.hypot is not well defined for complex inputs; take abs first.")
    x, y = ops.abs(x), ops.abs(y)
    infinite = ops.or_(isinf(x), isinf(y))
    big, small = ops.max(x, y), ops.min(x, y)
    zero = ops.eq(big, literal(0, big))
    ratio = ops.div(small, where(zero, literal(1, big), big))
    root = ops.mul(big, ops.sqrt(ops.add(ops.square(ratio), literal(1, big))))
    return where(infinite, literal(np.inf, big), where(zero, big, root))


# --- others ---


def heaviside(x: Any, y: Any, /) -> Any:
    """0 below zero, y at zero, 1 above, nan for nan.

    >>> jnp.heaviside(jnp.array([-1.0, 0.0, 2.0]), 0.5)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    x, y = promote_args_inexact("heaviside", x, y)
    zero = literal(0, x)
    step = where(ops.lt(x, zero), zero, where(ops.gt(x, zero), literal(1, x), y))
    return where(isnan(x), x, step)


def logaddexp(x: Any, y: Any, /) -> Any:
    """log(exp(x) + exp(y)) without overflow.

    >>> jnp.logaddexp(jnp.array([0.0, 1000.0]), 0.0)
    Array([6.931472e-01, 1.000000e+03], dtype=float32)
    """
    x, y = promote_args_inexact("logaddexp", x, y)
    if kind_of(x) == "complex":
        larger = ops.max(x, y)
        return _in_principal_strip(
            ops.add(larger, ops.log1p(ops.exp(ops.sub(ops.min(x, y), larger))))
        )
    return _log_of_sum(x, y)


@custom_jvp
def _log_of_sum(x: Any, y: Any) -> Any:
    return ops.add(ops.max(x, y), ops.log1p(ops.exp(ops.neg(ops.abs(_gap(x, y))))))


@_log_of_sum.defjvp
def _log_of_sum_jvp(primals: tuple[Any, Any], tangents: tuple[Any, Any]) -> tuple[Any, Any]:
    # Smooth where x = y, unlike the formula above.
    gap = _gap(*primals)
    shares = ops.logistic(gap), ops.logistic(ops.neg(gap))
    return _log_of_sum(*primals), ops.add(*map(ops.mul, tangents, shares))


def _gap(x: Any, y: Any) -> Any:
    """x - y, but 0 for equal infinities."""
    infinite = ops.and_(ops.eq(x, y), ops.not_(ops.is_finite(x)))
    return where(infinite, literal(0, x), ops.sub(x, y))


def _in_principal_strip(x: Any) -> Any:
    """A complex logarithm with its imaginary part in (-pi, pi]."""
    im = ops.imag(x)
    turn = literal(2 * np.pi, im)
    pi = literal(np.pi, im)
    turned = ops.sub(im, ops.mul(turn, ops.ceil(ops.div(ops.sub(im, pi), turn))))
    return ops.complex(ops.real(x), turned)


def logaddexp2(x: Any, y: Any, /) -> Any:
    """log2(2**x + 2**y) without overflow.

    >>> jnp.logaddexp2(jnp.array([3.0]), 3.0)
    Array([4.], dtype=float32)
    """
    x, y = promote_args_inexact("logaddexp2", x, y)
    scale = literal(np.log(2.0), x)
    return ops.div(logaddexp(ops.mul(x, scale), ops.mul(y, scale)), scale)


def i0(x: Any) -> Any:
    """The modified Bessel function of the first kind, of order 0.

    >>> jnp.i0(jnp.array([0.0]))
    Array([1.], dtype=float32)
    """
    (x,) = promote_args_inexact("i0", x)
    if kind_of(x) == "complex":
        raise ValueError("Unsupported input type to jax.numpy.i0: complex numbers.")
    # The size of x, with derivative 0 at 0.
    size = ops.mul(x, ops.sign(x))
    return ops.mul(ops.exp(size), ops.bessel_i0e(x))


def gcd(x1: Any, x2: Any) -> Any:
    """The greatest common divisor of integers, never negative.

    >>> jnp.gcd(jnp.array([12, 35]), 21)
    Array([3, 7], dtype=int32)
    """
    x, y = _integers("gcd", x1, x2)
    x, y = absolute(x), absolute(y)
    # The remainders fall at least like the Fibonacci numbers: 1.45 steps for each bit.
    for _ in range(int(1.45 * dtypes.bit_width(aval_of(x).dtype)) + 1):
        done = ops.eq(y, literal(0, y))
        x, y = where(done, x, y), where(done, y, ops.rem(x, where(done, literal(1, y), y)))
    return x


def lcm(x1: Any, x2: Any) -> Any:
    """The least common multiple of integers, never negative; 0 if either is 0.

    >>> jnp.lcm(jnp.array([4, 6]), 10)
    Array([20, 30], dtype=int32)
    """
    x, y = _integers("lcm", x1, x2)
    x, y = absolute(x), absolute(y)
    divisor = gcd(x, y)
    zero = ops.eq(divisor, literal(0, divisor))
    return multiply(x, floor_divide(y, where(zero, literal(1, divisor), divisor)))


def _integers(name: str, x: Any, y: Any) -> list[Any]:
    x, y = promote_args(name, x, y)
    if kind_of(x) not in ("int", "uint"):
        raise ValueError(f"Arguments to jax.numpy.{name} must be integers, got {aval_of(x)}.")
    return as_arrays(name, x, y)
