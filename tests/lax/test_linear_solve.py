"""custom_linear_solve: values and all derivatives are those of the system."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import lax

A = np.float32([[4, 1, 0], [2, 5, 1], [0, 1, 3]])
B = np.float32([1, 2, 3])


def by_elimination(matrix, b, transposable=True, symmetric=False):
    def solve(matvec, rhs):
        return jnp.linalg.solve(jacana.jacfwd(matvec)(rhs), rhs)

    return lax.custom_linear_solve(
        lambda x: matrix @ x, b, solve, solve if transposable else None, symmetric
    )


def test_derivatives():
    def loss(solver):
        return lambda a, b: jnp.sum(jnp.sin(solver(a, b)))

    ours, exact = loss(by_elimination), loss(jnp.linalg.solve)
    for transformed in (
        lambda f: jacana.value_and_grad(f, (0, 1))(A, B),
        lambda f: jacana.jit(jacana.grad(f, (0, 1)))(A, B),
        lambda f: jacana.jvp(f, (A, B), (A + 1, B)),
        lambda f: jacana.jvp(f, (A, B), (0 * A, B)),
        lambda f: jacana.hessian(f, (0, 1))(A, B),
        lambda f: jacana.vmap(jacana.grad(f), (None, 0))(A, np.stack([B, 2 * B])),
        lambda f: jacana.vmap(f, (0, None))(np.stack([A, 2 * A]), B),
    ):
        found, expected = (jacana.tree.leaves(transformed(f)) for f in (ours, exact))
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-4, atol=1e-5)


def test_trees_and_aux():
    def solve(matvec, b):
        return {"a": b["a"] / 2, "b": b["b"] / 3}, jnp.int32(7)

    def system(b):
        return lax.custom_linear_solve(
            lambda x: {"a": 2 * x["a"], "b": 3 * x["b"]}, b, solve, solve, has_aux=True
        )

    b = {"a": jnp.ones(2), "b": jnp.float32(3)}
    x, aux = system(b)
    assert (x["a"].tolist(), float(x["b"]), int(aux)) == ([0.5, 0.5], 1.0, 7)
    ct = jacana.grad(lambda b: system(b)[0]["b"] * 6)(b)
    assert (ct["a"].tolist(), float(ct["b"])) == ([0.0, 0.0], 2.0)


def test_messages():
    with pytest.raises(TypeError, match="was given no transpose_solve"):
        jacana.grad(lambda b: by_elimination(A, b, transposable=False).sum())(B)
    with pytest.raises(TypeError, match="needs matvec to give what b is made of"):
        lax.custom_linear_solve(lambda x: x[:2], B, lambda f, b: b)
    with pytest.raises(TypeError, match="needs solve to give what b is made of"):
        lax.custom_linear_solve(lambda x: x, B, lambda f, b: (b, b))
