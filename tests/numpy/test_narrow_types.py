"""Floats of eight and four bits and integers of two: computed as their values, rounded once."""

import ml_dtypes
import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import lax

FLOATS = (
    "float8_e3m4", "float8_e4m3", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn",
)  # fmt: skip


def every_value(dtype):
    bits = 4 if dtype.startswith("float4") else 8
    return np.arange(1 << bits, dtype=np.uint8).view(getattr(ml_dtypes, dtype))


def same_bits(got, want):
    """Equal bits, or nan both."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype
    equal = got.view(np.uint8) == want.view(np.uint8)
    both = np.isnan(got.astype(np.float32)) & np.isnan(want.astype(np.float32))
    np.testing.assert_array_equal(equal | both, True)


@pytest.mark.parametrize("dtype", FLOATS)
def test_values_in_float32(dtype):
    x = every_value(dtype)
    np.testing.assert_array_equal(jnp.asarray(x).astype("float32"), x.astype(np.float32))


@pytest.mark.parametrize("dtype", FLOATS)
def test_rounding_from_float32(dtype):
    """Each value, the middle to the next one, and the neighbours of both."""
    values = every_value(dtype).astype(np.float32)
    values = np.unique(values[np.isfinite(values)])
    middles = (values[1:] + values[:-1]) / 2
    x = np.concatenate([values, middles, [np.inf, np.nan, 0.0, -0.0, 3e38, -3e38]])
    x = x.astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        x = np.concatenate([x, np.nextafter(x, np.float32(np.inf)), np.nextafter(x, -x)])
    x = np.where(np.isnan(x), np.float32(np.nan), x)  # of one sign
    if dtype == "float8_e8m0fnu":
        x = x[np.abs(x) >= 2.0**-126]  # ml_dtypes rounds subnormal numbers up
    same_bits(jnp.asarray(x).astype(dtype), x.astype(getattr(ml_dtypes, dtype)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "maximum"])
def test_arithmetic_is_that_of_float32(dtype, name):
    x = every_value(dtype)
    x = x[np.isfinite(x.astype(np.float32))]
    a, b = (v.reshape(-1) for v in np.meshgrid(x, x))
    with np.errstate(all="ignore"):
        want = getattr(np, name)(a.astype(np.float32), b.astype(np.float32)).astype(x.dtype)
    got = jnp.asarray(a), jnp.asarray(b)
    nan = dtype.startswith("float4") & (b.astype(np.float32) == 0)  # 0 / 0 has no nan to be
    made = np.asarray(getattr(jnp, name)(*got))
    same_bits(made[~nan], want[~nan])
    same_bits(jacana.jit(getattr(jnp, name))(*got), made)


def test_rounded_once_from_float64_and_integers():
    above = np.nextafter(np.float64(17), 18)  # next to the middle of 16 and 18
    with jacana.enable_x64(True):
        assert jnp.asarray(above).astype("float8_e4m3fn") == 18
        assert jnp.asarray(np.int64(17)).astype("float8_e4m3fn") == 16


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_functions_of_arrays(dtype):
    values = np.array([1, 0.25, 2, 4, -1.5, 0.0625], np.float32)
    x = jnp.asarray(values).astype(dtype)
    for got, want in [
        (jnp.sum(x), 5.8125), (jnp.max(x), 4), (jnp.min(x), -1.5), (x @ x, 23.3164),
        (jnp.sin(x), np.sin(values)), (jnp.sort(x), np.sort(values)), (x[::-1], values[::-1]),
        (x.at[1].add(1), values + [0, 1, 0, 0, 0, 0]),
        (jnp.where(x > 1, x, 0), np.where(values > 1, values, 0)),
        (jacana.grad(lambda v: (v * v).sum())(x), 2 * values),
        (jacana.vmap(jnp.exp)(x[:2]), np.exp(values[:2])),
    ]:  # fmt: skip
        assert got.dtype == dtype
        same_bits(got, np.asarray(want, np.float32).astype(getattr(ml_dtypes, dtype)))
    assert int(jnp.argmax(x)) == 3
    assert jnp.isfinite(x).all()
    assert not jnp.isnan(x).any()


@pytest.mark.parametrize("dtype", FLOATS)
def test_extremes_of_types_without_infinity(dtype):
    x = every_value(dtype)
    finite = x[np.isfinite(x.astype(np.float32))]
    values = finite.astype(np.float32)
    assert float(jnp.max(jnp.asarray(finite))) == values.max()
    assert float(jnp.min(jnp.asarray(finite))) == values.min()
    assert int(jnp.argmax(jnp.asarray(finite))) == values.argmax()


@pytest.mark.parametrize(("dtype", "low", "high"), [("int2", -2, 1), ("uint2", 0, 3)])
def test_integers_of_two_bits(dtype, low, high):
    size = high - low + 1
    wrapped = lambda v: (v - low) % size + low
    values = np.arange(low, high + 1)
    x = jnp.asarray(values, jnp.int32).astype(dtype)
    assert x.dtype == dtype and x.tolist() == values.tolist()
    for got, want in [
        (x + x, wrapped(values * 2)), (x * x, wrapped(values**2)), (-x, wrapped(-values)),
        (~x, wrapped(~values)), (x & 1, values & 1), (x - 1, wrapped(values - 1)),
    ]:  # fmt: skip
        assert got.dtype == dtype
        assert got.tolist() == want.tolist()
    assert jnp.sort(x[::-1]).tolist() == values.tolist()
    assert jnp.asarray([7.5, -9.0, np.nan]).astype(dtype).tolist() == [high, low, 0]
    assert lax.population_count(x).dtype == dtype


@pytest.mark.parametrize("name", ["int1", "uint1", "float6_e2m3fn", "float6_e3m2fn"])
def test_types_that_only_have_names(name):
    assert getattr(jnp, name).dtype.name == name
    with pytest.raises(NotImplementedError, match=name):
        jnp.zeros(3, name) + jnp.zeros(3, name)
