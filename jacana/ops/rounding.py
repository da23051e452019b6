"""Rounding to integers, neighbours in the floating-point grid, finiteness."""

from typing import Any

import numpy as np

from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.kernel import math
from jacana.kernel.expr import Expr
from jacana.ops.families import FLOAT, Elementwise, not_differentiable, not_linear, spread

AWAY_FROM_ZERO, TO_NEAREST_EVEN = 0, 1


class Floor(Elementwise):
    """The largest integer <= x."""

    name = "floor"
    kinds = FLOAT
    jvp = not_differentiable
    transpose = not_linear

    def reference(self, x: Any) -> Any:
        return np.floor(x)

    def element(self, x: Expr) -> Expr:
        return x.graph.op("floor", x)


class Ceil(Elementwise):
    """The smallest integer >= x."""

    name = "ceil"
    kinds = FLOAT
    jvp = not_differentiable
    transpose = not_linear

    def reference(self, x: Any) -> Any:
        return np.ceil(x)

    def element(self, x: Expr) -> Expr:
        return x.graph.op("ceil", x)


class Round(Elementwise):
    """The nearest integer; halves go away from zero or, with `rounding_method` 1, to even."""

    name = "round"
    kinds = FLOAT
    jvp = not_differentiable
    transpose = not_linear

    def check_params(self, *xs: ShapedArray, **params: Any) -> None:
        rounding_method = params["rounding_method"]
        if rounding_method not in (AWAY_FROM_ZERO, TO_NEAREST_EVEN):
            raise ValueError(
                f"round got rounding_method={rounding_method!r}; it is 0 (halves away from zero) "
                f"or 1 (halves to even)."
            )

    def reference(self, x: Any, *, rounding_method: int) -> Any:
        if rounding_method == TO_NEAREST_EVEN:
            return np.rint(x)
        whole = np.trunc(x)
        away = np.abs(x - whole) >= 0.5
        return np.where(away, whole + np.copysign(np.ones_like(x), x), whole)

    def element(self, x: Expr, *, rounding_method: int) -> Expr:
        if rounding_method == TO_NEAREST_EVEN:
            return x.graph.op("round", x)
        return math.round_away_from_zero(x)


class IsFinite(Elementwise):
    """Whether x is neither infinite nor nan."""

    name = "is_finite"
    kinds = FLOAT
    jvp = not_differentiable
    transpose = not_linear

    def output_dtype(self, *dtypes_: Any) -> Any:
        return dtypes.bool_

    def reference(self, x: Any) -> Any:
        return np.isfinite(x)

    def element(self, x: Expr) -> Expr:
        return math.is_finite(x)


class NextAfter(Elementwise):
    """The neighbour of x toward y, or y if they are equal."""

    name = "nextafter"
    kinds = FLOAT
    transpose = not_linear

    def reference(self, x: Any, y: Any) -> Any:
        return np.nextafter(x, y)

    def jvp(self, i: int, t: Any, out: Any, x: Any, y: Any) -> Any:
        # A neighbour moves with x; y only says in which direction it is.
        return spread(t, out) if i == 0 else None

    def element(self, x: Expr, y: Expr) -> Expr:
        return math.nextafter(x, y)


floor = Floor()
ceil = Ceil()
round = Round()
is_finite = IsFinite()
nextafter = NextAfter()
