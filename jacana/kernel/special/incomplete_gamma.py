"""The incomplete gamma functions and their derivatives in the kernel language.

All is computed in float64. Coefficients are Chebyshev fits made with
bench/special_coefficients.py.
"""

import math
from collections.abc import Callable
from functools import cache

from jacana.kernel import ir
from jacana.kernel.build import function
from jacana.kernel.expr import Expr
from jacana.kernel.math.define import elementary, fma, minimum, polynomial, select, sqrt
from jacana.kernel.math.exponential import exp, expm1
from jacana.kernel.math.logarithm import log, log1p
from jacana.kernel.math.power import pow
from jacana.kernel.special.error_function import erfc_near, erfcx_tail
from jacana.kernel.special.gamma import (
    LARGE,
    LGAMMA_AT_TWO,
    digamma_above_one,
    gamma,
    stirling_rest,
)
from jacana.kernel.special.widened import DOUBLE, widened

# (atanh(r) / r - 1) / r**2 in r**2 for |r| <= 1 / 3.
ATANH = (
    0.3333333333333333, 0.1999999999999976, 0.1428571428580071, 0.11111111099035531,
    0.09090909954214577, 0.07692271793624882, 0.06667593442767027, 0.05867083931047705,
    0.05423040174813795, 0.037440533573059306, 0.0781911746712089,
)  # fmt: skip

# Row k: the function c_k(eta) of the uniform expansion, DLMF 8.12.9, for x within 0.3 a of a >= 20.
UNIFORM = (
    (
        -0.3333333333333333, 0.08333333333333334, -0.014814814814815237, 0.001157407407406391,
        0.00035273368612221355, -0.00017875514393347742, 3.919262913353332e-05,
        -2.185453008264185e-06, -1.8540041352921768e-06, 8.297720188580904e-07,
        -1.7725546505778125e-07, 5.627821222033999e-09, 1.266795963435973e-08,
    ),
    (
        -0.0018518518518518539, -0.0034722222222219445, 0.002645502645504167,
        -0.000990226337511411, 0.00020576131667424254, -4.0187359996794755e-07,
        -1.8098540151149003e-05, 7.649058359507747e-06, -1.6123361955759328e-06,
        5.809179804300928e-09, 1.4065034210857393e-07, -6.233238444516903e-08,
    ),
    (
        0.004133597883597914, -0.0026813271604934816, 0.000771604938253474,
        2.0093878138384948e-06, -0.00010736653051704334, 5.292345056757415e-05,
        -1.2760695574241708e-05, 3.4208535850831936e-08, 1.3731152980489818e-06,
        -6.297246872450105e-07, 1.366353433877072e-07,
    ),
    (
        0.0006494341563683037, 0.00022947209345146972, -0.0004691894899466423,
        0.0002677206481560629, -7.561831176627482e-05, -2.400503531845778e-07,
        1.1089291935768262e-05, -5.671694357251738e-06, 1.364386257538312e-06,
    ),
    (
        -0.0008618882910418442, 0.000784039219365751, -0.00029907243161343396,
        -1.4635357611776657e-06, 6.641208343758544e-05, -3.969538411109384e-05,
        1.1431005163076926e-05, 1.7401277868493008e-07, -2.0411564251547024e-06,
    ),
    (
        -0.0003367985519845258, -6.972817748985525e-05, 0.0002772748912708392,
        -0.00019932184796053883, 6.800037623246775e-05, 5.091192083937008e-08,
        -1.3990920784503925e-05, 8.623519587261973e-06,
    ),
    (
        0.0005313079310026719, -0.0005921665462533173, 0.000270879846986611,
        7.962166190287051e-07, -8.160950558082743e-05, 5.604683031260581e-05,
        -1.74238515820814e-05,
    ),
    (
        0.0003443685287905244, 5.173803430859653e-05, -0.00033513140076934,
        0.00028080523619682633, -0.00010484762579009778,
    ),
    (
        -0.0006526081507528912, 0.000839901057763556, -0.0004402507455654337,
        -1.633082073273416e-05, 0.00019554877945810996,
    ),
    (
        -0.0005970979978506904, -7.015413403443913e-05, 0.0007046177458012297,
        -0.0006761966371800448,
    ),
    (
        0.0013879705094443533, -0.001986583807099428,
    ),
    (
        0.0015714187729667308,
    ),
)  # fmt: skip

# Series and continued fractions stop when a term is an `epsilon` of the whole, or here.
LIMIT = 2000


# --- the density ------------------------------------------------------------------------------


def deviation(a: Expr, x: Expr) -> tuple[Expr, Expr, Expr, Expr]:
    """mu = x / a - 1; its excess mu - log(1 + mu), for any; and eta, mu / eta for |mu| small.

    eta is the square root of twice the excess, with the sign of mu.
    """
    difference = x - a
    mu = difference / a
    rest = fma(-mu, a, difference) / a
    r = mu / (mu + 2)
    square = r * r
    tail = polynomial(square, ATANH)
    near = r * fma(-2 * square, tail, mu)
    near = fma(rest, mu / (mu + 1), near)
    excess = select((mu > -0.5) & (mu < 1), near, mu - log(x / a))
    # eta / mu without a division by mu.
    ratio = sqrt(2 * fma(-2 * mu / ((mu + 2) * (mu + 2)), tail, 1) / (mu + 2))
    return mu, excess, mu * ratio, 1 / ratio


def scaled_density(a: Expr, excess: Expr) -> Expr:
    """exp(-a excess) / sqrt(2 pi a)."""
    exponent = a * excess
    lost = fma(a, excess, -exponent)
    value = exp(-exponent) / sqrt(a * (2 * math.pi))
    return fma(value, -lost, value)


@elementary
def poisson_density(a: Expr, x: Expr) -> Expr:
    """x**a exp(-x) / gamma(a + 1)."""
    half = exp(minimum(x, 1500.0) * -0.5)
    near = half * (half * pow(minimum(x, 1500.0), a)) / gamma(a + 1)
    far = scaled_density(a, deviation(a, x)[1]) * exp(-stirling_rest(a))
    return select(a < LARGE, near, far)


# --- three ways to the functions, and to their derivatives in a -------------------------------
# "Relative" values are those divided by the density.

STATE = Callable[..., tuple[Expr, ...]]


def iterate(
    name: str, going: Callable[..., Expr], step: STATE, init: list[Expr], consts: list[Expr]
) -> tuple[Expr, ...]:
    """The state for which `going` fails; both functions take the state and then the constants."""
    types = ["float64"] * (len(init) + len(consts))
    cond, body = function(f"{name}_going", *types)(going), function(f"{name}_step", *types)(step)
    return init[0].graph.iterate(cond, body, init, consts)


def series(a: Expr, x: Expr, epsilon: Expr) -> Expr:
    """The lower function, relative: the sum of x**n / ((a + 1) ... (a + n))."""

    def going(n: Expr, t: Expr, total: Expr, *consts: Expr) -> Expr:
        return (t > total * consts[2]) & (n < LIMIT)

    def step(n: Expr, t: Expr, total: Expr, a: Expr, x: Expr, epsilon: Expr) -> tuple[Expr, ...]:
        t = t * x / (a + n + 1)
        return n + 1, t, total + t

    one = x.const(1)
    return iterate("igamma_series", going, step, [x.const(0), one, one], [a, x, epsilon])[2]


def series_slope(a: Expr, x: Expr, epsilon: Expr) -> Expr:
    """The derivative of the lower function, relative."""

    def going(n: Expr, t: Expr, dt: Expr, total: Expr, slope: Expr, *consts: Expr) -> Expr:
        more = (t > total * consts[2]) | (abs(dt) > abs(slope) * consts[2])
        return more & (n < LIMIT)

    def step(
        n: Expr, t: Expr, dt: Expr, total: Expr, slope: Expr, a: Expr, x: Expr, epsilon: Expr
    ) -> tuple[Expr, ...]:
        n = n + 1
        ratio = x / (a + n)
        t = t * ratio
        dt = fma(dt, ratio, -t / (a + n))
        return n, t, dt, total + t, slope + dt

    zero, one = x.const(0), x.const(1)
    init = [zero, one, zero, one, zero]
    _, _, _, total, slope = iterate("igamma_series_slope", going, step, init, [a, x, epsilon])
    return fma(log(x) - digamma_above_one(a), total, slope)


def fraction(a: Expr, x: Expr, epsilon: Expr) -> Expr:
    """The upper function, relative and divided by a: 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - ...)).

    By Lentz's method.
    """

    def going(n: Expr, *rest: Expr) -> Expr:
        change, epsilon = abs(rest[4]), rest[6]
        return (change > 2 * epsilon) & (n < LIMIT)

    def step(
        n: Expr, b: Expr, c: Expr, d: Expr, h: Expr, change: Expr, a: Expr, epsilon: Expr
    ) -> tuple[Expr, ...]:
        n, b = n + 1, b + 2
        numerator = n * (a - n)
        d = 1 / fma(numerator, d, b)
        c = b + numerator / c
        factor = c * d
        return n, b, c, d, h * factor, factor - 1

    b = x + 1 - a
    d, one = 1 / b, x.const(1)
    init = [x.const(0), b, x.const(1e300), d, d, one]
    return iterate("igamma_fraction", going, step, init, [a, epsilon])[4]


def fraction_slope(a: Expr, x: Expr, epsilon: Expr) -> Expr:
    """The derivative of the upper function, relative."""

    def going(n: Expr, *rest: Expr) -> Expr:
        change, epsilon = rest[7], rest[9]
        return (change > 16 * epsilon) & (n < LIMIT)

    def step(
        n: Expr, b: Expr, c: Expr, dc: Expr, d: Expr, dd: Expr, h: Expr, dh: Expr, change: Expr,
        a: Expr, epsilon: Expr,
    ) -> tuple[Expr, ...]:  # fmt: skip
        n, b = n + 1, b + 2
        numerator = n * (a - n)
        slope = fma(n, d, fma(numerator, dd, -1))
        d = 1 / fma(numerator, d, b)
        dd = -slope * d * d
        dc = (n - numerator * dc / c) / c - 1
        c = b + numerator / c
        factor, dfactor = c * d, fma(dc, d, c * dd)
        dh = fma(dh, factor, h * dfactor)
        return n, b, c, dc, d, dd, h * factor, dh, abs(factor - 1) + abs(h * dfactor / dh)

    b = x + 1 - a
    d, zero, one = 1 / b, x.const(0), x.const(1)
    init = [zero, b, x.const(1e300), zero, d, d * d, d, d * d, one]
    made = iterate("igamma_fraction_slope", going, step, init, [a, epsilon])
    h, dh = made[6], made[7]
    # The density times a has the logarithmic derivative log(x) - digamma(a).
    return fma(fma(a, log(x) - digamma_above_one(a), 1), h, a * dh)


def uniform_sum(a: Expr, eta: Expr) -> Expr:
    """The sum of c_k(eta) a**-k."""
    inverse = 1 / a
    total = polynomial(eta, UNIFORM[-1])
    for row in reversed(UNIFORM[:-1]):
        total = fma(total, inverse, polynomial(eta, row))
    return total


def uniform_slope(a: Expr, x: Expr, epsilon: Expr) -> Expr:
    """The derivative of the lower function, relative."""
    mu, _, eta, mu_over_eta = deviation(a, x)
    total = uniform_sum(a, eta)
    inverse = 1 / a
    in_eta, in_inverse = x.const(0), x.const(0)
    for k, row in reversed(list(enumerate(UNIFORM))):
        slopes = [j * c for j, c in enumerate(row)][1:] or [0.0]
        in_eta = fma(in_eta, inverse, polynomial(eta, tuple(slopes)))
        if k:
            in_inverse = fma(in_inverse, inverse, k * polynomial(eta, row))
    in_a = -in_inverse * inverse * inverse
    value = 0.5 * eta - mu_over_eta - total * (log1p(mu) - 0.5 * inverse)
    value = value - in_a + in_eta * mu_over_eta * inverse
    return value * exp(stirling_rest(a))


# --- the functions ----------------------------------------------------------------------------


def is_uniform(a: Expr, x: Expr) -> Expr:
    return (a >= 20) & (abs(x - a) < 0.3 * a)


def is_series(a: Expr, x: Expr) -> Expr:
    return (x <= a) | (x <= 1.1)


@elementary
def upper_small(a: Expr, x: Expr) -> Expr:
    """The upper function where x <= 1.1 and a < 1, accurate where it is small."""
    z = select(a < 0.5, a, a - 1)
    lgamma_above_one = z * polynomial(z, LGAMMA_AT_TWO) - select(a < 0.5, log1p(a), 0.0)
    exponent = fma(a, log(x), -lgamma_above_one)
    total, power = x.const(0), x.const(1)
    for n in range(1, 19):
        power = power * x * (-1 / n)
        total = total + power / (a + n)
    return -fma(a * exp(exponent), total, expm1(exponent))


@cache
def by_series() -> ir.Function:
    @function("igamma_by_series", *["float64"] * 3)
    def both(a: Expr, x: Expr, epsilon: Expr) -> tuple[Expr, Expr]:
        lower = poisson_density(a, x) * series(a, x, epsilon)
        small = (lower > 0.7) & (x <= 1.1) & (a < 1)
        return lower, select(small, upper_small(a, x), 1 - lower)

    return both


@cache
def by_fraction() -> ir.Function:
    @function("igamma_by_fraction", *["float64"] * 3)
    def both(a: Expr, x: Expr, epsilon: Expr) -> tuple[Expr, Expr]:
        upper = poisson_density(a, x) * a * fraction(a, x, epsilon)
        return 1 - upper, upper

    return both


@cache
def by_uniform() -> ir.Function:
    @function("igamma_by_uniform", *["float64"] * 3)
    def both(a: Expr, x: Expr, epsilon: Expr) -> tuple[Expr, Expr]:
        mu, excess, eta, _ = deviation(a, x)
        density = scaled_density(a, excess)
        y = sqrt(a * excess)
        scaled = density * sqrt(a * (2 * math.pi)) * erfcx_tail(y)
        tail = 0.5 * select(y < 0.5, erfc_near(y), scaled)
        rest = density * uniform_sum(a, eta)
        above = mu >= 0
        value = tail + select(above, rest, -rest)
        return select(above, 1 - value, value), select(above, value, 1 - value)

    return both


@cache
def both_functions() -> ir.Function:
    @function("igamma_elsewhere", *["float64"] * 3)
    def other(a: Expr, x: Expr, epsilon: Expr) -> tuple[Expr, ...]:
        return a.graph.branch(is_series(a, x), by_series(), by_fraction(), [a, x, epsilon])

    @function("igamma_both", *["float64"] * 3)
    def both(a: Expr, x: Expr, epsilon: Expr) -> tuple[Expr, Expr]:
        a_inside, x_inside = inside(a, x)
        cond = is_uniform(a_inside, x_inside)
        lower, upper = a.graph.branch(cond, by_uniform(), other, [a_inside, x_inside, epsilon])
        is_one, is_zero = a.eq(0) | x.eq(math.inf), x.eq(0) | a.eq(math.inf)
        lower = select(is_one, 1.0, select(is_zero, 0.0, lower))
        upper = select(is_one, 0.0, select(is_zero, 1.0, upper))
        outside = is_outside(a, x) | (is_one & is_zero)
        return select(outside, math.nan, lower), select(outside, math.nan, upper)

    return both


def is_outside(a: Expr, x: Expr) -> Expr:
    return ~((a >= 0) & (x >= 0))


def inside(a: Expr, x: Expr) -> tuple[Expr, Expr]:
    """Where a and x are positive and finite they themselves, else 1."""
    plain = (a > 0) & (x > 0) & (a < math.inf) & (x < math.inf)
    return select(plain, a, 1.0), select(plain, x, 1.0)


@widened
def igamma(a: Expr, x: Expr, *, epsilon: float = DOUBLE) -> Expr:
    """The regularized lower incomplete gamma function.

    Within 0.5 ulp (float32). In float64 2 ulp on average, and the further down the tail the
    more: about log(1 / value).
    """
    return a.graph.call(both_functions(), [a, x, a.const(epsilon)])[0]


@widened
def igammac(a: Expr, x: Expr, *, epsilon: float = DOUBLE) -> Expr:
    """1 - igamma(a, x), accurate where that is small.

    Within 0.6 ulp (float32). In float64 2 ulp on average, 60 ulp near the mass.
    """
    return a.graph.call(both_functions(), [a, x, a.const(epsilon)])[1]


@cache
def relative_slope() -> ir.Function:
    """The derivative of igamma in a, divided by the density."""
    types = ["float64"] * 3
    by_sum = function("igamma_slope_by_series", *types)(series_slope)
    by_rest = function("igamma_slope_by_fraction", *types)(lambda *args: -fraction_slope(*args))
    uniform = function("igamma_slope_uniform", *types)(uniform_slope)

    @function("igamma_slope_elsewhere", *types)
    def other(a: Expr, x: Expr, epsilon: Expr) -> tuple[Expr, ...]:
        return a.graph.branch(is_series(a, x), by_sum, by_rest, [a, x, epsilon])

    @function("igamma_slope", *types)
    def slope(a: Expr, x: Expr, epsilon: Expr) -> tuple[Expr, ...]:
        return a.graph.branch(is_uniform(a, x), uniform, other, [a, x, epsilon])

    return slope


@widened
def igamma_grad_a(a: Expr, x: Expr, *, epsilon: float = DOUBLE) -> Expr:
    """The derivative of igamma(a, x) in a.

    Within 0.6 ulp (float32). In float64 4 ulp on average, in the tails as igamma.
    """
    inner = inside(a, x)
    value = poisson_density(*inner) * a.graph.call(relative_slope(), [*inner, a.const(epsilon)])[0]
    value = select(x.eq(0) | x.eq(math.inf) | a.eq(math.inf), 0.0, value)
    return select(is_outside(a, x) | a.eq(0), math.nan, value)


@widened
def random_gamma_grad(a: Expr, x: Expr, *, epsilon: float = DOUBLE) -> Expr:
    """The derivative in a of a sample x of the gamma distribution: the one that keeps igamma(a, x).

    Within 0.7 ulp (float32). In float64 2 ulp on average, at most 80 ulp.
    """
    inner = inside(a, x)
    # The derivative of igamma in x is the density times a / x.
    value = -(inner[1] / inner[0]) * a.graph.call(relative_slope(), [*inner, a.const(epsilon)])[0]
    value = select(x.eq(0), 0.0, value)
    return select(is_outside(a, x) | a.eq(0) | a.eq(math.inf) | x.eq(math.inf), math.nan, value)
