"""cg, bicgstab and gmres against direct solutions, with their derivatives."""

import functools

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana.scipy.sparse.linalg import bicgstab, cg, gmres

SIZE = 20
incremental = functools.partial(gmres, solve_method="incremental", restart=6)


def system(method, dtype):
    draw = np.random.default_rng(0)
    a = draw.normal(size=(SIZE, SIZE)) + SIZE * np.eye(SIZE)
    b = draw.normal(size=SIZE)
    if np.dtype(dtype).kind == "c":
        a, b = a + 1j * draw.normal(size=a.shape), b - 1j
    if method is cg:
        a = a @ a.conj().T / SIZE + np.eye(SIZE)
    return a.astype(dtype), b.astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize("method", [cg, bicgstab, gmres, incremental])
def test_solutions_and_gradients(method, dtype):
    a, b = system(method, dtype)
    x, _ = method(a, b)
    np.testing.assert_allclose(x, np.linalg.solve(a, b), rtol=1e-3, atol=1e-5)
    assert x.dtype == dtype

    def loss(solver):
        return lambda a, b: jnp.sum(jnp.abs(solver(a, b)) ** 2)

    found = jacana.grad(loss(lambda a, b: method(a, b)[0]), (0, 1))(a, b)
    expected = jacana.grad(loss(jnp.linalg.solve), (0, 1))(a, b)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-4 * np.abs(y).max())


@pytest.mark.parametrize("method", [cg, bicgstab, gmres])
def test_options(method):
    a, b = system(method, "float32")
    exact = np.linalg.solve(a, b)
    diagonal = np.diag(a).copy()
    for given in (
        {"M": lambda x: x / diagonal}, {"M": np.diag(1 / diagonal)}, {"x0": exact},
        {"tol": 0.0, "atol": 1e-4},
    ):  # fmt: skip
        np.testing.assert_allclose(method(a, b, **given)[0], exact, rtol=1e-2, atol=1e-4)
    assert np.abs(method(a, b, maxiter=0)[0]).max() == 0
    assert np.abs(method(a, 0 * b)[0]).max() == 0
    loose = np.linalg.norm(a @ method(a, b, tol=1e-1)[0] - b) / np.linalg.norm(b)
    assert loose < 0.1
    batched = jacana.vmap(lambda b: method(a, b)[0])(np.stack([b, 2 * b]))
    np.testing.assert_allclose(batched[1], 2 * exact, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("method", [cg, bicgstab, gmres])
def test_trees(method):
    b = {"a": jnp.ones((2, 2)), "b": jnp.float32(3)}
    x, _ = jacana.jit(lambda b: method(lambda t: {"a": 2 * t["a"], "b": 3 * t["b"]}, b))(b)
    np.testing.assert_allclose(x["a"], np.full((2, 2), 0.5), rtol=1e-4)
    np.testing.assert_allclose(x["b"], 1, rtol=1e-4)


def test_failure_is_told():
    a, b = system(gmres, "float32")
    assert gmres(a, b)[1] == 0
    assert gmres(a, b * np.nan)[1] == -1


def test_messages():
    a, b = system(cg, "float32")
    for error, text, call in (
        (ValueError, "must have matching shapes", lambda: cg(a, b, x0=np.ones(3))),
        (ValueError, "must have matching tree structure", lambda: cg(a, b, x0=(b,))),
        (TypeError, "either a function or ndarray: 3", lambda: cg(3, b)),
        (ValueError, r"must be a square matrix, but has shape: \(2, 3\)",
         lambda: cg(np.ones((2, 3)), b)),
        (ValueError, "invalid solve_method x", lambda: gmres(a, b, solve_method="x")),
    ):  # fmt: skip
        with pytest.raises(error, match=text):
            call()
