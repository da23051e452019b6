"""Powers and roots."""

from collections.abc import Callable
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.values import aval_of
from jacana.kernel import ir, math
from jacana.kernel.expr import Expr
from jacana.kernel.math import complex as complex_math
from jacana.kernel.math.complex import Complex
from jacana.ops.families import (
    FLOAT,
    INEXACT,
    INTEGER,
    NUMERIC,
    Elementwise,
    Function,
    like,
    not_linear,
)  # fmt: skip
from jacana.ops.wider import in_wider, wider


class IntegerPow(Elementwise):
    """x to the power of the integer `y`, by multiplication; integers take no negative power."""

    name = "integer_pow"
    kinds = NUMERIC
    transpose = not_linear

    def check_params(self, *xs: ShapedArray, **params: Any) -> None:
        if params["y"] < 0 and dtypes.is_integer(xs[0].dtype):
            raise TypeError(
                f"Integers cannot be raised to negative powers, got integer_pow({xs[0]}, "
                f"{params['y']}). "
                f"Convert to a float first, for example with astype('float32')."
            )

    def reference(self, x: Any, *, y: int) -> Any:
        # In the order of `element`, each product rounded.
        return _integer_power(x, y, np.ones_like(x), np.multiply, np.divide)

    def jvp(self, i: int, t: Any, out: Any, x: Any, *, y: int) -> Any:
        if y == 0:
            return None
        power = x if y == 2 else ops.integer_pow(x, y=y - 1)
        return ops.mul(t, ops.mul(like(y, x), power))

    def element(self, x: Any, *, y: int) -> Any:
        re = x.re if isinstance(x, Complex) else x
        one = Complex(re.const(1), re.const(0)) if isinstance(x, Complex) else re.const(1)
        return _integer_power(x, y, one, lambda a, b: a * b, lambda a, b: a / b)


def _integer_power(
    x: Any, y: int, one: Any, multiply: Callable[..., Any], divide: Callable[..., Any]
) -> Any:
    """x**y from squares, as few products as its bits ask for."""
    total, power, n = None, x, abs(y)
    while n:
        if n & 1:
            total = power if total is None else multiply(total, power)
        n >>= 1
        if n:
            power = multiply(power, power)
    if total is None:
        return one
    return divide(one, total) if y < 0 else total


class Pow(Elementwise):
    """x**y for float or complex x, and y of x's dtype or an integer."""

    name = "pow"
    kinds = INEXACT
    cost = 25.0
    transpose = not_linear

    def check_dtypes(self, *xs: ShapedArray) -> None:
        x, y = xs
        self.check_kind(xs, 0, INEXACT)
        self.check_kind(xs, 1, INEXACT | INTEGER)
        if not dtypes.is_integer(y.dtype) and y.dtype != x.dtype:
            raise TypeError(
                f"the first argument to pow must have an inexact dtype (float or complex), and the "
                f"second argument must have an inexact or integer dtype, and two inexact dtypes "
                f"must match, but got {dtypes.name(x.dtype)} and {dtypes.name(y.dtype)}. Convert "
                f"one of them first, for example with astype."
            )

    def reference(self, x: Any, y: Any) -> Any:
        y = y.astype(wider(x).dtype) if dtypes.is_integer(y.dtype) else wider(y)
        return np.asarray(np.power(wider(x), y)).astype(x.dtype)

    def jvp(self, i: int, t: Any, out: Any, x: Any, y: Any) -> Any:
        zero_x = ops.eq(x, like(0, x))
        if i == 1:
            # The factor x**y is zero where log(x) is not finite.
            return ops.mul(t, ops.mul(ops.log(ops.select_n(zero_x, x, like(1, x))), out))
        zero_y = ops.eq(y, like(0, y))
        if dtypes.is_integer(aval_of(y).dtype):
            exponent = ops.select_n(zero_y, ops.sub(y, like(1, y)), like(0, y))
            factor = ops.convert_element_type(y, new_dtype=aval_of(x).dtype, weak_type=False)
            return ops.mul(t, ops.mul(factor, ops.pow(x, exponent)))
        # x**0 is 1 also at x = 0, where y * x**(y - 1) would be 0 * inf.
        base = ops.select_n(ops.and_(zero_x, zero_y), x, like(1, x))
        return ops.mul(t, ops.mul(y, ops.pow(base, ops.sub(y, like(1, y)))))

    def element(self, x: Any, y: Any) -> Any:
        if isinstance(x, Complex):
            if not isinstance(y, Complex):
                re = y.convert(x.re.type)
                y = Complex(re, re.const(0))
            return complex_math.pow(x, y)
        if x.type in ir.NARROW_FLOATS:
            # An integer above 256 has no exact bfloat16.
            return math.pow(x.convert("float32"), y.convert("float32")).convert(x.type)
        return math.pow(x, y.convert(x.type))


class Sqrt(Function):
    """The square root, correctly rounded for floats; nan below zero."""

    name = "sqrt"
    cost = 2.0

    def reference(self, x: Any) -> Any:
        return np.sqrt(x) if x.dtype.kind == "f" else in_wider(np.sqrt, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.mul(t, ops.div(like(0.5, x), out))

    def element(self, x: Any) -> Any:
        if isinstance(x, Complex):
            return complex_math.sqrt(x)
        return x.graph.op("sqrt", x)


class Rsqrt(Function):
    """1 / sqrt(x)."""

    name = "rsqrt"
    cost = 5.0

    def reference(self, x: Any) -> Any:
        return in_wider(lambda v: 1 / np.sqrt(v), x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.mul(t, ops.mul(like(-0.5, x), ops.div(out, x)))

    def element(self, x: Any) -> Any:
        if isinstance(x, Complex):
            return complex_math.rsqrt(x)
        return math.rsqrt(x)


class Cbrt(Function):
    """The real cube root."""

    name = "cbrt"
    kinds = FLOAT
    cost = 7.0

    def reference(self, x: Any) -> Any:
        return in_wider(np.cbrt, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.mul(t, ops.mul(like(1 / 3, x), ops.integer_pow(out, y=-2)))

    def element(self, x: Expr) -> Expr:
        return math.cbrt(x)


integer_pow = IntegerPow()
pow = Pow()
sqrt = Sqrt()
rsqrt = Rsqrt()
cbrt = Cbrt()
