"""array, asarray and the makers of arrays."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp


@pytest.mark.parametrize(
    ("value", "dtype", "weak"),
    [
        (1, "int32", True), (2.5, "float32", True), (1j, "complex64", True), (True, "bool", False),
        ([1, 2], "int32", False), ([1, 2.5], "float32", False), ([True], "bool", False),
        ([], "float32", False), ([[1], [2j]], "complex64", False), (range(3), "int32", False),
        (np.float64(1), "float32", False), (np.arange(3), "int32", False),
        ([np.int8(1), 2], "int8", False), ([np.float16(1), 2.0], "float16", False),
        ([np.int8(1), np.arange(1, dtype=np.int16)[0]], "int16", False),
        ((1, (2,))[1], "int32", False),
    ],
)  # fmt: skip
def test_dtypes_of_arrays(value, dtype, weak):
    for make in (jnp.array, jnp.asarray):
        made = make(value)
        assert (str(made.dtype), made.weak_type) == (dtype, weak)
        np.testing.assert_array_equal(made, np.asarray(value))


def test_lists_of_arrays():
    x = jnp.arange(2.0)
    assert jnp.array([x, [3, 4]]).tolist() == [[0.0, 1.0], [3.0, 4.0]]
    assert jnp.array([jnp.array(1), 2]).dtype == "int32"
    traced = jacana.jit(lambda v: jnp.array([v[0], 2, [v[1], 1][0]]))(x)
    assert traced.tolist() == [0.0, 2.0, 1.0]
    with pytest.raises(ValueError, match="one shape"):
        jacana.jit(lambda v: jnp.array([v, v[0]]))(x)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (None, ValueError), ([None], ValueError), ("a", TypeError), (object(), TypeError),
        ([[1, 2], [3]], ValueError), (2**40, OverflowError), ([2**40], OverflowError),
    ],
)  # fmt: skip
def test_what_is_no_array(value, error):
    with pytest.raises(error):
        jnp.array(value)


def test_wide_dtypes_are_truncated_with_a_warning():
    with pytest.warns(UserWarning, match="Explicitly requested dtype float64"):
        assert jnp.zeros(2, "float64").dtype == "float32"
    with jacana.enable_x64():
        assert jnp.zeros(2, "float64").dtype == "float64"
        assert jnp.array(1.5).dtype == "float64"
        assert jnp.arange(3).dtype == "int64"


def test_copies():
    x = jnp.arange(3)
    assert jnp.asarray(x) is x
    assert jnp.array(x) is not x
    assert jnp.array(x, ndmin=3).shape == (1, 1, 3)
    host = np.arange(3, dtype=np.int32)
    made = jnp.asarray(host)
    host[0] = 7
    assert made.tolist() == [0, 1, 2]


def test_constants():
    assert jnp.full((2,), 7).weak_type
    assert jnp.full((2, 3), jnp.arange(3)).tolist() == [[0, 1, 2], [0, 1, 2]]
    assert jnp.zeros(()).tolist() == 0.0
    assert jnp.ones((0, 3)).shape == (0, 3)
    assert jnp.full_like(jnp.arange(2), 3.5).tolist() == [3, 3]
    assert jnp.ones_like(1).weak_type
    assert jnp.zeros_like(jacana.ShapeDtypeStruct((2,), np.float16)).dtype == "float16"
    assert jnp.empty_like(jnp.ones(2), shape=(3,)).tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(TypeError, match="integer type"):
        jnp.zeros(2.5)
    with pytest.raises(TypeError, match="nonnegative"):
        jnp.zeros((2, -1))
    with pytest.raises(TypeError, match="static"):
        jacana.jit(lambda n: jnp.zeros(n))(3)


def test_arange():
    assert jnp.arange(0.0, 1.0, 0.1).shape == (10,)
    assert jnp.arange(2.5).tolist() == [0.0, 1.0, 2.0]
    assert jnp.arange(5, 1).shape == (0,)
    assert jnp.arange(3, dtype="float16").dtype == "float16"
    assert jnp.arange(jnp.array(3)).tolist() == [0, 1, 2]
    with pytest.raises(ZeroDivisionError):
        jnp.arange(0, 5, 0)
    with pytest.raises(jacana.core.errors.ConcretizationTypeError, match="static_argnums"):
        jacana.jit(jnp.arange)(3)


def test_ends_of_ranges_are_exact():
    low, high = np.float32(-2.3328583), np.float32(2.8459014)
    y = jnp.linspace(low, high, 10)
    assert y[0] == low
    assert y[-1] == high
    assert jnp.geomspace(1, 1000, 4).tolist()[::3] == [1.0, 1000.0]
    assert jnp.linspace(0, 1, 1).tolist() == [0.0]
    assert jnp.linspace(0, 1, 0).shape == (0,)
    assert jnp.linspace(0, 10, 5, dtype=int).tolist() == [0, 2, 5, 7, 10]
    step = jnp.linspace(0, 1, 5, retstep=True)[1]
    assert step == 0.25
    with pytest.raises(ValueError, match="non-negative"):
        jnp.linspace(0, 1, -1)


def test_astype_and_view():
    x = jnp.array([1.7, -1.7, 0.0])
    assert x.astype(int).tolist() == [1, -1, 0]
    assert x.astype(bool).tolist() == [True, True, False]
    assert jnp.array(3 + 1j).astype(float).tolist() == 3.0
    assert jnp.array(1).astype(None).dtype == "float32"
    for dtype in ("int8", "uint16", "float32", "complex64"):
        host = np.arange(16, dtype=np.int32)
        assert jnp.asarray(host).view(dtype).tolist() == host.view(dtype).tolist()
    back = jnp.array([1 + 2j, 3j]).view("float32")
    assert back.tolist() == [1.0, 2.0, 0.0, 3.0]
    assert back.view("complex64").tolist() == [1 + 2j, 3j]
    with pytest.raises(ValueError, match="larger dtype"):
        jnp.arange(3, dtype="int8").view("int32")


def test_scalar_types():
    assert repr(jnp.float32) == "<class 'jax.numpy.float32'>"
    assert jnp.float32 == np.float32 == jnp.float32
    assert jnp.float32 == np.dtype("float32")
    assert hash(jnp.float32) == hash(np.float32)
    assert np.dtype(jnp.bfloat16) == jnp.bfloat16.dtype
    made = jnp.int8(3)
    assert isinstance(made, jnp.ndarray)
    assert made.dtype == jnp.int8
    assert jnp.issubdtype(jnp.float32, jnp.floating)
    with pytest.raises(OverflowError):
        jnp.int8(300)


def test_array_is_the_type_of_tracers_too():
    found = []
    jacana.jit(lambda x: found.append(isinstance(x, jacana.Array)) or x)(1.0)
    assert found == [True]
    assert not isinstance(np.ones(2), jacana.Array)
    with pytest.raises(TypeError, match="no constructor"):
        jacana.Array()


def test_roots():
    found = np.sort_complex(np.asarray(jnp.roots(jnp.array([0.0, 1.0, -6.0, 11.0, -6.0, 0.0]))))
    np.testing.assert_allclose(found, [0, 1, 2, 3], atol=1e-4)
    assert jnp.roots(jnp.zeros(3)).shape == (0,)
