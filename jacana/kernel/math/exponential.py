"""exp and its kin: e**x = 2**n * e**r with |r| <= log(2) / 2, and a polynomial for e**r."""

from jacana.kernel.expr import Expr
from jacana.kernel.math.define import (
    INF,
    elementary,
    fma,
    format_of,
    maximum,
    minimum,
    polynomial,
    select,
    to_bits,
)
from jacana.kernel.math.pairs import Pair, fast_two_sum, two_sum

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
    """The exponential as 2**n * e**(high + rest), with |high| <= 0.35 and rest beside it tiny.

    `count` is n + shifter.
    """

    def __init__(self, count: Expr, high: Expr, rest: Expr):
        self.count, self.high, self.rest = count, high, rest
        self.square = high * high
        self.factor = polynomial(high, EXP[high.type])

    def plus_tail(self, addend: Expr, scale: Expr | None = None) -> Expr:
        """addend + scale * (e**(high + rest) - 1 - high)."""
        square, rest = self.square, self.rest
        rest = fma(rest, fma(square, self.factor, self.high), rest)
        if scale is not None:
            return fma(scale * square, self.factor, fma(scale, rest, addend))
        return fma(square, self.factor, addend + rest)

    def scale(self, add: int) -> Expr:
        """2**(n + add), for an exponent that is normal."""
        f = format_of(self.high)
        return ((to_bits(self.count) << f.mantissa) + (f.bias + add << f.mantissa)).bitcast(f.type)

    def value(self) -> Expr:
        """e**(high + rest)."""
        head, error = fast_two_sum(1.0, self.high)
        return head + self.plus_tail(error)

    def precise_value(self) -> Expr:
        """e**(high + rest), with hardly more than the last rounding's error."""
        h, square = self.high, self.square
        first, *others = EXP[h.type]
        head, error = fast_two_sum(1.0, h)
        head, second_error = fast_two_sum(head, 0.5 * square)
        square_error = fma(0.5 * h, h, -0.5 * square)
        rest = fma(self.rest, fma(square, self.factor, h), self.rest)
        # What the first coefficient is besides one half.
        cubic = fma(h, polynomial(h, tuple(others)), first - 0.5)
        return head + fma(square, cubic, (error + second_error) + (square_error + rest))


def reduce_exponent(x: Expr, low: Expr | None = None) -> Reduced:
    """For e**(x + low)."""
    shifter, (ln2, ln2_low) = format_of(x).shifter, LN2[x.type]
    count = fma(x, LOG2_E, shifter)
    n = count - shifter
    rest = n * -ln2_low if low is None else fma(n, -ln2_low, low)
    return Reduced(count, fma(n, -ln2, x), rest)


def reduce_binary_exponent(x: Expr) -> Reduced:
    """For 2**x."""
    shifter, (ln2, ln2_low) = format_of(x).shifter, LN2[x.type]
    count = x + shifter
    r = x - (count - shifter)
    high = r * ln2
    return Reduced(count, high, fma(r, ln2, -high) + r * ln2_low)


def lifted(value: Expr, count: Expr, small: Expr) -> Expr:
    """value * 2**n for value near 1, with a result that may be subnormal where `small`."""
    f = format_of(value)
    bits = to_bits(value) + (to_bits(count) << f.mantissa)
    zero = bits.const(0)
    made = (bits + select(small, LIFT << f.mantissa, zero)).bitcast(f.type)
    return made * select(small, 2.0**-LIFT, value.const(1.0))


@elementary
def exp(x: Expr) -> Expr:
    """e**x.

    At most 0.65 ulp, or 0.79 where the result is subnormal.
    """
    clamped = maximum(x, LOWEST[x.type])
    reduced = reduce_exponent(clamped)
    made = lifted(reduced.value(), reduced.count, clamped < SMALL[x.type])
    return select(x <= LARGEST[x.type], made, x + INF)


@elementary
def exp2(x: Expr) -> Expr:
    """2**x.

    At most 0.65 ulp, or 0.79 where the result is subnormal.
    """
    f = format_of(x)
    clamped = maximum(x, -float(f.bias + f.mantissa + 1))
    reduced = reduce_binary_exponent(clamped)
    made = lifted(reduced.value(), reduced.count, clamped < 2.0 - f.bias)
    return select(x < f.bias + 1.0, made, x + INF)


# Where e**x - 1 rounds to -1, and where it overflows.
EXPM1_RANGE = {"float32": (-18.0, 88.8), "float64": (-39.0, 709.9)}


@elementary
def expm1(x: Expr) -> Expr:
    """e**x - 1, without cancellation near zero.

    At most 1.09 ulp in float32 and 1.0 in float64.
    """
    f = format_of(x)
    low, high = EXPM1_RANGE[x.type]
    reduced = reduce_exponent(minimum(maximum(x, low), high))
    half = reduced.scale(-1)
    base, base_low = two_sum(half, x.const(-0.5))
    head, tail = expm1_pair(reduced, half, base)
    tail = tail + base_low
    return select(abs(x) < 2.0**-f.mantissa / 128.0, x, 2.0 * (head + tail))


def expm1_pair(reduced: Reduced, scale: Expr, base: Expr) -> Pair:
    """scale * (e**(high + rest) - 1) + base, for |base| >= scale * |high| or base zero."""
    head = fma(scale, reduced.high, base)
    error = fma(scale, reduced.high, base - head)
    return head, reduced.plus_tail(error, scale)


@elementary
def logistic(x: Expr) -> Expr:
    """1 / (1 + e**-x).

    At most 1.48 ulp.
    """
    clamped = maximum(-abs(x), LOWEST[x.type])
    reduced = reduce_exponent(clamped)
    decay = lifted(reduced.value(), reduced.count, clamped < SMALL[x.type])
    numerator = select(x < 0.0, decay, select(x.isnan(), x, x.const(1.0)))
    total, low = fast_two_sum(1.0, decay)
    inverse = 1.0 / total
    near = numerator * inverse
    return fma(fma(-near, low, fma(-near, total, numerator)), inverse, near)
