"""Products by BLAS against NumPy, and their bits for different numbers of threads."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from jacana.compiler.library import blas
from jacana.runtime import threads
from tests.runtime.native_programs import run_native

DTYPES = ("float32", "float64", "complex64", "complex128")
SIZES = (
    (3, 4, 5, 2), (1, 7, 9, 3), (7, 1, 9, 2), (1, 1, 13, 2), (1, 5, 1, 1), (5, 1, 1, 1),
    (2, 3, 0, 1), (0, 3, 2, 1), (3, 0, 2, 2), (65, 33, 17, 4), (1, 3, 0, 2),
)  # fmt: skip


@pytest.fixture
def number_of_threads() -> Iterator[None]:
    before = threads.get_num_threads()
    yield
    threads.set_num_threads(before)


def random(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if dtype[0] == "c" else x).astype(dtype)


def close(got: np.ndarray, want: np.ndarray) -> None:
    bound = 1e-4 if got.dtype.name in ("float32", "complex64") else 1e-12
    np.testing.assert_allclose(got, want, rtol=bound, atol=bound)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "n", "k", "batch"), SIZES)
def test_gemm(rng, dtype: str, m: int, n: int, k: int, batch: int) -> None:
    for flip_a, flip_b in itertools.product([False, True], [False, True]):
        a = random(rng, (batch, k, m) if flip_a else (batch, m, k), dtype)
        b = random(rng, (batch, n, k) if flip_b else (batch, k, n), dtype)
        c = np.full((batch, m, n), np.nan, dtype)
        launch = blas.gemm_launch(m, n, k, transpose_a=flip_a, transpose_b=flip_b, batch=batch)
        run_native(blas.gemm(dtype), launch, [a, b, c])
        want = (a.swapaxes(1, 2) if flip_a else a) @ (b.swapaxes(1, 2) if flip_b else b)
        close(c, want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "n", "k"), [(4, 5, 6), (1, 5, 6), (4, 1, 6), (1, 1, 6)])
def test_gemm_within_bigger_arrays(rng, dtype: str, m: int, n: int, k: int) -> None:
    for flip_a, flip_b in itertools.product([False, True], [False, True]):
        big_a, big_b, big_c = (random(rng, (3, 10, 12), dtype) for _ in range(3))
        before = big_c.copy()
        a = big_a[:, : k if flip_a else m, : m if flip_a else k]
        b = big_b[0, : n if flip_b else k, : k if flip_b else n]
        launch = blas.gemm_launch(
            m, n, k, transpose_a=flip_a, transpose_b=flip_b, lda=12, ldb=12, ldc=12,
            batch=3, stride_a=120, stride_b=0, stride_c=120,
        )  # fmt: skip
        run_native(blas.gemm(dtype), launch, [big_a, big_b, big_c])
        close(big_c[:, :m, :n], (a.swapaxes(1, 2) if flip_a else a) @ (b.T if flip_b else b))
        big_c[:, :m, :n] = before[:, :m, :n]
        np.testing.assert_array_equal(big_c, before)


@pytest.mark.usefixtures("number_of_threads")
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@pytest.mark.parametrize(
    ("m", "n", "k", "batch"),
    [
        (700, 300, 500, 1),
        (100, 1100, 600, 1),
        (1200, 1, 900, 1),
        (1, 1100, 1000, 1),
        (64, 64, 64, 99),
    ],
)
def test_bits_do_not_depend_on_threads(rng, dtype: str, m: int, n: int, k: int, batch: int) -> None:
    a, b = random(rng, (batch, m, k), dtype), random(rng, (batch, k, n), dtype)
    launch = blas.gemm_launch(m, n, k, batch=batch)
    assert launch.extent >= 2 * launch.grain
    results = []
    for count in (1, 2, 3, 1):
        threads.set_num_threads(count)
        c = np.empty((batch, m, n), dtype)
        run_native(blas.gemm(dtype), launch, [a, b, c])
        results.append(c.tobytes())
    assert len(set(results)) == 1
    np.testing.assert_allclose(c, a @ b, rtol=1e-2, atol=1e-2)


def test_sizes_beyond_a_c_integer_are_refused() -> None:
    launch = blas.gemm_launch(1, 1, 1, lda=2**31)
    with pytest.raises(RuntimeError, match="command 0"):
        run_native(blas.gemm("float32"), launch, [np.zeros(1, np.float32)] * 3)


@pytest.mark.parametrize("shape", [(8, 8, 8), (512, 512, 512), (5000, 17, 1000), (3, 9000, 2000)])
def test_panels_cover_the_product(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    rows, columns = blas.panel_shape(m, n, k)
    assert 1 <= rows <= m
    assert 1 <= columns <= n
    assert (rows, columns) == shape[:2] or m * n * k >= 1 << 25
