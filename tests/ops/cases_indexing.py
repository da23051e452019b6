"""Cases of slices, gathers and scatters: places inside, at the edges and far outside."""

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.stage import stage_closed
from jacana.ops import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from jacana.testing.cases import full_range, integers, normal
from tests.ops.cases import case


def moved(primitive, *shape, **params):
    case(primitive, normal(*shape), **params).linear((0,))
    case(primitive, full_range(*shape, dtype="uint8"), **params)


def at(*values, dtype="int32"):
    """Places of a batch: some of the values, in any order."""
    return lambda rng: np.asarray(rng.choice(np.array(values, dtype)), dtype)


# --- slices --------------------------------------------------------------------------------------

moved(ops.slice, 3, 17, start_indices=(0, 1), limit_indices=(3, 17), strides=None)
moved(ops.slice, 3, 17, start_indices=(1, 2), limit_indices=(3, 16), strides=(2, 3))
moved(ops.slice, 3, 4, start_indices=(2, 1), limit_indices=(2, 4), strides=(1, 2))
moved(ops.slice, start_indices=(), limit_indices=(), strides=None)
for dtype in ("int8", "int32", "int64", "uint8", "uint64"):
    far = at(0, 1, 2, 7, 120, dtype=dtype)
    case(ops.dynamic_slice, normal(3, 4), far, far, slice_sizes=(2, 2)).linear((0,)).smooth(0)
    operands = normal(3, 4), normal(2, 2), far, far
    case(ops.dynamic_update_slice, *operands).linear((0, 1)).smooth(0, 1)
back = at(-1, -9, 1)
case(ops.dynamic_slice, normal(3, 4), back, at(0, 3), slice_sizes=(3, 2)).linear((0,))
case(ops.dynamic_slice, normal(300), at(200, 255, dtype="uint8"), slice_sizes=(5,)).linear((0,))
case(ops.dynamic_slice, normal(0, 4), at(0, 1), at(0, 1), slice_sizes=(0, 2)).linear((0,))
case(ops.dynamic_slice, normal(), slice_sizes=()).linear((0,))
case(ops.dynamic_update_slice, normal(), normal()).linear((0, 1))
case(ops.dynamic_update_slice, normal(3), normal(0), back).linear((0, 1))
case(ops.dynamic_update_slice, normal(3), normal(3), back).linear((0, 1))
case(ops.dynamic_update_slice, full_range(9, dtype="int8"), full_range(2, dtype="int8"), back)

# --- gather --------------------------------------------------------------------------------------

CLIP, FILL = GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP
# Dimension numbers, slice sizes and the indices' shape for an operand of shape (5, 4, 3).
LAYOUTS = (
    (((1, 2), (0,), (0,)), (1, 4, 3), (5, 1)),
    (((0, 1), (2,), (2,)), (5, 2, 1), (5, 1)),
    (((1, 3), (0,), (2, 0)), (1, 3, 2), (2, 3, 2)),
    (((), (2,), (2,), (0, 1), (1, 0)), (1, 1, 1), (4, 5, 1)),
    (((0, 1, 2), (), (1, 0)), (2, 2, 2), (2,)),
    (((1, 2), (0,), (0,)), (1, 4, 3), (0, 1)),
)
for mode in (CLIP, FILL):
    for numbers, sizes, shape in LAYOUTS:
        params = {
            "dimension_numbers": GatherDimensionNumbers(*numbers), "slice_sizes": sizes,
            "mode": mode,
        }  # fmt: skip
        places = integers(-2, 7, *shape)
        case(ops.gather, normal(5, 4, 3), places, **params, fill_value=0.0).linear((0,)).smooth(0)
        for dtype in ("bool", "int8", "uint32", "bfloat16", "complex64"):
            maker = normal if dtype in ("bfloat16", "complex64") else full_range
            case(ops.gather, maker(5, 4, 3, dtype=dtype), places, **params)
rows = {"dimension_numbers": GatherDimensionNumbers((1,), (0,), (0,)), "slice_sizes": (1, 2)}
for dtype in ("uint8", "uint64", "int64", "int8"):
    case(ops.gather, normal(300, 2), full_range(30, 1, dtype=dtype), **rows).without("jvp")
promise = {**rows, "mode": GatherScatterMode.PROMISE_IN_BOUNDS}
case(ops.gather, normal(30, 2), integers(0, 30, 9, 1), **promise).linear((0,)).smooth(0)

# --- scatter -------------------------------------------------------------------------------------

for mode in (CLIP, FILL):
    for numbers, sizes, shape in LAYOUTS:
        offset, *rest = numbers
        gone = {*rest[0], *(rest[2] if len(rest) > 2 else ())}
        window = iter([n for a, n in enumerate(sizes) if a not in gone])
        among = iter(shape[:-1])
        rank = len(shape) - 1 + len(offset)
        updates = [next(window) if a in offset else next(among) for a in range(rank)]
        params = {"dimension_numbers": ScatterDimensionNumbers(*numbers), "mode": mode}
        places = integers(-2, 7, *shape)
        operands = normal(5, 4, 3), places, normal(*updates)
        case(ops.scatter, *operands, **params).linear((0, 2)).smooth(0, 2)
        for p in (ops.scatter_add, ops.scatter_sub):
            case(p, *operands, **params).linear((0, 2)).smooth(0, 2)
        case(ops.scatter_mul, *operands, **params).linear((0,)).smooth(0, 2, tolerance=1e-5)
        for p in (ops.scatter_min, ops.scatter_max):
            case(p, *operands, **params).smooth(0, 2)
        for p in (ops.scatter, ops.scatter_add, ops.scatter_mul, ops.scatter_max):
            for dtype in ("int8", "uint32", "bfloat16"):
                maker = full_range if dtype != "bfloat16" else normal
                pair = maker(5, 4, 3, dtype=dtype), maker(*updates, dtype=dtype)
                case(p, pair[0], places, pair[1], **params)
scalar = ShapedArray((), dtypes.float64)
# Many updates meet in few places; some factors are 0.
meeting = ScatterDimensionNumbers((), (0,), (0,))
factors = lambda rng: rng.choice(np.array([0.0, 2.0, -3.0, 0.5]), 12)
operands = normal(3), integers(0, 3, 12, 1), factors
case(ops.scatter_mul, *operands, dimension_numbers=meeting).linear((0,)).smooth(0, 2)
program = stage_closed(lambda a, b: [ops.add(ops.mul(a, a), b)], [scalar] * 2)
operands = normal(3), integers(0, 3, 5, 1), normal(5)
case(ops.scatter, *operands, dimension_numbers=meeting, update_jaxpr=program.jaxpr).without(
    "jvp", "second"
)
