"""Addition and its kin: elementwise arithmetic whose rules are algebra."""
from typing import Any

import numpy as np

from jacana import ops
from jacana.ops.families import Elementwise, gather_in, is_linear, not_linear, spread
from jacana.ops.lowering import Value


class Neg(Elementwise):
    """-x."""

    name = "neg"

    def reference(self, x: Any) -> Any:
        return np.negative(x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.neg(t)

    def transpose(self, ct: Any, x: Any) -> list[Any]:
        return [ops.neg(ct)]

    def element(self, x: Value) -> Value:
        return -x


class Add(Elementwise):
    """x + y."""

    name = "add"

    def reference(self, x: Any, y: Any) -> Any:
        return np.add(x, y)

    def jvp(self, i: int, t: Any, out: Any, x: Any, y: Any) -> Any:
        return spread(t, out)

    def transpose(self, ct: Any, x: Any, y: Any) -> list[Any]:
        return [gather_in(ct, v) if is_linear(v) else None for v in (x, y)]

    def element(self, x: Value, y: Value) -> Value:
        return x + y


class Sub(Elementwise):
    """x - y."""

    name = "sub"

    def reference(self, x: Any, y: Any) -> Any:
        return np.subtract(x, y)

    def jvp(self, i: int, t: Any, out: Any, x: Any, y: Any) -> Any:
        return spread(t if i == 0 else ops.neg(t), out)

    def transpose(self, ct: Any, x: Any, y: Any) -> list[Any]:
        return [
            gather_in(ct, x) if is_linear(x) else None,
            gather_in(ops.neg(ct), y) if is_linear(y) else None,
        ]

    def element(self, x: Value, y: Value) -> Value:
        return x - y


class Mul(Elementwise):
    """x * y."""

    name = "mul"

    def reference(self, x: Any, y: Any) -> Any:
        return np.multiply(x, y)

    def jvp(self, i: int, t: Any, out: Any, x: Any, y: Any) -> Any:
        return ops.mul(t, y) if i == 0 else ops.mul(x, t)

    def transpose(self, ct: Any, x: Any, y: Any) -> list[Any]:
        if is_linear(x):
            return [gather_in(ops.mul(ct, y), x), None]
        return [None, gather_in(ops.mul(x, ct), y)]

    def element(self, x: Value, y: Value) -> Value:
        return x * y


class Div(Elementwise):
    """x / y; integers truncate toward zero."""

    name = "div"

    def reference(self, x: Any, y: Any) -> Any:
        if np.result_type(x).kind in "iu":
            return truncating_division(np.asarray(x), np.asarray(y))
        return np.divide(x, y)

    def jvp(self, i: int, t: Any, out: Any, x: Any, y: Any) -> Any:
        return ops.div(t, y) if i == 0 else ops.mul(ops.neg(t), ops.div(out, y))

    def transpose(self, ct: Any, x: Any, y: Any) -> list[Any]:
        return [gather_in(ops.div(ct, y), x), None]

    def element(self, x: Value, y: Value) -> Value:
        return x / y


def truncating_division(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Integer division toward zero; x / 0 is -1 (all ones) and min / -1 is min."""
    safe = np.where(y == 0, y.dtype.type(1), y)
    quotient = np.floor_divide(x, safe)
    remainder = x - quotient * safe
    toward_zero = (remainder != 0) & ((x < 0) != (safe < 0))
    quotient = quotient + toward_zero.astype(x.dtype)
    return np.where(y == 0, ~np.zeros_like(y), quotient)


neg = Neg()
add = Add()
sub = Sub()
mul = Mul()
div = Div()

__all__ = ["add", "div", "mul", "neg", "not_linear", "sub"]
