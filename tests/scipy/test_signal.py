"""Convolutions against SciPy, and ravel_pytree."""

import numpy as np
import pytest
from scipy import signal as reference

import jacana
from jacana import flatten_util
from jacana.scipy import signal

MODES = ("full", "same", "valid")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["convolve", "correlate", "fftconvolve"])
def test_vectors(rng, name, mode):
    for m, n in ((7, 3), (3, 6), (6, 4), (5, 5)):
        x, y = rng.normal(size=m), rng.normal(size=n)
        for dtype in ("float64", "complex128"):
            x, y = (v.astype(dtype) * (1 + (dtype == "complex128") * 1j * v) for v in (x, y))
            with jacana.enable_x64(True):
                got = getattr(signal, name)(x, y, mode)
            np.testing.assert_allclose(got, getattr(reference, name)(x, y, mode), atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["convolve2d", "correlate2d"])
def test_matrices(rng, name, mode):
    for m, n in (((7, 6), (3, 2)), ((3, 3), (5, 4)), ((4, 4), (3, 4))):
        x, y = rng.normal(size=m), rng.normal(size=n)
        with jacana.enable_x64(True):
            got = getattr(signal, name)(x, y, mode)
        np.testing.assert_allclose(got, getattr(reference, name)(x, y, mode), atol=1e-12)


def test_bad_arguments():
    with pytest.raises(ValueError, match="mode must be one of"):
        signal.convolve(np.ones(3), np.ones(2), "half")
    with pytest.raises(ValueError, match="two arrays of one rank"):
        signal.convolve(np.ones(3), np.ones((2, 2)))
    with pytest.raises(ValueError, match="zero-size"):
        signal.convolve(np.ones(3), np.ones(0))
    with pytest.raises(NotImplementedError, match="only supports boundary='fill'"):
        signal.convolve2d(np.ones((3, 3)), np.ones((2, 2)), boundary="wrap")


def test_ravel_pytree():
    tree = {"a": np.arange(3), "b": [np.float32(2.5), np.ones((2, 2), np.float16)]}
    vector, unravel = flatten_util.ravel_pytree(tree)
    assert vector.tolist() == [0, 1, 2, 2.5, 1, 1, 1, 1]
    back = unravel(vector)
    assert back["a"].dtype == np.int32
    assert back["b"][1].shape == (2, 2)
    assert back["b"][1].dtype == np.float16
    with pytest.raises(ValueError, match=r"expected shape \(8,\)"):
        unravel(vector[1:])
    with pytest.raises(TypeError, match="dtype int32, but expected dtype float32"):
        unravel(vector.astype(int))
    empty, unravel = flatten_util.ravel_pytree(())
    assert empty.shape == (0,)
    assert unravel(empty) == ()
