"""Cases of reductions, cumulative operations and folds: long and short axes, nan, ties, no axes."""

import numpy as np

from jacana import ops
from jacana.core import config, dtypes
from jacana.core.avals import ShapedArray
from jacana.core.stage import stage_closed
from jacana.testing.cases import full_range, integers, normal, special, uniform
from tests.ops.cases import case

AXES = ((0,), (1,), (2,), (0, 2), (0, 1, 2), ())
HALVES = ("float16", "bfloat16")
INTEGERS = ("int4", "uint8", "int32", "int64", "uint64")


def tied(*shape, dtype="float64"):
    """Few values, so that many are equal."""
    return lambda rng: np.asarray(rng.integers(0, 3, shape)).astype(dtypes.dtype(dtype))


def distinct(*shape):
    """No two values closer than 1, in any order."""

    def make(rng):
        return rng.permutation(int(np.prod(shape))).reshape(shape).astype(np.float64)

    return make


# --- sums and products: in the kernel's own order, so a few ulps from NumPy's --------------------

for axes in AXES:
    for dtype in ("float64", "complex128"):
        case(ops.reduce_sum, normal(3, 17, 2, dtype=dtype), axes=axes).linear((0,)).within(200, 0)
        operand = uniform(0.5, 1.5, 3, 5, 2, dtype=dtype)
        case(ops.reduce_prod, operand, axes=axes).within(200, 0).smooth(tolerance=1e-5)
for dtype in (*HALVES, "float32", "float8_e4m3fn"):
    case(ops.reduce_sum, uniform(0, 1, 9, 40, dtype=dtype), axes=(1,)).within(8)
    case(ops.reduce_prod, uniform(0.9, 1.1, 9, 40, dtype=dtype), axes=(0,)).within(8)
for n in (0, 1, 15, 16, 17, 1000, 8193):
    case(ops.reduce_sum, uniform(0, 1, n, dtype="float32"), axes=(0,)).within(64)
case(ops.reduce_sum, normal(0, 3), axes=(0,)).linear((0,))
case(ops.reduce_sum, normal(0, 3), axes=(1,)).linear((0,))
case(ops.reduce_prod, normal(0, 3), axes=(0,))
for dtype in INTEGERS:
    case(ops.reduce_sum, full_range(5, 40, dtype=dtype), axes=(1,))
    case(ops.reduce_prod, full_range(5, 4, dtype=dtype), axes=(1,))
# Products with zeros have derivatives too.
zeros = [[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [1.0, 2.0, 3.0]]
case(ops.reduce_prod, lambda rng: np.array(zeros), axes=(1,))

# --- extremes ------------------------------------------------------------------------------------

for p in (ops.reduce_max, ops.reduce_min):
    for axes in AXES:
        case(p, distinct(3, 17, 2), axes=axes)
    for dtype in (*HALVES, "float32", "float8_e5m2"):
        case(p, special(9, 40, dtype=dtype), axes=(1,)).within(0.5)
    for dtype in ("bool", *INTEGERS):
        case(p, full_range(9, 40, dtype=dtype), axes=(0,))
    case(p, normal(0, 3), axes=(0,)).without("jvp", "second")
    case(p, normal(0, 3), axes=(1,))
for p in (ops.argmax, ops.argmin):
    for axis in range(3):
        case(p, tied(3, 40, 2), axes=(axis,), index_dtype=dtypes.int32)
    for dtype in (*HALVES, "float32"):
        case(p, special(9, 40, dtype=dtype), axes=(1,), index_dtype=dtypes.int64)
    for dtype in ("bool", *INTEGERS):
        case(p, full_range(9, 40, dtype=dtype), axes=(0,), index_dtype=dtypes.uint8)
    case(p, normal(0, 3), axes=(1,), index_dtype=dtypes.int32)
for p in (ops.reduce_and, ops.reduce_or, ops.reduce_xor):
    for dtype in ("bool", *INTEGERS):
        case(p, full_range(9, 3, dtype=dtype), axes=(1,))
        case(p, full_range(2, 9, 3, dtype=dtype), axes=(0, 2))
    case(p, full_range(0, 3, dtype="int32"), axes=(0,))

# --- cumulative ----------------------------------------------------------------------------------

for reverse in (False, True):
    for axis in range(3):
        params = {"axis": axis, "reverse": reverse}
        case(ops.cumsum, normal(3, 5, 4), **params).linear((0,)).within(8)
        case(ops.cumprod, normal(3, 5, 4), **params).smooth(tolerance=1e-5)
        case(ops.cummax, distinct(3, 5, 4), **params)
        case(ops.cummin, distinct(3, 5, 4), **params)
        case(ops.cumlogsumexp, normal(3, 5, 4), **params).within(32)
        operands = normal(3, 5, 4), normal(3, 5, 4)
        case(ops.linear_recurrence, *operands, **params).linear((1,)).within(200)
for p in (ops.cumsum, ops.cumprod, ops.cummax, ops.cummin):
    for dtype in (*HALVES, "float32"):
        case(p, uniform(0.5, 1.5, 3, 20, dtype=dtype), axis=1).within(2)
    for dtype in INTEGERS:
        case(p, full_range(9, 3, dtype=dtype), axis=0)
    case(p, normal(0, 3), axis=0)
    case(p, normal(1, 3), axis=0)
case(ops.cummax, special(40, dtype="float32"), axis=0)
case(ops.cumsum, normal(7, dtype="complex128"), axis=0).linear((0,)).within(8)
case(ops.cumprod, normal(7, 2, dtype="complex128"), axis=0).within(200)
case(ops.cumlogsumexp, special(9, 8, dtype="float32"), axis=1).within(64)
case(ops.cumlogsumexp, uniform(-1, 1, 9, dtype="bfloat16"), axis=0).within(2)
case(ops.linear_recurrence, normal(4, dtype="float16"), normal(4, dtype="float16"), axis=0).within(
    2
)

# --- folds with any operator ---------------------------------------------------------------------

scalar = ShapedArray((), dtypes.float64)
with config.override(enable_x64=True):
    twice = stage_closed(lambda a, b: [ops.add(a, ops.mul(b, np.float64(2)))], [scalar] * 2)
crossed = stage_closed(lambda a, b, c, d: [ops.sub(a, d), ops.add(b, ops.mul(c, d))], [scalar] * 4)
for dimensions in ((0,), (1,), (0, 1), ()):
    params = {"dimensions": dimensions, "jaxpr": twice}
    case(ops.reduce, normal(3, 4), normal(), **params)
    operands = normal(3, 4), normal(3, 4), normal(), normal()
    case(ops.reduce, *operands, dimensions=dimensions, jaxpr=crossed)
case(ops.reduce, normal(0, 4), normal(), dimensions=(0,), jaxpr=twice)

# --- windows -------------------------------------------------------------------------------------

WINDOWS = (
    {"window_dimensions": (2, 3), "window_strides": (1, 1), "padding": ((0, 0), (0, 0))},
    {"window_dimensions": (2, 3), "window_strides": (2, 1), "padding": ((1, 0), (2, 2))},
    {
        "window_dimensions": (2, 3), "window_strides": (2, 3), "padding": ((1, 1), (0, 1)),
        "base_dilation": (2, 1), "window_dilation": (1, 2),
    },
    {
        "window_dimensions": (5, 3), "window_strides": (1, 1), "padding": ((-1, 2), (0, -2)),
        "base_dilation": (3, 2), "window_dilation": (1, 1),
    },
)  # fmt: skip
for params in WINDOWS:
    case(ops.reduce_window_sum, normal(5, 6), **params).linear((0,)).within(64)
    case(ops.reduce_window_sum, integers(-9, 9, 5, 6), **params)
    case(ops.reduce_window_sum, normal(5, 6, dtype="bfloat16"), **params).within(2)
    case(ops.reduce_window, normal(5, 6), normal(), jaxpr=twice, **params).without("batch")
    for p, select in ((ops.reduce_window_max, ops.ge), (ops.reduce_window_min, ops.le)):
        case(p, distinct(5, 6), **params)
        case(p, special(5, 6, dtype="float32"), **params).without("jvp")
        windows = ops.reduce_window_sum.type_rule(ShapedArray((5, 6), dtypes.float64), **params)
        select_params = {"select_prim": select, **params}
        case(ops.select_and_gather_add, normal(5, 6), tied(5, 6), **select_params).linear(
            (0,)
        ).smooth(0)
        case(
            ops.select_and_scatter_add, normal(*windows.shape), tied(5, 6), **select_params
        ).linear((0,)).smooth(0).within(64)
empty = {"window_dimensions": (), "window_strides": (), "padding": ()}
case(ops.reduce_window_sum, normal(), **empty).linear((0,))
