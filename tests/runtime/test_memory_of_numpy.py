"""Arrays and NumPy: the buffer protocol, NumPy's arrays as arguments, arguments given away."""

import gc
import sys

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana.api.eager_arguments import LEARN_AT
from jacana.runtime import memory
from jacana.runtime.buffer import live_bytes
from jacana.runtime.native_objects import is_supported

pytestmark = pytest.mark.skipif(not is_supported(), reason="this interpreter has no native arrays")
DTYPES = [
    "bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32",
    "complex64", "bfloat16",
]  # fmt: skip
WIDE = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}
SHAPES = [(), (0,), (3,), (2, 3), (2, 1, 4), (2, 0, 3)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_reads_the_memory_of_arrays(dtype, shape):
    x = jnp.ones(shape, dtype)
    got = np.asarray(x)
    assert (got.shape, got.dtype) == (shape, x.dtype) and (got == 1).all()
    assert not got.flags.writeable and got.flags.c_contiguous
    assert got.__array_interface__["data"][0] == x.address
    with pytest.raises(ValueError, match=r"read-only|WRITEABLE"):
        got.flags.writeable = True
    assert np.array(x).flags.writeable
    assert np.asarray(x, "complex128").dtype == "complex128"


def test_memoryviews():
    x = jnp.arange(6.0).reshape(2, 3)
    view = memoryview(x)
    assert (view.format, view.shape, view.strides, view.readonly) == ("f", (2, 3), (12, 4), True)
    assert bytes(view) == np.asarray(x).tobytes()
    assert memoryview(jnp.float32(2)).tolist() == 2
    with pytest.raises(BufferError, match=r"np\.asarray"):
        memoryview(jnp.ones(3, "bfloat16"))
    with pytest.raises(TypeError):
        bytearray(3)[:] = jacana.random.key(0)


def test_views_keep_memory_alive():
    x = jnp.arange(1000.0) + 1
    view = np.asarray(x)
    x.delete()
    y = jnp.zeros(1000) + 3
    assert view.tolist() == list(range(1, 1001)) and y[0] == 3
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(x)
    with pytest.raises(RuntimeError, match="deleted"):
        memoryview(x)
    z = jnp.ones(1 << 20) * 2
    assert np.asarray(z + 1)[0] == 3


def test_keys_have_no_numbers():
    with pytest.raises(TypeError, match="key_data"):
        np.asarray(jacana.random.key(0))


def test_memory_of_views_is_given_back():
    x = jnp.ones(1 << 16)
    np.asarray(x)
    gc.collect()
    count, before = sys.getrefcount(x), live_bytes()
    for _ in range(100):
        np.asarray(jnp.ones(1 << 16) + x)
        np.asarray(x)
    assert (sys.getrefcount(x), live_bytes()) == (count, before)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [*DTYPES, *WIDE])
def test_arrays_from_numpy(dtype, shape):
    f = jacana.jit(lambda x, y: (x, x + y))
    for k in range(LEARN_AT + 3):
        value = np.full(shape, k + 1).astype(dtype)
        first = jnp.asarray(value)
        assert first.dtype == WIDE.get(dtype, dtype)
        assert not first.weak_type
        assert np.array_equal(np.asarray(first), value)
        kept, total = f(value, first)
        assert (kept.aval, total.aval) == (first.aval, f(first, first)[1].aval)
        assert np.array_equal(np.asarray(kept), value)
        assert np.array_equal(np.asarray(jnp.add(value, first)), np.asarray(total))
        # What is done to NumPy's array later does not show.
        value[...] = 0
        assert (np.asarray(first) != 0).all() and (np.asarray(kept) != 0).all()


def test_arrays_that_native_code_does_not_take():
    values = [
        np.arange(12.0, dtype=np.float32).reshape(3, 4).T, np.arange(6, dtype=np.float32)[::2],
        np.frombuffer(b"x" + bytes(12), np.uint8)[1:].view(np.float32),
    ]  # fmt: skip
    f = jacana.jit(lambda x: x * 2)
    for _ in range(LEARN_AT + 2):
        for value in values:
            assert np.array_equal(np.asarray(jnp.asarray(value)), value)
            assert np.array_equal(np.asarray(f(value)), value * 2)
            assert np.array_equal(np.asarray(jnp.sqrt(value)), np.sqrt(value))


def test_numbers_that_overflow_warn():
    for value in [1.0, 1.0, 1.0, 1.0, np.inf, np.nan]:
        np.testing.assert_equal(float(jnp.asarray(np.array([value]))[0]), value)
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert jnp.asarray(np.array([1e300])).tolist() == [np.inf]
    assert jnp.asarray(np.array([2**40 + 5])).tolist() == [5]


def test_fields_of_numpy_are_known():
    assert memory.knows_numpy()


def test_arguments_given_away():
    f = jacana.jit(lambda x, y: {"a": x + y["b"], "y": y["b"]}, donate_argnums=(0, 1))
    for k in range(4):
        x, b, c = jnp.ones(3) * k, jnp.ones(3), jnp.zeros(2)
        out = f(x, {"b": b, "c": c})
        assert x.is_deleted() and c.is_deleted()
        # A result has the memory, as an Array of its own.
        assert b.is_deleted() and not out["y"].is_deleted()
        assert out["a"].tolist() == [k + 1] * 3
    g = jacana.jit(lambda x, n, *, z: x * n + z, static_argnums=1, donate_argnames="z")
    for _ in range(4):
        x, z = jnp.ones(3), jnp.ones(3)
        assert g(x, 2, z=z).tolist() == [3] * 3
        assert z.is_deleted() and not x.is_deleted()
        with pytest.raises(RuntimeError, match="deleted"):
            g(x, 2, z=z)
    same = jacana.jit(lambda x, y: x + y, donate_argnums=0)
    for _ in range(4):
        x = jnp.ones(3)
        assert same(x, x).tolist() == [2] * 3 and x.is_deleted()
        assert same(np.ones(3, np.float32), 1.0).tolist() == [2] * 3


def test_what_was_given_away_while_it_is_seen():
    f = jacana.jit(lambda x: x + 1, donate_argnums=0)
    for _ in range(4):
        x = jnp.arange(5.0)
        view = np.asarray(x)
        assert f(x).tolist() == [1, 2, 3, 4, 5] and view.tolist() == [0, 1, 2, 3, 4]
