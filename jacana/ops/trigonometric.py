"""Trigonometric functions and their inverses."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.values import aval_of
from jacana.kernel import math
from jacana.kernel.math import complex as complex_math
from jacana.kernel.math.complex import Complex
from jacana.ops.exponential import Elementary
from jacana.ops.families import like
from jacana.ops.wider import in_wider


class Sin(Elementary):
    """The sine."""

    name = "sin"

    def reference(self, x: Any) -> Any:
        return in_wider(np.sin, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.mul(t, ops.cos(x))


class Cos(Elementary):
    """The cosine."""

    name = "cos"

    def reference(self, x: Any) -> Any:
        return in_wider(np.cos, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.neg(ops.mul(t, ops.sin(x)))


class Tan(Elementary):
    """The tangent."""

    name = "tan"

    def reference(self, x: Any) -> Any:
        return in_wider(np.tan, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.mul(t, ops.add(like(1, x), ops.square(out)))


class Asin(Elementary):
    """The inverse sine, in [-pi/2, pi/2]."""

    name = "asin"

    def reference(self, x: Any) -> Any:
        return in_wider(np.arcsin, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.mul(t, inverse_root_of_gap(x))


class Acos(Elementary):
    """The inverse cosine, in [0, pi]."""

    name = "acos"

    def reference(self, x: Any) -> Any:
        return in_wider(np.arccos, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.neg(ops.mul(t, inverse_root_of_gap(x)))


class Atan(Elementary):
    """The inverse tangent, in [-pi/2, pi/2]."""

    name = "atan"

    def reference(self, x: Any) -> Any:
        return in_wider(np.arctan, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.div(t, ops.add(like(1, x), ops.square(x)))


class Atan2(Elementary):
    """The angle of the point (y, x), operands in the order y, x; of complex operands, -i log."""

    name = "atan2"
    cost = 12.0

    def reference(self, y: Any, x: Any) -> Any:
        if dtypes.is_complex(x.dtype):
            return in_wider(lambda y, x: -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y)), y, x)
        return in_wider(np.arctan2, y, x)

    def jvp(self, i: int, t: Any, out: Any, y: Any, x: Any) -> Any:
        if dtypes.is_complex(aval_of(x).dtype):
            norm = ops.add(ops.square(y), ops.square(x))
            return ops.mul(t, ops.div(x if i == 0 else ops.neg(y), norm))
        # The slopes x / (x**2 + y**2) and -y / (x**2 + y**2), from a ratio of size at most 1.
        steep = ops.gt(ops.abs(y), ops.abs(x))
        large, small = ops.select_n(steep, x, y), ops.select_n(steep, y, x)
        ratio = ops.div(small, large)
        slope = ops.div(ops.div(like(1, x), large), ops.add(like(1, x), ops.square(ratio)))
        scaled = ops.mul(ratio, slope)
        if i == 0:
            return ops.mul(t, ops.select_n(steep, slope, scaled))
        return ops.neg(ops.mul(t, ops.select_n(steep, scaled, slope)))

    def element(self, y: Any, x: Any) -> Any:
        if not isinstance(x, Complex):
            return math.atan2(y, x)
        along = Complex(x.re - y.im, x.im + y.re)
        logarithm = complex_math.log(along / complex_math.sqrt(x * x + y * y))
        return Complex(logarithm.im, -logarithm.re)


def inverse_root_of_gap(x: Any) -> Any:
    """1 / sqrt(1 - x**2)."""
    return ops.rsqrt(one_minus_square(x))


def one_minus_square(x: Any) -> Any:
    """1 - x**2, and its derivative, without cancellation."""
    one = like(1, x)
    plain = ops.sub(one, ops.square(x))
    if dtypes.is_complex(aval_of(x).dtype):
        return plain
    # The product is exact near 1 and -1; its derivative cancels near 0.
    product = ops.mul(ops.sub(one, x), ops.add(one, x))
    return ops.select_n(ops.gt(ops.abs(x), like(0.5, x)), plain, product)


sin = Sin()
cos = Cos()
tan = Tan()
asin = Asin()
acos = Acos()
atan = Atan()
atan2 = Atan2()
