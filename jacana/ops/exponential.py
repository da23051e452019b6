"""Exponential and logarithm, and functions that are little more."""

import math
from typing import Any

import numpy as np

from jacana import ops
from jacana.kernel import math as kernel_math
from jacana.kernel.math import complex as complex_math
from jacana.kernel.math.complex import Complex
from jacana.ops.families import Function, like
from jacana.ops.wider import in_wider


class Elementary(Function):
    """A function that the kernel language's mathematics has under the primitive's own name."""

    cost = 6.0

    def element(self, *xs: Any) -> Any:
        library = complex_math if isinstance(xs[0], Complex) else kernel_math
        value: Any = getattr(library, self.name)(*xs)
        return value


class Exp(Elementary):
    """e**x."""

    name = "exp"

    def reference(self, x: Any) -> Any:
        return in_wider(np.exp, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        # Not `out`: terms of higher derivatives then meet in their last sum, where less cancels.
        # Compiled programs compute it once all the same.
        return ops.mul(t, ops.exp(x))


class Exp2(Elementary):
    """2**x."""

    name = "exp2"

    def reference(self, x: Any) -> Any:
        return in_wider(np.exp2, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.mul(t, ops.mul(like(math.log(2), x), out))


class Expm1(Elementary):
    """e**x - 1, without cancellation near zero."""

    name = "expm1"

    def reference(self, x: Any) -> Any:
        return in_wider(np.expm1, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.mul(t, ops.add(out, like(1, x)))


class Log(Elementary):
    """The natural logarithm; nan below zero."""

    name = "log"

    def reference(self, x: Any) -> Any:
        return in_wider(np.log, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.div(t, x)


class Log1p(Elementary):
    """log(1 + x), without cancellation near zero."""

    name = "log1p"

    def reference(self, x: Any) -> Any:
        return in_wider(np.log1p, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.div(t, ops.add(x, like(1, x)))


class Logistic(Elementary):
    """1 / (1 + e**-x)."""

    name = "logistic"

    def reference(self, x: Any) -> Any:
        return in_wider(_logistic, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.mul(t, ops.mul(out, ops.sub(like(1, x), out)))


def _logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


exp = Exp()
exp2 = Exp2()
expm1 = Expm1()
log = Log()
log1p = Log1p()
logistic = Logistic()
