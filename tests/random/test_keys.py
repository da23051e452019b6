"""Keys as arrays: made, split, compared, indexed, joined, traced and printed; and bad ones."""

import copy
import pickle

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import random
from jacana.core import config, dtypes


def words(keys):
    return np.asarray(random.key_data(keys)).tolist()


def test_seeds():
    assert words(random.key(0)) == [0, 0]
    assert words(random.key(-1)) == [0, 0xFFFFFFFF]
    assert words(random.key(2**40 + 3)) == [0, 3]
    assert words(random.key(np.uint32(7))) == words(random.key(jnp.int32(7))) == [0, 7]
    with config.override(enable_x64=True):
        assert words(random.key(2**40 + 3)) == [256, 3]
        assert words(random.key(-1)) == [0xFFFFFFFF, 0xFFFFFFFF]


def test_old_style_is_words():
    old = random.PRNGKey(42)
    assert (old.shape, old.dtype, old.tolist()) == ((2,), np.uint32, [0, 42])
    assert random.split(old).dtype == np.uint32
    assert words(random.wrap_key_data(old)) == [0, 42]
    for function in (random.split, lambda k: random.fold_in(k, 3), random.clone):
        assert words(function(old)) == words(function(random.key(42)))
    assert random.uniform(old) == random.uniform(random.key(42))
    assert random.uniform(np.asarray(old)) == random.uniform(old)
    assert random.key_impl(old) == random.key_impl(random.key(0)) == "threefry2x32"


def test_custom_prng_makes_PRNGKey_typed():
    with config.override(enable_custom_prng=True):
        assert dtypes.is_key(random.PRNGKey(0).dtype)


def test_dtype():
    keys = random.split(random.key(0), 3)
    assert keys.dtype == random.key(1).dtype == random.key_dtype()
    assert str(keys.dtype) == "key<fry>"
    assert jnp.issubdtype(keys.dtype, dtypes.prng_key)
    assert words(random.key(5, dtype=keys.dtype)) == [0, 5]


def test_printing():
    assert (
        repr(random.key(0))
        == str(random.key(0))
        == ("Array((), dtype=key<fry>) overlaying:\n[0 0]")
    )
    assert repr(random.split(random.key(1), 3)) == (
        "Array((3,), dtype=key<fry>) overlaying:\n"
        "[[ 507451445 1853169794]\n [1948878966 4237131848]\n [2441914641 3819641963]]"
    )
    assert repr(random.PRNGKey(42)) == "Array([ 0, 42], dtype=uint32)"
    assert f"{random.key(0)}" == repr(random.key(0))


def test_equality():
    keys = random.split(random.key(0), 3)
    assert bool(random.key(0) == random.key(0))
    assert (keys == keys[1]).tolist() == [False, True, False]
    assert (keys != keys).tolist() == [False, False, False]


def test_indexing_and_iteration():
    keys = random.split(random.key(0), 3)
    expected = words(keys)
    assert len(keys) == 3
    assert [words(k) for k in keys] == expected
    assert words(keys[1:]) == expected[1:]
    assert words(keys[jnp.array([2, 0])]) == [expected[2], expected[0]]
    assert keys[0, None].shape == (1,)
    assert words(keys.at[0].set(keys[2])) == [expected[2], *expected[1:]]
    assert random.split(random.key(0), (2, 3)).shape == (2, 3)
    assert random.split(random.key(0), 0).shape == (0,)


def test_array_functions():
    keys = random.split(random.key(0), 4)
    expected = words(keys)
    assert words(jnp.stack([keys[0], keys[3]])) == [expected[0], expected[3]]
    assert words(jnp.concatenate([keys[2:], keys[:2]])) == expected[2:] + expected[:2]
    assert words(keys.reshape(2, 2)[1]) == expected[2:]
    assert words(jnp.where(np.array([True, False, True, False]), keys, keys[0])) == [
        expected[0], expected[0], expected[2], expected[0],
    ]  # fmt: skip
    assert jnp.broadcast_to(keys[0], (2, 3)).shape == (2, 3)
    assert words(jnp.take(keys, 3)) == expected[3]


def test_made_like_others():
    key = random.key(5)
    keys = random.split(key, 3)
    assert words(jnp.zeros_like(keys)) == words(jnp.empty_like(keys)) == [[0, 0]] * 3
    assert words(jnp.ones_like(key)) == [1, 1]
    assert words(jnp.full_like(keys, key)) == words(jnp.full((3,), key)) == [[0, 5]] * 3
    assert words(jnp.zeros((2,), key.dtype)) == words(jnp.empty(2, key.dtype)) == [[0, 0]] * 2
    assert words(jnp.array([key, keys[0]])) == [words(key), words(keys[0])]
    assert words(jnp.asarray([[key], [key]])) == [[[0, 5]], [[0, 5]]]
    assert words(jacana.jit(lambda k: jnp.stack([k, k]))(key)) == [[0, 5]] * 2
    assert words(jacana.jit(jnp.zeros_like)(keys)) == [[0, 0]] * 3
    assert jnp.zeros_like(key, dtype="int32") == 0


def test_copies():
    key = random.key(3)
    assert words(pickle.loads(pickle.dumps(key))) == [0, 3]
    assert words(copy.deepcopy(key)) == [0, 3]


def test_traced():
    keys = random.split(random.key(0), 3)

    @jacana.jit
    def step(state):
        key, used = random.split(state["key"])
        return {"key": key, "x": random.uniform(used)}

    state = step({"key": keys[0], "x": jnp.float32(0)})
    key, used = random.split(keys[0])
    assert words(state["key"]) == words(key)
    assert state["x"] == random.uniform(used)
    drawn = jacana.vmap(lambda k: random.normal(k, (2,)))(keys)
    np.testing.assert_array_equal(drawn, [random.normal(k, (2,)) for k in keys])
    made = jacana.vmap(random.key)(jnp.arange(3))
    assert words(made) == [[0, 0], [0, 1], [0, 2]]
    folded = jacana.vmap(random.fold_in, (None, 0))(keys[0], jnp.arange(2))
    assert words(folded) == [words(random.fold_in(keys[0], i)) for i in range(2)]
    assert jacana.eval_shape(random.split, keys[0]).shape == (2,)


def test_seed_offset():
    with config.override(random_seed_offset=3):
        assert words(random.key(4)) == words(random.key(np.int32(4))) == [0, 7]
        assert random.PRNGKey(jnp.uint32(4)).tolist() == [0, 7]


def test_old_style_can_be_refused():
    old = random.PRNGKey(0)
    text = "Legacy uint32 key array passed as key to jax.random.split. Make keys with"
    with config.override(legacy_prng_key="error"), pytest.raises(ValueError, match=text):
        random.split(old)
    with config.override(legacy_prng_key="warn"), pytest.warns(UserWarning, match="uniform"):
        random.uniform(old)


def test_configuration_is_part_of_programs():
    key = random.key(0)
    with config.override(threefry_partitionable=False):
        other = random.uniform(key, (3,))
    assert other.tolist() != random.uniform(key, (3,)).tolist()


ERRORS = (
    (lambda k: random.uniform(3), TypeError, "expected an array of words; got 3"),
    (lambda k: random.uniform(None), TypeError, "unexpected PRNG key type"),
    (lambda k: random.uniform(jnp.ones(2)), TypeError, "key_data.dtype = uint32"),
    (lambda k: random.uniform(jnp.ones(3, "uint32")), TypeError, "key_data.shape to end with"),
    (lambda k: random.uniform(random.split(k, 3)), ValueError, "accepts a single key"),
    (lambda k: random.split(random.split(k, 3)), ValueError, "Use jax.vmap for batching"),
    (lambda k: random.split(k, 2.0), TypeError, "integer"),
    (lambda k: random.fold_in(k, jnp.arange(3)), TypeError, "fold_in accepts a scalar"),
    (lambda k: random.fold_in(k, -1), OverflowError, "out of bounds for uint32"),
    (lambda k: random.key(1.5), TypeError, "seed must be an integer"),
    (lambda k: random.key("a"), TypeError, "seed must be an integer"),
    (lambda k: random.key(jnp.arange(3)), TypeError, "accepts a scalar seed"),
    (lambda k: random.key(k), TypeError, "was given a PRNG key"),
    (lambda k: random.key(2**63), OverflowError, "too large"),
    (lambda k: random.key(0, impl="foo"), ValueError, "unrecognized PRNG implementation"),
    (lambda k: random.key(0, impl="rbg"), NotImplementedError, "not there yet"),
    (lambda k: k + 1, TypeError, "add does not accept dtypes key<fry>, int32"),
    (lambda k: 1 + k, TypeError, "add does not accept dtypes int32, key<fry>"),
    (lambda k: bool(k), TypeError, "bool of an array of PRNG keys"),
    (lambda k: bool(random.split(k)), TypeError, "bool of an array of PRNG keys"),
    (lambda k: k.item(), TypeError, "item of an array of PRNG keys"),
    (lambda k: k.tolist(), TypeError, "tolist of an array of PRNG keys"),
    (lambda k: f"{k:.2f}", TypeError, "unsupported format string"),
    (lambda k: np.asarray(k), TypeError, "key_data"),
    (lambda k: k < k, TypeError, "does not accept"),
)  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_errors(call, error, text):
    with pytest.raises(error, match=text.replace("(", r"\(")):
        call(random.key(0))
