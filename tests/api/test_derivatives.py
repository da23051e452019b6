"""jvp, vjp, linearize, linear_transpose and Jacobians."""

import numpy as np
import pytest

import jacana
from jacana import numpy as jnp

X = jnp.arange(1.0, 4.0)
FLOAT0 = np.zeros((), jacana.float0)


def numbers(tree):
    return [np.asarray(x).tolist() for x in jacana.tree.leaves(tree)]


def test_jvp():
    outs, tangents = jacana.jvp(lambda x, n: (x * n, n), (2.0, 3), (1.0, FLOAT0))
    assert numbers(outs) == [6.0, 3] and float(tangents[0]) == 3.0
    assert tangents[1].dtype == jacana.float0
    outs, tangents = jacana.jvp(lambda x: (x, jnp.ones(2)), (1.0,), (5.0,))
    assert numbers(tangents) == [5.0, [0.0, 0.0]]
    assert numbers(jacana.jvp(lambda x: (x * 2, x), (3.0,), (1.0,), has_aux=True)) == [
        6.0,
        2.0,
        3.0,
    ]


def test_vjp():
    out, pull = jacana.vjp(lambda x, y: (y, x, x), 1.0, 2.0)
    assert numbers(pull((1.0, 2.0, 3.0))) == [5.0, 1.0]
    out, pull, aux = jacana.vjp(lambda x: (x * 2, x + 1), 3.0, has_aux=True)
    assert numbers((out, pull(1.0), aux)) == [6.0, 2.0, 4.0]
    assert jacana.vjp(lambda i: i, 3)[1](FLOAT0)[0].dtype == jacana.float0
    # Cotangents of constants go nowhere.
    assert numbers(jacana.vjp(lambda x: (x, jnp.ones(3)), 1.0)[1]((4.0, X))) == [4.0]


def test_maps_are_pytrees():
    pull = jacana.jit(lambda x: jacana.vjp(jnp.sin, x)[1])(2.0)
    np.testing.assert_allclose(float(pull(1.0)[0]), np.cos(2.0), rtol=1e-6)
    push = jacana.jit(lambda x: jacana.linearize(jnp.sin, x)[1])(2.0)
    np.testing.assert_allclose(float(push(3.0)), 3 * np.cos(2.0), rtol=1e-6)


def test_maps_under_vmap():
    rows = jacana.vmap(jacana.vjp(lambda x: x * x, X)[1])(jnp.eye(3))[0]
    columns = jacana.vmap(jacana.linearize(lambda x: x * x, X)[1])(jnp.eye(3))
    assert rows.tolist() == columns.tolist() == np.diag([2.0, 4.0, 6.0]).tolist()


def test_linear_maps_are_differentiated():
    second = jacana.grad(lambda x: jacana.vjp(jnp.sin, x)[1](1.0)[0])(2.0)
    np.testing.assert_allclose(float(second), -np.sin(2.0), rtol=1e-6)
    tangent = jacana.jvp(lambda x: jacana.linearize(jnp.sin, x)[1](1.0), (2.0,), (1.0,))[1]
    np.testing.assert_allclose(float(tangent), -np.sin(2.0), rtol=1e-6)


def test_linear_transpose():
    pull = jacana.linear_transpose(lambda x: (2 * x, x.sum()), X)
    assert numbers(pull((X, 1.0))) == [[3.0, 5.0, 7.0]]
    with pytest.raises(NotImplementedError, match=r"Transpose rule .* for 'sin'"):
        jacana.linear_transpose(jnp.sin, 1.0)(1.0)


def test_jacobians():
    f = lambda p: {"u": p["a"] * p["b"], "v": p["b"]}
    p = {"a": X, "b": 2.0}
    forward, reverse = jacana.jacfwd(f)(p), jacana.jacrev(f)(p)
    assert numbers(forward) == numbers(reverse)
    assert forward["u"]["a"].tolist() == np.diag([2.0] * 3).tolist()
    assert forward["u"]["b"].tolist() == [1.0, 2.0, 3.0] and float(forward["v"]["b"]) == 1.0
    assert jacana.jacfwd(lambda x: jnp.outer(x, x))(X).shape == (3, 3, 3)
    both = jacana.jacrev(lambda x, y: x * y, argnums=(0, 1))(X, 2.0)
    assert both[1].tolist() == [1.0, 2.0, 3.0]
    _, aux = jacana.jacfwd(lambda x: (x * 2, x), has_aux=True)(X)
    assert aux.tolist() == X.tolist()


def test_hessian():
    h = jacana.hessian(lambda p: (p["a"] ** 2).sum() * p["b"])({"a": X, "b": 2.0})
    assert h["a"]["a"].tolist() == np.diag([4.0] * 3).tolist()
    assert h["a"]["b"].tolist() == h["b"]["a"].tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda: jacana.jvp(jnp.sin, (1.0,), (1,)), TypeError, "dtypes must be equal"),
        (lambda: jacana.jvp(jnp.sin, 1.0, 1.0), TypeError, "must be tuples or lists"),
        (lambda: jacana.jvp(jnp.sin, (1.0,), (1.0, 2.0)), TypeError, "same tree structure"),
        (lambda: jacana.jvp(jnp.sin, (X,), (jnp.ones(4),)), ValueError, "different primal and"),
        (lambda: jacana.vjp(lambda x: (x, x), 1.0)[1](1.0), ValueError, "unexpected tree"),
        (lambda: jacana.vjp(jnp.sin, 1.0)[1](1), ValueError, "unexpected JAX type"),
        (lambda: jacana.vjp(jnp.sin, 1.0)[1](X), ValueError, "unexpected JAX type"),
        (lambda: jacana.vjp(jnp.sin, 1.0)[1](1.0, 2.0), TypeError, "single argument"),
        (
            lambda: jacana.linearize(jnp.sin, 1.0)[1](1),
            ValueError,
            "inconsistent with the original",
        ),
        (lambda: jacana.jacfwd(jnp.sin)(1), TypeError, "jacfwd requires real-valued inputs"),
        (
            lambda: jacana.jacrev(lambda x: x * 1j)(1.0),
            TypeError,
            "jacrev requires real-valued out",
        ),
    ],
)
def test_bad_input(function, error, message):
    with pytest.raises(error, match=message):
        function()
