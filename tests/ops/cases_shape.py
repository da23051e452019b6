"""Cases of the primitives that move elements: every dtype, sizes of 0 and 1, and no axes at all."""

from jacana import ops
from jacana.core import dtypes
from jacana.testing.cases import full_range, integers, normal, special
from tests.ops.cases import case

DTYPES = ("bool", "int4", "uint8", "int64", "float16", "bfloat16", "float32", "complex64",
          "int2", "float8_e4m3fn", "float4_e2m1fn")  # fmt: skip


def element_maker(*shape, dtype):
    if "float" in dtype:
        return special(*shape, dtype=dtype)
    return normal(*shape, dtype=dtype) if dtype == "complex64" else full_range(*shape, dtype=dtype)


def moved(primitive, *shape, **params):
    """A linear map of one operand, which changes no element."""
    case(primitive, normal(*shape), **params).linear((0,))
    case(primitive, normal(*shape, dtype="complex128"), **params).linear((0,))


# --- broadcast_in_dim ----------------------------------------------------------------------------

moved(ops.broadcast_in_dim, 3, 4, shape=(2, 3, 5, 4), broadcast_dimensions=(1, 3))
moved(ops.broadcast_in_dim, 1, 4, shape=(2, 3, 4), broadcast_dimensions=(1, 2))
moved(ops.broadcast_in_dim, 1, 1, shape=(1, 4), broadcast_dimensions=(0, 1))
moved(ops.broadcast_in_dim, shape=(2, 17), broadcast_dimensions=())
moved(ops.broadcast_in_dim, shape=(), broadcast_dimensions=())
moved(ops.broadcast_in_dim, 3, shape=(3, 0), broadcast_dimensions=(0,))
moved(ops.broadcast_in_dim, 0, 1, shape=(0, 3), broadcast_dimensions=(0, 1))
for dtype in DTYPES:
    maker = element_maker(3, 1, dtype=dtype)
    case(ops.broadcast_in_dim, maker, shape=(3, 2, 5), broadcast_dimensions=(0, 2))

# --- reshape, transpose, squeeze, rev ------------------------------------------------------------

for source, target in (
    ((3, 4), (12,)), ((3, 4), (2, 6)), ((2, 3, 10, 4), (6, 5, 8)), ((3, 4), (1, 3, 1, 4, 1)),
    ((), (1, 1)), ((1, 1), ()), ((0, 3), (3, 0, 2)), ((6, 10), (4, 15)),
):  # fmt: skip
    moved(ops.reshape, *source, new_sizes=target)
moved(ops.transpose, 2, 3, 10, permutation=(2, 0, 1))
moved(ops.transpose, 3, 0, permutation=(1, 0))
moved(ops.transpose, permutation=())
moved(ops.squeeze, 1, 3, 1, dimensions=(0, 2))
moved(ops.squeeze, 3, dimensions=())
moved(ops.squeeze, 1, 0, dimensions=(0,))
moved(ops.rev, 3, 17, dimensions=(1,))
moved(ops.rev, 3, 4, dimensions=(0, 1))
moved(ops.rev, 0, dimensions=(0,))
for dtype in DTYPES:
    maker = element_maker(4, 17, dtype=dtype)
    case(ops.reshape, maker, new_sizes=(17, 4))
    case(ops.transpose, maker, permutation=(1, 0))
    case(ops.rev, maker, dimensions=(1,))
    case(ops.squeeze, element_maker(4, 1, dtype=dtype), dimensions=(1,))

# --- iota, split, concatenate --------------------------------------------------------------------

for dtype in ("int32", "uint8", "int4", "float32", "bfloat16", "complex64"):
    case(ops.iota, shape=(3, 17), dimension=1, dtype=dtypes.dtype(dtype)).without("batch")
case(ops.iota, shape=(300,), dimension=0, dtype=dtypes.uint8).without("batch")
case(ops.iota, shape=(0, 2), dimension=1, dtype=dtypes.int32).without("batch")
moved(ops.split, 3, 6, sizes=(1, 0, 5), axis=1)
moved(ops.split, 4, 1, sizes=(2, 2), axis=0)
for dtype in DTYPES:
    case(ops.split, element_maker(5, 3, dtype=dtype), sizes=(4, 1), axis=0)
    parts = [element_maker(2, n, dtype=dtype) for n in (3, 0, 17)]
    case(ops.concatenate, *parts, dimension=1)
for dtype in ("float64", "complex128"):
    parts = [normal(n, 4, dtype=dtype) for n in (1, 3, 0, 2)]
    case(ops.concatenate, *parts, dimension=0).linear((0, 1, 2, 3))
    case(ops.concatenate, normal(2, dtype=dtype), dimension=0).linear((0,))
# So many that each is copied by a loop of its own.
many = [normal(3, n) for n in (1, 2, 3, 4, 5, 1, 2, 3, 4, 17)]
case(ops.concatenate, *many, dimension=1).linear(tuple(range(10)))

# --- stack, unstack, tile ------------------------------------------------------------------------

for axis in (0, 1, 2):
    for dtype in ("float64", "complex128"):
        parts = [normal(3, 4, dtype=dtype)] * 3
        case(ops.stack, *parts, axis=axis).linear((0, 1, 2))
case(ops.stack, normal(), normal(), axis=0).linear((0, 1))
case(ops.stack, normal(3), axis=1).linear((0,))
case(ops.stack, normal(0), normal(0), axis=1).linear((0, 1))
for shape, axis in (((3, 4), 0), ((3, 4), 1), ((2,), 0), ((3, 0), 0), ((0, 3), 1)):
    moved(ops.unstack, *shape, axis=axis)
for shape, reps in (((3, 4), (2, 3)), ((3,), (1,)), ((3, 1), (0, 2)), ((0,), (3,)), ((), ())):
    moved(ops.tile, *shape, reps=reps)
for dtype in DTYPES:
    maker = element_maker(2, 17, dtype=dtype)
    case(ops.stack, maker, maker, axis=1)
    case(ops.unstack, maker, axis=0)
    case(ops.tile, maker, reps=(3, 2))

# --- pad -----------------------------------------------------------------------------------------

PADDINGS = (
    ((0, 0, 0), (0, 0, 0)),
    ((1, 2, 0), (0, -1, 0)),
    ((-1, -1, 0), (-2, 0, 0)),
    ((1, 1, 2), (-1, 3, 1)),
    ((-1, 5, 1), (2, -3, 3)),
    ((-6, 4, 1), (0, 0, 0)),
)
for padding in PADDINGS:
    case(ops.pad, normal(3, 4), normal(), padding_config=padding).linear((0, 1))
case(ops.pad, normal(), normal(), padding_config=()).linear((0, 1))
case(ops.pad, normal(0, 3), normal(), padding_config=((2, 1, 3), (0, 0, 0))).linear((0, 1))
for dtype in DTYPES:
    operands = element_maker(3, 17, dtype=dtype), element_maker(dtype=dtype)
    case(ops.pad, *operands, padding_config=((1, 0, 1), (-2, 3, 0)))
case(ops.pad, integers(-9, 9, 4), integers(0, 9), padding_config=((-2, -2, 0),))
