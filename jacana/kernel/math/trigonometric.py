"""sin, cos and tan: polynomials for r with |r| <= pi / 4, chosen by the quadrant."""

from jacana.kernel import build, ir
from jacana.kernel.expr import Expr
from jacana.kernel.math.define import elementary, fma, format_of, once, polynomial, select, to_bits
from jacana.kernel.math.pairs import Pair, fast_two_sum, quotient
from jacana.kernel.math.reduction import reduce

# sin(r) = r + r**3 * p(r**2); bench/minimax.py sin
SIN = {
    "float32": (-0.166666552, 8.3321901e-3, -1.9518449e-4),
    "float64": (
        -0.1666666666666663, 8.3333333333219187e-3, -1.9841269829458705e-4, 2.7557313582412894e-6,
        -2.5050742356345951e-8, 1.5895946383901867e-10,
    ),
}  # fmt: skip
# cos(r) = 1 - r**2 / 2 + r**4 * p(r**2); bench/minimax.py cos
COS = {
    "float32": (0.0416666456, -1.38873106e-3, 2.44325638e-5),
    "float64": (
        0.041666666666666595, -1.3888888888873348e-3, 2.4801587289007666e-5,
        -2.7557314218767448e-7, 2.0875705625442008e-9, -1.1358760291882988e-11,
    ),
}  # fmt: skip
# Below this sin(x) and tan(x) round to x.
TINY = {"float32": 2.0**-13, "float64": 2.0**-27}


def sin_cos_pairs(r: Expr, low: Expr) -> tuple[Pair, Pair]:
    """sin and cos of r + low, for |r| <= pi / 4."""
    z = r * r
    head, error = fast_two_sum(1.0, z * -0.5)
    sin_tail = fma(z * r, polynomial(z, SIN[r.type]), low * head)
    cos_tail = fma(z * z, polynomial(z, COS[r.type]), fma(-r, low, error))
    return (r, sin_tail), (head, cos_tail)


def _with_sign(value: Expr, quadrant: Expr) -> Expr:
    """-value where bit 1 of the quadrant is set."""
    sign = (quadrant & 2) << (format_of(value).mantissa + (7 if value.type == "float32" else 10))
    return (to_bits(value) ^ sign).bitcast(value.type)


def _sin_of_quadrant(quadrant: Expr, r: Expr, low: Expr) -> Expr:
    (s, s_tail), (c, c_tail) = sin_cos_pairs(r, low)
    odd = (quadrant & 1).ne(0)
    return _with_sign(select(odd, c, s) + select(odd, c_tail, s_tail), quadrant)


@elementary
def sin(x: Expr) -> Expr:
    """The sine, with the argument reduced exactly however large it is.

    At most 0.79 ulp in float32 and 0.78 in float64.
    """
    q, r, low = reduce(x)
    return select(abs(x) < TINY[x.type], x, _sin_of_quadrant(q, r, low))


@elementary
def cos(x: Expr) -> Expr:
    """The cosine, with the argument reduced exactly however large it is.

    At most 0.79 ulp in float32 and 0.78 in float64.
    """
    q, r, low = reduce(x)
    return _sin_of_quadrant(q + 1, r, low)


@elementary
def tan(x: Expr) -> Expr:
    """The tangent, with the argument reduced exactly however large it is.

    At most 1.03 ulp in float32 and 0.97 in float64.
    """
    q, r, low = reduce(x)
    (s, s_tail), (c, c_tail) = sin_cos_pairs(r, low)
    odd = (q & 1).ne(0)
    numerator = fast_two_sum(select(odd, -c, s), select(odd, -c_tail, s_tail))
    denominator = fast_two_sum(select(odd, s, c), select(odd, s_tail, c_tail))
    return select(abs(x) < TINY[x.type], x, quotient(numerator, denominator))


@once
def _sin_cos(type: str) -> ir.Function:
    def both(x: Expr) -> tuple[Expr, ...]:
        q, r, low = reduce(x)
        tiny = abs(x) < TINY[type]
        return select(tiny, x, _sin_of_quadrant(q, r, low)), _sin_of_quadrant(q + 1, r, low)

    return build.function(f"sin_cos_{type}", type)(both)


def sin_cos(x: Expr) -> tuple[Expr, Expr]:
    """sin(x) and cos(x), of a float32 or float64."""
    s, c = x.graph.call(_sin_cos(x.type), [x])
    return s, c
