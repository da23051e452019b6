"""Cases of the elementwise primitives: every dtype they take, special values, short sizes."""

import numpy as np

from jacana import ops
from jacana.testing.cases import exactly, full_range, integers, normal, special, uniform, zeros
from tests.ops.cases import case

FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
SIGNED = ("int2", "int4", "int8", "int16", "int32", "int64")
UNSIGNED = ("uint2", "uint4", "uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED
SIZES = (0, 1, 15, 16, 17)
SMALL_FLOATS = ("float4_e2m1fn", "float8_e4m3fn", "float8_e5m2", "float8_e5m2fnuz")

# --- arithmetic: exact in every dtype; complex products and quotients are rounded ----------------

NUMERIC_UNARY = (ops.neg, ops.square, ops.sign)
NUMERIC_BINARY = (ops.add, ops.add_any, ops.sub, ops.mul, ops.div)


def exact_dtypes(primitive, operands, kinds):
    for dtype in kinds:
        maker = special if dtype in FLOATS else full_range
        case(primitive, *[maker(100, dtype=dtype)] * operands).without("jvp")
    for size in SIZES:
        dtype = "float32" if "float32" in kinds else kinds[0]
        maker = special if dtype in FLOATS else full_range
        case(primitive, *[maker(size, dtype=dtype)] * operands)


def mixed_ranks(primitive, maker):
    """One operand of rank 0 serves every element of the other."""
    case(primitive, maker(), maker())
    case(primitive, maker(3, 5), maker())
    case(primitive, maker(), maker(5))


for p in NUMERIC_UNARY:
    exact_dtypes(p, 1, FLOATS + INTEGERS)
for p in NUMERIC_BINARY:
    exact_dtypes(p, 2, FLOATS + INTEGERS)
for p in (ops.neg,):
    case(p, normal(3, 4)).linear((0,))
    case(p, normal(3, 4, dtype="complex128")).linear((0,))
for p in (ops.add, ops.add_any, ops.sub):
    for dtype in ("float64", "complex128"):
        for shapes in (((3, 4), (3, 4)), ((3, 4), ()), ((), (4,)), ((), ())):
            case(p, *[normal(*s, dtype=dtype) for s in shapes]).linear((0, 1))
for dtype in ("float64", "complex128"):
    for shapes in (((3, 4), (3, 4)), ((3, 4), ()), ((), (4,)), ((), ())):
        operands = [normal(*s, dtype=dtype) for s in shapes]
        case(ops.mul, *operands).linear((0,), (1,)).within(4, batched=0)
        divisor = uniform(0.5, 2, *shapes[1], dtype=dtype)
        case(ops.div, operands[0], divisor).linear((0,)).within(4)
for dtype in COMPLEX:
    for p in (ops.square, ops.sign):
        case(p, normal(17, dtype=dtype)).within(4)
case(ops.square, normal(5))
case(ops.sign, normal(5))

for dtype in SMALL_FLOATS:
    for p in (ops.neg, ops.square):
        case(p, special(100, dtype=dtype)).without("jvp")
    for p in (ops.add, ops.sub, ops.mul, ops.div, ops.max, ops.lt, ops.eq):
        case(p, special(100, dtype=dtype), special(100, dtype=dtype)).without("jvp")
    case(ops.sqrt, uniform(0, 4, 40, dtype=dtype)).without("jvp")
    case(ops.floor, special(40, dtype=dtype))
    case(ops.round, special(40, dtype=dtype), rounding_method=1)

exact_dtypes(ops.rem, 2, FLOATS + INTEGERS)
mixed_ranks(ops.rem, lambda *s: uniform(0.3, 0.4, *s))
case(ops.rem, uniform(5, 5.2, 6), uniform(0.9, 0.95, 6))

# --- size and order -------------------------------------------------------------------------------

exact_dtypes(ops.abs, 1, FLOATS + SIGNED)
case(ops.abs, normal(7))
for dtype in COMPLEX:
    case(ops.abs, normal(17, dtype=dtype)).within(2)
for p in (ops.max, ops.min):
    exact_dtypes(p, 2, FLOATS + INTEGERS + ("bool",))
    mixed_ranks(p, normal)
    for dtype in COMPLEX:
        case(p, normal(17, dtype=dtype), normal(17, dtype=dtype)).without("jvp")
exact_dtypes(ops.clamp, 3, FLOATS + INTEGERS + ("bool",))
case(ops.clamp, uniform(-1, 0, 9), normal(9), uniform(0, 1, 9))
# Not so near to a bound that a difference would reach over it.
apart = exactly(np.linspace(-2.03, 2, 15).reshape(3, 5))
case(ops.clamp, exactly(-0.7), apart, exactly(0.4))
case(ops.clamp, uniform(-1, 0), normal(), uniform(0, 1))

# --- rounding -------------------------------------------------------------------------------------

for p in (ops.floor, ops.ceil, ops.is_finite):
    exact_dtypes(p, 1, FLOATS)
for method in (0, 1):
    halves = exactly([-2.5, -1.5, -0.5, -0.3, 0.5, 1.5, 2.5, 0.49999997, 8388609.0], "float32")
    case(ops.round, halves, rounding_method=method)
    for dtype in FLOATS:
        case(ops.round, special(100, dtype=dtype), rounding_method=method)
exact_dtypes(ops.nextafter, 2, FLOATS)
case(ops.nextafter, normal(5), normal(5)).smooth(0)

# --- powers and roots -----------------------------------------------------------------------------

for n in (-3, -1, 0, 1, 2, 3, 7):
    for dtype in FLOATS:
        case(ops.integer_pow, special(50, dtype=dtype), y=n).without("jvp")
    case(ops.integer_pow, uniform(0.5, 2, 7), y=n)
    case(ops.integer_pow, normal(9, dtype="complex64"), y=n).within(16)
    case(ops.integer_pow, uniform(0.5, 2, 9, dtype="complex128"), y=n).within(16)
for n in (0, 1, 5):
    for dtype in INTEGERS:
        case(ops.integer_pow, full_range(20, dtype=dtype), y=n)


def approximated(primitive, ulps, low, high, operands=1, kinds=FLOATS, doubled=None):
    """Sizes, special values and ordinary ones of low .. high, in every float dtype."""
    for dtype in kinds:
        bound = ulps if dtype != "float64" or doubled is None else doubled
        case(primitive, *[special(100, dtype=dtype)] * operands).within(bound).without("jvp")
        case(primitive, *[uniform(low, high, 100, dtype=dtype)] * operands).within(bound)
    for size in SIZES:
        case(primitive, *[uniform(low, high, size, dtype="float32")] * operands).within(ulps)
    case(primitive, *[uniform(low, high)] * operands).within(doubled or ulps)


def approximated_complex(primitive, low, high, ulps=8):
    for dtype in COMPLEX:
        case(primitive, uniform(low, high, 33, dtype=dtype)).within(ulps)


exact_dtypes(ops.sqrt, 1, FLOATS)
case(ops.sqrt, uniform(0.5, 3, 5))
approximated(ops.rsqrt, 2, 0.5, 3)
approximated(ops.cbrt, 2, 0.5, 3)
for p in (ops.sqrt, ops.rsqrt):
    approximated_complex(p, 0.5, 3)
approximated(ops.pow, 2, 0.5, 3, operands=2)
mixed_ranks(ops.pow, lambda *s: uniform(0.5, 3, *s))
for c in [(3, 5), ()]:
    case(ops.pow, uniform(0.5, 3, *c), uniform(0.5, 3)).within(2)
for dtype in FLOATS:
    case(ops.pow, uniform(-3, 3, 20, dtype=dtype), integers(-4, 5, 20)).within(2)
    large = integers(0, 600, 20, dtype="uint16")
    case(ops.pow, uniform(0.9, 1.1, 20, dtype=dtype), large).within(2).smooth(0, tolerance=1e-4)
for dtype in COMPLEX:
    for exponent in (uniform(-1, 1, 9, dtype=dtype), integers(-3, 4, 9)):
        case(ops.pow, uniform(0.5, 2, 9, dtype=dtype), exponent).within(64)

# --- exponential, trigonometric, hyperbolic -------------------------------------------------------

for p, low, high in (
    (ops.exp, -5, 5), (ops.exp2, -5, 5), (ops.expm1, -3, 3), (ops.log, 0.1, 9),
    (ops.log1p, -0.7, 5),
    (ops.logistic, -9, 9), (ops.sin, -9, 9), (ops.cos, -9, 9), (ops.tan, -1.2, 1.2),
    (ops.asin, -0.9, 0.9), (ops.acos, -0.9, 0.9), (ops.atan, -5, 5), (ops.sinh, -4, 4),
    (ops.cosh, -4, 4), (ops.tanh, -4, 4), (ops.asinh, -9, 9), (ops.acosh, 1.1, 9),
    (ops.atanh, -0.9, 0.9),
):  # fmt: skip
    approximated(p, 2, low, high)
for p, low, high in (
    (ops.exp, -3, 3), (ops.exp2, -3, 3), (ops.expm1, -2, 2), (ops.log, 0.3, 3), (ops.log1p, 0.2, 3),
    (ops.logistic, -2, 2), (ops.sin, -2, 2), (ops.cos, -2, 2), (ops.tan, -1, 1), (ops.asin, -2, 2),
    (ops.acos, 0.1, 2), (ops.atan, 0.1, 0.9), (ops.sinh, -2, 2), (ops.cosh, -2, 2),
    (ops.tanh, -1, 1), (ops.asinh, 0.1, 2), (ops.acosh, 1.1, 3), (ops.atanh, 0.1, 0.9),
):  # fmt: skip
    approximated_complex(p, low, high)
approximated(ops.atan2, 2, 0.5, 3, operands=2)
mixed_ranks(ops.atan2, lambda *s: uniform(0.5, 3, *s))
for signs in ((-1, 1), (1, -1), (-1, -1), (0.1, -3), (-3, 0.1)):
    case(
        ops.atan2, *[uniform(s, s * 1.1, 7) if s > 0 else uniform(s * 1.1, s, 7) for s in signs]
    ).within(2)
case(
    ops.atan2, uniform(0.5, 2, 9, dtype="complex128"), uniform(0.5, 2, 9, dtype="complex128")
).within(32)

# --- comparisons, selection, bits -----------------------------------------------------------------

for p in (ops.lt, ops.le, ops.gt, ops.ge, ops.eq, ops.ne, ops.eq_to, ops.lt_to, ops.le_to):
    exact_dtypes(p, 2, FLOATS + INTEGERS + ("bool",))
    mixed_ranks(p, normal)
for p in (ops.eq, ops.ne):
    for dtype in COMPLEX:
        case(p, exactly([1 + 2j, 1 + 3j, 2 + 2j], dtype), exactly([1 + 2j, 1 + 2j, 1 + 2j], dtype))

for dtype in FLOATS + INTEGERS + ("bool",):
    maker = special if dtype in FLOATS else full_range
    cases = [maker(17, dtype=dtype)] * 2
    case(ops.select_n, full_range(17, dtype="bool"), *cases).without("jvp")
for dtype in ("float64", "complex128"):
    operand = normal(3, 4, dtype=dtype)
    for which in (full_range(3, 4, dtype="bool"), full_range(dtype="bool")):
        case(ops.select_n, which, operand, operand).linear((1, 2))
        case(ops.select_n, which, operand, zeros(3, 4, dtype=dtype)).linear((1,))
        case(ops.select_n, which, zeros(dtype=dtype), operand).linear((2,))
    for which in (integers(-1, 4, 3, 4), integers(0, 3), integers(0, 3, 3, 4, dtype="uint32")):
        case(ops.select_n, which, operand, operand, operand).linear((1, 2, 3))
    case(ops.select_n, full_range(3, 4, dtype="bool"), operand, normal(dtype=dtype)).linear((1, 2))
case(ops.select_n, full_range(5, dtype="bool"), normal(5)).linear((1,))
case(ops.select_n, integers(0, 3, 0), normal(0), normal(0), normal(0)).linear((1, 2, 3))

for p in (ops.and_, ops.or_, ops.xor):
    exact_dtypes(p, 2, INTEGERS + ("bool",))
    mixed_ranks(p, lambda *s: full_range(*s, dtype="int16"))
exact_dtypes(ops.mulhi, 2, INTEGERS)
exact_dtypes(ops.not_, 1, INTEGERS + ("bool",))
for p in (ops.population_count, ops.clz):
    exact_dtypes(p, 1, INTEGERS)
for p in (ops.shift_left, ops.shift_right_logical, ops.shift_right_arithmetic):
    exact_dtypes(p, 2, INTEGERS)
    for dtype in INTEGERS:
        case(p, full_range(40, dtype=dtype), integers(0, 8, 40, dtype=dtype))
        case(p, full_range(40, dtype=dtype), integers(0, 5, dtype=dtype))
