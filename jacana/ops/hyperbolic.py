"""Hyperbolic functions and their inverses."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.values import aval_of
from jacana.ops.exponential import Elementary
from jacana.ops.families import like
from jacana.ops.trigonometric import one_minus_square
from jacana.ops.wider import in_wider


class Sinh(Elementary):
    """The hyperbolic sine."""

    name = "sinh"

    def reference(self, x: Any) -> Any:
        return in_wider(np.sinh, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.mul(t, ops.cosh(x))


class Cosh(Elementary):
    """The hyperbolic cosine."""

    name = "cosh"

    def reference(self, x: Any) -> Any:
        return in_wider(np.cosh, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.mul(t, ops.sinh(x))


class Tanh(Elementary):
    """The hyperbolic tangent."""

    name = "tanh"

    def reference(self, x: Any) -> Any:
        return in_wider(np.tanh, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        # (1 + out) * (1 - out) keeps digits where out is near 1 or -1.
        return ops.mul(ops.add(t, ops.mul(t, out)), ops.sub(like(1, x), out))


class Asinh(Elementary):
    """The inverse hyperbolic sine."""

    name = "asinh"
    cost = 13.0

    def reference(self, x: Any) -> Any:
        return in_wider(np.arcsinh, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        if dtypes.is_complex(aval_of(x).dtype):
            return ops.mul(t, ops.rsqrt(ops.add(ops.square(x), like(1, x))))
        # Where 1 is lost in x**2 + 1, which overflows further on, the slope is 1 / abs(x).
        size = ops.abs(x)
        large = 2 * float(dtypes.finfo(aval_of(x).dtype).eps) ** -0.5
        far = ops.gt(size, like(large, x))
        near, distance = ops.select_n(far, x, like(1, x)), ops.select_n(far, like(1, x), size)
        slope = ops.rsqrt(ops.add(ops.square(near), like(1, x)))
        return ops.mul(t, ops.select_n(far, slope, ops.div(like(1, x), distance)))


class Acosh(Elementary):
    """The inverse hyperbolic cosine; nan below 1."""

    name = "acosh"
    cost = 14.0

    def reference(self, x: Any) -> Any:
        return in_wider(np.arccosh, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        # Two roots: the product (x - 1) * (x + 1) overflows before the slope underflows.
        one = like(1, x)
        return ops.mul(t, ops.mul(ops.rsqrt(ops.sub(x, one)), ops.rsqrt(ops.add(x, one))))


class Atanh(Elementary):
    """The inverse hyperbolic tangent; infinite at -1 and 1, nan beyond."""

    name = "atanh"
    cost = 10.0

    def reference(self, x: Any) -> Any:
        return in_wider(np.arctanh, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.div(t, one_minus_square(x))


sinh = Sinh()
cosh = Cosh()
tanh = Tanh()
asinh = Asinh()
acosh = Acosh()
atanh = Atanh()
