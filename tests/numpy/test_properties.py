"""Generated shapes, zero-sized ones too, dtypes and axes: what NumPy gives, in 32 bits."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import jacana.numpy as jnp

SHAPES = st.lists(st.integers(0, 4), max_size=3).map(tuple)
DTYPES = st.sampled_from(
    ["bool", "int8", "int32", "uint8", "uint16", "float16", "float32", "complex64"]
)
FEW = settings(max_examples=25)


def values(shape, dtype, seed=0):
    rng = np.random.default_rng([seed, *shape])
    whole = rng.integers(0, 5, shape) - (0 if dtype in ("bool", "uint8", "uint16") else 2)
    if dtype == "complex64":
        return (whole + 1j * rng.integers(-2, 3, shape)).astype(dtype)
    return whole.astype(dtype) if dtype != "bool" else whole > 2


@st.composite
def arrays_and_axes(draw):
    shape, dtype = draw(SHAPES), draw(DTYPES)
    choices = [None, *range(-len(shape), len(shape))]
    if len(shape) > 1:
        choices += [(0, 1), (-1, 0)]
    return values(shape, dtype), draw(st.sampled_from(choices)), draw(st.booleans())


def assert_close(got, want):
    assert got.shape == np.shape(want)
    np.testing.assert_allclose(
        np.asarray(got).astype(np.complex128), np.asarray(want).astype(np.complex128), rtol=2e-3,
        atol=2e-3,
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "any", "all", "count_nonzero"])
@FEW
@given(case=arrays_and_axes())
def test_reductions(name, case):
    x, axis, keepdims = case
    got = getattr(jnp, name)(x, axis=axis, keepdims=keepdims)
    wide = x.astype(np.float32) if x.dtype == np.float16 else x
    assert_close(got, getattr(np, name)(wide, axis=axis, keepdims=keepdims))


@pytest.mark.parametrize(
    "name", ["max", "min", "ptp", "argmax", "argmin", "cumsum", "sort", "median"]
)
@FEW
@given(case=arrays_and_axes())
def test_extremes_and_order(name, case):
    x, axis, keepdims = case
    single = isinstance(axis, int)
    if x.size == 0 or (isinstance(axis, tuple) and name not in ("max", "min", "ptp", "median")):
        return
    if x.dtype == bool and name in ("ptp", "median") or name == "median" and x.dtype.kind == "c":
        return
    if name in ("cumsum", "sort"):
        if name == "sort" and not single:
            return
        dtype = np.float32 if x.dtype == np.float16 else x.dtype
        want = getattr(np, name)(x.astype(dtype), axis=axis)
        assert_close(
            getattr(jnp, name)(x, axis=axis), want.astype(x.dtype) if x.dtype != bool else want
        )
        return
    got = getattr(jnp, name)(x, axis=axis, keepdims=keepdims)
    assert_close(got, getattr(np, name)(x, axis=axis, keepdims=keepdims))


@FEW
@given(shape=SHAPES, dtype=DTYPES, data=st.data())
def test_orders_of_axes(shape, dtype, data):
    x = values(shape, dtype)
    order = data.draw(st.permutations(range(len(shape))))
    assert_close(jnp.transpose(x, order), np.transpose(x, order))
    assert_close(jnp.ravel(x), np.ravel(x))
    assert_close(jnp.flip(x), np.flip(x))
    if shape:
        axis = data.draw(st.integers(-len(shape), len(shape) - 1))
        shift = data.draw(st.integers(-5, 5))
        assert_close(jnp.roll(x, shift, axis), np.roll(x, shift, axis))
        assert_close(jnp.expand_dims(x, axis), np.expand_dims(x, axis))
        assert_close(jnp.moveaxis(x, axis, 0), np.moveaxis(x, axis, 0))
        assert_close(jnp.repeat(x, 2, axis), np.repeat(x, 2, axis))


@FEW
@given(shape=SHAPES, dtype=DTYPES, count=st.integers(1, 3), data=st.data())
def test_joining(shape, dtype, count, data):
    xs = [values(shape, dtype, seed) for seed in range(count)]
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    assert_close(jnp.stack(xs, axis), np.stack(xs, axis))
    assert_close(jnp.concatenate(xs, None), np.concatenate(xs, None))
    if shape:
        last = len(shape) - 1
        assert_close(jnp.concatenate(xs, last), np.concatenate(xs, last))
        cuts = sorted(data.draw(st.lists(st.integers(0, 5), max_size=2)))
        for got, want in zip(jnp.split(xs[0], cuts, last), np.split(xs[0], cuts, last)):
            assert_close(got, want)


@pytest.mark.parametrize(
    "mode", ["constant", "edge", "reflect", "symmetric", "wrap", "linear_ramp"]
)
@FEW
@given(shape=SHAPES, data=st.data())
def test_padding(mode, shape, data):
    if not shape or 0 in shape:
        return
    x = values(shape, "float32")
    widths = [data.draw(st.tuples(st.integers(0, 5), st.integers(0, 5))) for _ in shape]
    assert_close(jnp.pad(x, widths, mode), np.pad(x, widths, mode))


@FEW
@given(a=SHAPES, b=SHAPES, dtypes=st.tuples(DTYPES, DTYPES))
def test_broadcasting(a, b, dtypes):
    x, y = values(a, dtypes[0]), values(b, dtypes[1])
    try:
        shape = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(TypeError, match="incompatible shapes"):
            jnp.multiply(x, y)
        return
    dtype = jnp.promote_types(*dtypes)
    assert_close(jnp.multiply(x, y), (x.astype(dtype) * y.astype(dtype)))
    assert_close(jnp.where(x, x, y), np.where(x, x, y))
    assert_close(jnp.broadcast_to(x, shape), np.broadcast_to(x, shape))
