"""Indices of every kind, generated: what NumPy reads and writes, eagerly and under jit."""

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import jacana
import jacana.numpy as jnp

MANY = settings(max_examples=150)
SOME = settings(max_examples=60)
SHAPES = st.lists(st.integers(0, 4), min_size=1, max_size=4).map(tuple)
BOUNDS = st.one_of(st.none(), st.integers(-6, 6))
STEPS = st.one_of(st.none(), st.integers(-3, 3).filter(bool))


def array_of(shape, dtype=np.float32):
    return np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(dtype)


@st.composite
def indices(draw, shape, masks=True):
    """A tuple of slices, integers, None, an ellipsis, integer arrays and masks for the shape."""
    count = draw(st.integers(0, len(shape)))
    block = draw(st.lists(st.integers(1, 3), max_size=2).map(tuple))
    items, axis, kinds = [], 0, ["slice", "slice", "integer", "array"] + ["mask"] * masks
    hidden = draw(st.booleans()) and draw(st.integers(0, count))
    while axis < count:
        if hidden is not False and axis >= hidden:
            items.append(Ellipsis)
            axis += len(shape) - count
            count, hidden = len(shape), False
            continue
        kind = draw(st.sampled_from(kinds))
        n = shape[axis]
        if draw(st.integers(0, 4)) == 0:
            items.append(None)
        if kind == "mask":
            rank = draw(st.integers(0, min(2, count - axis)))
            bits = draw(st.integers(0, 2**16 - 1))
            places = np.arange(int(np.prod(shape[axis : axis + rank])))
            items.append((bits >> places % 16 & 1).astype(bool).reshape(shape[axis : axis + rank]))
            axis += rank
            continue
        if kind == "slice" or n == 0:
            items.append(slice(draw(BOUNDS), draw(BOUNDS), draw(STEPS)))
        elif kind == "integer":
            items.append(draw(st.integers(-n, n - 1)))
        else:
            offset, stride = draw(st.integers(-n, n - 1)), draw(st.integers(0, 3))
            counted = offset + stride * np.arange(int(np.prod(block))).reshape(block)
            items.append(((counted + n) % (2 * n) - n).astype(draw(st.sampled_from("bil"))))
        axis += 1
    if len(items) == 1 and draw(st.booleans()):
        return items[0]
    return tuple(items)


@st.composite
def arrays_and_indices(draw, masks=True):
    shape = draw(SHAPES)
    return array_of(shape), draw(indices(shape, masks))


def read_by_numpy(x, index):
    try:
        return x[index]
    except (IndexError, ValueError):
        # Masks of different counts, for example.
        assume(False)


def is_basic(index):
    items = index if isinstance(index, tuple) else (index,)
    return not any(isinstance(i, np.ndarray) for i in items)


def has_mask(index):
    items = index if isinstance(index, tuple) else (index,)
    return any(isinstance(i, np.ndarray) and i.dtype == bool for i in items)


@MANY
@given(case=arrays_and_indices())
def test_reading(case):
    x, index = case
    want = read_by_numpy(x, index)
    got = jnp.asarray(x)[index]
    assert got.shape == want.shape
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(jacana.jit(lambda v: v[index])(x), want)


def traced_parts(index):
    """The arrays and integers of an index, and how to put others in their place."""
    items = index if isinstance(index, tuple) else (index,)
    places = [k for k, i in enumerate(items) if isinstance(i, int | np.ndarray)]

    def rebuilt(values):
        made = list(items)
        for k, v in zip(places, values, strict=True):
            made[k] = v
        return tuple(made)

    return [items[k] for k in places], rebuilt


@SOME
@given(case=arrays_and_indices(masks=False))
def test_reading_at_traced_places(case):
    x, index = case
    want = read_by_numpy(x, index)
    given_, rebuilt = traced_parts(index)
    got = jacana.jit(lambda v, places: v[rebuilt(places)])(x, given_)
    np.testing.assert_array_equal(got, want)


@SOME
@given(case=arrays_and_indices(), compiled=st.booleans())
def test_writing(case, compiled):
    x, index = case
    want = x.copy()
    values = 100 + np.arange(read_by_numpy(x, index).size, dtype=np.float32)
    values = values.reshape(x[index].shape)
    named = np.zeros(x.shape, int)
    np.add.at(named, index, 1)
    assume(named.size == 0 or named.max() <= 1)
    want[index] = values
    write = lambda v, w: v.at[index].set(w)
    got = (jacana.jit(write) if compiled else lambda v, w: write(jnp.asarray(v), w))(x, values)
    np.testing.assert_array_equal(got, want)


UPDATES = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "min": np.minimum,
    "max": np.maximum, "divide": np.divide,
}  # fmt: skip


@pytest.mark.parametrize("name", UPDATES)
@settings(max_examples=25)
@given(case=arrays_and_indices(), options=st.sampled_from([{}, {"mode": "drop"}]))
def test_updates_with_repeated_places(name, case, options):
    x, index = case
    values = 1 + np.arange(read_by_numpy(x, index).size, dtype=np.float32) % 4
    values = values.reshape(x[index].shape)
    want = x.copy()
    UPDATES[name].at(want, index, values)
    got = getattr(jnp.asarray(x).at[index], name)(values, **options)
    np.testing.assert_allclose(got, want, rtol=1e-6)


@SOME
@given(case=arrays_and_indices(masks=False))
def test_apply_counts_places(case):
    x, index = case
    read_by_numpy(x, index)
    want = x.copy()
    np.add.at(want, index, np.float32(3))
    got = jnp.asarray(x).at[index].apply(lambda v: v + 3)
    np.testing.assert_array_equal(got, want)


@SOME
@given(
    n=st.integers(1, 5), at=st.lists(st.integers(-9, 9), min_size=1, max_size=4),
    mode=st.sampled_from(["fill", "clip", "wrap", "drop"]), wraps=st.booleans(),
)  # fmt: skip
def test_modes_out_of_bounds(n, at, mode, wraps):
    x, places = array_of((n,)), np.array(at)
    counted = np.where((places < 0) & wraps, places + n, places)
    inside = (counted >= 0) & (counted < n)
    place = np.clip(counted, 0, n - 1)
    if mode == "wrap":
        assume(wraps and (counted >= 0).all())
        place, inside = counted % n, np.ones_like(inside)
    if mode == "clip":
        inside = np.ones_like(inside)
    want = np.where(inside, x[place], np.float32(-7))
    options = {"mode": mode, "wrap_negative_indices": wraps}
    got = jnp.asarray(x).at[places].get(fill_value=-7, **options)
    np.testing.assert_array_equal(got, want)
    added = x.copy()
    np.add.at(added, place[inside], np.float32(1))
    np.testing.assert_array_equal(jnp.asarray(x).at[places].add(1, **options), added)


@pytest.mark.parametrize("flags", [{}, {"indices_are_sorted": True, "unique_indices": True}])
def test_promises_change_nothing(flags):
    x, at = array_of((5, 2)), np.array([0, 2, 3])
    got = jnp.asarray(x).at[at].set(0, **flags)
    x[at] = 0
    np.testing.assert_array_equal(got, x)
    np.testing.assert_array_equal(got.at[at].get(**flags), x[at])


@pytest.mark.parametrize("index", [
    True, False, (True, 1), (1, False), (slice(None), True), (True, np.array([0, 1])), (None, True),
    (..., True), np.array(True),
])  # fmt: skip
def test_single_booleans(index):
    x = array_of((2, 3))
    np.testing.assert_array_equal(jnp.asarray(x)[index], x[index])
    want = x.copy()
    want[index] = 9
    np.testing.assert_array_equal(jnp.asarray(x).at[index].set(9), want)


def test_masks_under_jit_are_where():
    x = array_of((3, 2))
    masked = jacana.jit(lambda v: v.at[v > 2].set(0))(x)
    np.testing.assert_array_equal(masked, np.where(x > 2, 0, x))
    with pytest.raises(jacana.errors.NonConcreteBooleanIndexError):
        jacana.jit(lambda v: v[v > 2])(x)


@pytest.mark.parametrize("method", ["set", "add", "multiply", "min", "max"])
@pytest.mark.parametrize("index", [0, slice(1, 3), np.array([0, 2])], ids=str)
def test_updates_keep_the_weak_type_of_what_they_update(method, index):
    weak, strong = jnp.broadcast_to(jnp.asarray(1.0), (3,)), jnp.ones(3)
    for value in (2.0, np.float32(2)):
        for x in (weak, strong):
            f = lambda x, value: getattr(x.at[index], method)(value)
            eager, compiled = f(x, value), jacana.jit(f)(x, value)
            assert eager.weak_type == compiled.weak_type == x.weak_type
            np.testing.assert_array_equal(eager, compiled)
    assert weak.at[index].apply(jnp.sin).weak_type
