"""Cases of threefry2x32, keys and random bits."""

from jacana import ops
from jacana.testing.cases import full_range, keys
from tests.ops.cases import case

word = full_range(17, dtype="uint32")
case(ops.threefry2x32, word, word, word, word)
single = full_range(dtype="uint32")
case(ops.threefry2x32, single, single, word, word)
case(ops.threefry2x32, single, single, single, single)
empty = full_range(0, dtype="uint32")
case(ops.threefry2x32, single, single, empty, empty)

for dtype in ("int8", "uint8", "int32", "uint32", "int64", "uint64"):
    case(ops.random_seed, full_range(9, dtype=dtype), impl="fry")
case(ops.random_wrap, full_range(3, 2, dtype="uint32"), impl="fry")
case(ops.random_wrap, full_range(0, 2, dtype="uint32"), impl="fry")
for shape in ((), (5,), (2, 3), (0,)):
    case(ops.random_unwrap, keys(*shape))
    case(ops.random_clone, keys(*shape))
    case(ops.random_fold_in, keys(*shape), full_range(*shape, dtype="uint32"))
for partitionable in (True, False):
    for shape in ((), (4,), (2, 5), (0,)):
        params = {"shape": shape, "partitionable": partitionable}
        for operand in (keys(), keys(3), keys(2, 2)):
            case(ops.random_split, operand, **params)
            for width in (8, 16, 32, 64):
                case(ops.random_bits, operand, bit_width=width, **params)

# --- array primitives move keys, compare and choose them ------------------------------------------

case(ops.eq, keys(2, 3), keys(2, 3))
case(ops.ne, keys(), keys())
case(ops.copy, keys(4))
case(ops.reshape, keys(6), new_sizes=(2, 3))
case(ops.transpose, keys(2, 3), permutation=(1, 0))
case(ops.broadcast_in_dim, keys(3), shape=(2, 3), broadcast_dimensions=(1,))
case(ops.concatenate, keys(2, 3), keys(1, 3), dimension=0)
case(ops.stack, keys(3), keys(3), axis=1)
case(ops.unstack, keys(2, 3), axis=0)
case(ops.slice, keys(5), start_indices=(1,), limit_indices=(4,), strides=None)
case(ops.select_n, full_range(4, dtype="bool"), keys(4), keys(4))
