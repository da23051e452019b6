"""jax.custom_derivatives: symbolic zeros, linear_call, and what rules are given."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import grad, jit, jvp, vmap
from jacana.custom_derivatives import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_vjp_primal_tree_values,
    linear_call,
    zero_from_primal,
)

X = np.array([0.5, 1.0, 2.0], np.float32)


@pytest.fixture
def seen():
    return []


@pytest.fixture
def two(seen):
    @jacana.custom_vjp
    def f(x, y):
        return x * y["a"], x + y["a"]

    def forward(x, y):
        seen.append((x.perturbed, y["a"].perturbed))
        x, y = custom_vjp_primal_tree_values((x, y))
        return f(x, y), (x, y["a"])

    def backward(residuals, cts):
        seen.append(tuple(isinstance(ct, SymbolicZero) for ct in cts))
        x, a = residuals
        p, s = (ct.instantiate() if isinstance(ct, SymbolicZero) else ct for ct in cts)
        return p * a + s, {"a": p * x + s}

    f.defvjp(forward, backward, symbolic_zeros=True, optimize_remat=True)
    return f


@pytest.mark.parametrize("wrap", [lambda f: f, jit, jacana.checkpoint])
def test_rules_see_what_is_zero(two, seen, wrap):
    assert float(wrap(grad(lambda x: two(x, {"a": 3.0})[1]))(2.0)) == 1.0
    assert seen[0] == (True, False) and seen[-1] == (True, False)
    seen.clear()
    found = wrap(grad(lambda x, a: two(x, {"a": a})[0], (0, 1)))(2.0, 3.0)
    assert tuple(map(float, found)) == (3.0, 2.0)
    assert seen[0] == (True, True) and seen[-1] == (False, True)
    np.testing.assert_array_equal(vmap(wrap(grad(lambda x: two(x, {"a": x})[0])))(X), 2 * X)
    assert float(two(2.0, {"a": 3.0})[0]) == 6.0


def test_zeros_and_records():
    assert zero_from_primal(1.0).dtype == np.float32
    assert zero_from_primal(3).dtype == jacana.float0
    assert isinstance(zero_from_primal(X, symbolic_zeros=True), SymbolicZero)
    assert SymbolicZero.from_primal_value(X).shape == (3,)
    assert repr(CustomVJPPrimal(1.0, True)) == "CustomVJPPrimal(value=1.0, perturbed=True)"
    with pytest.raises(TypeError, match="it should be a CustomVJPPrimal"):
        custom_vjp_primal_tree_values([1.0])


def halved(x, r=2.0):
    return linear_call(lambda r, x: x / r, lambda r, ct: 10 * ct / r, r, x)


@pytest.mark.parametrize("wrap", [lambda f: f, jit])
def test_linear_call(wrap):
    f = wrap(halved)
    assert float(f(1.0)) == 0.5
    assert float(grad(f)(1.0)) == 5.0
    # The transpose of the transpose is the function.
    back = lambda ct: jacana.linear_transpose(f, 1.0)(ct)[0]
    assert float(jacana.linear_transpose(back, 1.0)(1.0)[0]) == 0.5
    assert float(jvp(f, (3.0,), (4.0,))[1]) == 2.0
    assert float(jvp(lambda r: f(3.0, r), (2.0,), (1.0,))[1]) == -0.75
    np.testing.assert_array_equal(vmap(f)(X), X / 2)
    np.testing.assert_array_equal(vmap(f, (None, 0))(6.0, X), 6 / X)
    np.testing.assert_allclose(vmap(grad(f), (None, 0))(1.0, X), 10 / X, rtol=1e-6)
    total = grad(lambda x: vmap(f, (None, 0))(x, X).sum())(1.0)
    assert float(total) == pytest.approx(float(np.sum(10 / X)))


def test_linear_call_captures_and_refuses():
    def f(x, w):
        return linear_call(lambda _, x: w @ x, lambda _, ct: w.T @ ct, (), x)

    w = jnp.asarray(np.random.default_rng(0).uniform(size=(2, 3)).astype(np.float32))
    found = grad(lambda x: jnp.sum(f(x, w) ** 2))(X)
    np.testing.assert_allclose(found, 2 * w.T @ (w @ X), rtol=1e-5)
    with pytest.raises(TypeError, match="must give what the linear argument"):
        linear_call(lambda r, x: x[:2], lambda r, ct: ct, (), X)
