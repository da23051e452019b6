"""Native sorting against NumPy: the lengths that each algorithm is for, dtypes, several keys."""

import numpy as np
import pytest

from jacana import jit, lax, ops
from jacana.core import config, dtypes

# Merged; by digits of 8 bits; of 11 bits, or from pieces.
LENGTHS = (2, 17, 192, 700, 40_000)
DTYPES = ("bool", "int8", "uint16", "int32", "uint32", "float16", "bfloat16", "float32")
WIDE = ("int64", "uint64", "float64", "complex64", "complex128")


def drawn(dtype, shape, seed=0):
    """Numbers of all sizes, many of them equal, with zeros of both signs, infinities and nan."""
    rng = np.random.default_rng(seed)
    dtype = dtypes.dtype(dtype)
    if dtypes.is_complex(dtype):
        parts = [drawn(dtypes.real_dtype(dtype), shape, seed + k) for k in (1, 2)]
        with np.errstate(invalid="ignore"):
            return (parts[0] + 0 * 1j).astype(dtype) + (1j * parts[1]).astype(dtype)
    if dtypes.is_float(dtype):
        x = rng.normal(size=shape) * 10.0 ** rng.integers(-3, 4, shape)
        pool = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.0, -1.0])
        return np.where(rng.random(shape) < 0.3, rng.choice(pool, shape), x).astype(dtype)
    bits = rng.integers(0, 1 << 63, shape) * 2 + rng.integers(0, 2, shape)
    small = rng.integers(0, 3, shape)
    return np.where(rng.random(shape) < 0.3, small, bits).astype(dtype)


def assert_same(got, want):
    for g, w in zip(got, want, strict=True):
        g, w = np.asarray(g), np.asarray(w)
        wide = "float64" if w.dtype.kind == "V" else w.dtype  # bfloat16
        np.testing.assert_array_equal(g.astype(wide), w.astype(wide))
        if w.dtype.kind in "fV":
            zero = w == 0
            np.testing.assert_array_equal(np.signbit(g)[zero], np.signbit(w)[zero])


@pytest.mark.parametrize("dtype", DTYPES + WIDE)
def test_values_and_order(dtype):
    with config.override(enable_x64=True):
        for n in LENGTHS:
            rows = 3 if n < 1000 else 1
            x = drawn(dtype, (rows, n))
            params = {"dimension": 1, "is_stable": True, "num_keys": 1}
            assert_same(ops.sort(x, **params), ops.sort.reference(x, **params))
            index = np.broadcast_to(np.arange(n, dtype="int32"), x.shape)
            assert_same(ops.sort(x, index, **params), ops.sort.reference(x, index, **params))


@pytest.mark.parametrize("dtype", ["float32", "uint32", "float64", "int64"])
@pytest.mark.parametrize("n", [1, 2, 3, 5, 17, 64, 100, 257, 513])
def test_many_rows_are_sorted_together(dtype, n):
    with config.override(enable_x64=True):
        for rows in (8, 15, 16, 17, 40):
            x = drawn(dtype, (rows, n), seed=rows)
            params = {"dimension": 1, "is_stable": True, "num_keys": 1}
            assert_same(ops.sort(x, **params), ops.sort.reference(x, **params))
            index = np.broadcast_to(np.arange(n, dtype="int32"), x.shape)
            assert_same(ops.sort(x, index, **params), ops.sort.reference(x, index, **params))


@pytest.mark.parametrize("kinds", [("int8", "float16"), ("float32", "int32"), ("float64",) * 3])
def test_several_keys(kinds):
    with config.override(enable_x64=True):
        keys = [np.round(drawn(k, (400, 3), i)) for i, k in enumerate(kinds)]
        index = np.broadcast_to(np.arange(400)[:, None], (400, 3))
        params = {"dimension": 0, "is_stable": True, "num_keys": len(keys)}
        assert_same(ops.sort(*keys, index, **params), ops.sort.reference(*keys, index, **params))


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64", "uint64", "bfloat16"])
@pytest.mark.parametrize(("n", "k"), [(9, 9), (300, 3), (300, 100), (5000, 500), (20_000, 1)])
def test_top_k(dtype, n, k):
    with config.override(enable_x64=True):
        x = drawn(dtype, (2, n))
        assert_same(ops.top_k(x, k=k, axis=1), ops.top_k.reference(x, k=k, axis=1))
        x = np.ascontiguousarray(x.T)
        assert_same(ops.top_k(x, k=k, axis=0), ops.top_k.reference(x, k=k, axis=0))


def test_inputs_in_order_and_equal():
    for x in (np.arange(30_000), np.arange(30_000)[::-1], np.zeros(30_000, int)):
        x = x.astype("int32")
        np.testing.assert_array_equal(lax.sort(x), np.sort(x))
        order = lax.sort_key_val(x, np.arange(len(x), dtype="int32"))[1]
        np.testing.assert_array_equal(order, np.argsort(x, kind="stable"))


def test_fused_keys():
    x = drawn("float32", (4, 600))
    x[np.isnan(x)] = 0
    found = jit(lambda x: lax.sort(x * 2 + 1, dimension=0) - 1)(x)
    np.testing.assert_array_equal(found, np.sort(x * 2 + 1, axis=0) - np.float32(1))


def test_complex_is_lexicographic():
    # nan is last in each part, the real part is compared first.
    x = np.array([complex(1, np.nan), 2, complex(np.nan, 1), complex(np.nan, 0)], "complex64")
    expected = [x[0], x[1], x[3], x[2]]
    np.testing.assert_array_equal(lax.sort(x), np.array(expected))


def test_wide_keys_where_64_bits_are_off():
    x, y = drawn("float32", (50,)), drawn("int32", (50,), 1)
    found = lax.sort((np.round(x), y), num_keys=2)
    params = {"dimension": 0, "is_stable": True, "num_keys": 2}
    assert_same(found, ops.sort.reference(np.round(x), y, **params))


@pytest.mark.parametrize("spread", [0, 3, 1000, 1 << 40, 1 << 62])
@pytest.mark.parametrize("ties", [1, 20, 3000])
def test_long_rows_of_wide_keys(spread, ties):
    """Keys that differ in few bits or in all, and runs that share the upper ones."""
    rng = np.random.default_rng(ties)
    high = rng.integers(-spread, spread + 1, 50_000 // ties + 1).repeat(ties)[:50_000]
    x = high + rng.integers(0, 5, high.size) * (ties > 1)
    rng.shuffle(x)
    with config.override(enable_x64=True):
        np.testing.assert_array_equal(lax.sort(x), np.sort(x))
        index = np.arange(x.size)
        order = lax.sort_key_val(x, index)[1]
        np.testing.assert_array_equal(order, np.argsort(x, kind="stable"))
        floats = x.astype("float64") / 3
        order = lax.sort_key_val(floats, index)[1]
        np.testing.assert_array_equal(order, np.argsort(floats, kind="stable"))


def test_nearly_all_keys_share_the_upper_bits():
    x = np.random.default_rng(0).integers(0, 1 << 30, 40_000)
    x[123] = 1 << 62
    with config.override(enable_x64=True):
        np.testing.assert_array_equal(lax.sort(x), np.sort(x))
        order = lax.sort_key_val(x, np.arange(x.size))[1]
        np.testing.assert_array_equal(order, np.argsort(x, kind="stable"))
