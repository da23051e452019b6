"""A few of JAX 0.10.2's numbers, in the repository: eager, under jit, and under vmap."""

import numpy as np
import pytest

import jacana
from jacana import random

P = np.array([0.1, 0.2, 0.3, 0.4], np.float32)
OUTCOMES = np.array([0.2, 0.3, 0.5], np.float32)
LOGITS = np.array([0.0, 1.0, 2.0], np.float32)
KEYS = (
    (lambda k: random.split(k, 3), [[741045208, 1847055613], [85238482, 2594297577],
                                    [56197195, 961309823]]),
    (lambda k: random.fold_in(k, 7), [33961628, 564353879]),
    (lambda k: random.clone(k), [0, 1701]),
)  # fmt: skip
EXACT = {
    "bits": (lambda k: random.bits(k, (3,)), [1111271205, 2679469115, 974515252]),
    "bits8": (lambda k: random.bits(k, (4,), "uint8"), [37, 59, 52, 178]),
    "uniform": (lambda k: random.uniform(k, (3,)), [0.25873792, 0.6238625, 0.226897]),
    "uniform16": (
        lambda k: random.uniform(k, (3,), "float16", -2.0, 3.0),
        [1.2617188, 0.265625, 2.609375],
    ),
    "bfloat16": (lambda k: random.uniform(k, (3,), "bfloat16"), [0.140625, 0.2265625, 0.203125]),
    "randint": (lambda k: random.randint(k, (5,), -10, 10), [2, 8, 7, 4, 2]),
    "randint8": (lambda k: random.randint(k, (4,), 0, 256, "uint8"), [244, 62, 153, 22]),
    "permutation": (lambda k: random.permutation(k, 8), [1, 6, 5, 4, 0, 2, 7, 3]),
    "choice": (lambda k: random.choice(k, 5, (4,)), [2, 3, 2, 4]),
    "choice_once": (lambda k: random.choice(k, 6, (3,), replace=False), [1, 5, 4]),
    "choice_p": (lambda k: random.choice(k, 4, (5,), p=P), [3, 2, 3, 3, 2]),
    "bernoulli": (lambda k: random.bernoulli(k, 0.3, (6,)), [1, 0, 1, 1, 0, 0]),
    "bernoulli_high": (lambda k: random.bernoulli(k, 0.3, (6,), "high"), [1, 0, 1, 1, 0, 0]),
    "rademacher": (lambda k: random.rademacher(k, (6,)), [1, -1, 1, 1, 1, -1]),
    "categorical": (lambda k: random.categorical(k, LOGITS, shape=(6,)), [1, 2, 2, 2, 1, 2]),
    "geometric": (lambda k: random.geometric(k, 0.3, (5,)), [4, 2, 5, 6, 2]),
    "poisson": (lambda k: random.poisson(k, 3.0, (5,)), [2, 4, 3, 2, 4]),
    "poisson_large": (lambda k: random.poisson(k, 40.0, (5,)), [47, 38, 35, 37, 36]),
    "binomial": (lambda k: random.binomial(k, 30.0, 0.25, (5,)), [5, 11, 5, 8, 10]),
    "binomial_large": (lambda k: random.binomial(k, 100.0, 0.6, (5,)), [55, 58, 51, 63, 63]),
    "multinomial": (lambda k: random.multinomial(k, 20.0, OUTCOMES), [7, 4, 9]),
}
CLOSE = {
    "normal": (lambda k: random.normal(k, (4,)), [-0.6472411, 0.3156411, -0.74910474, -1.1673621]),
    "truncated_normal": (
        lambda k: random.truncated_normal(k, -1.0, 2.0, (3,)),
        [-0.330644, 0.43810728, -0.40050608],
    ),
    "exponential": (lambda k: random.exponential(k, (3,)), [0.29940104, 0.9778005, 0.257343]),
    "gumbel": (lambda k: random.gumbel(k, (3,)), [-0.3015403, 0.7511465, -0.39424175]),
    "gumbel_high": (
        lambda k: random.gumbel(k, (3,), mode="high"),
        [1.2059714, 0.02244963, 1.3573449],
    ),
    "gamma": (lambda k: random.gamma(k, 0.5, (3,)), [0.47118813, 0.16881607, 0.95406735]),
    "beta": (lambda k: random.beta(k, 2.0, 3.0, (3,)), [0.5709594, 0.45138177, 0.15905884]),
    "dirichlet": (
        lambda k: random.dirichlet(k, np.ones(3, np.float32)),
        [0.16815686, 0.026555227, 0.80528796],
    ),
}


@pytest.mark.parametrize(("function", "words"), KEYS)
def test_keys(function, words):
    assert random.key_data(function(random.key(1701))).tolist() == words
    assert np.asarray(function(random.PRNGKey(1701))).tolist() == words


def three_ways(function):
    key = random.key(1701)
    yield np.asarray(function(key))
    yield np.asarray(jacana.jit(function)(key))
    yield np.asarray(jacana.vmap(function)(random.key(1701).reshape(1)))[0]
    yield np.asarray(function(random.PRNGKey(1701)))


@pytest.mark.parametrize("name", EXACT)
def test_exact(name):
    function, want = EXACT[name]
    for got in three_ways(function):
        assert got.tolist() == np.array(want).astype(got.dtype).tolist()


@pytest.mark.parametrize("name", CLOSE)
def test_close(name):
    function, want = CLOSE[name]
    first, *others = three_ways(function)
    # JAX's numbers are a few float32 eps of logarithms, of size 1, off.
    np.testing.assert_allclose(first, np.array(want, np.float32), 2e-6, 1e-6)
    for got in others:
        assert got.tobytes() == first.tobytes()
