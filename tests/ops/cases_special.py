"""Cases of the special functions, where SciPy's values are accurate."""

from jacana import ops
from jacana.testing.cases import exactly, integers, special, uniform
from tests.ops.cases import case

FLOATS = ("float16", "bfloat16", "float32", "float64")


def sampled(primitive, single, double, *bounds, smooth=()):
    """Operands within bounds, in every float dtype and in rank 0; bounds on the error in ulps."""
    for dtype in FLOATS:
        ulps = double if dtype == "float64" else single
        makers = [uniform(low, high, 60, dtype=dtype) for low, high in bounds]
        case(primitive, *makers).within(ulps).smooth(*smooth)
    for size in (0, 1, 15, 16, 17):
        case(primitive, *[uniform(*b, size, dtype="float32") for b in bounds]).within(single)
    case(primitive, *[uniform(*b) for b in bounds]).within(double).smooth(*smooth)


sampled(ops.erf, 2, 4, (-3, 3))
sampled(ops.erfc, 4, 32, (-3, 5))
sampled(ops.erf_inv, 4, 8, (-0.99, 0.99))
sampled(ops.bessel_i0e, 4, 8, (-9, 9))
sampled(ops.bessel_i1e, 4, 8, (0.5, 9))
sampled(ops.lgamma, 4, 64, (2.2, 40))
sampled(ops.digamma, 4, 32, (1.6, 40))
sampled(ops.zeta, 4, 32, (1.5, 8), (0.3, 9), smooth=(1,))
sampled(ops.igamma, 8, 2048, (0.3, 9), (0.2, 9), smooth=(1,))
sampled(ops.igammac, 8, 2048, (0.3, 9), (0.2, 9), smooth=(1,))
sampled(ops.regularized_incomplete_beta, 8, 2048, (0.3, 5), (0.3, 5), (0.1, 0.9), smooth=(2,))
for p in (ops.igamma, ops.igammac):
    # The slope in a has no derivative of its own.
    case(p, uniform(0.3, 9, 20), uniform(0.2, 9, 20)).within(2048).smooth(0).without("second")
# Their references are differences, good to nine digits.
for p in (ops.igamma_grad_a, ops.random_gamma_grad):
    for dtype in FLOATS:
        operands = [uniform(0.5, 5, 40, dtype=dtype)] * 2
        case(p, *operands).within(1e8 if dtype == "float64" else 64).without("jvp")
for dtype in FLOATS:
    orders = integers(0, 6, 40, dtype=dtype)
    case(ops.polygamma, orders, uniform(0.5, 9, 40, dtype=dtype)).within(128).smooth(1)
case(ops.polygamma, exactly(1.0), uniform(0.5, 9, 7)).within(128).smooth(1)

# --- special values -------------------------------------------------------------------------------

for dtype in FLOATS:
    for p in (ops.erf, ops.erf_inv, ops.bessel_i0e, ops.bessel_i1e, ops.lgamma):
        edges = special(60, dtype=dtype, low=-3, high=20)
        case(p, edges).within(64 if dtype == "float64" else 4).without("jvp")
