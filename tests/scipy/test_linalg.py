"""jax.scipy.linalg against SciPy, and the gradients of its functions of matrices."""

import numpy as np
import pytest
import scipy.linalg

import jacana
import jacana.numpy as jnp
from jacana import enable_x64, grad, jit, vmap
from jacana.scipy import linalg
from tests.numpy.test_linalg import DTYPES, check_gradients, close, hermitian, matrix


@pytest.fixture(autouse=True)
def _wide():
    with enable_x64():
        yield


@pytest.mark.parametrize("dtype", DTYPES)
def test_systems(dtype):
    a, b = matrix(4, 4, dtype=dtype), matrix(4, 2, dtype=dtype, seed=1)
    positive = (a @ a.conj().T + np.eye(4)).astype(dtype)
    for rhs in (b, b[:, 0]):
        close(linalg.solve(a, rhs), scipy.linalg.solve(a, rhs), 10)
        for lower in (True, False):
            close(linalg.solve(positive, rhs, lower=lower, assume_a="pos"),
                  scipy.linalg.solve(positive, rhs), 10)  # fmt: skip
            factor = linalg.cho_factor(positive, lower=lower)
            close(linalg.cho_solve(factor, rhs), scipy.linalg.solve(positive, rhs), 10)
        for trans in (0, 1, 2):
            got = linalg.lu_solve(linalg.lu_factor(a), rhs, trans)
            close(got, scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), rhs, trans), 10)
            for lower in (True, False):
                triangle = a + 4 * np.eye(4, dtype=dtype)
                got = linalg.solve_triangular(triangle, rhs, trans, lower, lower)
                close(got, scipy.linalg.solve_triangular(triangle, rhs, trans, lower, lower), 100)
    close(linalg.inv(a), scipy.linalg.inv(a), 10)
    close(linalg.det(a), np.asarray(scipy.linalg.det(a)).astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_decompositions(dtype):
    a = matrix(4, 3, dtype=dtype)
    for x in (a, a.T, a[:3]):
        for got, want in zip(linalg.lu(x), scipy.linalg.lu(x)):
            close(got, want.astype(np.asarray(got).dtype))
        for mode in ("full", "economic"):
            for pivoting in (True, False):
                made = linalg.qr(x, mode=mode, pivoting=pivoting)
                for got, want in zip(made, scipy.linalg.qr(x, mode=mode, pivoting=pivoting)):
                    close(got, want)
        u, p = linalg.polar(x)
        close(np.asarray(u) @ np.asarray(p), x)
        u, p = linalg.polar(x, side="left")
        close(np.asarray(p) @ np.asarray(u), x)
    square = matrix(4, 4, dtype=dtype)
    for output in ("real", "complex"):
        t, z = (np.asarray(x) for x in linalg.schur(square, output=output))
        close((z @ t @ z.conj().T), square.astype(t.dtype), 10)
    h, q = (np.asarray(x) for x in linalg.hessenberg(square, calc_q=True))
    close(q @ h @ q.conj().T, square, 10)
    close(h, scipy.linalg.hessenberg(square), 10)
    s = hermitian(4, dtype)
    b = (square @ square.conj().T + np.eye(4)).astype(dtype)
    w, v = (np.asarray(x) for x in linalg.eigh(s, b))
    close(w, scipy.linalg.eigh(s, b, eigvals_only=True), 10)
    close(s @ v, b @ v * w, 100)


def test_tridiagonal_eigenvalues():
    d, e = matrix(5), matrix(4, seed=1)
    want = scipy.linalg.eigh_tridiagonal(d, e, eigvals_only=True)
    close(linalg.eigh_tridiagonal(d, e, eigvals_only=True), want)
    close(linalg.eigh_tridiagonal(d, e, eigvals_only=True, select="i", select_range=(1, 2)),
          want[1:3])  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_matrices(dtype):
    for scale in (0, 0.1, 1, 20):
        a = (scale * matrix(4, 4, dtype=dtype)).astype(dtype)
        want = scipy.linalg.expm(a.astype(np.result_type(dtype, np.float64)))
        size = np.abs(want).max()
        np.testing.assert_allclose(
            linalg.expm(a) / size, want / size, atol=3e-4 if a.itemsize < 16 and dtype != "float64"
            else 1e-11)  # fmt: skip
    a = matrix(4, 4, dtype=dtype)
    root = np.asarray(linalg.sqrtm(a))
    close(root @ root, a.astype(root.dtype), 10)
    close(linalg.funm(a, jnp.exp), scipy.linalg.expm(a).astype(root.dtype), 100)
    b, c = matrix(3, 3, dtype=dtype, seed=1), matrix(4, 3, dtype=dtype, seed=2)
    x = np.asarray(linalg.solve_sylvester(a, b, c))
    close(a @ x + x @ b, c, 100)


def test_exponentials_batched_and_differentiated():
    a = np.stack([0.1 * matrix(3, 3), 3 * matrix(3, 3), 9 * matrix(3, 3)])
    want = np.stack([scipy.linalg.expm(x) for x in a])
    np.testing.assert_allclose(linalg.expm(a), want, rtol=1e-8)
    np.testing.assert_allclose(jit(vmap(linalg.expm))(a), want, rtol=1e-8)
    weight = matrix(3, 3, seed=5)
    check_gradients(lambda x: jnp.sum(weight * linalg.expm(x)), 2 * a[1], 1e-5)
    value, slope = linalg.expm_frechet(a[1], weight)
    want_value, want_slope = scipy.linalg.expm_frechet(a[1], weight)
    np.testing.assert_allclose(value, want_value, rtol=1e-9)
    np.testing.assert_allclose(slope, want_slope, rtol=1e-9)
    assert np.isnan(linalg.expm(1e9 * a[0])).all()
    upper = np.triu(a[1])
    close(linalg.expm(upper, upper_triangular=True), scipy.linalg.expm(upper))
    assert np.isfinite(grad(lambda x: linalg.expm(x).sum())(np.zeros((3, 3)))).all()


def test_gradients_through_factors():
    b = matrix(3, 2, seed=2)

    def by_cholesky(a):
        factor = linalg.cho_factor(a @ a.T + jnp.eye(3))
        return jnp.sum(linalg.cho_solve(factor, b) ** 2)

    check_gradients(by_cholesky, matrix(3, 3), 1e-5)
    check_gradients(lambda a: jnp.sum(linalg.lu_solve(linalg.lu_factor(a), b, 1) ** 2),
                    matrix(3, 3), 1e-5)  # fmt: skip


def test_patterns():
    c, r = np.arange(1.0, 4), np.arange(5.0, 9)
    same = ("toeplitz", "hankel", "circulant", "companion", "fiedler", "fiedler_companion")
    for name in same:
        close(getattr(linalg, name)(c), getattr(scipy.linalg, name)(c))
    close(linalg.toeplitz(c, r), scipy.linalg.toeplitz(c, r))
    close(linalg.hankel(c, r), scipy.linalg.hankel(c, r))
    close(linalg.toeplitz(c + 1j), scipy.linalg.toeplitz(c + 1j))
    close(linalg.leslie(c, r[:2]), scipy.linalg.leslie(c, r[:2]))
    close(linalg.fiedler_companion(r), scipy.linalg.fiedler_companion(r))
    for mode in ("full", "same", "valid"):
        close(linalg.convolution_matrix(c, 5, mode), scipy.linalg.convolution_matrix(c, 5, mode))
    for name in ("hilbert", "invhilbert", "helmert"):
        close(getattr(linalg, name)(4), getattr(scipy.linalg, name)(4))
    for kind in ("symmetric", "lower", "upper"):
        np.testing.assert_array_equal(linalg.pascal(4, kind), scipy.linalg.pascal(4, kind))
        np.testing.assert_array_equal(linalg.invpascal(4, kind), scipy.linalg.invpascal(4, kind))
    np.testing.assert_array_equal(linalg.hadamard(4), scipy.linalg.hadamard(4))
    for scale in (None, "sqrtn", "n"):
        close(linalg.dft(5, scale), scipy.linalg.dft(5, scale))
    blocks = np.ones((2, 3)), np.arange(2.0), 5.0
    close(linalg.block_diag(*blocks), scipy.linalg.block_diag(*blocks))
    assert jacana.vmap(linalg.toeplitz)(np.ones((2, 3))).shape == (2, 3, 3)
