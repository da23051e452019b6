"""Activations: values against formulas in float64, derivatives, and what happens at the ends."""

import numpy as np
import pytest
from scipy import special

import jacana
import jacana.numpy as jnp
from jacana import nn

X = np.array([-7.5, -3.0, -1.0, -0.3, 0.2, 1.1, 2.9, 6.4])


def below(x, value):
    return np.where(x > 0, x, value(np.minimum(x, 0)))


FORMULAS = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "leaky_relu": lambda x: np.where(x < 0, 0.01 * x, x),
    "elu": lambda x: below(x, np.expm1),
    "celu": lambda x: below(x, np.expm1),
    "selu": lambda x: 1.0507009873554805 * below(x, lambda x: 1.6732632423543772 * np.expm1(x)),
    "sigmoid": special.expit,
    "softplus": lambda x: np.logaddexp(x, 0),
    "log_sigmoid": lambda x: -np.logaddexp(-x, 0),
    "soft_sign": lambda x: x / (1 + np.abs(x)),
    "silu": lambda x: x * special.expit(x),
    "mish": lambda x: x * np.tanh(np.logaddexp(x, 0)),
    "gelu": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "gelu_exact": lambda x: x * special.ndtr(x),
    "squareplus": lambda x: (x + np.sqrt(x * x + 4)) / 2,
    "hard_sigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hard_silu": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "sparse_plus": lambda x: np.where(x < -1, 0, np.where(x > 1, x, (x + 1) ** 2 / 4)),
    "sparse_sigmoid": lambda x: np.clip(x + 1, 0, 2) / 2,
    "identity": lambda x: x,
    "tanh": np.tanh,
}  # fmt: skip
# At infinity most are that, 0 or 1; softly limited ones have no nan either.
INFINITE = np.array([-np.inf, np.inf])
HUGE = np.array([-1e30, -200.0, 0.0, 200.0, 1e30])


def function_of(name):
    if name == "gelu_exact":
        return lambda x: nn.gelu(x, approximate=False)
    return getattr(nn, name)


def slope(f):
    return jacana.vmap(jacana.grad(f))


@pytest.mark.parametrize("name", FORMULAS)
def test_values_and_derivatives(name):
    f = function_of(name)
    with jacana.enable_x64(True):
        np.testing.assert_allclose(f(X), FORMULAS[name](X), rtol=1e-13, atol=1e-15)
        kinks = np.array([0, 3, -3, 1, -1, 6])
        smooth = X[np.min(np.abs(X[:, None] - kinks), axis=1) > 0.01]
        h = 1e-5
        numeric = (FORMULAS[name](smooth + h) - FORMULAS[name](smooth - h)) / (2 * h)
        np.testing.assert_allclose(slope(f)(smooth), numeric, rtol=1e-6, atol=1e-9)
        numeric = (slope(f)(smooth + h) - slope(f)(smooth - h)) / (2 * h)
        curvature = slope(jacana.grad(f))(smooth)
        np.testing.assert_allclose(curvature, numeric, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", FORMULAS)
def test_dtype_is_kept(name, dtype):
    assert function_of(name)(jnp.ones(3, dtype)).dtype == jnp.dtype(dtype)


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("name", FORMULAS)
def test_saturation(name, x64):
    f = function_of(name)
    with jacana.enable_x64(x64):
        ends = np.concatenate([INFINITE, HUGE])
        assert not np.isnan(f(ends)).any()
        assert not np.isnan(slope(f)(ends)).any()
        assert np.isfinite(slope(jacana.grad(f))(HUGE)).all()
        assert np.isnan(f(np.float32(np.nan)))


def test_derivatives_at_kinks():
    assert jacana.grad(nn.relu)(0.0) == 0
    assert jacana.grad(nn.relu6)(0.0) == jacana.grad(nn.relu6)(6.0) == 0
    assert jacana.grad(nn.elu)(0.0) == jacana.grad(nn.celu)(0.0) == 1
    assert jacana.grad(nn.softplus)(0.0) == jacana.grad(nn.log_sigmoid)(0.0) == 0.5
    assert jacana.grad(jacana.grad(nn.softplus))(0.0) == 0.25


def test_parameters():
    x = jnp.array([-2.0, 3.0])
    np.testing.assert_allclose(nn.leaky_relu(x, 0.5), [-1, 3])
    np.testing.assert_allclose(nn.elu(x, 2.0), [2 * np.expm1(-2), 3], rtol=1e-6)
    np.testing.assert_allclose(nn.celu(x, 2.0), [2 * np.expm1(-1), 3], rtol=1e-6)
    np.testing.assert_allclose(nn.squareplus(x, 0), [0, 3])
    np.testing.assert_allclose(nn.log1mexp(1.5), np.log(1 - np.exp(-1.5)), rtol=1e-6)
    np.testing.assert_allclose(nn.glu(jnp.arange(4.0), 0), [0 * 0.5, special.expit(3)], rtol=1e-6)


def test_integers():
    assert nn.relu(jnp.array([-1, 2])).tolist() == [0, 2]
    assert nn.relu(jnp.array([-1, 2])).dtype == np.int32
    assert nn.sigmoid(jnp.array([0])).tolist() == [0.5]


def test_odd_extent_of_glu():
    with pytest.raises(ValueError, match="divisible by 2, got 3 along axis -1"):
        nn.glu(jnp.ones(3))
