"""exp and its kin: e**x = 2**n * e**r with |r| <= log(2) / 2, and a polynomial for e**r."""

from jacana.kernel.expr import Expr
from jacana.kernel.math.define import (
    INF,
    Format,
    copysign,
    elementary,
    fma,
    format_of,
    maximum,
    minimum,
    polynomial,
    select,
    to_bits,
)
from jacana.kernel.math.pairs import fast_two_sum, quotient, two_sum

# e**r = 1 + r + r**2 * p(r); bench/minimax.py exp
EXP = {
    "float32": (0.49999997, 0.166665435, 0.0416674986, 8.36653262e-3, 1.38648949e-3),
    "float64": (
        0.50000000000000056, 0.16666666666666594, 0.041666666666573773, 8.3333333333861694e-3,
        1.3888888932310909e-3, 1.9841269727387798e-4, 2.480150453691032e-5, 2.755739931102592e-6,
        2.7626288977846479e-7, 2.5056570970381057e-8,
    ),
}  # fmt: skip

LOG2_E = 1.4426950408889634
# log(2) as the nearest number of the type, and the rest
LN2 = {
    "float32": (float.fromhex("0x1.62e430p-1"), float.fromhex("-0x1.05c610p-29")),
    "float64": (float.fromhex("0x1.62e42fefa39efp-1"), float.fromhex("0x1.abc9e3b39803fp-56")),
}
# Below LOWEST e**x rounds to zero, below SMALL it is (nearly) subnormal, above LARGEST infinite.
LOWEST = {"float32": -104.5, "float64": -746.0}
SMALL = {"float32": -87.0, "float64": -708.0}
LARGEST = {
    "float32": float.fromhex("0x1.62e42ep+6"),
    "float64": float.fromhex("0x1.62e42fefa39efp+9"),
}
# 2**n is lifted by 2**LIFT where it would be subnormal.
LIFT = 64


class Reduced:
    """e**x = 2**n * (1 + high + tail), with `count` = n + shifter and |high| <= 0.35."""

    def __init__(self, x: Expr, low: Expr | None = None):
        f = format_of(x)
        self.count = fma(x, LOG2_E, f.shifter)
        self.n = self.count - f.shifter
        self.high = fma(self.n, -LN2[x.type][0], x)
        rest = self.n * -LN2[x.type][1] if low is None else fma(self.n, -LN2[x.type][1], low)
        r = self.high + rest
        self.tail = fma(r * r, polynomial(r, EXP[x.type]), rest)

    def scale(self, add: int, f: Format) -> Expr:
        """2**(n + add), for an exponent that is normal."""
        return ((to_bits(self.count) << f.mantissa) + (f.bias + add << f.mantissa)).bitcast(f.type)

    def value(self) -> Expr:
        """1 + high + tail."""
        head, error = fast_two_sum(1.0, self.high)
        return head + (error + self.tail)


def lifted(value: Expr, count: Expr, small: Expr) -> Expr:
    """value * 2**n for value near 1, with a result that may be subnormal where `small`."""
    f = format_of(value)
    bits = to_bits(value) + (to_bits(count) << f.mantissa)
    zero = bits.const(0)
    made = (bits + select(small, LIFT << f.mantissa, zero)).bitcast(f.type)
    return made * select(small, 2.0**-LIFT, value.const(1.0))


@elementary
def exp(x: Expr) -> Expr:
    """e**x."""
    clamped = maximum(x, LOWEST[x.type])
    reduced = Reduced(clamped)
    made = lifted(reduced.value(), reduced.count, clamped < SMALL[x.type])
    return select(x <= LARGEST[x.type], made, x + INF)


# Where e**x - 1 rounds to -1, and where it overflows.
EXPM1_RANGE = {"float32": (-18.0, 88.8), "float64": (-39.0, 709.9)}


@elementary
def expm1(x: Expr) -> Expr:
    """e**x - 1, without cancellation near zero."""
    f = format_of(x)
    low, high = EXPM1_RANGE[x.type]
    reduced = Reduced(minimum(maximum(x, low), high))
    half = reduced.scale(-1, f)
    head, tail = expm1_pair(reduced, half, half - 0.5)
    return select(
        abs(x) < 2.0**-30 if f.mantissa == 23 else abs(x) < 2.0**-60, x, 2.0 * (head + tail)
    )


def expm1_pair(reduced: Reduced, scale: Expr, base: Expr) -> tuple[Expr, Expr]:
    """scale * (high + tail) + base as a pair."""
    head = fma(scale, reduced.high, base)
    error = fma(scale, reduced.high, base - head)
    return head, fma(scale, reduced.tail, error)


@elementary
def logistic(x: Expr) -> Expr:
    """1 / (1 + e**-x)."""
    clamped = maximum(-abs(x), LOWEST[x.type])
    reduced = Reduced(clamped)
    decay = lifted(reduced.value(), reduced.count, clamped < SMALL[x.type])
    numerator = select(x < 0.0, decay, select(x.isnan(), x, x.const(1.0)))
    return quotient((numerator, x.const(0.0)), (x.const(1.0), decay))


# Where tanh is 1 to the last digit.
TANH_ONE = {"float32": 10.0, "float64": 20.0}


@elementary
def tanh(x: Expr) -> Expr:
    """(e**2x - 1) / (e**2x + 1)."""
    size = minimum(abs(x), TANH_ONE[x.type])
    reduced = Reduced(size + size)
    scale = reduced.scale(0, format_of(x))
    head, tail = expm1_pair(reduced, scale, scale - 1.0)
    total, error = two_sum(x.const(2.0), head)
    return copysign(quotient((head, tail), (total, error + tail)), x)
