"""Cases of products summed over axes, of sorting and of random keys."""

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.ops import ConvDimensionNumbers
from jacana.testing.cases import full_range, integers, normal, special, uniform
from tests.ops.cases import case


def positive(*shape, dtype="float64"):
    """Numbers whose sums lose no digits."""
    return uniform(0.5, 1.5, *shape, dtype=dtype)


# --- dot_general ---------------------------------------------------------------------------------

PRODUCTS = (
    ((3, 4), (3, 4), (((1,), (1,)), ((), ()))),
    ((3, 4), (4, 5), (((1,), (0,)), ((), ()))),
    ((3, 4), (3, 4), (((1,), (1,)), ((0,), (0,)))),
    ((3, 4), (3, 4), (((0, 1), (0, 1)), ((), ()))),
    ((3,), (2, 2), (((), ()), ((), ()))),
    ((2, 3, 4, 5), (4, 2, 5, 6), (((3,), (2,)), ((0,), (1,)))),
    ((2, 3, 4, 5), (4, 2, 5, 6), (((3, 2), (2, 0)), ((0,), (1,)))),
    ((3, 0), (0, 4), (((1,), (0,)), ((), ()))),
    ((0, 3), (3, 4), (((1,), (0,)), ((), ()))),
)  # fmt: skip
for x, y, numbers in PRODUCTS:
    for dtype in ("float64", "complex128"):
        operands = positive(*x, dtype=dtype), positive(*y, dtype=dtype)
        made = case(ops.dot_general, *operands, dimension_numbers=numbers)
        made.linear((0,), (1,)).within(200, 200)
    operands = integers(-9, 9, *x), integers(-9, 9, *y)
    case(ops.dot_general, *operands, dimension_numbers=numbers)
MATRICES = ((1,), (0,)), ((), ())
for dtype in ("float16", "bfloat16", "float32", "complex64"):
    for m, k, n in ((3, 40, 5), (33, 40, 17)):
        operands = uniform(0, 1, m, k, dtype=dtype), uniform(0, 1, k, n, dtype=dtype)
        case(ops.dot_general, *operands, dimension_numbers=MATRICES).within(32, 32)
for dtype in ("bool", "int8", "uint16", "int64"):
    operands = full_range(3, 20, dtype=dtype), full_range(20, 5, dtype=dtype)
    case(ops.dot_general, *operands, dimension_numbers=MATRICES)
for dtype, wide in (("int8", "int32"), ("bfloat16", "float32"), ("float32", "float64")):
    maker = full_range if dtype == "int8" else positive
    case(
        ops.dot_general, maker(3, 4, dtype=dtype), maker(4, 5, dtype=dtype),
        dimension_numbers=MATRICES, preferred_element_type=dtypes.dtype(wide),
    ).within(200, 200)  # fmt: skip
# Large enough for the library, with every order of axes.
for axis_x in (0, 1):
    for axis_y in (0, 1):
        x, y = ((20, 30), (30, 20))[axis_x], ((20, 25), (25, 20))[axis_y]
        numbers = ((axis_x,), (axis_y,)), ((), ())
        case(ops.dot_general, positive(*x), positive(*y), dimension_numbers=numbers).linear(
            (0,), (1,)
        ).within(200, 200)
numbers = ((2,), (1,)), ((0,), (0,))
case(ops.dot_general, positive(2, 20, 30), positive(2, 30, 20), dimension_numbers=numbers).linear(
    (0,), (1,)
).within(200, 200)

# --- conv_general_dilated ------------------------------------------------------------------------

FIRST = ConvDimensionNumbers((0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3))
LAST = ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
LINE = ConvDimensionNumbers((0, 1, 2), (0, 1, 2), (0, 1, 2))
POINT = ConvDimensionNumbers((0, 1), (0, 1), (0, 1))
CONVOLUTIONS = (
    ((2, 3, 4, 5), (4, 3, 2, 3), FIRST, {}),
    ((1, 4, 5, 3), (2, 3, 3, 4), LAST, {"window_strides": (2, 1), "padding": ((1, 2), (0, 3))}),
    (
        (1, 4, 5, 2), (2, 3, 2, 3), LAST,
        {"padding": ((1, 2), (1, 3)), "lhs_dilation": (2, 1), "rhs_dilation": (1, 2)},
    ),
    ((2, 4, 4, 4), (6, 2, 2, 3), FIRST, {"feature_group_count": 2}),
    (
        (4, 3, 4, 5), (6, 3, 2, 3), FIRST,
        {"batch_group_count": 2, "window_strides": (2, 3), "padding": ((1, 0), (-1, 1))},
    ),
    (
        (2, 4, 7), (6, 2, 3), LINE,
        {"feature_group_count": 2, "lhs_dilation": (2,), "padding": ((1, 1),)},
    ),
    ((2, 3), (4, 3), POINT, {}),
    # Large enough for the library.
    ((2, 4, 6, 7), (6, 4, 3, 3), FIRST, {"padding": ((1, 1), (1, 2))}),
    ((2, 6, 7, 4), (3, 3, 4, 6), LAST, {"window_strides": (1, 2), "rhs_dilation": (2, 1)}),
    ((2, 6, 6, 7), (9, 2, 3, 3), FIRST, {"feature_group_count": 3}),
    ((6, 6, 6, 7), (9, 6, 3, 3), FIRST, {"batch_group_count": 3, "padding": ((1, 1), (0, 0))}),
    ((0, 3, 5), (4, 3, 2), LINE, {}),
    # Computed directly: vectors along the last spatial axis, or along features; or fused.
    ((2, 9, 4, 12), (34, 9, 1, 2), FIRST, {"batch_group_count": 2, "padding": ((0, 0), (0, 1))}),
    (
        (2, 2, 5, 25), (3, 2, 2, 9), FIRST,
        {"window_strides": (2, 2), "padding": ((0, 1), (3, 3)), "rhs_dilation": (2, 1)},
    ),
    ((1, 5, 5, 8), (1, 2, 4, 34), LAST, {"feature_group_count": 2, "lhs_dilation": (1, 2)}),
    ((1, 1, 16, 66), (1, 1, 3, 3), FIRST, {"padding": ((1, 1), (1, 1))}),
)  # fmt: skip
for x, w, numbers, given in CONVOLUTIONS:
    ones = (1,) * (len(x) - 2)
    params = {
        "window_strides": ones, "padding": ((0, 0),) * len(ones), "lhs_dilation": ones,
        "rhs_dilation": ones, "feature_group_count": 1, "batch_group_count": 1,
        "dimension_numbers": numbers, **given,
    }  # fmt: skip
    made = case(ops.conv_general_dilated, positive(*x), positive(*w), **params)
    made.linear((0,), (1,)).within(200, 200)
    operands = positive(*x, dtype="bfloat16"), positive(*w, dtype="bfloat16")
    case(ops.conv_general_dilated, *operands, **params).within(2, 2)

# --- sorting -------------------------------------------------------------------------------------


def distinct(*shape):
    return lambda rng: rng.permutation(int(np.prod(shape))).reshape(shape).astype(np.float64)


for dimension in (0, 1):
    params = {"dimension": dimension, "is_stable": True}
    case(ops.sort, distinct(5, 6), **params, num_keys=1)
    case(ops.sort, integers(0, 3, 5, 6), distinct(5, 6), normal(5, 6), **params, num_keys=2)
    case(ops.sort, integers(0, 3, 5, 6), normal(5, 6), **params, num_keys=1).smooth(1)
    for dtype in ("float16", "bfloat16", "float32"):
        case(ops.sort, special(5, 6, dtype=dtype), integers(0, 9, 5, 6), **params, num_keys=1)
    for dtype in ("bool", "int4", "uint8", "int64", "uint64"):
        case(ops.sort, full_range(5, 6, dtype=dtype), **params, num_keys=1)
case(ops.sort, normal(7, dtype="complex128"), dimension=0, is_stable=True, num_keys=1)
case(ops.sort, normal(0, 3), dimension=0, is_stable=True, num_keys=1)
for axis in (0, 1):
    case(ops.top_k, distinct(5, 6), k=3, axis=axis)
    for dtype in ("bfloat16", "float32"):
        case(ops.top_k, special(5, 6, dtype=dtype), k=2, axis=axis)
    for dtype in ("int4", "uint8", "int64", "uint64"):
        case(ops.top_k, full_range(5, 6, dtype=dtype), k=2, axis=axis)
case(ops.top_k, normal(4), k=0, axis=0)
for largest in (True, False):
    params = {
        "reduction_dimension": -1, "recall_target": 0.95, "is_max_k": largest,
        "reduction_input_size_override": -1, "aggregate_to_topk": True,
    }  # fmt: skip
    case(ops.approx_top_k, distinct(3, 6), k=2, **params)
