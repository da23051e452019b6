"""asin, acos, atan and atan2."""

from jacana.kernel.expr import Expr
from jacana.kernel.math.define import (
    INF,
    copysign,
    elementary,
    fma,
    maximum,
    minimum,
    polynomial,
    select,
    sqrt,
)
from jacana.kernel.math.pairs import Pair, fast_two_sum, two_sum

# asin(x) = x + x**3 * p(x**2) for |x| <= 1/2; bench/minimax.py asin
ASIN = {
    "float32": (0.166667521, 0.0749530718, 0.045469638, 0.0241815336, 0.0421650372),
    "float64": (
        0.16666666666665403, 0.075000000003385789, 0.044642856826949809, 0.030381959196775981,
        0.022371756555796339, 0.01735972810247614, 0.013884997866378181, 0.012170814003537297,
        6.5208754779993022e-3, 0.019548130783427656, -0.016256073748723059, 0.031934504749562512,
    ),
}  # fmt: skip
# atan(t) = t + t**3 * p(t**2) for |t| <= tan(pi / 8); bench/minimax.py atan
ATAN = {
    "float32": (-0.333333164, 0.199985296, -0.142444283, 0.105994649, -0.0609081164),
    "float64": (
        -0.33333333333333198, 0.19999999999953685, -0.14285714280201078, 0.11111110783565969,
        -0.090908977593796444, 0.076920602382134842, -0.066631043551923272, 0.058478922410272333,
        -0.050393221413781643, 0.038065125645699832, -0.017907970562839565,
    ),
}  # fmt: skip
# pi / 2 as a pair; pi and pi / 4 are multiples of it
HALF_PI = {
    "float32": (float.fromhex("0x1.921fb6p+0"), float.fromhex("-0x1.777a5cp-25")),
    "float64": (float.fromhex("0x1.921fb54442d18p+0"), float.fromhex("0x1.1a62633145c07p-54")),
}


def _asin_tail(u: Expr, z: Expr) -> Expr:
    """asin(u) - u, for z = u**2 <= 1/4."""
    return u * z * polynomial(z, ASIN[u.type])


@elementary
def asin(x: Expr) -> Expr:
    """The arc sine, from -pi / 2 to pi / 2.

    At most 1.19 ulp in float32 and 1.21 in float64.
    """
    high, low = HALF_PI[x.type]
    size = abs(x)
    big = size > 0.5
    # asin(x) = pi / 2 - 2 asin(sqrt((1 - x) / 2))
    z = select(big, 0.5 - 0.5 * size, size * size)
    u = select(big, sqrt(z), size)
    tail = _asin_tail(u, z)
    head, error = fast_two_sum(high, -2.0 * u)
    folded = head + (error + fma(tail, -2.0, low))
    return copysign(select(big, folded, u + tail), x)


@elementary
def acos(x: Expr) -> Expr:
    """The arc cosine, from 0 to pi.

    At most 1.14 ulp in float32 and 1.2 in float64.
    """
    high, low = HALF_PI[x.type]
    size = abs(x)
    big, zero = size > 0.5, x.const(0.0)
    z = select(big, 0.5 - 0.5 * size, size * size)
    # pi / 2 - asin(x), 2 asin(sqrt(z)) or pi - 2 asin(sqrt(z))
    u = select(big, copysign(sqrt(z), -x), x)
    fold = x > 0.5
    base, base_low = select(fold, zero, high), select(fold, zero, low)
    head, error = fast_two_sum(base, -u)
    made = head + (error + (base_low - _asin_tail(u, z)))
    return select(big, made + made, made)


def _angle(a: Expr, b: Expr) -> Pair:
    """atan(a / b) as a pair, for a >= 0, b >= 0, not both of them zero, infinite, huge or tiny."""
    high, low = HALF_PI[a.type]
    zero = a.const(0.0)
    middle, steep = a > 0.41421356 * b, a > 2.41421356 * b
    total, total_low = two_sum(a, b)
    rest, rest_low = two_sum(a, -b)

    def choose(flat: Expr, diagonal: Expr | float, upright: Expr | float) -> Expr:
        return select(steep, upright, select(middle, diagonal, flat))

    numerator, numerator_low = choose(a, rest, -b), choose(zero, rest_low, zero)
    denominator, denominator_low = choose(b, total, a), choose(zero, total_low, zero)
    inverse = 1.0 / denominator
    t = numerator * inverse
    error = fma(-t, denominator, numerator) + fma(-t, denominator_low, numerator_low)
    z = t * t
    base, base_low = choose(zero, high * 0.5, high), choose(zero, low * 0.5, low)
    tail = fma(z * t, polynomial(z, ATAN[t.type]), fma(error, inverse, base_low))
    head, base_error = fast_two_sum(base, t)
    return head, base_error + tail


@elementary
def atan(x: Expr) -> Expr:
    """The arc tangent, from -pi / 2 to pi / 2.

    At most 0.89 ulp in float32 and 0.84 in float64.
    """
    # Beyond the limit it is pi / 2 to the last digit.
    head, tail = _angle(minimum(abs(x), 1e17 if x.type == "float64" else 1e9), x.const(1.0))
    return copysign(head + tail, x)


# Where |x| and |y| are multiplied by a power of two, so that quotients neither over- nor underflow.
SCALES = {
    "float32": (2.0**100, 2.0**-30, 2.0**-80, 2.0**30),
    "float64": (2.0**1000, 2.0**-100, 2.0**-900, 2.0**100),
}


@elementary
def atan2(y: Expr, x: Expr) -> Expr:
    """The angle of the point (x, y), from -pi to pi.

    At most 1.28 ulp in float32 and 1.26 in float64.
    """
    high, low = HALF_PI[x.type]
    largest, down, smallest, up = SCALES[x.type]
    one, zero = x.const(1.0), x.const(0.0)
    a, b = abs(y), abs(x)
    size = maximum(a, b)
    scale = select(size > largest, down, select(size < smallest, up, one))
    infinite = size.eq(INF)
    a_finite, b_finite = a * scale, select(size.eq(0.0), one, b * scale)
    a = select(infinite, select(a.eq(INF), one, zero), a_finite)
    b = select(infinite, select(b.eq(INF), one, zero), b_finite)
    head, tail = _angle(a, b)
    turned, error = fast_two_sum(2.0 * high, -head)
    backward = copysign(one, x) < 0.0
    made = select(backward, turned + (error + (2.0 * low - tail)), head + tail)
    return copysign(made, y)
