"""Elementwise functions as JAX's lax has them: one dtype, no promotion, shapes that agree.

Operands have one shape, apart from axes of extent 1, which are repeated, and rank 0, which serves
every element; TypeError for dtypes that differ or that the function is not defined on. A Python
scalar counts as int32, float32 or complex64 (64-bit types where they are on). Results are as exact
as they can be whatever `accuracy` asks for.
"""

from typing import Any

from jacana import ops
from jacana.core import dtypes
from jacana.lax.modes import RoundingMethod
from jacana.lax.operands import check, nary, unary

# --- arithmetic -----------------------------------------------------------------------------------


def neg(x: Any) -> Any:
    """-x; numbers of every kind, unsigned integers modulo 2**width.

    >>> neg(np.float32([1, -2]))
    Array([-1.,  2.], dtype=float32)
    """
    return unary(ops.neg, x)


def add(x: Any, y: Any) -> Any:
    """x + y; numbers of every kind.

    >>> add(np.float32([1, 2]), np.float32(1))
    Array([2., 3.], dtype=float32)
    """
    return nary(ops.add, x, y)


def sub(x: Any, y: Any) -> Any:
    """x - y; numbers of every kind.

    >>> sub(np.float32([1, 2]), np.float32(1))
    Array([0., 1.], dtype=float32)
    """
    return nary(ops.sub, x, y)


def mul(x: Any, y: Any, *, out_dtype: Any = None) -> Any:
    """x * y; numbers of every kind, converted to `out_dtype` first if that is given.

    >>> mul(np.float32([1, 2]), np.float32(3))
    Array([3., 6.], dtype=float32)
    """
    if out_dtype is not None:
        check("mul", x, y)
        dtype = dtypes.dtype(out_dtype)
        x, y = [ops.convert_element_type(v, new_dtype=dtype) for v in (x, y)]
    return nary(ops.mul, x, y)


def div(x: Any, y: Any) -> Any:
    """x / y; integers are divided toward zero, with -1 (all bits set) for y = 0.

    >>> div(np.int32([7, -7]), np.int32(2))
    Array([ 3, -3], dtype=int32)
    """
    return nary(ops.div, x, y)


def rem(x: Any, y: Any) -> Any:
    """x - y * trunc(x / y), of the sign of x; real numbers.

    >>> rem(np.int32([7, -7]), np.int32(4))
    Array([ 3, -3], dtype=int32)
    """
    return nary(ops.rem, x, y)


def mulhi(x: Any, y: Any, /) -> Any:
    """The upper half of the product of two integers, computed in twice their width.

    >>> mulhi(np.uint32(2**31), np.uint32(6))
    Array(3, dtype=uint32)
    """
    return nary(ops.mulhi, x, y)


def square(x: Any) -> Any:
    """x * x; numbers of every kind.

    >>> square(np.float32([1, -3]))
    Array([1., 9.], dtype=float32)
    """
    return unary(ops.square, x)


def reciprocal(x: Any) -> Any:
    """1 / x; float or complex.

    >>> reciprocal(np.float32(4))
    Array(0.25, dtype=float32)
    """
    return unary(ops.integer_pow, x, y=-1)


# --- size and order -------------------------------------------------------------------------------


def abs(x: Any) -> Any:
    """The absolute value; signed integers, floats, and complex numbers, whose size is real.

    >>> abs(np.complex64(3 + 4j))
    Array(5., dtype=float32)
    """
    return unary(ops.abs, x)


def sign(x: Any) -> Any:
    """-1, 0 or 1; of a complex number x / abs(x). Its derivative at 0 is 0.

    >>> sign(np.float32([-2, 0, 3]))
    Array([-1.,  0.,  1.], dtype=float32)
    """
    return unary(ops.sign, x)


def max(x: Any, y: Any) -> Any:
    """The larger of x and y, nan if either is; equal operands share the derivative.

    >>> max(np.float32([1, 5]), np.float32(3))
    Array([3., 5.], dtype=float32)
    """
    return nary(ops.max, x, y)


def min(x: Any, y: Any) -> Any:
    """The smaller of x and y, nan if either is; equal operands share the derivative.

    >>> min(np.float32([1, 5]), np.float32(3))
    Array([1., 3.], dtype=float32)
    """
    return nary(ops.min, x, y)


def clamp(min: Any, x: Any, max: Any) -> Any:
    """x limited to min .. max, which are of rank 0 or of the shape of x; max wins if they cross.

    >>> clamp(np.float32(0), np.float32([-1, 0.5, 2]), np.float32(1))
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    check("clamp", min, x, max)
    return ops.clamp(min, x, max)


# --- rounding -------------------------------------------------------------------------------------


def floor(x: Any) -> Any:
    """The largest integer that is at most x, as a float.

    >>> floor(np.float32([-1.5, 1.5]))
    Array([-2.,  1.], dtype=float32)
    """
    return unary(ops.floor, x)


def ceil(x: Any) -> Any:
    """The smallest integer that is at least x, as a float.

    >>> ceil(np.float32([-1.5, 1.5]))
    Array([-1.,  2.], dtype=float32)
    """
    return unary(ops.ceil, x)


def round(x: Any, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Any:
    """The nearest integer, as a float. Halves go away from zero, unless to even is asked for.

    >>> round(np.float32([0.5, 1.5]), RoundingMethod.TO_NEAREST_EVEN)
    Array([0., 2.], dtype=float32)
    """
    return unary(ops.round, x, rounding_method=RoundingMethod(rounding_method))


def is_finite(x: Any) -> Any:
    """Whether each float is neither infinite nor nan.

    >>> is_finite(np.float32([1, np.inf]))
    Array([ True, False], dtype=bool)
    """
    return unary(ops.is_finite, x)


def nextafter(x1: Any, x2: Any) -> Any:
    """The float next to x1 in the direction of x2.

    >>> nextafter(np.float32(1), np.float32(2))
    Array(1.0000001, dtype=float32)
    """
    return nary(ops.nextafter, x1, x2)


# --- powers and roots -----------------------------------------------------------------------------


def pow(x: Any, y: Any) -> Any:
    """x**y; float or complex x, and y of the same dtype or an integer.

    >>> pow(np.float32([2, 3]), np.float32(2))
    Array([4., 9.], dtype=float32)
    """
    return nary(ops.pow, x, y)


def integer_pow(x: Any, y: int) -> Any:
    """x**y by multiplication, for a Python integer y; TypeError for integer x and negative y.

    >>> integer_pow(np.float32([2, -3]), 3)
    Array([  8., -27.], dtype=float32)
    """
    return unary(ops.integer_pow, x, y=y)


def sqrt(x: Any, *, accuracy: Any = None) -> Any:
    """The square root; float (nan below zero) or complex.

    >>> sqrt(np.float32([4, 2]))
    Array([2.       , 1.4142135], dtype=float32)
    """
    return unary(ops.sqrt, x)


def rsqrt(x: Any, *, accuracy: Any = None) -> Any:
    """1 / sqrt(x); float or complex.

    >>> rsqrt(np.float32(4))
    Array(0.5, dtype=float32)
    """
    return unary(ops.rsqrt, x)


def cbrt(x: Any, *, accuracy: Any = None) -> Any:
    """The real cube root; float.

    >>> cbrt(np.float32([8, -27]))
    Array([ 2., -3.], dtype=float32)
    """
    return unary(ops.cbrt, x)


# --- exponential and logarithm --------------------------------------------------------------------


def exp(x: Any, *, accuracy: Any = None) -> Any:
    """e**x; float or complex.

    >>> exp(np.float32([0, 1]))
    Array([1.       , 2.7182817], dtype=float32)
    """
    return unary(ops.exp, x)


def exp2(x: Any, *, accuracy: Any = None) -> Any:
    """2**x; float or complex.

    >>> exp2(np.float32([0, 3]))
    Array([1., 8.], dtype=float32)
    """
    return unary(ops.exp2, x)


def expm1(x: Any, *, accuracy: Any = None) -> Any:
    """exp(x) - 1, accurate near zero; float or complex.

    >>> expm1(np.float32(1e-10))
    Array(1.e-10, dtype=float32)
    """
    return unary(ops.expm1, x)


def log(x: Any, *, accuracy: Any = None) -> Any:
    """The natural logarithm; float (nan below zero) or complex.

    >>> log(np.float32([1, 2]))
    Array([0.       , 0.6931472], dtype=float32)
    """
    return unary(ops.log, x)


def log1p(x: Any, *, accuracy: Any = None) -> Any:
    """log(1 + x), accurate near zero; float or complex.

    >>> log1p(np.float32(1e-10))
    Array(1.e-10, dtype=float32)
    """
    return unary(ops.log1p, x)


def logistic(x: Any, *, accuracy: Any = None) -> Any:
    """1 / (1 + exp(-x)); float or complex.

    >>> logistic(np.float32([0, 2]))
    Array([0.5      , 0.8807971], dtype=float32)
    """
    return unary(ops.logistic, x)


# --- trigonometric --------------------------------------------------------------------------------


def sin(x: Any, *, accuracy: Any = None) -> Any:
    """The sine of an angle in radians; float or complex.

    >>> sin(np.float32(1))
    Array(0.84147096, dtype=float32)
    """
    return unary(ops.sin, x)


def cos(x: Any, *, accuracy: Any = None) -> Any:
    """The cosine of an angle in radians; float or complex.

    >>> cos(np.float32(1))
    Array(0.5403023, dtype=float32)
    """
    return unary(ops.cos, x)


def tan(x: Any, *, accuracy: Any = None) -> Any:
    """The tangent of an angle in radians; float or complex.

    >>> tan(np.float32(1))
    Array(1.5574077, dtype=float32)
    """
    return unary(ops.tan, x)


def asin(x: Any) -> Any:
    """The angle in [-pi/2, pi/2] whose sine is x; float or complex.

    >>> asin(np.float32(1))
    Array(1.5707964, dtype=float32)
    """
    return unary(ops.asin, x)


def acos(x: Any) -> Any:
    """The angle in [0, pi] whose cosine is x; float or complex.

    >>> acos(np.float32(0))
    Array(1.5707964, dtype=float32)
    """
    return unary(ops.acos, x)


def atan(x: Any) -> Any:
    """The angle in [-pi/2, pi/2] whose tangent is x; float or complex.

    >>> atan(np.float32(1))
    Array(0.7853982, dtype=float32)
    """
    return unary(ops.atan, x)


def atan2(x: Any, y: Any) -> Any:
    """The angle whose tangent is x / y, in the quadrant that the signs of x and y tell.

    >>> atan2(np.float32([1, -1]), np.float32(-1))
    Array([ 2.3561945, -2.3561945], dtype=float32)
    """
    return nary(ops.atan2, x, y)


# --- hyperbolic -----------------------------------------------------------------------------------


def sinh(x: Any) -> Any:
    """The hyperbolic sine; float or complex.

    >>> sinh(np.float32(1))
    Array(1.1752012, dtype=float32)
    """
    return unary(ops.sinh, x)


def cosh(x: Any) -> Any:
    """The hyperbolic cosine; float or complex.

    >>> cosh(np.float32(1))
    Array(1.5430807, dtype=float32)
    """
    return unary(ops.cosh, x)


def tanh(x: Any, *, accuracy: Any = None) -> Any:
    """The hyperbolic tangent; float or complex.

    >>> tanh(np.float32(1))
    Array(0.7615942, dtype=float32)
    """
    return unary(ops.tanh, x)


def asinh(x: Any) -> Any:
    """The inverse hyperbolic sine; float or complex.

    >>> asinh(np.float32(1))
    Array(0.8813736, dtype=float32)
    """
    return unary(ops.asinh, x)


def acosh(x: Any) -> Any:
    """The inverse hyperbolic cosine; float (nan below 1) or complex.

    >>> acosh(np.float32(2))
    Array(1.316958, dtype=float32)
    """
    return unary(ops.acosh, x)


def atanh(x: Any) -> Any:
    """The inverse hyperbolic tangent; float (nan beyond -1 and 1) or complex.

    >>> atanh(np.float32(0.5))
    Array(0.54930615, dtype=float32)
    """
    return unary(ops.atanh, x)
