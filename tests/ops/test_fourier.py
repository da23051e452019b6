"""Fourier transforms as kernels, which arrays of some size are given."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import enable_x64
from jacana.ops.fourier import is_written_out, radices

SHAPES = [(4096, 8), (700, 50), (40, 30, 32), (9, 4000)]


def numbers(rng, shape, dtype):
    x = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.normal(size=shape)
    return x.astype(dtype)


def close(made, want, dtype):
    digits = np.finfo(dtype).eps
    assert made.shape == want.shape
    np.testing.assert_allclose(made, want, rtol=0, atol=6 * digits * np.abs(want).max())


def test_factors():
    assert radices(8 * 5 * 4 * 3) == [8, 5, 4, 3]
    assert radices(14) == [] and radices(1) == []
    assert not is_written_out((4096, 14), (14,), False)
    assert not is_written_out((1, 1 << 15), (1 << 15,), False)
    assert not is_written_out((4096, 9), (9,), True)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex(shape, dtype, rng):
    x = numbers(rng, shape, dtype)
    wide = x.astype("complex128")
    with enable_x64(dtype == "complex128"):
        for axis in range(x.ndim):
            made = jacana.jit(lambda x, axis=axis: jnp.fft.fft(x, axis=axis))(x)
            close(made, np.fft.fft(wide, axis=axis), dtype)
            assert np.asarray(jnp.fft.fft(x, axis=axis)).tobytes() == np.asarray(made).tobytes()
        close(jnp.fft.ifftn(x), np.fft.ifftn(wide), dtype)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_real(shape, dtype, rng):
    x = numbers(rng, shape, dtype)
    wide = x.astype("float64")
    with enable_x64(dtype == "float64"):
        close(jnp.fft.rfft(x), np.fft.rfft(wide), dtype)
        terms = jnp.fft.rfftn(x)
        close(terms, np.fft.rfftn(wide), dtype)
        close(jnp.fft.irfftn(terms, s=shape), wide, dtype)
        # The parts that those of a real signal would not have are left out.
        spoiled = np.array(np.fft.rfft(wide), terms.dtype)
        spoiled[..., 0] += 3j
        spoiled[..., -1] += 5j * (shape[-1] % 2 == 0)
        close(jnp.fft.irfft(spoiled, n=shape[-1]), wide, dtype)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_transposes_and_batches(name, rng):
    shape = (600, 65 if name == "irfft" else 64)
    x = numbers(rng, shape, "float32" if name == "rfft" else "complex64")
    f = getattr(jnp.fft, name)
    y, pullback = jacana.vjp(f, x)
    weights = numbers(rng, y.shape, y.dtype)
    (back,) = pullback(weights)
    left, right = np.sum(np.asarray(y) * weights), np.sum(np.asarray(back) * x)
    if name in ("rfft", "irfft"):
        left, right = left.real, right.real
    assert abs(left - right) <= 1e-4 * np.linalg.norm(y) * np.linalg.norm(weights)
    stacked = np.stack([np.asarray(f(row)) for row in x[:3]])
    np.testing.assert_allclose(jacana.vmap(f)(x)[:3], stacked, rtol=1e-4, atol=1e-5)


def test_infinite_numbers_stay_in_their_row():
    x = np.ones((600, 64), "float32")
    x[7, 3] = np.inf
    bad = np.isnan(np.asarray(jnp.fft.rfft(x))).any(1)
    assert bad.tolist() == [k == 7 for k in range(600)]
