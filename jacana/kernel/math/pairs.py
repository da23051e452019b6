"""Unevaluated sums high + low: results with more digits than the type has."""

from jacana.kernel.expr import Expr
from jacana.kernel.math.define import fma

Pair = tuple[Expr, Expr]


def fast_two_sum(a: Expr | float, b: Expr) -> Pair:
    """a + b rounded, and its exact error, where |a| >= |b| or a is zero."""
    high = a + b
    return high, b - (high - a)


def two_sum(a: Expr, b: Expr) -> Pair:
    """a + b rounded, and its exact error."""
    high = a + b
    part = high - a
    return high, (a - (high - part)) + (b - part)


def two_product(a: Expr, b: Expr) -> Pair:
    """a * b rounded, and its exact error (barring underflow)."""
    high = a * b
    return high, fma(a, b, -high)


def quotient(a: Pair, b: Pair) -> Expr:
    """a / b with little more than the last rounding's error, for low parts that are small."""
    inverse = 1.0 / b[0]
    near = a[0] * inverse
    rest = fma(-near, b[0], a[0]) + fma(-near, b[1], a[1])
    return fma(rest, inverse, near)
