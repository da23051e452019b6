"""Hyperbolic functions and their inverses."""

from jacana.kernel.expr import Expr
from jacana.kernel.math import piecewise
from jacana.kernel.math.define import (
    NAN,
    copysign,
    elementary,
    fma,
    format_of,
    maximum,
    minimum,
    polynomial,
    select,
    sqrt,
    to_bits,
)
from jacana.kernel.math.exponential import Reduced, expm1_pair, reduce_exponent
from jacana.kernel.math.logarithm import log_sum, split, with_limits
from jacana.kernel.math.pairs import Pair, fast_two_sum, quotient, two_product, two_sum

# sinh(r) = r + r**3 * p(r**2); bench/minimax.py sinh
SINH = {
    "float32": (0.166666672, 8.33319128e-3, 1.99593211e-4),
    "float64": (
        0.16666666666666677, 8.3333333333214625e-3, 1.9841269886483094e-4, 2.7557243898292296e-6,
        2.5109132856812246e-8,
    ),
}  # fmt: skip
# cosh(r) = 1 + r**2 * p(r**2); bench/minimax.py cosh
COSH = {
    "float32": (0.5, 0.0416664556, 1.39357592e-3),
    "float64": (
        0.5, 0.041666666666666685, 1.3888888888873331e-3, 2.4801587349024172e-5,
        2.7557252031526197e-7, 2.0921688721197173e-9,
    ),
}  # fmt: skip

# Where sinh and cosh overflow, and below what sinh(x) rounds to x.
LARGEST = {"float32": 89.7, "float64": 710.7}
TINY = {"float32": 2.0**-13, "float64": 2.0**-27}


def _halves(reduced: Reduced) -> tuple[Expr, Expr]:
    """2**n / 4 and 2**-n / 4, the latter zero where it cannot matter."""
    f = format_of(reduced.high)
    exponent = f.bias - 2 - (to_bits(reduced.count) - _shifter_bits(reduced.high))
    exponent = exponent.graph.op("max", exponent, 0)
    return reduced.scale(-2), (exponent << f.mantissa).bitcast(f.type)


def _shifter_bits(x: Expr) -> Expr:
    return to_bits(x.const(format_of(x).shifter))


def _even_odd(reduced: Reduced, evens: Pair, odds: Pair) -> Expr:
    """2 * (even * cosh(r) + odd * sinh(r))."""
    r = reduced.high + reduced.rest
    (even, even_low), (odd, odd_low) = evens, odds
    z = r * r
    sinh_tail = fma(z * r, polynomial(z, SINH[r.type]), reduced.rest)
    cosh_tail = z * polynomial(z, COSH[r.type])
    head = fma(odd, reduced.high, even)
    error = fma(odd, reduced.high, even - head) + fma(odd_low, reduced.high, even_low)
    return 2.0 * (head + (error + fma(even, cosh_tail, odd * sinh_tail)))


@elementary
def sinh(x: Expr) -> Expr:
    """(e**x - e**-x) / 2.

    At most 0.76 ulp in float32 and 0.8 in float64.
    """
    size = abs(x)
    reduced = reduce_exponent(minimum(size, LARGEST[x.type]))
    up, down = _halves(reduced)
    made = _even_odd(reduced, fast_two_sum(up, -down), fast_two_sum(up, down))
    return select(size < TINY[x.type], x, copysign(made, x))


@elementary
def cosh(x: Expr) -> Expr:
    """(e**x + e**-x) / 2.

    At most 0.74 ulp in float32 and 0.7 in float64.
    """
    reduced = reduce_exponent(minimum(abs(x), LARGEST[x.type]))
    up, down = _halves(reduced)
    return _even_odd(reduced, fast_two_sum(up, down), fast_two_sum(up, -down))


# Where tanh is 1 to the last digit of a float64.
TANH_ONE = 20.0


@elementary
def tanh(x: Expr) -> Expr:
    """(e**2x - 1) / (e**2x + 1), in pieces for float32.

    At most 0.86 ulp in float32 and 1.0 in float64.
    """
    if x.type == "float32":
        return copysign(piecewise.TANH(minimum(abs(x), piecewise.TANH.end)), x)
    size = minimum(abs(x), TANH_ONE)
    reduced = reduce_exponent(size + size)
    scale = reduced.scale(0)
    head, tail = fast_two_sum(*expm1_pair(reduced, scale, scale - 1.0))
    total = 2.0 + head
    return copysign(quotient((head, tail), (total, (head - (total - 2.0)) + tail)), x)


# From here on acosh(x) and asinh(x) are log(2 x).
HUGE = {"float32": 2.0**13, "float64": 2.0**28}


def _log_of_sum(f: Pair, doubled: Expr | None = None) -> Expr:
    """log(1 + f), or log(2 * doubled) where that is huge."""
    total, error = two_sum(f[0].const(1.0), f[0])
    error = error + f[1]
    if doubled is not None:
        huge = doubled > HUGE[doubled.type]
        total, error = select(huge, doubled, total), select(huge, 0.0, error)
    k, m = split(total)
    if doubled is not None:
        k = k + select(huge, 1.0, k.const(0.0))
    return with_limits(total, log_sum(k, m - 1.0, error / total))


@elementary
def asinh(x: Expr) -> Expr:
    """The inverse of sinh.

    At most 1.14 ulp in float32 and 1.0 in float64.
    """
    size = abs(x)
    square = size * size
    # sqrt(1 + x**2) - 1
    rise = square / (1.0 + sqrt(1.0 + square))
    made = _log_of_sum(fast_two_sum(size, rise), size)
    return select(size < TINY[x.type], x, copysign(made, x))


@elementary
def acosh(x: Expr) -> Expr:
    """The inverse of cosh for x >= 1, else nan.

    At most 0.73 ulp in float32 and 0.69 in float64.
    """
    t, t_low = fast_two_sum(x, x.const(-1.0))
    square, error = two_product(t, t)
    twice = t + t
    w, w_low = two_sum(twice, square)
    w_low = w_low + error + 2.0 * (t_low + t * t_low)
    root = sqrt(w)
    root_low = (fma(-root, root, w) + w_low) / maximum(root + root, format_of(x).smallest_normal)
    f, low = two_sum(root, t)
    made = _log_of_sum((f, low + (root_low + t_low)), x)
    return select(x < 1.0, NAN, made)


@elementary
def atanh(x: Expr) -> Expr:
    """The inverse of tanh for -1 <= x <= 1, else nan.

    At most 0.75 ulp in float32 and 0.74 in float64.
    """
    size = abs(x)
    rest, rest_low = fast_two_sum(1.0, -size)
    twice = size + size
    f = twice / rest
    low = (fma(-f, rest, twice) - f * rest_low) / rest
    return select(size < TINY[x.type], x, copysign(0.5 * _log_of_sum((f, low)), x))
