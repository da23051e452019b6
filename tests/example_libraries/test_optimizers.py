"""Each optimizer against the figures that JAX gives, schedules, and the state as a tree."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana.example_libraries import optimizers

PARAMS = {"a": jnp.arange(6.0).reshape(2, 3), "b": (jnp.float32(1.0),)}


def loss(params):
    return jnp.sum(params["a"] ** 2) + params["b"][0] ** 4


# The last three of a, and b, after four steps.
FOUR_STEPS = {
    "sgd": (lambda: optimizers.sgd(0.1), [2.205, 2.94, 3.675, 0.646]),
    "momentum": (lambda: optimizers.momentum(0.1, 0.9), [1.205, 1.607, 2.009, 0.193]),
    "nesterov": (
        lambda: optimizers.nesterov(optimizers.exponential_decay(0.1, 10, 0.9), 0.9),
        [0.625, 0.833, 1.041, 0.16],
    ),
    "adagrad": (lambda: optimizers.adagrad(0.1), [2.93, 3.93, 4.93, 0.931]),
    "rmsprop": (lambda: optimizers.rmsprop(0.1), [2.096, 3.083, 4.075, 0.446]),
    "rmsprop_momentum": (lambda: optimizers.rmsprop_momentum(0.1), [0.782, 1.736, 2.711, -0.411]),
    "adam": (
        lambda: optimizers.adam(optimizers.piecewise_constant([2], [0.1, 0.2])),
        [2.5, 3.5, 4.499, 0.524],
    ),
    "adamax": (
        lambda: optimizers.adamax(optimizers.polynomial_decay(0.1, 10, 0.01)),
        [2.655, 3.657, 4.658, 0.707],
    ),
}


@pytest.mark.parametrize("name", FOUR_STEPS)
def test_four_steps(name):
    make, expected = FOUR_STEPS[name]
    init, update, get_params = make()

    @jacana.jit
    def step(i, state):
        grads = jacana.grad(loss)(get_params(state))
        return update(i, optimizers.clip_grads(grads, 5.0), state)

    state = init(PARAMS)
    for i in range(4):
        state = step(i, state)
    state = optimizers.pack_optimizer_state(optimizers.unpack_optimizer_state(state))
    params = get_params(state)
    found = [*params["a"][1].tolist(), float(params["b"][0])]
    np.testing.assert_allclose(found, expected, atol=6e-4)


def test_sums_along_axes():
    init, update, get_params = optimizers.sm3(0.1)
    state = init(PARAMS)
    assert [x.shape for x in jacana.tree.leaves(state)] == [(2, 3), (2, 3), (2,), (3,), (), (), ()]
    for i in range(4):
        state = update(i, jacana.grad(loss)(get_params(state)), state)
    np.testing.assert_allclose(get_params(state)["a"][1], [2.9306, 3.93057, 4.93055], rtol=1e-4)


def test_schedules():
    assert optimizers.make_schedule(0.5)(7) == 0.5
    assert optimizers.inverse_time_decay(1.0, 2, 1.0)(2) == 0.5
    assert optimizers.inverse_time_decay(1.0, 2, 1.0, staircase=True)(3) == 0.5
    assert optimizers.polynomial_decay(1.0, 4, 0.0)(8) == 0.0
    assert optimizers.piecewise_constant([1, 3], [3.0, 2.0, 1.0])(2) == 2.0
    with pytest.raises(TypeError, match="number or a function of the step"):
        optimizers.make_schedule(jnp.ones(2))
    with pytest.raises(ValueError, match="one shorter"):
        optimizers.piecewise_constant([1], [1.0])


def test_trees_that_do_not_match():
    init, update, _ = optimizers.sgd(0.1)
    with pytest.raises(TypeError, match="gradient tree that did not match"):
        update(0, {"a": 1.0}, init(PARAMS))
    with pytest.raises(TypeError, match="leaves are JoinPoints"):
        optimizers.pack_optimizer_state({"a": 1.0})
