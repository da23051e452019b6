"""Operators and methods of arrays and tracers."""

import operator

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import jacana
import jacana.numpy as jnp

BINARY = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
]
VALUES = [0, 1, -3, 2, 7]
DTYPES = ["int8", "int32", "uint8", "float32", "float16"]


@settings(max_examples=60)
@given(
    name=st.sampled_from(BINARY), a=st.sampled_from(DTYPES), b=st.sampled_from(DTYPES),
    shapes=st.sampled_from([((5,), (5,)), ((5, 1), (5,)), ((), (5,)), ((5,), (1,))]),
    jit=st.booleans(),
)  # fmt: skip
def test_binary_operators(name, a, b, shapes, jit):
    x, y = (np.array([v % 4 for v in VALUES], dtype) for dtype in (a, b))
    x, y = (np.resize(v, shape) for v, shape in zip((x, y), shapes))
    if name in ("floordiv", "mod", "truediv"):
        y = y + np.array(1, y.dtype)
    function = getattr(operator, name)
    got = (jacana.jit(function) if jit else function)(jnp.asarray(x), jnp.asarray(y))
    dtype = jnp.promote_types(a, b)
    want = function(x.astype(dtype), y.astype(dtype))
    np.testing.assert_allclose(np.asarray(got, np.float64), want.astype(np.float64), rtol=2e-3)
    assert got.shape == want.shape


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("scalar", [2, 2.5, True, np.float32(2), np.int8(2)])
def test_scalars_on_both_sides(name, scalar):
    x = np.array([1, 2, 3], np.float32)
    function = getattr(operator, name)
    for got, want in (
        (function(jnp.asarray(x), scalar), function(x, scalar)),
        (function(scalar, jnp.asarray(x)), function(scalar, x)),
    ):
        np.testing.assert_allclose(got, want, rtol=1e-6)
        assert got.dtype == ("bool" if name in ("eq", "ne", "lt", "le", "gt", "ge") else "float32")


def test_equal_scalars_of_different_types_are_told_apart():
    x = jnp.arange(3)
    assert (x + 1).dtype == "int32"
    assert (x + 1.0).dtype == "float32"
    assert (x + True).dtype == "int32"
    negative = jnp.ones(1) * -0.0
    assert np.signbit(np.asarray(negative)[0])
    assert not np.signbit(np.asarray(jnp.ones(1) * 0.0)[0])


def test_weak_types():
    assert (jnp.arange(3, dtype="int8") + 1).dtype == "int8"
    assert (jnp.ones(3, "float16") * 2.5).dtype == "float16"
    assert (jnp.array(5) * 2.0).weak_type
    assert (jnp.array(1) + 1).weak_type
    with pytest.raises(OverflowError):
        jnp.arange(3, dtype="int8") + 300


def test_other_operators():
    x = jnp.array([3, -4, 5])
    assert (-x).tolist() == [-3, 4, -5]
    assert abs(x).tolist() == [3, 4, 5]
    assert (~x).tolist() == [-4, 3, -6]
    assert (x & 1).tolist() == [1, 0, 1]
    assert (1 | x).tolist() == [3, -3, 5]
    assert (x ^ x).tolist() == [0, 0, 0]
    assert (x << 1).tolist() == [6, -8, 10]
    assert (x >> 1).tolist() == [1, -2, 2]
    assert [v.tolist() for v in divmod(x, 2)] == [[1, -2, 2], [1, 0, 1]]
    assert (x @ x).tolist() == 50
    assert (2**x).tolist() == [8, 0, 32]
    assert bool(3 in x)
    assert round(jnp.array(2.7)).tolist() == 3
    assert [int(v) for v in x] == [3, -4, 5]


def test_lists_are_refused():
    x = jnp.ones(2)
    for function in (operator.add, operator.mul, operator.eq, operator.lt):
        with pytest.raises(TypeError):
            function(x, [1, 2])
        with pytest.raises(TypeError):
            function([1, 2], x)
    assert (x == None) is False  # noqa: E711
    assert x != "a"


def test_numpy_arrays_give_way():
    made = np.ones(2) + jnp.ones(2)
    assert isinstance(made, jnp.ndarray)
    assert made.dtype == "float32"


def test_assignment_is_refused():
    with pytest.raises(TypeError, match=r"x\.at\[idx\]\.set\(y\)"):
        jnp.ones(2)[0] = 1


def test_methods_agree_with_functions():
    x = jnp.arange(6.0).reshape(2, 3)
    assert x.T.shape == (3, 2)
    assert x.mT.shape == (3, 2)
    assert x.reshape(-1).shape == (6,)
    assert x.reshape((3, 2)).shape == x.reshape(3, -1).shape
    assert x.transpose(1, 0).tolist() == x.transpose((1, 0)).tolist() == x.transpose().tolist()
    assert x.sum(0).tolist() == [3.0, 5.0, 7.0]
    assert x.mean().tolist() == 2.5
    assert x.max(axis=1, keepdims=True).tolist() == [[2.0], [5.0]]
    assert x.std().tolist() == jnp.std(x).tolist()
    assert x.argmax().tolist() == 5
    assert x.cumsum(1).tolist() == [[0.0, 1.0, 3.0], [3.0, 7.0, 12.0]]
    assert x.clip(1, 4).tolist() == [[1.0, 1.0, 2.0], [3.0, 4.0, 4.0]]
    assert x.astype("int8").dtype == "int8"
    assert x.flatten().shape == x.ravel().shape == x.flat.shape == (6,)
    assert x.real is x
    assert x.imag.tolist() == [[0.0] * 3] * 2
    assert x.squeeze().shape == (2, 3)
    assert x.round(1).tolist() == x.tolist()
    assert x.sort().tolist() == x.tolist()
    assert x.any().tolist() is True
    assert x.byteswap().byteswap().tolist() == x.tolist()
    assert x.__array_namespace__() is jnp
    assert x.to_device(x.device) is x
    for name in ("sum", "mean", "max", "std", "argmax", "T", "at"):
        assert hasattr(jacana.core.trace.Tracer, name)
