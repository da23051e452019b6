"""Layers: shapes as their inits say, values that JAX gives, and training."""

import pytest

import jacana
import jacana.numpy as jnp
from jacana import random
from jacana.example_libraries import optimizers, stax

CONVOLUTIONAL = stax.serial(
    stax.Conv(4, (3, 3), padding="SAME"), stax.BatchNorm(), stax.Relu,
    stax.MaxPool((2, 2), strides=(2, 2)), stax.AvgPool((2, 2), padding="SAME"), stax.FanOut(2),
    stax.parallel(stax.Identity, stax.Conv(4, (1, 1))), stax.FanInSum, stax.FanOut(2),
    stax.parallel(stax.SumPool((2, 2), spec="NHWC"), stax.Conv(4, (2, 2))), stax.FanInConcat(),
    stax.ConvTranspose(2, (3, 3), (2, 2)), stax.Flatten, stax.Dropout(0.8), stax.Dense(2),
)  # fmt: skip
DENSE = stax.serial(stax.Dense(8), stax.Relu, stax.Dense(3), stax.LogSoftmax)


@pytest.mark.parametrize(
    ("network", "shape", "expected"),
    [(DENSE, (5, 4), -119.78325653076172), (CONVOLUTIONAL, (2, 8, 8, 1), -2.8313798904418945)],
)
def test_values_are_those_of_jax(network, shape, expected):
    init, apply = network
    out_shape, params = init(random.PRNGKey(0), shape)
    x = random.normal(random.PRNGKey(1), shape)
    y = jacana.jit(apply)(params, x, rng=random.PRNGKey(2))
    assert y.shape == out_shape
    weighted = jnp.sum(y * jnp.arange(y.size).reshape(y.shape))
    assert float(weighted) == pytest.approx(expected, rel=1e-5)


def test_the_size_of_a_batch_may_be_unknown():
    init, _ = stax.serial(
        stax.Conv(4, (3, 3)), stax.MaxPool((2, 2), (2, 2), "SAME"), stax.ConvTranspose(3, (2, 2)),
        stax.Flatten,
    )  # fmt: skip
    assert init(random.key(0), (-1, 9, 9, 1))[0] == (-1, 75)


def test_layers_that_depend_on_shapes():
    def twice_as_wide(shape):
        return stax.Dense(2 * shape[-1])

    init, apply = stax.serial(stax.shape_dependent(twice_as_wide), stax.Tanh)
    shape, params = init(random.key(0), (3, 2))
    assert shape == apply(params, jnp.ones((3, 2))).shape == (3, 4)


def test_dropout_needs_a_key():
    _, apply = stax.Dropout(0.5)
    with pytest.raises(ValueError, match="requires apply_fun to be called with a PRNG key"):
        apply((), jnp.ones(3))
    _, evaluate = stax.Dropout(0.5, mode="test")
    assert evaluate((), jnp.ones(3), rng=random.key(0)).tolist() == [1, 1, 1]


def test_training():
    init, apply = DENSE
    _, params = init(random.key(0), (-1, 4))
    x = random.normal(random.key(1), (64, 4))
    labels = jnp.argmax(x[:, :3], axis=1)

    def loss(params):
        return -jnp.mean(jnp.take_along_axis(apply(params, x), labels[:, None], 1))

    opt_init, update, get_params = optimizers.adam(0.02)

    @jacana.jit
    def step(i, state):
        value, grads = jacana.value_and_grad(loss)(get_params(state))
        return value, update(i, grads, state)

    state = opt_init(params)
    values = []
    for i in range(60):
        value, state = step(i, state)
        values.append(float(value))
    assert values[-1] < 0.3 * values[0]
