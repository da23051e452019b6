"""Derivatives of elementwise functions that composition alone would get wrong."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp


def test_logaddexp_is_smooth_where_its_operands_are_equal():
    second = jacana.grad(jacana.grad(jnp.logaddexp))
    assert float(second(1.0, 1.0)) == 0.25
    assert float(jacana.grad(jacana.grad(jnp.logaddexp, 1))(1.0, 1.0)) == -0.25
    assert abs(float(jacana.grad(jacana.grad(jnp.logaddexp2))(1.0, 1.0)) - np.log(2) / 4) < 1e-6
    assert float(jnp.logaddexp(-np.inf, -np.inf)) == -np.inf
    assert float(jnp.logaddexp(np.inf, np.inf)) == np.inf


def test_kron_of_booleans():
    flags = jnp.array([True, False])
    with pytest.raises(TypeError, match="kron does not accept booleans alone"):
        jnp.kron(flags, flags)
    assert jnp.kron(flags, jnp.arange(2)).tolist() == [0, 1, 0, 0]
