"""Resampling: laws of kernels, and map_coordinates against SciPy."""

import numpy as np
import pytest
from scipy import ndimage as reference

import jacana
import jacana.numpy as jnp
from jacana import image
from jacana.scipy import ndimage

METHODS = ("linear", "cubic", "lanczos3", "lanczos5")


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("method", [*METHODS, "nearest"])
def test_constants_stay(method, antialias):
    x = np.full((5, 6, 2), 3, np.float32)
    for shape in ((10, 9, 2), (3, 4, 2), (7, 2, 2)):
        got = image.resize(x, shape, method, antialias)
        np.testing.assert_allclose(got, np.full(shape, 3), rtol=1e-6)


def test_lines_stay():
    x = np.arange(8, dtype=np.float32)
    want = (np.arange(16) + 0.5) / 2 - 0.5
    for method in ("linear", "cubic"):
        np.testing.assert_allclose(image.resize(x, (16,), method)[4:-4], want[4:-4], atol=1e-5)
    half = image.resize(x, (4,), "linear")
    np.testing.assert_allclose(half[1:-1], [2.5, 4.5], atol=1e-6)
    assert image.resize(np.arange(6), (3,), "nearest").tolist() == [1, 3, 5]
    assert image.resize(np.arange(6), (3,), "linear").dtype == np.float32


def test_identity_and_slope():
    x = np.float32([[1, 5, 2, 8]])
    same = image.scale_and_translate(x, (1, 4), (1,), jnp.ones(1), jnp.zeros(1), "cubic")
    np.testing.assert_allclose(same, x, rtol=1e-6)

    def middle(shift):
        moved = image.scale_and_translate(x, (1, 4), (1,), jnp.ones(1), shift, "linear")
        return moved[0, 2]

    # Moved by a quarter, sample 2 lies between samples 1 and 2.
    np.testing.assert_allclose(jacana.grad(middle)(jnp.array([0.25])), [5 - 2], rtol=1e-5)


def test_bad_arguments():
    x = np.ones((4, 4), np.float32)
    with pytest.raises(ValueError, match='Unknown resize method "quick"'):
        image.resize(x, (2, 2), "quick")
    with pytest.raises(ValueError, match=r"\(2,\) vs \(4, 4\)"):
        image.resize(x, (2,), "linear")
    with pytest.raises(ValueError, match="Nearest"):
        image.scale_and_translate(x, (4, 4), (0,), jnp.ones(1), jnp.zeros(1), "nearest")
    with pytest.raises(NotImplementedError, match="order<=1"):
        ndimage.map_coordinates(x, [x, x], 3)
    with pytest.raises(NotImplementedError, match="mode spline"):
        ndimage.map_coordinates(x, [x, x], 1, "spline")
    with pytest.raises(ValueError, match=r"length input\.ndim, but 1 != 2"):
        ndimage.map_coordinates(x, [x], 1)


@pytest.mark.parametrize("mode", ["constant", "nearest", "mirror", "reflect", "grid-wrap"])
@pytest.mark.parametrize("order", [0, 1])
def test_map_coordinates(rng, order, mode):
    x = rng.normal(size=(5, 6))
    inside = [rng.uniform(0, n - 1, 20) for n in x.shape]
    outside = [rng.uniform(-9, 15, 20) for _ in x.shape]
    for places in (inside, outside if mode != "constant" else inside):
        want = reference.map_coordinates(x, places, order=order, mode=mode, cval=2.0)
        ours = "wrap" if mode == "grid-wrap" else mode
        with jacana.enable_x64(True):
            got = ndimage.map_coordinates(x, places, order, ours, cval=2.0)
        np.testing.assert_allclose(got, want, atol=1e-12)
    if mode == "constant":
        assert ndimage.map_coordinates(x, [np.float32([-3]), np.float32([0])], order, cval=2.0) == 2
