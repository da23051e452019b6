"""Keys and bits: the published vectors, JAX's bits, and compiled programs against the reference."""

import json

import numpy as np
import pytest

from jacana import ops
from jacana.core import config, dtypes
from jacana.core.avals import ShapedArray
from jacana.core.stage import stage
from jacana.runtime import dispatch

# threefry2x32-20 of Random123: key, counter, hash.
VECTORS = (
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
)
SHAPES = ((), (1,), (2, 5), (33,), (0,))


@pytest.mark.parametrize(("key", "counter", "hash"), VECTORS)
def test_published_vectors(key, counter, hash):
    words = [np.uint32(w) for w in (*key, *counter)]
    assert tuple(int(v) for v in ops.threefry2x32(*words)) == hash
    assert tuple(int(v) for v in ops.threefry2x32.reference(*words)) == hash


def run(function, *operands):
    """The function of uint32 words and other arrays as one compiled program."""
    jaxpr, consts = stage(
        lambda *xs: [function(*xs)], [ShapedArray(x.shape, x.dtype) for x in operands]
    )
    (out,) = dispatch.run_jaxpr(jaxpr, consts, list(operands))
    return np.asarray(out)


@pytest.mark.parametrize("partitionable", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("keys", [(), (3,)])
def test_compiled_is_reference(rng, keys, shape, partitionable):
    words = rng.integers(0, 2**32, (*keys, 2), dtype=np.uint32)
    stored = ops.random_wrap.reference(words)
    params = {"shape": shape, "partitionable": partitionable}

    def split(w):
        return ops.random_unwrap(ops.random_split(ops.random_wrap(w), **params))

    want = ops.random_unwrap.reference(ops.random_split.reference(stored, **params))
    assert np.array_equal(run(split, words), want)
    with config.override(enable_x64=True):
        for width in (8, 16, 32, 64):

            def bits(w, width=width):
                return ops.random_bits(ops.random_wrap(w), bit_width=width, **params)

            want = ops.random_bits.reference(stored, bit_width=width, **params)
            made = run(bits, words)
            assert made.dtype == want.dtype and np.array_equal(made, want)


@pytest.mark.parametrize("data", [0, 7, 2**32 - 1])
def test_fold_in(rng, data):
    words = rng.integers(0, 2**32, (4, 2), dtype=np.uint32)
    made = run(
        lambda w, d: ops.random_unwrap(ops.random_fold_in(ops.random_wrap(w), d)),
        words, np.array(data, np.uint32),
    )  # fmt: skip
    folded = ops.random_fold_in.reference(ops.random_wrap.reference(words), np.uint32(data))
    assert np.array_equal(made, ops.random_unwrap.reference(folded))


@pytest.mark.parametrize(
    ("seed", "words"),
    [
        (np.int32(-7), (0, 2**32 - 7)), (np.uint8(200), (0, 200)), (np.int8(-3), (0, 2**32 - 3)),
        (np.int64(-3), (2**32 - 1, 2**32 - 3)), (np.int64(2**40 + 5), (256, 5)),
    ],
)  # fmt: skip
def test_seeds(seed, words):
    with config.override(enable_x64=True):
        made = run(lambda s: ops.random_unwrap(ops.random_seed(s)), np.asarray(seed))
    assert tuple(made.tolist()) == words
    assert np.array_equal(ops.random_unwrap.reference(ops.random_seed.reference(seed)), made)


def test_batched_keys_are_a_loop(rng):
    words = rng.integers(0, 2**32, (3, 2), dtype=np.uint32)
    stored = ops.random_wrap.reference(words)
    params = {"shape": (4,), "bit_width": 32, "partitionable": True}
    whole = ops.random_bits.reference(stored, **params)
    rows = [ops.random_bits.reference(k, **params) for k in stored]
    assert np.array_equal(whole, np.stack(rows))


def test_errors():
    with pytest.raises(TypeError, match="needs random keys"):
        ops.random_bits(np.zeros(2, np.uint32), bit_width=32, shape=())
    with pytest.raises(TypeError, match="two for each key"):
        ops.random_wrap(np.zeros(3, np.uint32))
    with pytest.raises(TypeError, match="must be an integer"):
        ops.random_seed(np.float32(1))


@pytest.mark.parametrize(
    ("name", "partitionable", "x64"),
    [
        ("random_x32", True, False), ("random_x64", True, True),
        ("random_x32_nonpartitionable", False, False),
    ],
)  # fmt: skip
def test_bits_are_those_of_jax(shared_file, name, partitionable, x64):
    cases = json.loads(shared_file(f"golden/{name}.json").read_text())["cases"]
    arrays = np.load(shared_file(f"golden/{name}.npz"))
    checked = 0
    with config.override(enable_x64=x64, threefry_partitionable=partitionable):
        for c in cases:
            if c["fn"] in ("bits", "split", "fold_in") and "error" not in c and not c.get("impl"):
                checked += check_golden(c, arrays[c["id"]], partitionable)
    assert checked > 10


def check_golden(c, want, partitionable):
    """Whether the case could be read as a call of the primitives; if so, it agrees."""
    plain = not c.get("vmap_over") and isinstance(c["seed"], int) and abs(c["seed"]) < 2**31
    if not plain or any(isinstance(a, dict) for a in c["args"]):
        return 0
    key = ops.random_seed.reference(np.int32(c["seed"]))
    if c["fold_in"] is not None:
        key = ops.random_fold_in.reference(key, np.uint32(c["fold_in"]))
    args = list(c["args"])
    shape = args.pop(0) if args else c["kwargs"].get("shape", c["kwargs"].get("num", ()))
    if c["fn"] == "fold_in":
        key = ops.random_fold_in.reference(key, np.uint32(shape % 2**32))
        assert np.array_equal(ops.random_unwrap.reference(key), want), c
        return 1
    shape = tuple(shape) if isinstance(shape, list | tuple) else (shape,)
    if c["fn"] == "split":
        shape = shape if shape else (2,)
        keys = ops.random_split.reference(key, shape=shape, partitionable=partitionable)
        assert np.array_equal(ops.random_unwrap.reference(keys), want), c
        return 1
    width = 8 * dtypes.dtype(want.dtype).itemsize
    made = ops.random_bits.reference(key, shape=shape, bit_width=width, partitionable=partitionable)
    assert np.array_equal(made, want), c
    return 1
