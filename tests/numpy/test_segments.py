"""jax.ops: segments against loops in NumPy, and their derivatives."""

import numpy as np
import pytest

import jacana
from jacana.numpy import segments

IDS = np.array([2, 0, 2, 5, -1, 0, 9, 2])
DATA = np.arange(1.0, 17).reshape(8, 2)
OPERATIONS = {
    "segment_sum": (np.sum, 0), "segment_prod": (np.prod, 1),
    "segment_max": (np.max, -np.inf), "segment_min": (np.min, np.inf),
}  # fmt: skip


def loop(name, data, ids, count):
    reduce, empty = OPERATIONS[name]
    rows = [data[ids == k] for k in range(count)]
    return np.stack([reduce(r, 0) if len(r) else np.full(data.shape[1:], empty) for r in rows])


@pytest.mark.parametrize("name", OPERATIONS)
def test_against_a_loop(name):
    f = getattr(segments, name)
    want = loop(name, DATA, IDS, 6)
    np.testing.assert_array_equal(f(DATA, IDS, 6), want)
    np.testing.assert_array_equal(f(DATA, IDS, 6, bucket_size=3), want)
    np.testing.assert_array_equal(f(DATA, IDS.astype(np.uint8), 6), want)
    clipped = f(DATA, IDS, 6, mode="clip")
    np.testing.assert_array_equal(clipped, loop(name, DATA, np.clip(IDS, 0, 5), 6))
    in_order = f(DATA, np.sort(IDS), 6, indices_are_sorted=True)
    np.testing.assert_array_equal(in_order, loop(name, DATA, np.sort(IDS), 6))
    assert f(DATA, IDS).shape == (10, 2)
    batched = jacana.vmap(lambda d: f(d, IDS, 6))(np.stack([DATA, -DATA]))
    np.testing.assert_array_equal(batched[1], loop(name, -DATA, IDS, 6))


def test_integers():
    ids = np.array([0, 0, 2])
    x = np.array([3, -4, 5], np.int8)
    assert segments.segment_max(x, ids, 3).tolist() == [3, -128, 5]
    assert segments.segment_min(x, ids, 3).tolist() == [-4, 127, 5]
    assert segments.segment_prod(x, ids, 3).tolist() == [-12, 1, 5]
    assert segments.segment_max(x > 0, ids, 3).tolist() == [True, False, True]


@pytest.mark.parametrize("name", OPERATIONS)
def test_derivatives(name):
    # Empty segments are infinite for extremes: only those with elements count.
    f = lambda x: (getattr(segments, name)(x, IDS, 6)[np.array([0, 2, 5])] ** 2).sum()
    with jacana.enable_x64(True):
        x = np.sin(DATA)
        got = jacana.grad(f)(x)
        for i in np.ndindex(x.shape):
            h = np.zeros_like(x)
            h[i] = 1e-6
            np.testing.assert_allclose(got[i], (f(x + h) - f(x - h)) / 2e-6, rtol=1e-6, atol=1e-8)


def test_product_with_zeros():
    ids = np.array([0, 0, 0, 1, 1])
    f = lambda x: segments.segment_prod(x, ids, 2).sum()
    assert jacana.grad(f)(np.float32([0, 2, 3, 0, 0])).tolist() == [6, 0, 0, 0, 0]
    hessian = jacana.hessian(f)(np.float32([0, 0, 3, 0, 0]))
    assert hessian[0, 1] == 3
    assert hessian[3, 4] == 1


def test_several_axes_of_numbers():
    ids = np.array([[0, 1], [1, 1]])
    assert segments.segment_sum(np.array([1.0, 10.0]), ids, 2).tolist() == [1, 21]


def test_bad_arguments():
    f = segments.segment_sum
    with pytest.raises(ValueError, match="a row for each of the segment_ids, got data float32"):
        f(DATA, IDS[:3])
    with pytest.raises(TypeError, match="integers as segment_ids"):
        f(DATA, IDS * 1.0)
    with pytest.raises(ValueError, match="num_segments must be non-negative, got -1"):
        f(DATA, IDS, -1)
    with pytest.raises(TypeError, match="Give num_segments, as a Python integer"):
        jacana.jit(f)(DATA, IDS)
    with pytest.raises(ValueError, match="bucket_size must be positive"):
        f(DATA, IDS, 6, bucket_size=0)
