"""Addition and its kin: elementwise arithmetic whose rules are algebra."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.kernel.expr import Expr
from jacana.ops.families import (
    INTEGER,
    NUMERIC,
    REAL,
    Elementwise,
    Function,
    gather_in,
    is_linear,
    like,
    not_differentiable,
    not_linear,
    spread,
)  # fmt: skip
from jacana.ops.wider import in_own_type


class Neg(Elementwise):
    """-x."""

    name = "neg"

    def reference(self, x: Any) -> Any:
        return in_own_type(np.negative, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.neg(t)

    def transpose(self, ct: Any, x: Any) -> list[Any]:
        return [ops.neg(ct)]

    def element(self, x: Any) -> Any:
        return -x


class Add(Elementwise):
    """x + y."""

    name = "add"

    def reference(self, x: Any, y: Any) -> Any:
        return in_own_type(np.add, x, y)

    def jvp(self, i: int, t: Any, out: Any, x: Any, y: Any) -> Any:
        return spread(t, out)

    def transpose(self, ct: Any, x: Any, y: Any) -> list[Any]:
        return [gather_in(ct, v) if is_linear(v) else None for v in (x, y)]

    def element(self, x: Any, y: Any) -> Any:
        return x + y


class AddAny(Add):
    """x + y for the sums that transformations make: cotangents of one variable."""

    name = "add_any"


class Sub(Elementwise):
    """x - y."""

    name = "sub"

    def reference(self, x: Any, y: Any) -> Any:
        return in_own_type(np.subtract, x, y)

    def jvp(self, i: int, t: Any, out: Any, x: Any, y: Any) -> Any:
        return spread(t if i == 0 else ops.neg(t), out)

    def transpose(self, ct: Any, x: Any, y: Any) -> list[Any]:
        return [
            gather_in(ct, x) if is_linear(x) else None,
            gather_in(ops.neg(ct), y) if is_linear(y) else None,
        ]

    def element(self, x: Any, y: Any) -> Any:
        return x - y


class Mul(Elementwise):
    """x * y."""

    name = "mul"

    def reference(self, x: Any, y: Any) -> Any:
        return in_own_type(np.multiply, x, y)

    def jvp(self, i: int, t: Any, out: Any, x: Any, y: Any) -> Any:
        return ops.mul(t, y) if i == 0 else ops.mul(x, t)

    def transpose(self, ct: Any, x: Any, y: Any) -> list[Any]:
        if is_linear(x):
            return [gather_in(ops.mul(ct, y), x), None]
        return [None, gather_in(ops.mul(x, ct), y)]

    def element(self, x: Any, y: Any) -> Any:
        return x * y


class Div(Elementwise):
    """x / y; integers truncate toward zero."""

    name = "div"
    cost = 2.0

    def reference(self, x: Any, y: Any) -> Any:
        if dtypes.is_integer(x.dtype):
            return in_own_type(truncating_division, x, y)
        return in_own_type(np.divide, x, y)

    def jvp(self, i: int, t: Any, out: Any, x: Any, y: Any) -> Any:
        if i == 0:
            return ops.div(t, y)
        return ops.mul(ops.mul(ops.neg(t), x), ops.integer_pow(y, y=-2))

    def transpose(self, ct: Any, x: Any, y: Any) -> list[Any]:
        return [gather_in(ops.div(ct, y), x), None]

    def element(self, x: Any, y: Any) -> Any:
        return x / (y.graph.divisor(y) if isinstance(y, Expr) else y)


class Rem(Elementwise):
    """The remainder of truncating division, of the sign of x; for y = 0 nan, or x in integers."""

    name = "rem"
    kinds = REAL
    cost = 12.0
    transpose = not_linear

    def reference(self, x: Any, y: Any) -> Any:
        if dtypes.is_integer(x.dtype):
            return in_own_type(lambda x, y: x - truncating_division(x, y) * y, x, y)
        return np.fmod(x, y)

    def jvp(self, i: int, t: Any, out: Any, x: Any, y: Any) -> Any:
        if i == 0:
            return spread(t, out)
        # Between its jumps the remainder is x - n * y, with n the truncated quotient.
        quotient = ops.div(x, y)
        whole = ops.mul(ops.sign(quotient), ops.floor(ops.abs(quotient)))
        return ops.mul(ops.neg(t), whole)

    def element(self, x: Any, y: Expr) -> Any:
        return x % y.graph.divisor(y)


class MulHi(Elementwise):
    """The upper half of the double-width product of integers."""

    name = "mulhi"
    kinds = INTEGER
    jvp = not_differentiable
    transpose = not_linear

    def reference(self, x: Any, y: Any) -> Any:
        width = dtypes.bit_width(x.dtype)
        product = np.multiply(x.astype(object), y.astype(object))
        return np.asarray(product >> width, object).astype(x.dtype)

    def element(self, x: Expr, y: Expr) -> Expr:
        return x.graph.op("mulhi", x, y)


class Square(Function):
    """x * x."""

    name = "square"
    kinds = NUMERIC

    def reference(self, x: Any) -> Any:
        return in_own_type(np.multiply, x, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.mul(t, ops.mul(like(2, x), x))

    def element(self, x: Any) -> Any:
        return x * x


def truncating_division(x: Any, y: Any) -> Any:
    """Integer division toward zero; x / 0 is -1 (all ones) and min / -1 is min."""
    x, y = np.broadcast_arrays(np.asarray(x), np.asarray(y))
    out = np.empty(x.shape, x.dtype)
    info = dtypes.iinfo(x.dtype)
    flat = zip(x.ravel().tolist(), y.ravel().tolist(), strict=True)
    quotients = [_truncated_quotient(a, b, info.min, info.max) for a, b in flat]
    out.ravel()[:] = np.array(quotients, object).astype(x.dtype)
    return out


def _truncated_quotient(a: int, b: int, least: int, greatest: int) -> int:
    if b == 0:
        return -1 if least < 0 else greatest
    quotient = abs(a) // abs(b)
    quotient = -quotient if (a < 0) != (b < 0) else quotient
    return least if quotient > greatest else quotient


neg = Neg()
add = Add()
add_any = AddAny()
sub = Sub()
mul = Mul()
div = Div()
rem = Rem()
square = Square()
mulhi = MulHi()
