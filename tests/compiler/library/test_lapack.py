"""Factorisations by LAPACK against NumPy, SciPy and their own definitions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from jacana.compiler.library import lapack
from jacana.runtime import threads
from tests.compiler.library.test_blas import DTYPES, random
from tests.runtime.native_programs import run_native

BATCH, N = 3, 6
Shape = tuple[int, ...]


def run(
    name: str,
    dtype: str,
    params: Sequence[int],
    inputs: Sequence[np.ndarray],
    outputs: Sequence[tuple[Shape, Any]],
) -> list[np.ndarray]:
    """The outputs, given by shape and dtype, of a function on a batch."""
    made = [np.full((BATCH, *shape), 77, kind) for shape, kind in outputs]
    arrays = [np.ascontiguousarray(x) for x in inputs] + made
    run_native(lapack.address(name, dtype), lapack.launch(name, BATCH, *params), arrays)
    return made


def adjoint(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2))


def real(dtype: str) -> Any:
    return np.dtype(dtype).type(0).real.dtype


def close(got: np.ndarray, want: np.ndarray) -> None:
    bound = 2e-3 if real(got.dtype.name) == np.float32 else 1e-10
    np.testing.assert_allclose(got, np.broadcast_to(want, got.shape), rtol=bound, atol=bound)


def positive(rng: np.random.Generator, dtype: str) -> np.ndarray:
    a = random(rng, (BATCH, N, N), dtype)
    return (a @ adjoint(a) + np.eye(N)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cholesky(rng, dtype: str) -> None:
    a = positive(rng, dtype)
    a[1] *= -1
    lower_only = np.where(np.tri(N, dtype=bool), a, np.nan).astype(dtype)
    (l,) = run("cholesky", dtype, [N], [lower_only], [((N, N), dtype)])
    for i in (0, 2):
        close(l[i], np.linalg.cholesky(a[i]))
    assert np.isnan(l[1][np.tril_indices(N)]).all()
    assert (l[:, *np.triu_indices(N, 1)] == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "n"), [(5, 5), (7, 4), (4, 7), (0, 3), (3, 0)])
def test_lu(rng, dtype: str, m: int, n: int) -> None:
    a, k = random(rng, (BATCH, m, n), dtype), min(m, n)
    outputs = [((m, n), dtype), ((k,), np.int32), ((m,), np.int32)]
    lu, pivots, permutation = run("lu", dtype, [m, n], [a], outputs)
    l, u = np.tril(lu[:, :, :k], -1) + np.eye(m, k), np.triu(lu[:, :k])
    close((l @ u).astype(dtype), np.take_along_axis(a, permutation[:, :, None].astype(int), 1))
    if k:
        np.testing.assert_array_equal(pivots[0], scipy.linalg.lu_factor(a[0])[1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_lu_of_a_singular_matrix_is_no_failure(dtype: str) -> None:
    a = np.ones((BATCH, 3, 3), dtype)
    outputs = [((3, 3), dtype), ((3,), np.int32), ((3,), np.int32)]
    lu, _, _ = run("lu", dtype, [3, 3], [a], outputs)
    assert np.isfinite(lu).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "n"), [(5, 5), (7, 4), (4, 7), (3, 0)])
def test_qr(rng, dtype: str, m: int, n: int) -> None:
    a, k = random(rng, (BATCH, m, n), dtype), min(m, n)
    packed, taus = run("qr", dtype, [m, n], [a], [((m, n), dtype), ((k,), dtype)])
    inputs = [packed[:, :, :k], taus]
    (q,) = run("householder_product", dtype, [m, k, k], inputs, [((m, k), dtype)])
    close((q @ np.triu(packed[:, :k])).astype(dtype), a)
    close((adjoint(q) @ q).astype(dtype), np.eye(k))
    if n:
        close(np.triu(packed[0, :k]), scipy.linalg.qr(a[0], mode="economic")[1])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "n"), [(5, 5), (7, 4), (4, 7)])
def test_pivoted_qr(rng, dtype: str, m: int, n: int) -> None:
    a, k = random(rng, (BATCH, m, n), dtype), min(m, n)
    outputs = [((m, n), dtype), ((n,), np.int32), ((k,), dtype)]
    packed, pivots, taus = run("pivoted_qr", dtype, [m, n], [a], outputs)
    inputs = [packed[:, :, :k], taus]
    (q,) = run("householder_product", dtype, [m, k, k], inputs, [((m, k), dtype)])
    ordered = np.take_along_axis(a, pivots[:, None, :].astype(int), 2)
    close((q @ np.triu(packed[:, :k])).astype(dtype), ordered)
    np.testing.assert_array_equal(pivots[0], scipy.linalg.qr(a[0], pivoting=True)[2])


@pytest.mark.parametrize("dtype", DTYPES)
def test_hessenberg(rng, dtype: str) -> None:
    a = random(rng, (BATCH, N, N), dtype)
    packed, taus = run("hessenberg", dtype, [N], [a], [((N, N), dtype), ((N - 1,), dtype)])
    assert np.isfinite(taus).all()
    for i in range(BATCH):
        close(np.triu(packed[i], -1), scipy.linalg.hessenberg(a[i]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [0, 1])
def test_tridiagonal(rng, dtype: str, lower: int) -> None:
    a = random(rng, (BATCH, N, N), dtype)
    a = a + adjoint(a)
    outputs = [
        ((N, N), dtype), ((N,), real(dtype)), ((N - 1,), real(dtype)), ((N - 1,), dtype),
    ]  # fmt: skip
    packed, d, e, taus = run("tridiagonal", dtype, [N, lower], [a], outputs)
    assert np.isfinite(taus).all()
    for i in range(BATCH):
        form = np.diag(d[i]) + np.diag(e[i], 1) + np.diag(e[i], -1)
        close(np.linalg.eigvalsh(form), np.linalg.eigvalsh(a[i]))
        close(np.diagonal(packed[i]).real, d[i])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", [0, 1])
@pytest.mark.parametrize("lower", [0, 1])
@pytest.mark.parametrize("transpose", [0, 1, 2])
@pytest.mark.parametrize("unit", [0, 1])
def test_triangular_solve(
    rng, dtype: str, left: int, lower: int, transpose: int, unit: int
) -> None:
    a = random(rng, (BATCH, N, N), dtype) / 4 + 2 * np.eye(N, dtype=dtype)
    b = random(rng, (BATCH, N, 4) if left else (BATCH, 4, N), dtype)
    params = [*b.shape[1:], left, lower, transpose, unit, N * N]
    (x,) = run("triangular_solve", dtype, params, [a, b], [(b.shape[1:], dtype)])
    triangle = np.tril(a) if lower else np.triu(a)
    if unit:
        triangle = triangle * (1 - np.eye(N)) + np.eye(N)
    used = [triangle, np.swapaxes(triangle, -1, -2), adjoint(triangle)][transpose]
    close((used @ x if left else x @ used).astype(dtype), b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_tridiagonal_solve(rng, dtype: str) -> None:
    lower, upper = random(rng, (BATCH, N), dtype), random(rng, (BATCH, N), dtype)
    lower[:, 0] = upper[:, -1] = np.nan
    diagonal, b = random(rng, (BATCH, N), dtype) + 4, random(rng, (BATCH, N, 3), dtype)
    inputs = [lower, diagonal, upper, b]
    (x,) = run("tridiagonal_solve", dtype, [N, 3], inputs, [((N, 3), dtype)])
    for i in range(BATCH):
        matrix = np.diag(diagonal[i]) + np.diag(lower[i, 1:], -1) + np.diag(upper[i, :-1], 1)
        close((matrix @ x[i]).astype(dtype), b[i])
    zeros = np.zeros((BATCH, N), dtype)
    (x,) = run("tridiagonal_solve", dtype, [N, 3], [zeros, zeros, zeros, b], [((N, 3), dtype)])
    assert np.isnan(x).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [0, 1])
def test_eigh(rng, dtype: str, lower: int) -> None:
    a = random(rng, (BATCH, N, N), dtype)
    a = a + adjoint(a)
    triangle = np.tri(N, dtype=bool) if lower else np.tri(N, dtype=bool).T
    half = np.where(triangle, a, np.nan).astype(dtype)
    outputs = [((N, N), dtype), ((N,), real(dtype))]
    v, w = run("eigh", dtype, [N, lower, 1], [half], outputs)
    close(w, np.linalg.eigvalsh(a))
    close(a @ v, v * w[:, None])
    close(adjoint(v) @ v, np.eye(N, dtype=dtype))
    unused, alone = run("eigh", dtype, [N, lower, 0], [half], outputs)
    close(alone, w)
    assert (unused == 77).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "n"), [(5, 5), (7, 4), (4, 7), (0, 3)])
@pytest.mark.parametrize("full", [0, 1])
def test_svd(rng, dtype: str, m: int, n: int, full: int) -> None:
    a, k = random(rng, (BATCH, m, n), dtype), min(m, n)
    if full and not k:
        pytest.skip("LAPACK leaves the vectors of an empty matrix alone")
    p, q = (m, n) if full else (k, k)
    outputs = [((k,), real(dtype)), ((m, p), dtype), ((q, n), dtype)]
    s, u, vt = run("svd", dtype, [m, n, full, 1], [a], outputs)
    close((u[:, :, :k] * s[:, None] @ vt[:, :k]).astype(dtype), a)
    close(adjoint(u) @ u, np.eye(p))
    close(vt @ adjoint(vt), np.eye(q))
    (alone,) = run("svd", dtype, [m, n, full, 0], [a], outputs[:1])
    close(alone, s)
    if k:
        close(s, np.linalg.svd(a, compute_uv=False))
        close(u[0], scipy.linalg.svd(a[0], full_matrices=bool(full))[0])


@pytest.mark.parametrize("dtype", DTYPES)
def test_eig(rng, dtype: str) -> None:
    a, kind = random(rng, (BATCH, N, N), dtype), np.result_type(dtype, np.complex64)
    outputs = [((N,), kind), ((N, N), kind), ((N, N), kind)]
    w, left, right = run("eig", dtype, [N, 1, 1], [a], outputs)
    close(a @ right, right * w[:, None])
    close(adjoint(left) @ a, w[:, :, None] * adjoint(left))
    close(w[0], scipy.linalg.eig(a[0])[0])
    _, unused, only = run("eig", dtype, [N, 0, 1], [a], outputs)
    close(only, right)
    assert (unused == 77).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_schur(rng, dtype: str) -> None:
    a = random(rng, (BATCH, N, N), dtype)
    form, vectors = run("schur", dtype, [N, 1], [a], [((N, N), dtype)] * 2)
    close(vectors @ form @ adjoint(vectors), a)
    close(adjoint(vectors) @ vectors, np.eye(N))
    assert np.abs(np.tril(form, -2)).max() < 1e-5


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_failures_give_nan_for_that_matrix_only(rng, dtype: str, bad: float, capfd) -> None:
    a = random(rng, (BATCH, N, N), dtype)
    a[1, 2, 3] = a[1, 3, 2] = bad
    square, kind = ((N, N), dtype), np.result_type(dtype, np.complex64)
    cases = [
        ("eigh", [N, 1, 1], [square, ((N,), real(dtype))]),
        ("svd", [N, N, 1, 1], [((N,), real(dtype)), square, square]),
        ("eig", [N, 1, 1], [((N,), kind), ((N, N), kind), ((N, N), kind)]),
        ("schur", [N, 1], [square, square]),
    ]
    for name, params, outputs in cases:
        for got in run(name, dtype, params, [a], outputs):
            assert np.isfinite(got[[0, 2]]).all(), name
            # LAPACK itself does not always take infinity for a failure.
            found = np.isnan(got[1])
            assert found.any() if np.isinf(bad) else found.all(), name
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""


@pytest.mark.parametrize("name", ["eigh", "svd"])
def test_bits_do_not_depend_on_threads(rng, name: str) -> None:
    n = 150
    a = random(rng, (BATCH, n, n), "float64")
    outputs: list[tuple[Shape, Any]] = [((n, n), "float64"), ((n,), "float64")]
    params = [n, 1, 1]
    if name == "svd":
        outputs = [((n,), "float64"), ((n, n), "float64"), ((n, n), "float64")]
        params = [n, n, 1, 1]
    before, results = threads.get_num_threads(), set()
    for count in (1, 2):
        threads.set_num_threads(count)
        results.add(b"".join(x.tobytes() for x in run(name, "float64", params, [a], outputs)))
    threads.set_num_threads(before)
    assert len(results) == 1


def test_panels_of_right_sides(rng):
    n, count = 150, 210
    a = np.tril(rng.standard_normal((n, n))) / n + np.eye(n)
    b = rng.standard_normal((n, count))
    launch = lapack.launch("triangular_solve", 1, n, count, 1, 1, 0, 0, n * n)
    assert launch.extent == 2
    x = np.full_like(b, 77)
    run_native(lapack.address("triangular_solve", "float64"), launch, [a, b, x])
    np.testing.assert_allclose(a @ x, b, atol=1e-12)
