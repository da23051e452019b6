"""erf, erfc and erf_inv in the kernel language.

All coefficients are Chebyshev fits made with bench/special_coefficients.py.
"""

import math

from jacana.kernel import ir
from jacana.kernel.build import function
from jacana.kernel.expr import Expr
from jacana.kernel.math import piecewise
from jacana.kernel.math.define import copysign, elementary, fma, minimum, polynomial, select, sqrt
from jacana.kernel.math.exponential import SMALL, exp, lifted, reduce_exponent
from jacana.kernel.math.logarithm import log

# erf(x) / x - 1 in x**2 for |x| <= 1.
ERF_SMALL = {
    "float32": (
        0.12837917, -0.37612626, 0.11283594, -0.026854211, 0.0051890872, -0.00080168643,
        7.875875e-05,
    ),
    "float64": (
        0.1283791670955126, -0.3761263890318375, 0.11283791670954879, -0.026866170645076792,
        0.005223977624818013, -0.0008548326980833714, 0.00012055331111640262,
        -1.4925595266778044e-05, 1.6461000483340683e-06, -1.6350312693391496e-07,
        1.4659775225916908e-08, -1.13728486818981e-09, 5.957175868104521e-11,
    ),
}  # fmt: skip

# log2(erfc(x)) in x for 0.95 <= x <= 4, and 2**f for |f| <= 1 / 2.
LOG2_ERFC = (
    0.00046435485, -1.6305944, -0.9115085, -0.15883675, 0.0381328, -0.0068722917, 0.00086226605,
    -6.660171e-05, 2.369885e-06,
)  # fmt: skip
EXP2 = (
    1.0, 0.6931472, 0.2402265, 0.05550327, 0.009618057, 0.0013400428, 0.00015461445,
)  # fmt: skip

# (1 + 2 x) exp(x**2) erfc(x) in (x - k) / (x + k) for x >= 0.47, after M. Shepherd and
# J. Laframboise, Mathematics of Computation 36 (1981).
ERFCX_CENTRE = 3.75
ERFCX = (
    1.2375126308378275, -0.14024059858554702, 0.0035854154854636435, 0.08227673849015037,
    -0.10880393014170525, 0.0923043211602296, -0.05869339859057566, 0.02836227742083972,
    -0.009746579547743304, 0.0017556258404955772, 0.00029371360086103175,
    -0.000290154038008577, 5.164934456649135e-05, 2.2384185799196935e-05,
    -1.1444699903744102e-05, -9.736863411343875e-07, 1.7522701152541504e-06,
    -5.6590440118451384e-08, -2.586623125907439e-07, 2.2173543948606634e-08,
    3.7703168569360106e-08, -2.8278679577329065e-09, -4.059535637166988e-09,
)  # fmt: skip

# erf_inv(x) / x in w = -log(1 - x**2) less 2.5 or 3.125, then in sqrt(w) less a centre, after
# M. Giles, "Approximating the erfinv function", GPU Computing Gems (2011).
CENTRAL_END = {"float32": 5.0, "float64": 6.25}
INVERSE_CENTRAL = {
    "float32": (
        1.5014094, 0.24664028, -0.004177393, -0.0012527264, 0.00021834939, -4.97242e-06,
        -3.4639852e-06, 4.6813136e-07, 2.3335968e-08, -8.931926e-09,
    ),
    "float64": (
        1.6536545626831027, 0.24015818242558834, -0.006033670871426851, -0.0007407025341546431,
        0.00018673420801981186, -1.3882523393957483e-05, -1.3654691758785656e-06,
        4.23478816822246e-07, -2.907039127564132e-08, -4.1126604371632185e-09,
        1.051223377050429e-09, -5.414303283919504e-11, -1.2978805369932565e-11,
        2.6305268312595183e-12, -8.07192593899004e-14, -4.0020031087558496e-14,
        6.521333511502239e-15, -3.94018812230432e-17, -1.2215637192404172e-16,
        1.5510787009902526e-17, 6.075050702072414e-19, -3.4734793888538036e-19,
        1.999259988861535e-20, 3.194015548136271e-21, -3.5932028927020693e-22,
    ),
}  # fmt: skip
INVERSE_TAIL_SINGLE = (
    3.0015268, 1.004297, 0.006403782, -0.0046920613, 0.0032851303, -0.002210284, 0.0011654117,
    -0.00034568805, -6.1312465e-05, 0.0001104425, -3.457579e-05,
)  # fmt: skip
INVERSE_TAIL_NEAR = (
    3.0838856104922208, 1.0052589676941655, 0.005370914553555033, -0.0037512085082247342,
    0.00249144209795696, -0.0016882755354488555, 0.0009532893415794137, -0.0003550378137852452,
    2.4031512865758357e-05, 6.828711739251955e-05, -4.732068066544697e-05, 1.2465028224217455e-05,
    2.93257845538535e-06, -3.985705945648173e-06, 1.4815977874022539e-06, -2.761716223816241e-08,
    -2.4549818963339823e-07, 1.3158663683192966e-07, -2.091453334773126e-08,
    -1.5305397964152548e-08, 7.680200479077053e-09,
)  # fmt: skip
INVERSE_TAIL_FAR = (
    4.880215284762402, 1.010291569252553, -0.0001576669142488952, -0.0002060854061836256,
    7.310318849683809e-05, -1.8885509670166598e-05, 4.323140856339946e-06, -9.401569842992167e-07,
    2.119185802441508e-07, -5.955560603989069e-08, 2.4436519847219385e-08,
    -1.2682107220091516e-08, 6.546721067497941e-09, -2.9453999596541285e-09,
    1.151541134412811e-09, -4.0763951683275137e-10, 7.510330816173686e-11, 3.394421520569162e-11,
    -1.7238216390009417e-11,
)  # fmt: skip


# From here on erfc(x) is zero in float32.
ERFC_ZERO = 10.1


@elementary
def erf(x: Expr) -> Expr:
    """The error function. Within 1.0 ulp (float32, float64)."""
    size = abs(x)
    small = fma(x, polynomial(x * x, ERF_SMALL[x.type]), x)
    if x.type == "float32":
        tail = 1 - exp2_short(polynomial(minimum(size, 3.99), LOG2_ERFC))
    else:
        tail = 1 - erfc_tail(minimum(size, 6.5))
    return select(size < 1, small, copysign(tail, x))


@elementary
def erfc(x: Expr) -> Expr:
    """1 - erf(x), accurate where that is small. Within 2.3 ulp (float32), 3.2 ulp (float64)."""
    size = abs(x)
    if x.type == "float32":
        tail = erfc_pieces(size)
        return select(x < 0, 2 - tail, tail)
    tail = erfc_tail(minimum(size, 28.0))
    return select(size < 0.5, erfc_near(x), select(x < 0, 2 - tail, tail))


def exp2_short(x: Expr) -> Expr:
    """2**x in float32 for -126 <= x <= 0 or nan."""
    whole = x.graph.op("round", x)
    bits = polynomial(x - whole, EXP2).bitcast("int32")
    return (bits + (whole.convert("int32") << 23)).bitcast("float32")


def erfc_near(x: Expr) -> Expr:
    """erfc(x) for |x| <= 1 / 2."""
    return 1 - fma(x, polynomial(x * x, ERF_SMALL[x.type]), x)


def erfcx_tail(x: Expr) -> Expr:
    """exp(x**2) erfc(x) in float64 for x >= 0.47."""
    return polynomial((x - ERFCX_CENTRE) / (x + ERFCX_CENTRE), ERFCX) / fma(x, 2, 1)


def erfc_tail(x: Expr) -> Expr:
    """erfc(x) in float64 for x >= 0.47."""
    square = x * x
    rest = fma(x, x, -square)
    value = exp(-square) * erfcx_tail(x)
    return fma(value, -rest, value)


def erfc_pieces(size: Expr) -> Expr:
    """erfc(size) in float32 for size >= 0."""
    x = minimum(size, ERFC_ZERO)
    square = -x * x
    reduced = reduce_exponent(square, fma(-x, x, -square))
    scaled = piecewise.ERFCX(x) * reduced.value()
    # The factor from the table is not below 2**-5.
    return lifted(scaled, reduced.count, square < SMALL["float32"] + 5)


@elementary
def erf_inv(x: Expr) -> Expr:
    """The inverse of erf: infinite at -1 and 1, nan beyond.

    Within 2.5 ulp (float32), 3.0 ulp (float64).
    """
    size = abs(x)
    w = -log((1 - size) * (1 + size))
    (ratio,) = x.graph.branch(
        w < CENTRAL_END[x.type], inverse_central(x.type), inverse_tail(x.type), [w]
    )
    return select(size.eq(1), x * math.inf, x * ratio)


def inverse_central(type: str) -> ir.Function:
    @function(f"erf_inv_central.{type}", type)
    def central(w: Expr) -> Expr:
        return polynomial(w - CENTRAL_END[type] / 2, INVERSE_CENTRAL[type])

    return central


def inverse_tail(type: str) -> ir.Function:
    @function(f"erf_inv_tail.{type}", type)
    def tail(w: Expr) -> Expr:
        s = sqrt(w)
        if type == "float32":
            return polynomial(s - 3.168033988749895, INVERSE_TAIL_SINGLE)
        near = polynomial(s - 3.25, INVERSE_TAIL_NEAR)
        return select(s < 4, near, polynomial(s - 5.03, INVERSE_TAIL_FAR))

    return tail
