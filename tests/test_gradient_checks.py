"""jax.test_util: right derivatives pass, wrong ones do not."""

import pytest

import jacana
import jacana.numpy as jnp
from jacana.test_util import check_grads, check_jvp, check_vjp


@jacana.custom_jvp
def wrong(x):
    return jnp.sin(x)


wrong.defjvp(lambda p, t: (wrong(*p), 1.5 * t[0] * jnp.cos(p[0])))


@jacana.custom_jvp
def wrong_twice(x):
    return jnp.sin(x)


wrong_twice.defjvp(lambda p, t: (wrong_twice(*p), t[0] * jnp.cos(stopped(p[0]))))


def stopped(x):
    return jacana.lax.stop_gradient(x)


def test_right_derivatives():
    check_grads(jnp.sin, (1.0,), order=3)
    check_grads(lambda d, n: {"a": d["x"] * n, "n": n}, ({"x": jnp.ones(3)}, 2), order=2)
    check_grads(lambda z: jnp.exp(z), (1.0 + 0.5j,), order=1)


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_wrong_derivatives(mode):
    with pytest.raises(AssertionError, match="jvp" if mode == "fwd" else "vjp"):
        check_grads(wrong, (0.5,), order=1, modes=[mode])
    check_grads(wrong_twice, (0.5,), order=1, modes=[mode])
    with pytest.raises(AssertionError):
        check_grads(wrong_twice, (0.5,), order=2, modes=[mode])


def test_derivatives_that_are_given():
    check_jvp(jnp.sin, lambda p, t: (jnp.sin(*p), t[0] * jnp.cos(*p)), (1.0,))
    check_vjp(jnp.sin, lambda x: (jnp.sin(x), lambda ct: (ct * jnp.cos(x),)), (1.0,))
    with pytest.raises(AssertionError, match="mine vjp"):
        check_vjp(jnp.sin, lambda x: (jnp.sin(x), lambda ct: (ct,)), (1.0,), err_msg="mine")


def test_modes_are_checked():
    with pytest.raises(ValueError, match="'fwd' and 'rev'"):
        check_grads(jnp.sin, (1.0,), order=1, modes=["forward"])
