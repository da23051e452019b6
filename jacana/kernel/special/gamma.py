"""Gamma and its relatives in the kernel language: lgamma, digamma, zeta, polygamma.

All is computed in float64. Coefficients are Chebyshev fits made with
bench/special_coefficients.py.
"""

import math

from jacana.kernel.build import function
from jacana.kernel.expr import Expr
from jacana.kernel.math.define import copysign, elementary, fma, minimum, polynomial, select
from jacana.kernel.math.exponential import exp
from jacana.kernel.math.logarithm import log
from jacana.kernel.math.pairs import two_sum
from jacana.kernel.math.power import pow
from jacana.kernel.special.widened import widened

# From here on Stirling's series is used.
LARGE = 8.0

# lgamma(2 + z) / z and 1 / gamma(2 + z) for -3 / 4 <= z <= 1 / 2.
LGAMMA_AT_TWO = (
    0.42278433509846713, 0.3224670334241132, -0.06735230105319819, 0.020580808427788703,
    -0.007385551028663193, 0.002890510330482064, -0.0011927539122376619, 0.0005096695320648715,
    -0.00022315474408602818, 9.945740198894934e-05, -4.4926464931326535e-05,
    2.0508175353649692e-05, -9.43727020655551e-06, 4.370089307840295e-06, -2.052482416724873e-06,
    9.670254916827003e-07, -4.018330416059452e-07, 2.0758927598859588e-07,
    -1.9264000508094273e-07, 6.2426286817793866e-09, 5.025731736555141e-08, 7.558472696788447e-08,
)  # fmt: skip
RGAMMA_AT_TWO = (
    1.0, -0.42278433509846713, -0.23309373642178677, 0.19109110138769067, -0.024552490005399205,
    -0.01764524455011201, 0.008023273022269043, -0.0008043297761517951, -0.0003608378166434762,
    0.00014559614684456733, -1.7545853916297917e-05, -2.5890155488768356e-06,
    1.338464428131859e-06, -2.0543766784298148e-07, -5.024967243961088e-11, 6.289508261754447e-09,
    -1.392490698948969e-09,
)  # fmt: skip
# (lgamma(x) - ((x - 1 / 2) log(x) - x + log(2 pi) / 2)) x in 1 / x**2 for x >= LARGE.
STIRLING = (
    0.08333333333333333, -0.002777777777773988, 0.0007936507897524059, -0.0005952365845057049,
    0.0008414700852503147, -0.001890382993887715, 0.005065905360156132,
)  # fmt: skip

# digamma(x) / (x - root) in x - 3 / 2 for 1 <= x <= 2, and
# (log(x) - 1 / (2 x) - digamma(x)) x**2 in 1 / x**2 for x >= LARGE.
DIGAMMA_AT_ROOT = (
    0.9510558760318328, -0.4236274212814606, 0.24054248424078697, -0.14840492305388092,
    0.09498872445289039, -0.06192213327548831, 0.040760833940846085, -0.026975796659787055,
    0.017907248317313294, -0.011908220105959716, 0.007927021796868154, -0.005279937255532708,
    0.003518106563802472, -0.0023454947397380833, 0.0015633696313653504, -0.0010364584817312839,
    0.0006909255761282986, -0.00048595039220036254, 0.00032395945401345196,
    -0.00014480643368061614, 9.653646261410062e-05, -0.0001782188548855923,
    0.00011881232908510335,
)  # fmt: skip
# The root of digamma less 1, as a sum.
ROOT, ROOT_REST = 0.46163214496836236, -1.5522348162858677e-17
DIGAMMA_LARGE = (
    0.08333333333333333, -0.008333333333278636, 0.0039682539119537084, -0.0041666448230497,
    0.007571689620283902, -0.020697987372370493, 0.06362150587634356,
)  # fmt: skip
# (trigamma(x) - 1 / x - 1 / (2 x**2)) x**3 in 1 / x**2 for x >= LARGE.
TRIGAMMA_LARGE = (
    0.16666666666666655, -0.03333333333249287, 0.023809522943893217, -0.03333299706371194,
    0.07569481310235808, -0.24699740954161503, 0.8586880107331692,
)  # fmt: skip

# sin(pi r) / r and cos(pi r) in r**2, for |r| <= 1 / 2 and |r| <= 1 / 4.
SIN_PI = (
    3.141592653589793, -5.167712780049969, 2.5501640398773007, -0.5992645293189447,
    0.0821458865731029, -0.007370430505916944, 0.0004662998161898394, -2.1903497074626018e-05,
    7.697826768224191e-07,
)  # fmt: skip
COS_PI = (
    1.0, -4.934802200544679, 4.058712126416747, -1.3352627688518959, 0.2353306301898121,
    -0.025806885625434976, 0.0019294653975005455, -0.00010356576774476573,
)  # fmt: skip

# The Euler-Maclaurin formula: B(2 j) / (2 j)! for j = 1 ...
EULER_MACLAURIN = (
    0.08333333333333333, -0.001388888888888889, 3.3068783068783064e-05, -8.267195767195768e-07,
    2.08767569878681e-08, -5.284190138687493e-10, 1.338253653068468e-11, -3.3896802963225827e-13,
    8.586062056277845e-15, -2.174868698558062e-16, 5.5090028283602295e-18,
    -1.3954464685812525e-19,
)  # fmt: skip


def fraction(x: Expr) -> Expr:
    """Less the nearest integer, exactly."""
    return x - x.graph.op("round", x)


def sin_pi(r: Expr) -> Expr:
    """sin(pi r) for |r| <= 1 / 2."""
    return r * polynomial(r * r, SIN_PI)


def cot_pi(r: Expr) -> Expr:
    """cot(pi r) for |r| <= 1 / 2."""
    size = abs(r)
    near = size < 0.25
    q = select(near, size, 0.5 - size)
    sine, cosine = sin_pi(q), polynomial(q * q, COS_PI)
    value = select(near, cosine, sine) / select(near, sine, cosine)
    return copysign(value, r)


def to_two(x: Expr) -> tuple[Expr, Expr, Expr]:
    """z, above, below with -3 / 4 <= z <= 1 / 2 and gamma(x) = gamma(2 + z) above / below.

    For 0 < x < LARGE.
    """
    y, above = x, x.const(1)
    for _ in range(6):
        more = y >= 2.5
        y = select(more, y - 1, y)
        above = select(more, above * y, above)
    tiny, small = x < 0.5, x < 1.25
    z = select(tiny, x, select(small, x - 1, y - 2))
    below = select(tiny, fma(x, x, x), select(small, x, 1.0))
    return z, above, below


def stirling_rest(x: Expr) -> Expr:
    """lgamma(x) - ((x - 1 / 2) log(x) - x + log(2 pi) / 2) for x >= LARGE."""
    inverse = 1 / x
    return polynomial(inverse * inverse, STIRLING) * inverse


@elementary
def gamma(x: Expr) -> Expr:
    """Gamma of a float64 x >= 0. Within 4 ulp."""
    z, above, below = to_two(x)
    near = above / (polynomial(z, RGAMMA_AT_TWO) * below)
    root = pow(x, 0.5 * x - 0.25)
    large = root * exp(-x) * (exp(stirling_rest(x)) * math.sqrt(2 * math.pi) * root)
    return select(x < LARGE, near, select(x > 200, x * math.inf, large))


@elementary
def lgamma_positive(x: Expr) -> Expr:
    z, above, below = to_two(x)
    large = x >= LARGE
    small = x < 1.25
    logarithm = log(select(large, x, select(small, below, above)))
    near = fma(z, polynomial(z, LGAMMA_AT_TWO), select(small, -logarithm, logarithm))
    constant = 0.5 * math.log(2 * math.pi) - 0.5
    far = fma(x - 0.5, logarithm - 1, stirling_rest(x) + constant)
    return select(x.eq(math.inf), x, select(large, far, near))


@elementary
def lgamma_negative(x: Expr) -> Expr:
    # gamma(x) gamma(-x) = -pi / (x sin(pi x)), and gamma(x) = 1 / x for tiny x.
    size = -x
    tiny = size < 1e-18
    sine = abs(sin_pi(fraction(size)))
    logarithm = log(select(tiny, size, size * sine * (1 / math.pi)))
    value = -logarithm - select(tiny, 0.0, lgamma_positive(size))
    return select(size.eq(math.inf), size, value)


@widened
def lgamma(x: Expr) -> Expr:
    """The logarithm of |gamma(x)|, infinite at 0, the negative integers and the infinities.

    Within 0.5 ulp (float32), 2 ulp (float64); for x < 0 of max(1, |lgamma|).
    """
    negative, positive = lgamma_negative.function(x.type), lgamma_positive.function(x.type)
    return x.graph.branch(x < 0, negative, positive, [x + 0])[0]


def digamma_above_one(t: Expr) -> Expr:
    """digamma(1 + t) for t >= 0."""
    y, above, below = t, t.const(0), t.const(1)
    for _ in range(6):
        more = y >= 1
        above = select(more, fma(above, y, below), above)
        below = select(more, below * y, below)
        y = select(more, y - 1, y)
    from_root = (y - ROOT) - ROOT_REST
    near = fma(from_root, polynomial(y - 0.5, DIGAMMA_AT_ROOT), above / below)
    x = t + 1
    inverse = 1 / x
    square = inverse * inverse
    far = log(x) - fma(square, polynomial(square, DIGAMMA_LARGE), 0.5 * inverse)
    return select(t < LARGE - 1, near, far)


@elementary
def digamma_positive(x: Expr) -> Expr:
    above = digamma_above_one(select(x < 1, x, x - 1))
    return select(x < 1, above - 1 / x, above)


@elementary
def digamma_negative(x: Expr) -> Expr:
    # digamma(x) = digamma(1 - x) - pi cot(pi x)
    size = -x
    value = fma(cot_pi(fraction(size)), math.pi, digamma_above_one(size))
    pole = size.eq(x.graph.op("floor", size)) | size.eq(math.inf)
    return select(pole, math.nan, value)


@widened
def digamma(x: Expr) -> Expr:
    """The derivative of lgamma; nan at 0 and the negative integers.

    Within 0.5 ulp (float32), 3 ulp (float64); for x < 0 8 ulp of max(1, |digamma|).
    """
    positive, negative = digamma_positive.function(x.type), digamma_negative.function(x.type)
    return x.graph.branch(x > 0, positive, negative, [x])[0]


def power_of_sum(q: Expr, k: Expr, s: Expr) -> Expr:
    """(q + k)**-s, with the rounding error of the sum taken into account."""
    a, rest = two_sum(q, k)
    power = pow(a, -s)
    corrected = fma(power, minimum(s, 1e300) * (-rest / a), power)
    return select(power < math.inf, corrected, power)


@elementary
def zeta_positive(s: Expr, q: Expr) -> Expr:
    """zeta(s, q) for s > 1 and q > 0."""
    type = s.type

    @function(f"zeta_going.{type}", *[type] * 5)
    def going(k: Expr, total: Expr, term: Expr, s: Expr, q: Expr) -> Expr:
        # Then the formula's terms fall off by (s / (2 pi (q + k)))**2 and more.
        return (k < 10) & (q + k < 8 + 0.75 * s) & (term > total * 1e-17)

    @function(f"zeta_step.{type}", *[type] * 5)
    def step(k: Expr, total: Expr, term: Expr, s: Expr, q: Expr) -> tuple[Expr, ...]:
        term = power_of_sum(q, k, s)
        return k + 1, total + term, term

    zero = s.const(0)
    k, total, _ = s.graph.iterate(going, step, [zero, zero, s.const(math.inf)], [s, q])
    a = q + k
    power = power_of_sum(q, k, s)
    inverse = 1 / a
    tail = power * (a / (s - 1) + 0.5)
    factor = s * inverse
    rest = s.const(0)
    for j, b in enumerate(EULER_MACLAURIN):
        rest = fma(factor, b, rest)
        factor = factor * ((s + (2 * j + 1)) * inverse) * ((s + (2 * j + 2)) * inverse)
    value = total + select(power > 0, fma(power, rest, tail), 0.0)
    return select(q.eq(math.inf), 0.0, value)


@elementary
def zeta_negative(s: Expr, q: Expr) -> Expr:
    """zeta(s, q) for an integer s > 1 and q < 0."""
    # The terms with q + k > 0, then those with q + k < 0, a finite difference.
    whole = q.graph.op("floor", q)
    above = zeta_positive(s, q - whole)
    below = zeta_positive(s, whole + 1 - q) - zeta_positive(s, 1 - q)
    return above + select(is_odd(s), -below, below)


def is_odd(n: Expr) -> Expr:
    half = n * 0.5
    return half.ne(n.graph.op("floor", half))


@widened
def zeta(s: Expr, q: Expr) -> Expr:
    """The Hurwitz zeta function, the sum of (q + k)**-s over k >= 0.

    Infinite at s = 1 and where a term is; nan for s < 1, and for q < 0 unless s is an integer.
    Within 0.5 ulp (float32), 3.5 ulp (float64).
    """
    positive, negative = zeta_positive.function(s.type), zeta_negative.function(s.type)
    (value,) = s.graph.branch(q > 0, positive, negative, [s, q])
    floor_s, floor_q = s.graph.op("floor", s), s.graph.op("floor", q)
    outside = (q < 0) & (s.ne(floor_s) | q.eq(-math.inf))
    value = select(outside, math.nan, value)
    value = select((q <= 0) & q.eq(floor_q) & q.ne(-math.inf), math.inf, value)
    value = select(s.eq(1), math.inf, value)
    return select((s < 1) | s.isnan() | q.isnan(), math.nan, value)


@elementary
def trigamma_positive(x: Expr) -> Expr:
    y, above, below = x, x.const(0), x.const(1)
    for _ in range(8):
        more = y < LARGE
        square = y * y
        above = select(more, fma(above, square, below), above)
        below = select(more, below * square, below)
        y = select(more, y + 1, y)
    inverse = 1 / y
    square = inverse * inverse
    far = fma(square * inverse, polynomial(square, TRIGAMMA_LARGE), fma(square, 0.5, inverse))
    return far + above / below


@elementary
def trigamma_negative(x: Expr) -> Expr:
    # trigamma(x) = pi**2 / sin(pi x)**2 - trigamma(1 - x)
    root = math.pi / sin_pi(fraction(x))
    return fma(root, root, -trigamma_positive(1 - x))


@elementary
def polygamma_by_zeta(n: Expr, x: Expr) -> Expr:
    order = n + 1
    series = zeta(order, x)
    plain = gamma(order) * series
    scaled = copysign(exp(lgamma_positive(order) + log(abs(series))), series)
    value = select(n <= 160, plain, scaled)
    value = select(is_odd(n), value, -value)
    return select((n < 0) | n.ne(n.graph.op("floor", n)), math.nan, value)


@elementary
def trigamma(n: Expr, x: Expr) -> Expr:
    positive, negative = trigamma_positive.function(x.type), trigamma_negative.function(x.type)
    return x.graph.branch(x > 0, positive, negative, [x])[0]


@elementary
def polygamma_but_trigamma(n: Expr, x: Expr) -> Expr:
    by_digamma = function("polygamma_by_digamma", n.type, x.type)(lambda n, x: digamma(x))
    return x.graph.branch(n.eq(0), by_digamma, polygamma_by_zeta.function(x.type), [n, x])[0]


@widened
def polygamma(n: Expr, x: Expr) -> Expr:
    """The n-th derivative of digamma, n a whole number; nan for other n.

    Within 0.5 ulp (float32), 5 ulp (float64) for x > 0.
    """
    first, other = trigamma.function(x.type), polygamma_but_trigamma.function(x.type)
    return x.graph.branch(n.eq(1), first, other, [n, x])[0]
