"""Initializers: moments, and the numbers that JAX draws from the same key."""

import numpy as np
import pytest

import jacana.numpy as jnp
from jacana import random
from jacana.nn import initializers

KEY = random.PRNGKey(3)
# The first row that JAX 0.10.2 gives for a (2, 3) array from this key.
FROM_JAX = {
    "uniform": [0.0007405257, 0.009381443, 0.00648957],
    "normal": [-0.01446257, 0.01539381, 0.0038250624],
    "truncated_normal": [-0.0131990565, 0.013931226, 0.0036429046],
    "glorot_normal": [-0.94901913, 1.0016626, 0.26192677],
    "glorot_uniform": [-0.9332041, 0.9599262, 0.32634848],
    "lecun_normal": [-1.0610356, 1.1198928, 0.29284304],
    "he_uniform": [-1.4755251, 1.5177765, 0.51600224],
}
SCALED = ["glorot", "xavier", "lecun", "he", "kaiming"]


@pytest.mark.parametrize("name", FROM_JAX)
def test_numbers_of_jax(name):
    got = getattr(initializers, name)()(KEY, (2, 3))
    np.testing.assert_allclose(got[0], FROM_JAX[name], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("kind", ["uniform", "normal"])
@pytest.mark.parametrize("name", SCALED)
def test_variance(name, kind, dtype):
    w = getattr(initializers, f"{name}_{kind}")()(KEY, (120, 80), dtype)
    n = {"glorot": 100, "xavier": 100, "lecun": 120, "he": 60, "kaiming": 60}[name]
    assert w.dtype == jnp.dtype(dtype)
    np.testing.assert_allclose(np.var(w), 1 / n, rtol=0.04)
    np.testing.assert_allclose(np.mean(w), 0, atol=0.01)


@pytest.mark.parametrize(("mode", "n"), [("fan_in", 240), ("fan_out", 480), ("fan_avg", 360)])
def test_windows_count(mode, n):
    shape = (2, 3, 40, 80)
    init = initializers.variance_scaling(2.0, mode, "normal")
    np.testing.assert_allclose(np.var(init(KEY, shape)), 2 / n, rtol=0.06)
    init = initializers.variance_scaling(2.0, mode, "normal", batch_axis=(0, 1))
    np.testing.assert_allclose(np.var(init(KEY, shape)), 12 / n, rtol=0.06)


def test_constants():
    assert initializers.zeros(KEY, (2,)).tolist() == [0, 0]
    assert initializers.ones(KEY, (2,), "int8").tolist() == [1, 1]
    assert initializers.constant(np.arange(2))(KEY, (2, 2)).tolist() == [[0, 1], [0, 1]]
    assert initializers.constant(7)(KEY, (), "float16").dtype == np.float16
    assert isinstance(initializers.zeros, initializers.Initializer)


def test_plain_distributions():
    shape = (100, 50)
    np.testing.assert_allclose(np.std(initializers.normal(0.5)(KEY, shape)), 0.5, rtol=0.05)
    assert np.max(initializers.uniform(0.5)(KEY, shape)) < 0.5
    cut = initializers.truncated_normal(0.5, lower=-1.0, upper=1.0)(KEY, shape)
    assert np.max(np.abs(cut)) < 0.5


def test_bad_arguments():
    with pytest.raises(ValueError, match="Must be at least 2D"):
        initializers.he_normal()(KEY, (3,))
    with pytest.raises(ValueError, match="invalid mode"):
        initializers.variance_scaling(1.0, "fan", "normal")(KEY, (3, 3))
    with pytest.raises(ValueError, match="invalid distribution"):
        initializers.variance_scaling(1.0, "fan_in", "cauchy")(KEY, (3, 3))
    with pytest.raises(ValueError, match="got dtype int32"):
        initializers.normal()(KEY, (3, 3), "int32")


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (2, 2, 6)])
@pytest.mark.parametrize("axis", [-1, 0])
def test_orthogonal(shape, axis):
    w = np.moveaxis(initializers.orthogonal(2.0, axis)(KEY, shape), axis, 0)
    w = w.reshape(w.shape[0], -1)
    w = w if w.shape[0] <= w.shape[1] else w.T
    np.testing.assert_allclose(w @ w.T, 4 * np.eye(len(w)), atol=1e-5)


def test_delta_orthogonal():
    w = np.array(initializers.delta_orthogonal()(KEY, (3, 3, 2, 4)))
    np.testing.assert_allclose(w[1, 1] @ w[1, 1].T, np.eye(2), atol=1e-6)
    w[1, 1] = 0
    assert not w.any()
