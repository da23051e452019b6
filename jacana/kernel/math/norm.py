"""The size of the point (x, y): its square as a scaled pair, the root of that, the logarithm."""

from jacana.kernel.expr import Expr
from jacana.kernel.math.define import INF, elementary, maximum, minimum, select, sqrt
from jacana.kernel.math.logarithm import log_sum, split, with_limits
from jacana.kernel.math.pairs import fast_two_sum, two_product

# (limit, exponent): above the first limit and below the second, coordinates are multiplied by
# 2**exponent, so that squares neither overflow nor lose digits.
RANGES = {
    "float32": ((2.0**60, -70), (2.0**-40, 90)),
    "float64": ((2.0**500, -600), (2.0**-400, 600)),
}


class Norm:
    """(2**exponent)**2 * (x**2 + y**2) = square + low, of coordinates that are multiplied so."""

    def __init__(self, x: Expr, y: Expr):
        a, b = abs(x), abs(y)
        larger, smaller = maximum(a, b), minimum(a, b)
        (high_limit, down), (low_limit, up) = RANGES[x.type]
        self.high, self.low = larger > high_limit, larger < low_limit
        self.scale = self.choose(2.0**down, 2.0**up, x.const(1.0))
        self.exponent = self.choose(float(down), float(up), x.const(0.0))
        p, p_low = two_product(larger * self.scale, larger * self.scale)
        q, q_low = two_product(smaller * self.scale, smaller * self.scale)
        total, error = fast_two_sum(p, q)
        self.square, self.square_low = fast_two_sum(total, error + (p_low + q_low))
        self.is_infinite = a.eq(INF) | b.eq(INF)

    def choose(self, down: float, up: float, usual: Expr) -> Expr:
        return select(self.high, down, select(self.low, up, usual))

    def back(self, power: float = 1.0) -> Expr:
        """scale**-power."""
        (_, down), (_, up) = RANGES[self.square.type]
        return self.choose(2.0 ** (-down * power), 2.0 ** (-up * power), self.square.const(1.0))


@elementary
def hypot(x: Expr, y: Expr) -> Expr:
    """sqrt(x**2 + y**2) without overflow on the way; infinite if any of them is.

    At most 0.86 ulp in float32 and 0.85 in float64.
    """
    norm = Norm(x, y)
    return select(norm.is_infinite, INF, sqrt(norm.square) * norm.back())


@elementary
def log_hypot(x: Expr, y: Expr) -> Expr:
    """log(sqrt(x**2 + y**2)), also where that is close to zero."""
    norm = Norm(x, y)
    k, m = split(norm.square)
    extra = norm.square_low / norm.square
    made = 0.5 * log_sum(k - 2.0 * norm.exponent, m - 1.0, extra)
    return select(norm.is_infinite, INF, with_limits(norm.square, made))
