"""Scatters that threads share: sums formed in blocks, and arrays that are halved."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana.numpy.segments import segment_sum
from jacana.ops.scatter_blocks import is_blocked, is_halved

COUNT = 150_001


def updates_of(dtype, rng, *shape):
    if dtype == "complex64":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return rng.normal(0, 9, shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "int32", "complex64"])
@pytest.mark.parametrize("mode", ["drop", "clip"])
def test_sums(dtype, mode, rng):
    bins = 1000
    assert is_blocked((bins,), (COUNT,), (COUNT,))
    indices = rng.integers(-bins - 20, bins + 20, COUNT).astype("i4")
    values = updates_of(dtype, rng, COUNT)
    x = updates_of(dtype, rng, bins)

    def add(x, indices, values):
        return x.at[indices].add(values, mode=mode)

    made = jacana.jit(add)(x, indices, values)
    eager = add(jnp.asarray(x), indices, values)
    assert np.asarray(made).tobytes() == np.asarray(eager).tobytes()
    wrapped = np.where(indices < 0, indices + bins, indices)
    kept = (wrapped >= 0) & (wrapped < bins) if mode == "drop" else np.full(COUNT, True)
    wide = {"float32": "f8", "complex64": "c16"}.get(dtype, dtype)
    want = x.astype(wide)
    np.add.at(want, np.clip(wrapped, 0, bins - 1)[kept], values[kept].astype(wide))
    np.testing.assert_allclose(made, want, rtol=2e-5, atol=1e-3)


def test_windows(rng):
    rows = rng.normal(size=(20_000, 3, 5)).astype("f4")
    indices = rng.integers(0, 40, 20_000)
    made = segment_sum(rows, indices, num_segments=30)
    want = np.zeros((30, 3, 5))
    np.add.at(want, indices[indices < 30], rows[indices < 30].astype("f8"))
    np.testing.assert_allclose(made, want, rtol=1e-4, atol=1e-3)
    down = jnp.zeros((3, 30)).at[:, indices].add(rows[:, :, 0].T)
    np.testing.assert_allclose(down, want[:, :, 0].T, rtol=1e-4, atol=1e-3)


def test_zeros_keep_their_sign_and_nan_stays_where_it_is():
    indices = jnp.arange(COUNT) % 7
    negative = jnp.full(8, -0.0).at[indices].add(jnp.full(COUNT, -0.0))
    assert np.signbit(negative).all()
    spoiled = jnp.zeros(8).at[indices].add(jnp.ones(COUNT).at[3].set(jnp.nan))
    assert np.isnan(spoiled).tolist() == [k == 3 for k in range(8)]
    assert float(spoiled[0]) == -(-COUNT // 7)


def test_constant_updates_are_not_stored():
    indices = np.arange(COUNT, dtype="i4") % 50
    counts = jacana.jit(lambda i: jnp.bincount(i, length=50))
    np.testing.assert_array_equal(counts(indices), np.bincount(indices))
    big = jnp.zeros(COUNT).at[indices].add(1.0)
    np.testing.assert_array_equal(big[:50], np.bincount(indices))


@pytest.mark.parametrize("shape", [(600_001,), (3, 200_000)])
@pytest.mark.parametrize("mode", ["drop", "clip"])
def test_halves_apply_updates_in_order(shape, mode, rng):
    count = 300_001
    assert is_halved(shape, (count,), (count,))
    size = shape[-1]
    # Many updates meet, on both sides of the middle.
    indices = (size // 2 + rng.integers(-99, 99, count) * rng.choice([1, 3500], count)).astype("i4")
    indices[::1000] = -1
    values, x = rng.normal(size=count).astype("f4"), rng.normal(size=shape).astype("f4")
    at = indices if len(shape) == 1 else (rng.integers(0, 3, count), indices)
    kept = (indices < size) & (indices >= -size) if mode == "drop" else np.full(count, True)
    places = np.clip(np.where(indices < 0, indices + size, indices), 0, size - 1)
    where = places[kept] if len(shape) == 1 else (at[0][kept], places[kept])
    for method, function in (("add", np.add), ("max", np.maximum), ("set", None)):
        made = getattr(jnp.asarray(x).at[at], method)(values, mode=mode)
        want = x.copy()
        if function is None:
            want[where] = values[kept]
        else:
            function.at(want, where, values[kept])
        np.testing.assert_array_equal(made, want)
