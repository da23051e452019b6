"""odeint: known solutions, tolerances, and gradients by the adjoint equation."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import experimental
from jacana.experimental.ode import DENSE, ERROR, NODES, STAGES, odeint

TIMES = np.linspace(0.0, 2.0, 5, dtype="float32")


def decay(y, t, rate):
    return -rate * y


def test_tableau():
    for node, weights in zip(NODES, STAGES, strict=True):
        assert sum(weights) == pytest.approx(node)
    assert sum(ERROR) == pytest.approx(0, abs=1e-12)
    assert sum(DENSE) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-7, 1e-10])
def test_error_follows_tolerance(tolerance):
    with experimental.enable_x64():
        times = jnp.linspace(0.0, 6.0, 7)
        y0 = jnp.array([1.0, 0.0])

        def turn(y, t):
            return jnp.array([-y[1], y[0]])

        y = odeint(turn, y0, times, rtol=tolerance, atol=tolerance)
        exact = np.stack([np.cos(times), np.sin(times)], 1)
        error = np.abs(y - exact).max()
        assert error < 30 * tolerance
        assert error > tolerance * 1e-3


def test_trees_and_time():
    y0 = {"a": jnp.ones((2, 2)), "b": jnp.float32(0)}
    y = odeint(lambda y, t: {"a": -y["a"], "b": 2 * t}, y0, TIMES, rtol=1e-6, atol=1e-6)
    assert y["a"].shape == (5, 2, 2)
    np.testing.assert_allclose(y["a"][:, 0, 1], np.exp(-TIMES), rtol=1e-5)
    np.testing.assert_allclose(y["b"], TIMES**2, rtol=1e-5, atol=1e-6)


def test_gradients():
    def end(y0, times, rate):
        return odeint(decay, y0, times, rate)[-1]

    y0, rate = jnp.float32(1.5), jnp.float32(0.5)
    found = jacana.grad(end, (0, 1, 2))(y0, jnp.asarray(TIMES), rate)
    final = 1.5 * np.exp(-1.0)
    np.testing.assert_allclose(found[0], np.exp(-1.0), rtol=1e-5)
    times = [0.5 * final, 0, 0, 0, -0.5 * final]
    np.testing.assert_allclose(found[1], times, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[2], -2 * final, rtol=1e-5)


def test_gradients_of_captured_values_twice_and_batched():
    def end(rate):
        return odeint(lambda y, t: -rate * y, jnp.ones(1), jnp.asarray(TIMES))[-1, 0]

    exact = np.exp(-1.0)
    np.testing.assert_allclose(jacana.grad(end)(0.5), -2 * exact, rtol=1e-5)
    np.testing.assert_allclose(jacana.jit(jacana.grad(jacana.grad(end)))(0.5), 4 * exact, rtol=1e-4)
    rates = jnp.array([0.0, 0.5])
    np.testing.assert_allclose(jacana.vmap(end)(rates), [1, exact], rtol=1e-5)
    np.testing.assert_allclose(jacana.vmap(jacana.grad(end))(rates), [-2, -2 * exact], rtol=1e-5)


def test_complex_state():
    y = odeint(lambda y, t: 1j * y, jnp.array([1 + 0j]), jnp.array([0.0, 1.0]))
    np.testing.assert_allclose(y[1], [np.exp(1j)], rtol=1e-5)


def test_limits():
    y0, times = jnp.ones(1), jnp.array([0.0, 50.0])
    assert odeint(decay, y0, times, 1.0, mxstep=2)[1, 0] != pytest.approx(0, abs=1e-3)
    fine = odeint(lambda y, t: t, jnp.zeros(1), jnp.array([0.0, 1.0]), hmax=0.01)
    np.testing.assert_allclose(fine[1], [0.5], rtol=1e-5)
    assert odeint(decay, y0, times[:1], 1.0).tolist() == [[1.0]]


def test_messages():
    times = jnp.asarray(TIMES)
    with pytest.raises(TypeError, match=r"odeint \*args must be arrays or scalars, but got a\."):
        odeint(decay, jnp.ones(1), times, "a")
    with pytest.raises(TypeError, match="floating-point numbers, got elements of dtype int32"):
        odeint(decay, jnp.arange(2), times, 1.0)
    with pytest.raises(TypeError, match="to give what y0 is made of"):
        odeint(lambda y, t: (y,), jnp.ones(1), times)
    with pytest.raises(TypeError, match="as many numbers as y0 has, 2; it gave 1"):
        odeint(lambda y, t: y[:1], jnp.ones(2), times)
    with pytest.raises(ValueError, match="a vector of times"):
        odeint(decay, jnp.ones(1), 3.0, 1.0)
    with pytest.raises(TypeError, match="forward-mode"):
        jacana.jvp(lambda y: odeint(decay, y, times, 1.0), (jnp.ones(1),), (jnp.ones(1),))


def test_x64_scopes():
    with experimental.enable_x64():
        assert jnp.arange(2.0).dtype == "float64"
        with experimental.disable_x64():
            assert jnp.arange(2.0).dtype == "float32"
