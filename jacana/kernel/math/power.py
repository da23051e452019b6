"""pow, cbrt and rsqrt."""

from jacana.kernel.expr import Expr
from jacana.kernel.math.define import (
    INF,
    NAN,
    copysign,
    elementary,
    fma,
    format_of,
    maximum,
    minimum,
    polynomial,
    power_of_two,
    select,
    sqrt,
    to_bits,
)
from jacana.kernel.math.exponential import reduce_exponent
from jacana.kernel.math.logarithm import LN2, split_any
from jacana.kernel.math.pairs import Pair, fast_two_sum, two_product

# log((1 + s) / (1 - s)) = 2 s + 2/3 s**3 + s**5 * p(s**2); bench/minimax.py atanh_tail
ATANH_TAIL = {
    "float32": (0.399999976, 0.285719573, 0.221810624, 0.195277736),
    "float64": (
        0.3999999999999998, 0.28571428571443797, 0.22222222217805326, 0.18181818841824868,
        0.15384558582770974, 0.13336258542238674, 0.11675899742119492, 0.11980788097727831,
    ),
}  # fmt: skip
TWO_THIRDS = {
    "float32": (float.fromhex("0x1.555556p-1"), float.fromhex("-0x1.555556p-26")),
    "float64": (float.fromhex("0x1.5555555555555p-1"), float.fromhex("0x1.5555555555555p-55")),
}
# The exponential of these and beyond is zero, infinite.
EXPONENTS = {"float32": (-110.0, 90.0), "float64": (-760.0, 712.0)}


def log_pair(x: Expr) -> Pair:
    """log(x) as a pair with about 1.5 times the digits of the type, for finite positive x."""
    k, m = split_any(x)
    f = m - 1.0
    total, total_low = fast_two_sum(2.0, f)
    inverse = 1.0 / total
    s = f * inverse
    s_low = inverse * fma(-s, total_low, fma(-s, total, f))
    z, z_low = two_product(s, s)
    z_low = fma(s + s, s_low, z_low)
    high, low = TWO_THIRDS[x.type]
    t, t_low = fast_two_sum(high, z * polynomial(z, ATANH_TAIL[x.type]))
    t_low = t_low + low
    u, u_low = two_product(s, z)
    u_low = u_low + fma(s, z_low, s_low * z)
    v, v_low = two_product(u, t)
    v_low = v_low + fma(u, t_low, u_low * t)
    ln2, ln2_low = LN2[x.type]
    head, error = fast_two_sum(k * ln2, s + s)
    head, second_error = fast_two_sum(head, v)
    rest = error + second_error + fma(k, ln2_low, v_low + (s_low + s_low))
    return fast_two_sum(head, rest)


def exp_of_pair(high: Expr, low: Expr) -> Expr:
    """e**(high + low), for low that is small beside high."""
    f = format_of(high)
    lowest, largest = EXPONENTS[high.type]
    clamped = minimum(maximum(high, lowest), largest)
    reduced = reduce_exponent(clamped, select(high.eq(clamped), low, 0.0))
    n = to_bits(reduced.count) - to_bits(high.const(f.shifter))
    half = n >> 1
    return reduced.precise_value() * power_of_two(half, f) * power_of_two(n - half, f)


@elementary
def pow(x: Expr, y: Expr) -> Expr:
    """x**y, with the special values of IEEE 754 (`pow`, not `powr`).

    At most 0.6 ulp in float32 and 0.64 in float64, or 0.77 where the result is subnormal.
    """
    graph = x.graph
    one, size = x.const(1.0), abs(x)
    log_x, log_low = log_pair(size)
    log_x = select(size < INF, select(size.eq(0.0), -INF, log_x), size)
    high = y * log_x
    made = exp_of_pair(high, fma(y, log_x, -high) + y * log_low)
    half = 0.5 * y
    whole = graph.op("trunc", y).eq(y)
    odd = whole & graph.op("trunc", half).ne(half)
    made = select(odd, copysign(made, x), made)
    made = select((x < 0.0) & (x > -INF) & ~whole, NAN, made)
    is_one = x.eq(1.0) | y.eq(0.0) | (x.eq(-1.0) & abs(y).eq(INF))
    return select(is_one, one, made)


# m**(-1/3) for 1 <= m < 2; bench/minimax.py cbrt
CBRT = {
    "float32": (1.54188764, -0.809961617, 0.317757994, -0.0499370918),
    "float64": (
        1.6700067613405065, -1.1728802197144343, 0.69548258147445796, -0.2212378038242542,
        0.028591012860709444,
    ),
}  # fmt: skip
# 2**(-1/3), 2**(-2/3)
CBRT_SCALES = (0.7937005259840998, 0.6299605249474366)


@elementary
def cbrt(x: Expr) -> Expr:
    """The real cube root.

    At most 0.501 ulp.
    """
    f = format_of(x)
    size = abs(x)
    # A subnormal number is lifted by a power of eight.
    third = f.mantissa // 3 + 1
    small = size < f.smallest_normal
    bits = to_bits(select(small, size * 8.0**third, size))
    # The exponent is 3 n + rest; adding 3 * 2**10 keeps the dividend positive.
    exponent = (bits >> f.mantissa) - (f.bias - 3072)
    n = exponent * 43691 >> 17
    rest = exponent - 3 * n
    lead = bits & (1 << f.mantissa) - 1
    m = (lead | f.bias << f.mantissa).bitcast(x.type)
    a = (lead | rest + f.bias << f.mantissa).bitcast(x.type)
    scale = select(rest.eq(0), 1.0, select(rest.eq(1), CBRT_SCALES[0], x.const(CBRT_SCALES[1])))
    w = polynomial(m, CBRT[x.type]) * scale
    # One step to a**(-1/3) of cubic order, then one to the root with its residual.
    h = fma(-(a * w), w * w, 1.0)
    w = fma(w, h * fma(h, 2.0 / 9.0, 1.0 / 3.0), w)
    square = w * w
    y = a * square
    y_square, y_square_low = two_product(y, y)
    residual = fma(-y_square, y, a) - y_square_low * y
    y = fma(residual, square * (1.0 / 3.0), y)
    n = n - select(small, third, n.const(0)) - 1024
    made = copysign((to_bits(y) + (n << f.mantissa)).bitcast(x.type), x)
    return select((size < INF) & x.ne(0.0), made, x)


@elementary
def rsqrt(x: Expr) -> Expr:
    """1 / sqrt(x).

    At most 0.501 ulp.
    """
    near = 1.0 / sqrt(x)
    product, error = two_product(x, near)
    rest = fma(-product, near, 1.0) - error * near
    return select(product.isnan(), near, fma(0.5 * rest, near, near))
