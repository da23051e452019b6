"""Un-jitted transformations: programs and tapes are made once for each form."""

import numpy as np

import jacana
from jacana import numpy as jnp, ops
from jacana.core.trace import base_trace
from jacana.transforms.batch import batched_operations
from jacana.transforms.jvp import differentiated_operations
from jacana.transforms.linearize import linearize, linearized_operations


def f(x, y):
    return [ops.mul(ops.sin(x), ops.add(y, x))]


def test_tapes_of_one_form_share_their_jaxpr():
    first = linearize(f, [jnp.ones(3), jnp.ones(3)])
    second = linearize(f, [jnp.zeros(3), jnp.zeros(3)])
    assert first.is_shared and first.jaxpr is second.jaxpr
    other = linearize(f, [jnp.ones(4), jnp.ones(4)])
    assert other.jaxpr is not first.jaxpr
    assert first.jaxpr is not linearize(f, [jnp.ones(3), jnp.ones(3)], [True, False]).jaxpr


def test_residuals_occur_once():
    x = jnp.ones(3)
    linear = linearize(lambda x: [ops.mul(ops.mul(x, x), x)], [x])
    assert len(linear.residuals) == 2


def test_rules_run_once(monkeypatch):
    calls = []
    rule = type(ops.sin).jvp
    monkeypatch.setattr(type(ops.sin), "jvp", lambda *a, **k: calls.append(1) or rule(*a, **k))
    linearized_operations.clear()
    differentiated_operations.clear()
    for x in (0.5, 1.5):
        jacana.grad(lambda x: ops.sin(x))(np.float32(x))
        jacana.jvp(lambda x: ops.sin(x), (np.float32(x),), (np.float32(1),))
    assert len(calls) == 2


def test_settings_are_part_of_the_form():
    for x64 in (True, False, True):
        with jacana.enable_x64(x64):
            g = jacana.grad(lambda x: (jnp.sin(x) * 2.0).sum())(np.ones(2))
            assert g.dtype == ("float64" if x64 else "float32")


def test_batches_of_one_form(monkeypatch):
    calls = []
    rule = type(ops.sin).batch
    batched_operations.clear()
    monkeypatch.setattr(type(ops.sin), "batch", lambda *a, **k: calls.append(1) or rule(*a, **k))
    for _ in range(3):
        jacana.vmap(lambda x: ops.sin(x))(jnp.ones((2, 3)))
    assert len(calls) == 1


def test_nothing_is_left_current():
    for transform in (jacana.grad, jacana.vmap):
        try:
            transform(lambda x: 1 / 0)(jnp.ones(2))
        except ZeroDivisionError:
            pass
        assert jacana.core.trace.current() is base_trace


def test_long_tapes():
    def chain(x):
        for _ in range(200):
            x = jnp.sin(x) + x * 0.5
        return x

    assert np.isfinite(float(jacana.grad(chain)(0.3)))


def test_zeros_of_both_signs_are_different_params():
    x, at = jnp.ones(3), jnp.array([5])
    for fill in (0.0, -0.0, np.float32(-0.0)):
        take = lambda x, fill=fill: x.at[at].get(mode="fill", fill_value=fill)[0]
        assert np.signbit(np.asarray(take(x))) == np.signbit(fill)
        assert np.signbit(np.asarray(jacana.value_and_grad(take)(x)[0])) == np.signbit(fill)
