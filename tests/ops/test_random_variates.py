"""Gamma, Poisson and binomial primitives: compiled beside the reference, batched beside a loop."""

import numpy as np
import pytest

import jacana
from jacana import ops, random
from jacana.core import config

# Parameters in the range of each, and how many rounds where that is an operand.
PRIMITIVES = {
    "random_poisson_by_products": ((0.1, 10.0),),
    "random_poisson_rounds": ((10.0, 300.0),),
    "random_poisson": ((10.0, 300.0), 5),
    "random_binomial_by_gaps": ((1.0, 20.0), (0.05, 0.5)),
    "random_binomial_rounds": ((100.0, 1000.0), (0.2, 0.5)),
    "random_binomial": ((100.0, 1000.0), (0.2, 0.5), 5),
}


def operands(name, shape, batch, dtype, rng):
    """Parameters of `shape`; rounds of the shape of the keys."""
    made = []
    for bounds in PRIMITIVES[name]:
        value = rng.uniform(*bounds, shape) if isinstance(bounds, tuple) else np.full(batch, bounds)
        made.append(value.astype(dtype))
    return made


def stored(keys):
    """Keys as references take them: one uint64 each."""
    return np.asarray(random.key_data(keys)).view(np.uint64)[..., 0]


@pytest.mark.parametrize("partitionable", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", PRIMITIVES)
def test_compiled_equals_reference(name, dtype, partitionable, rng):
    primitive = getattr(ops, name)
    with config.override(enable_x64=True, threefry_partitionable=partitionable):
        for batch, inner in (((), ()), ((), (7,)), ((3,), (2, 5)), ((2,), (0,))):
            keys = random.split(random.key(3), batch) if batch else random.key(3)
            given = operands(name, (*batch, *inner), batch, dtype, rng)
            got = np.asarray(primitive(keys, *given))
            want = primitive.reference(stored(keys), *given, partitionable=partitionable)
            assert (got.dtype, got.shape) == (want.dtype, want.shape)
            # Numbers are accepted or not; logarithms that differ in the last place seldom matter.
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", PRIMITIVES)
def test_batched_equals_loop(name, rng):
    primitive = getattr(ops, name)
    keys = random.split(random.key(4), 3)
    given = operands(name, (3, 5), (3,), "float32", rng)
    rows = [[x[i] for x in given] for i in range(3)]
    got = jacana.vmap(primitive)(keys, *given)
    np.testing.assert_array_equal(got, [primitive(k, *r) for k, r in zip(keys, rows, strict=True)])
    got = jacana.vmap(primitive, (None, *[0] * len(given)))(keys[0], *given)
    np.testing.assert_array_equal(got, [primitive(keys[0], *r) for r in rows])


@pytest.mark.parametrize("partitionable", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gamma(dtype, partitionable):
    a = np.array([0.01, 0.5, 1.0, 7.0, 300.0, np.nan], dtype)
    with config.override(enable_x64=True, threefry_partitionable=partitionable):
        keys = random.split(random.key(5), 6)
        for log_space in (False, True):
            params = {"log_space": log_space, "partitionable": partitionable}
            got = np.asarray(ops.random_gamma(keys, a, **params))
            want = ops.random_gamma.reference(stored(keys), a, **params)
            np.testing.assert_allclose(got, want, 64 * np.finfo(dtype).eps)
            batched = jacana.vmap(lambda k, a, p=params: ops.random_gamma(k, a, **p))(keys, a)
            assert np.asarray(batched).tobytes() == got.tobytes()


def test_types():
    key = random.key(0)
    with pytest.raises(TypeError, match="one dtype and shape, which begins with that of the keys"):
        ops.random_binomial_by_gaps(key, np.ones(3, np.float32), np.ones(2, np.float32))
    with pytest.raises(TypeError, match="needs random keys"):
        ops.random_gamma(np.uint32(3), np.float32(1))
    with pytest.raises(TypeError, match="floating-point shape parameter"):
        ops.random_gamma(key, np.int32(1))
