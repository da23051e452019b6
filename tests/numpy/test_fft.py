"""jnp.fft against NumPy, and its gradients."""

import numpy as np
import pytest

import jacana as jax
import jacana.numpy as jnp
from jacana import lax

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
TWO = ("fft2", "ifft2", "rfft2", "irfft2")
MANY = ("fftn", "ifftn", "rfftn", "irfftn")
OF_REALS = ("rfft", "ihfft", "rfft2", "rfftn")


def operand(name, shape=(3, 4, 5)):
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape).astype("float32")
    return x if name in OF_REALS else x + 1j * rng.normal(size=shape).astype("float32")


@pytest.mark.parametrize("name", ONE + TWO + MANY)
def test_as_numpy(name):
    f, g, x = getattr(jnp.fft, name), getattr(np.fft, name), operand(name)
    calls = [{"norm": norm} for norm in (None, "ortho", "forward", "backward")]
    if name in ONE:
        calls += [{"n": 7, "axis": 0}, {"n": 2, "axis": 1}]
    else:
        calls += [{"s": (2, 7), "axes": (2, 0)}]
    for kwargs in calls:
        out = f(x, **kwargs)
        np.testing.assert_allclose(out, g(x, **kwargs), rtol=1e-4, atol=1e-4)
        assert out.dtype == (np.float32 if name.startswith(("irf", "hf")) else np.complex64)


def test_frequencies():
    np.testing.assert_allclose(jnp.fft.fftfreq(5, 0.5), np.fft.fftfreq(5, 0.5))
    np.testing.assert_allclose(jnp.fft.rfftfreq(6, d=2.0), np.fft.rfftfreq(6, 2.0), rtol=1e-6)
    x = np.arange(12).reshape(3, 4)
    for axes in (None, 0, (0, 1), (-1,)):
        np.testing.assert_array_equal(jnp.fft.fftshift(x, axes), np.fft.fftshift(x, axes))
        np.testing.assert_array_equal(jnp.fft.ifftshift(x, axes), np.fft.ifftshift(x, axes))


def test_gradient_under_jit_and_vmap():
    def power(x):
        return jnp.sum(jnp.abs(jnp.fft.rfft(x)) ** 2)

    x = operand("rfft")[0]
    # Every inner term counts once here, where Parseval's sum counts it twice.
    grads = jax.jit(jax.vmap(jax.grad(power)))(x)
    step = 1e-2
    for k in range(5):
        e = np.zeros(5, "float32")
        e[k] = step
        slope = (power(x[0] + e) - power(x[0] - e)) / (2 * step)
        np.testing.assert_allclose(grads[0, k], slope, rtol=1e-2, atol=1e-2)


def test_dtypes_and_empty():
    assert jnp.fft.fft(np.arange(4)).dtype == np.complex64
    assert jnp.fft.rfft(np.ones(4, "float16")).dtype == np.complex64
    assert jnp.fft.fft(jnp.ones(0)).shape == (0,)
    assert jnp.fft.irfft(jnp.ones(1)).shape == (0,)
    assert lax.fft(np.ones((2, 4), "complex64"), "IRFFT", (6,)).shape == (2, 6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: jnp.fft.fft(x, norm="no"), "Invalid norm value no"),
        (lambda x: jnp.fft.fft(x, n=0), "Shape should be positive"),
        (lambda x: jnp.fft.rfft(x + 0j), "only real valued inputs supported for rfft"),
        (lambda x: jnp.fft.fftn(x, axes=(0, 0)), "does not support repeated axes"),
        (lambda x: jnp.fft.fft(x, axis=(0, 1)), "does not support multiple axes"),
        (lambda x: lax.fft(x, "dct", (4,)), "Unknown FFT type 'dct'"),
        (lambda x: lax.fft(x, "rfft", (3,)), "minor dimensions must be equal to"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call(jnp.ones((2, 4)))
