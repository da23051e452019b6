"""sin, cos and tan: polynomials for r with |r| <= pi / 4, chosen by the quadrant."""

from jacana.kernel import build, ir
from jacana.kernel.expr import Expr
from jacana.kernel.math.define import elementary, fma, format_of, once, polynomial, select, to_bits
from jacana.kernel.math.pairs import Pair, fast_two_sum, quotient
from jacana.kernel.math.reduction import Reduced, reduce

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
# Up to here the quadrant is 0, with nothing to subtract.
FIRST_QUADRANT = 0.78
# Below this sin(x) and tan(x) round to x.
TINY = {"float32": 2.0**-13, "float64": 2.0**-27}


def sin_cos_pairs(r: Expr, low: Expr, rough: Expr) -> tuple[Pair, Pair]:
    """sin and cos of r + low, for |r| <= pi / 4."""
    z, square = r * r, rough * rough
    head = fma(square, -0.5, 1.0)
    error = fma(z, -0.5, 1.0 - head)
    # What low adds is its product with cos(r) or -sin(r), of which a few bits will do.
    sin_tail = fma(z * r, polynomial(z, SIN[r.type]), low * fma(square, -0.48, 1.0))
    cos_tail = fma(z * z, polynomial(z, COS[r.type]), fma(r * -0.92, low, error))
    return (r, sin_tail), (head, cos_tail)


def _sign_of_quadrant(quadrant: Expr, x: Expr) -> Expr:
    """The sign bit where bit 1 of the quadrant is set."""
    return (quadrant & 2) << (format_of(x).mantissa + (7 if x.type == "float32" else 10))


def _sin_of_quadrant(quadrant: Expr, of: Reduced, sign: Expr) -> Expr:
    """The sine or cosine that the quadrant asks for, with its sign flipped where `sign` is set."""
    (s, s_tail), (c, c_tail) = sin_cos_pairs(of.r, of.low, of.rough)
    odd = (quadrant & 1).ne(0)
    size = select(odd, c, s) + select(odd, c_tail, s_tail)
    return (to_bits(size) ^ sign).bitcast(size.type)


def _sin_reduced(x: Expr, of: Reduced) -> Expr:
    """The sine; what is small rounds to itself, but for zero, which has lost its sign by then."""
    zero = select(x.eq(0), to_bits(x), 0)
    return _sin_of_quadrant(of.q, of, _sign_of_quadrant(of.q, x) | zero)


def _cos_reduced(x: Expr, of: Reduced) -> Expr:
    return _sin_of_quadrant(of.q + 1, of, _sign_of_quadrant(of.q + 1, x))


@elementary
def sin(x: Expr) -> Expr:
    """The sine, with the argument reduced exactly however large it is.

    At most 0.79 ulp in float32 and 0.78 in float64.
    """
    return _by_size(_sin_sides(x.type), x)


@elementary
def cos(x: Expr) -> Expr:
    """The cosine, with the argument reduced exactly however large it is.

    At most 0.79 ulp in float32 and 0.78 in float64.
    """
    return _by_size(_cos_sides(x.type), x)


Sides = tuple[ir.Function, ir.Function]


def _by_size(sides: Sides, x: Expr) -> Expr:
    """A function of x; where x is its own remainder, a scalar takes the short way."""
    (made,) = x.graph.branch(abs(x) <= FIRST_QUADRANT, *sides, [x], shortcut=True)
    return made


@once
def _sin_sides(type: str) -> Sides:
    near, anywhere = f"sin_near_{type}", f"sin_anywhere_{type}"
    return build.function(near, type)(_sin_near), build.function(anywhere, type)(_sin_anywhere)


@once
def _cos_sides(type: str) -> Sides:
    near, anywhere = f"cos_near_{type}", f"cos_anywhere_{type}"
    return build.function(near, type)(_cos_near), build.function(anywhere, type)(_cos_anywhere)


def _sin_near(x: Expr) -> Expr:
    (s, tail), _ = sin_cos_pairs(x, x.const(0), x)
    return select(abs(x) < TINY[x.type], x, s + tail)


def _sin_anywhere(x: Expr) -> Expr:
    return _sin_reduced(x, reduce(x))


def _cos_near(x: Expr) -> Expr:
    _, (c, tail) = sin_cos_pairs(x, x.const(0), x)
    return c + tail


def _cos_anywhere(x: Expr) -> Expr:
    return _cos_reduced(x, reduce(x))


@elementary
def tan(x: Expr) -> Expr:
    """The tangent, with the argument reduced exactly however large it is.

    At most 1.03 ulp in float32 and 0.97 in float64.
    """
    of = reduce(x)
    (s, s_tail), (c, c_tail) = sin_cos_pairs(of.r, of.low, of.rough)
    odd = (of.q & 1).ne(0)
    numerator = fast_two_sum(select(odd, -c, s), select(odd, -c_tail, s_tail))
    denominator = fast_two_sum(select(odd, s, c), select(odd, s_tail, c_tail))
    return select(abs(x) < TINY[x.type], x, quotient(numerator, denominator))


@once
def _sin_cos(type: str) -> ir.Function:
    def both(x: Expr) -> tuple[Expr, ...]:
        reduced = reduce(x)
        return _sin_reduced(x, reduced), _cos_reduced(x, reduced)

    return build.function(f"sin_cos_{type}", type)(both)


def sin_cos(x: Expr) -> tuple[Expr, Expr]:
    """sin(x) and cos(x), of a float32 or float64."""
    s, c = x.graph.call(_sin_cos(x.type), [x])
    return s, c
