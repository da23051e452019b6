"""Cases of conversions, bit casts, parts of complex numbers, and copies."""

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.kernel import ir
from jacana.testing.cases import full_range, normal, special, uniform, zeros
from tests.ops.cases import case

FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
INTEGERS = (
    "int4", "int8", "int16", "int32", "int64", "uint4", "uint8", "uint16", "uint32", "uint64",
)  # fmt: skip
PLAIN = ("bool", *INTEGERS, *FLOATS, *COMPLEX)
SMALL = ("int2", "uint2", *ir.SMALL_FLOATS)


def of(dtype, *shape):
    if dtype in ir.FLOATS:
        return special(*shape, dtype=dtype)
    return normal(*shape, dtype=dtype) if dtype in COMPLEX else full_range(*shape, dtype=dtype)


PAIRS = [(source, target) for source in PLAIN for target in PLAIN]
for small in SMALL:
    PAIRS += [(small, other) for other in ("bool", "int32", "float32", "float8_e5m2fnuz")]
    PAIRS += [(other, small) for other in ("bool", "int64", "float16", "float32", "float64")]
for source, target in PAIRS:
    made = dtypes.dtype(target)
    case(ops.convert_element_type, of(source, 40), new_dtype=made, weak_type=False).without("jvp")
for source, target in (
    ("float64", "float64"), ("float64", "complex128"), ("complex128", "float64"),
    ("complex128", "complex128"),
):  # fmt: skip
    made = dtypes.dtype(target)
    for shape in ((), (3, 4), (0,)):
        case(
            ops.convert_element_type, normal(*shape, dtype=source), new_dtype=made, weak_type=False
        ).linear((0,))
case(ops.convert_element_type, normal(5), new_dtype=np.dtype(np.float32), weak_type=True).without(
    "jvp"
)

# --- bits -----------------------------------------------------------------------------------------

BITS = {
    4: ("int4", "uint4", "float4_e2m1fn"), 8: ("int8", "uint8", "float8_e5m2"),
    16: ("int16", "float16", "bfloat16"), 32: ("uint32", "float32"), 64: ("int64", "float64"),
}  # fmt: skip
for old, sources in BITS.items():
    for new, targets in BITS.items():
        parts = (new // old,) if new > old else ()
        for source in sources:
            for target in targets:
                if source == target:
                    continue
                case(
                    ops.bitcast_convert_type, of(source, 3, *parts),
                    new_dtype=dtypes.dtype(target),
                )  # fmt: skip
case(ops.bitcast_convert_type, of("float32"), new_dtype=dtypes.dtype("int32"))
case(ops.bitcast_convert_type, of("float32", 0), new_dtype=dtypes.dtype("int8"))
case(ops.bitcast_convert_type, of("bool", 5), new_dtype=dtypes.dtype("bool"))

for dtype in (*FLOATS, "float8_e4m3fn", "float8_e5m2"):
    for exponent, mantissa in ((5, 10), (8, 7), (8, 23), (4, 3), (2, 0), (11, 52), (5, 2)):
        case(
            ops.reduce_precision, special(60, dtype=dtype), exponent_bits=exponent,
            mantissa_bits=mantissa,
        ).without("jvp")  # fmt: skip
# What a wide format keeps is kept, so that the rule can be held against differences.
case(ops.reduce_precision, uniform(1, 2, 5), exponent_bits=11, mantissa_bits=52).linear((0,))

# --- parts of complex numbers, copies -------------------------------------------------------------

for dtype in COMPLEX:
    precise = dtype == "complex128"
    for p in (ops.real, ops.imag):
        for shape in ((), (17,), (0,), (2, 3)):
            made = case(p, normal(*shape, dtype=dtype))
            if precise:
                made.linear((0,))
    case(ops.conj, normal(17, dtype=dtype), input_dtype=dtypes.dtype(dtype)).linear((0,))
for dtype in ("float32", "float64"):
    case(ops.conj, normal(5, dtype=dtype), input_dtype=dtypes.dtype(dtype)).linear((0,))
    case(ops.complex, special(17, dtype=dtype), special(17, dtype=dtype)).without("jvp")
for shapes in (((3, 4), (3, 4)), ((3, 4), ()), ((), (4,)), ((), ()), ((0,), (0,))):
    case(ops.complex, *[normal(*s) for s in shapes]).linear((0, 1))
case(ops.complex, normal(5), zeros()).linear((0,))
case(ops.complex, zeros(), normal(5)).linear((1,))
for dtype in PLAIN:
    case(ops.copy, of(dtype, 17)).without("jvp")
for shape in ((), (3, 4)):
    case(ops.copy, normal(*shape)).linear((0,))
    case(ops.copy, normal(*shape, dtype="complex128")).linear((0,))
