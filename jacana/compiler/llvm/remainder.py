"""The remainder of float division, exactly: C's fmod, without calling it.

Each step takes away a multiple of the divisor times a power of two. The quotient has fewer than 53
bits, so the rest is a double, found exactly by one fma (and one correction, for the rounded
quotient may be one too large).
"""

from jacana.kernel import ir
from jacana.kernel.build import function
from jacana.kernel.expr import Expr

# log2 of the greatest quotient of one step, less one.
QUOTIENT_BITS = 50
EXPONENT_BIAS = 1023
TINY = 2.0**-1022


def _exponent(x: Expr) -> Expr:
    """The exponent field of a positive double."""
    return x.bitcast("int64") >> 52


def _power_of_two(k: Expr) -> Expr:
    return ((k + EXPONENT_BIAS) << 52).bitcast("float64")


def _reduce(a: Expr, t: Expr) -> Expr:
    """a less the greatest multiple of t in it."""
    graph = a.graph
    quotient = graph.op("trunc", a / t)
    rest = graph.op("fma", -quotient, t, a)
    return graph.select(rest < 0.0, rest + t, rest)


@function("remainder_continues", "float64", "float64")
def _continues(a: Expr, b: Expr) -> Expr:
    return a >= b


@function("remainder_step_float32", "float64", "float64")
def _step_float32(a: Expr, b: Expr) -> Expr:
    spare = _exponent(a) - _exponent(b) - QUOTIENT_BITS
    return _reduce(a, b * _power_of_two(a.graph.op("max", spare, 0)))


@function("remainder_step_float64", "float64", "float64")
def _step_float64(a: Expr, b: Expr) -> Expr:
    # Subnormal numbers have no exponent field: b gets one by scaling; two of them divide at once.
    graph, scaled = a.graph, _exponent(b * 2.0**54) - 54
    spare = _exponent(a) - graph.select(b < TINY, scaled, _exponent(b)) - QUOTIENT_BITS
    k = graph.select(a < TINY, 0, graph.op("max", spare, 0))
    # The power may be too large for a double, so it is applied in parts.
    quarter = k >> 2
    part, rest = _power_of_two(quarter), _power_of_two(k - quarter * 3)
    return _reduce(a, b * part * part * part * rest)


def _remainder(x: Expr, y: Expr, step: ir.Function) -> Expr:
    graph = x.graph
    a, b = abs(x), abs(y)
    valid = (a < float("inf")) & (b > 0.0)
    (rest,) = graph.iterate(_continues, step, [graph.select(valid, a, 0.0)], [b])
    return graph.select(valid, graph.op("copysign", rest, x), float("nan"))


@function("remainder_float32", "float32", "float32")
def _remainder_float32(x: Expr, y: Expr) -> Expr:
    return _remainder(x.convert("float64"), y.convert("float64"), _step_float32).convert("float32")


@function("remainder_float64", "float64", "float64")
def _remainder_float64(x: Expr, y: Expr) -> Expr:
    return _remainder(x, y, _step_float64)


FUNCTIONS = {"float32": _remainder_float32, "float64": _remainder_float64}
