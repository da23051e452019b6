"""Cases of threefry2x32. Laws read no keys: test_random_bits.py holds what works on them."""

import numpy as np

from jacana import ops
from jacana.testing.cases import full_range
from jacana.testing.laws import LAWS
from tests.ops.cases import case

word = full_range(17, dtype="uint32")
case(ops.threefry2x32, word, word, word, word)
single = full_range(dtype="uint32")
case(ops.threefry2x32, single, single, word, word)
case(ops.threefry2x32, single, single, single, single)
empty = full_range(0, dtype="uint32")
case(ops.threefry2x32, single, single, empty, empty)

KEY_PRIMITIVES = (
    ops.random_seed, ops.random_wrap, ops.random_unwrap, ops.random_clone, ops.random_fold_in,
    ops.random_split, ops.random_bits,
)  # fmt: skip
for primitive in KEY_PRIMITIVES:
    case(primitive, lambda rng: np.zeros((), np.uint32)).without(*LAWS)
