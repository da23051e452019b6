"""log and log1p: x = 2**k * (1 + f) with 1 + f between sqrt(1/2) and sqrt(2)."""

from jacana.kernel.expr import Expr
from jacana.kernel.math.define import (
    INF,
    NAN,
    copysign,
    elementary,
    fma,
    format_of,
    polynomial,
    select,
    to_bits,
)
from jacana.kernel.math.pairs import fast_two_sum, two_sum

# float32: log(1 + f) = f - f**2 / 2 + f**3 * p(f); bench/minimax.py log
LOG = (
    0.333333135, -0.250000119, 0.20002073, -0.166678518, 0.142202288, -0.124082729, 0.118863381,
    -0.116601892, 0.0673206598,
)  # fmt: skip
# float64: log((1 + s) / (1 - s)) = 2 s + s**3 * p(s**2); bench/minimax.py atanh
ATANH = (
    0.6666666666666734, 0.3999999999941698, 0.28571428741919869, 0.22222198617717534,
    0.18183562160595954, 0.15314102666854129, 0.14795457470035872,
)  # fmt: skip
# log(2) in two parts, the first with so few bits that k times it is exact
LN2 = {
    "float32": (float.fromhex("0x1.62e4p-1"), float.fromhex("0x1.7f7d1cp-20")),
    "float64": (float.fromhex("0x1.62e42fefa3p-1"), float.fromhex("0x1.3de6af278ece6p-42")),
}
SQRT_HALF_BITS = {"float32": 0x3F3504F3, "float64": 0x3FE6A09E667F3BCD}


def split(x: Expr) -> tuple[Expr, Expr]:
    """k (as a float) and 1 + f, for x positive and normal."""
    f = format_of(x)
    bits = to_bits(x)
    k = bits - SQRT_HALF_BITS[x.type] >> f.mantissa
    return k.convert(x.type), (bits - (k << f.mantissa)).bitcast(x.type)


def split_any(x: Expr) -> tuple[Expr, Expr]:
    """k (as a float) and 1 + f, for x positive."""
    f = format_of(x)
    small = x < f.smallest_normal
    lift = f.mantissa + 2
    k, m = split(select(small, x * 2.0**lift, x))
    return k - select(small, float(lift), x.const(0.0)), m


def log_sum(k: Expr, f: Expr, extra: Expr | None = None) -> Expr:
    """k * log(2) + log(1 + f) + extra."""
    high, low = LN2[f.type]
    half = 0.5 * f
    # log(1 + f) = f - half * f + more
    if f.type == "float32":
        more = f * f * f * polynomial(f, LOG)
    else:
        s = f / (2.0 + f)
        z = s * s
        more = s * fma(z, polynomial(z, ATANH), half * f)
    rest = fma(k, low, more if extra is None else more + extra)
    head, error = fast_two_sum(k * high, f)
    return head + fma(-half, f, error + rest)


def with_limits(x: Expr, made: Expr) -> Expr:
    """The logarithm of x, given what it is for finite positive x."""
    made = select(x < INF, made, x)
    return select(x <= 0.0, select(x < 0.0, NAN, x.const(-INF)), made)


@elementary
def log(x: Expr) -> Expr:
    """The natural logarithm.

    At most 0.72 ulp in float32 and 0.73 in float64.
    """
    k, m = split_any(x)
    f = m - 1.0
    return with_limits(x, log_sum(k, f))


@elementary
def log1p(x: Expr) -> Expr:
    """log(1 + x), without cancellation near zero.

    At most 0.74 ulp in float32 and 0.75 in float64.
    """
    total, error = two_sum(x.const(1.0), x)
    k, m = split(total)
    f = m - 1.0
    made = log_sum(k, f, error / total)
    return copysign(with_limits(total, made), x)
