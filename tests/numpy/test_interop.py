"""Arrays beside other libraries and Python's own protocols."""

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

import jacana
import jacana.numpy as jnp

X = np.arange(6, dtype=np.float32).reshape(2, 3)


class Wrapped:
    """An object that is an array where one is asked for."""

    def __init__(self, value):
        self.value = value

    def __jax_array__(self):
        return jnp.asarray(self.value)


def test_numpy_asks_for_the_array():
    x = jnp.asarray(X)
    np.testing.assert_array_equal(np.asarray(x), X)
    assert np.asarray(x, np.int8).dtype == np.int8
    assert not np.asarray(x).flags.writeable
    assert np.array(x).flags.writeable
    with pytest.raises(ValueError, match="copy"):
        np.asarray(x, np.int8, copy=False)


@pytest.mark.parametrize("other", [X + 2, np.float32(2), 2, 2.0, np.int8(2), Wrapped(X + 2)])
@pytest.mark.parametrize("name", ["__add__", "__sub__", "__mul__", "__truediv__", "__lt__"])
def test_either_side_of_an_operator(name, other):
    x = jnp.asarray(X + 1)
    plain = other.value if isinstance(other, Wrapped) else other
    left = getattr(x, name)(other)
    np.testing.assert_allclose(left, getattr(X + 1, name)(plain), rtol=1e-6)
    reflected = {"__lt__": "__gt__"}.get(name, name.replace("__", "__r", 1))
    right = getattr(x, reflected)(other)
    assert isinstance(right, jacana.Array) and right.dtype == left.dtype


def test_numpy_leaves_operators_to_arrays():
    x = jnp.asarray(X)
    for made in (X + x, X * x, np.float32(2) * x, X @ x.T, x > X):
        assert isinstance(made, jacana.Array)


def test_dlpack_both_ways():
    x = jnp.asarray(X)
    lent = np.from_dlpack(x)
    np.testing.assert_array_equal(lent, X)
    assert lent.__array_interface__["data"][0] == x.unsafe_buffer_pointer()
    assert not lent.flags.writeable
    back = jnp.from_dlpack(X)
    np.testing.assert_array_equal(back, X)
    assert x.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="read-only"):
        x.__dlpack__(copy=False)


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64", "bfloat16"])
def test_pickles_and_copies(dtype):
    x = jnp.asarray(X).astype(dtype)
    for made in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x), x.clone()):
        assert made.dtype == x.dtype and made.shape == x.shape
        assert made.weak_type == x.weak_type
        np.testing.assert_array_equal(np.asarray(made), np.asarray(x))


def test_python_protocols():
    x = jnp.asarray(X)
    assert [row.tolist() for row in x] == X.tolist()
    assert [row.tolist() for row in reversed(x)] == X[::-1].tolist()
    assert len(x) == 2 and 5 in x and 9 not in x
    assert f"{x[0, 1]:.3f}" == "1.000" and f"{jnp.int32(7):04d}" == "0007"
    assert (int(x[0, 1]), float(x[0, 1]), complex(x[0, 1]), bool(x[0, 1])) == (1, 1.0, 1 + 0j, True)
    assert [10, 20, 30][jnp.int32(1)] == 20
    assert np.zeros(3)[jnp.array([0, 1])].shape == (2,)
    for refused, error in [
        (lambda: hash(x), TypeError), (lambda: bool(x), ValueError), (lambda: int(x), TypeError),
        (lambda: len(x[0, 0]), TypeError), (lambda: iter(x[0, 0]), TypeError),
        (lambda: x.__setitem__(0, 1), TypeError), (lambda: [1][x[0, 0]], TypeError),
    ]:  # fmt: skip
        with pytest.raises(error):
            refused()


def test_namespace_and_names():
    x = jnp.asarray(X)
    assert x.__array_namespace__() is jnp
    assert x.__array_namespace__(api_version="2024.12") is jnp
    with pytest.raises(ValueError, match="1999"):
        x.__array_namespace__(api_version="1999")
    assert x.__array_priority__ == 100
    assert x.__numpy_dtype__ == np.float32


def test_objects_with_an_array():
    x = Wrapped(X)
    np.testing.assert_allclose(jnp.sin(x), np.sin(X), rtol=1e-6)
    np.testing.assert_array_equal(jnp.sum(x, 0), X.sum(0))
    np.testing.assert_array_equal(jnp.asarray(x), X)


def test_narrow_types_come_and_go():
    x = np.arange(4).astype(ml_dtypes.bfloat16)
    assert np.asarray(jnp.asarray(x)).dtype == ml_dtypes.bfloat16


def test_files(tmp_path):
    jnp.save(tmp_path / "x.npy", jnp.asarray(X))
    np.testing.assert_array_equal(jnp.load(tmp_path / "x.npy"), X)
    jnp.savez(tmp_path / "x.npz", a=jnp.asarray(X))
    np.testing.assert_array_equal(jnp.load(tmp_path / "x.npz")["a"], X)
