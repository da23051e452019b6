"""Derivatives where functions have corners, ends or ties: those that JAX gives."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import lax

INF, NAN = np.inf, np.nan
NORM = jnp.linalg.norm

# Function of an array -> where, and the gradient of its sum there.
EDGES = {
    "where_log": (lambda x: jnp.where(x > 0, jnp.log(x), 0.0), [-1.0, 2], [0, 0.5]),
    "where_sqrt_at_0": (lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0), [0.0], [NAN]),
    "sqrt": (jnp.sqrt, [0.0, 4], [INF, 0.25]),
    "norm_1": (lambda x: NORM(x, 1), [1.0, -2], [1, -1]),
    "norm_inf": (lambda x: NORM(x, INF), [2.0, 1, -2], [0.5, 0, -0.5]),
    "max_tie": (jnp.max, [1.0, 3, 3], [0, 0.5, 0.5]),
    "min_tie": (jnp.min, [1.0, 1, 3], [0.5, 0.5, 0]),
    "maximum_tie": (lambda x: jnp.maximum(x, 1), [1.0, 0, 3], [0.5, 0, 1]),
    "minimum_tie": (lambda x: jnp.minimum(x, 1), [1.0, 0, 3], [0.5, 1, 0]),
    "sort_tie": (lambda x: jnp.sort(x)[0], [1.0, 1, 3], [1, 0, 0]),
    "abs": (jnp.abs, [0.0, 1, -2], [1, 1, -1]),
    "sign": (jnp.sign, [0.0, 1], [0, 0]),
    "power_2": (lambda x: x**2.0, [0.0, -1], [0, -2]),
    "power_half": (lambda x: x**0.5, [0.0, 1], [INF, 0.5]),
    "integer_power_0": (lambda x: x**0, [0.0, 2], [0, 0]),
    "logsumexp": (jacana.nn.logsumexp, [-INF, 0], [0, 1]),
    "sinc": (jnp.sinc, [0.0], [0]),
    "prod_one_0": (jnp.prod, [0.0, 2, 3], [6, 0, 0]),
    "prod_two_0": (jnp.prod, [0.0, 0, 3], [0, 0, 0]),
    "cumprod_0": (lambda x: jnp.cumprod(x)[-1], [1.0, 2, 0, 3], [0, 0, 6, 0]),
    "median_even": (jnp.median, [1.0, 2, 3, 4], [0, 0.5, 0.5, 0]),
    "quantile": (lambda x: jnp.quantile(x, 0.25), [1.0, 3, 2, 5], [0.25, 0, 0.75, 0]),
    "std_constant": (jnp.std, [1.0, 1, 1], [NAN] * 3),
    "var_constant": (jnp.var, [1.0, 1, 1], [0, 0, 0]),
    "nanstd": (jnp.nanstd, [NAN, 1, 2], [0, -0.5, 0.5]),
    "nanvar": (jnp.nanvar, [NAN, 1, 3], [0, -1, 1]),
    "nansum": (jnp.nansum, [NAN, 1], [0, 1]),
    "nanmean": (jnp.nanmean, [NAN, 1, 3], [0, 0.5, 0.5]),
    "nanmax": (jnp.nanmax, [NAN, 1], [0, 1]),
    "mod": (lambda x: jnp.mod(x, 2), [0.0, 2, 3], [1, 1, 1]),
    "floor_divide": (lambda x: x // 2, [0.0, 3], [0, 0]),
    "round": (jnp.round, [0.5, 1], [0, 0]),
    "clip": (lambda x: jnp.clip(x, 0, 1), [0.5, 2, -1], [1, 0, 0]),
    "arcsin": (jnp.arcsin, [1.0, 0], [INF, 1]),
    "arccosh": (jnp.arccosh, [1.0], [INF]),
    "log": (jnp.log, [0.0, 2], [INF, 0.5]),
    "cbrt": (jnp.cbrt, [8.0], [1 / 12]),
    "relu": (jacana.nn.relu, [0.0, 1, -1], [0, 1, 0]),
    "softplus": (jacana.nn.softplus, [0.0, -1000, 1000], [0.5, 0, 1]),
    "take_outside": (lambda x: jnp.take(x, jnp.array([0, 5])), [1.0, 2], [1, 0]),
    "cummax": (lax.cummax, [1.0, 3, 2], [1, 2, 0]),
    "i0": (jnp.i0, [0.0], [0]),
    "tanh": (jnp.tanh, [INF, -INF, 0], [0, 0, 1]),
    "ptp": (jnp.ptp, [1.0, 3, 2], [-1, 1, 0]),
    "interp_end": (
        lambda x: jnp.interp(x, jnp.array([0.0, 1, 2]), jnp.array([0.0, 1, 4])),
        [-1.0, 0.5, 1.5, 3], [0, 1, 3, 0],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EDGES)
def test_gradient(name):
    function, at, want = EDGES[name]
    x = jnp.array(at, jnp.float32)
    gradient = jacana.grad(lambda v: function(v).sum())
    np.testing.assert_allclose(gradient(x), want, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(jacana.jit(gradient)(x), gradient(x))


@pytest.mark.parametrize(("function", "at", "want"), [
    (jnp.arctan2, (1.0, 0.0), (0, -1)), (jnp.arctan2, (0.0, 0.0), (NAN, NAN)),
    (jnp.logaddexp, (0.0, 0.0), (0.5, 0.5)), (jnp.logaddexp, (2.0, -INF), (1, 0)),
    (jnp.power, (2.0, 0.0), (0, np.log(2))), (jnp.mod, (5.0, 2.0), (1, -2)),
])  # fmt: skip
def test_gradients_of_two(function, at, want):
    np.testing.assert_allclose(jacana.grad(function, (0, 1))(*at), want, rtol=1e-6)


@pytest.mark.parametrize(("function", "at", "want"), [
    (jnp.sinc, 0.0, -(np.pi**2) / 3), (lambda x: x**2.0, 0.0, 2), (jnp.i0, 0.0, 0.5),
])  # fmt: skip
def test_second_derivatives(function, at, want):
    np.testing.assert_allclose(jacana.grad(jacana.grad(function))(at), want, rtol=1e-5)


def test_hessian_of_a_product_with_zeros():
    got = jacana.hessian(jnp.prod)(jnp.array([0.0, 0.0, 3.0]))
    np.testing.assert_array_equal(got, [[0, 3, 0], [3, 0, 0], [0, 0, 0]])
