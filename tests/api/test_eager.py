"""Eager functions: the same results, types and errors at the first call and at the tenth."""

import gc
import pickle
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana.api.eager_arguments import LEARN_AT
from jacana.core import tree
from jacana.numpy import eager_names
from jacana.runtime.native_objects import is_supported

DTYPES = ["bool", "int8", "uint8", "int32", "uint32", "float16", "bfloat16", "float32", "complex64"]
SCALARS: list[Any] = [2, -3, 0, 1.1, -0.0, 1e30, float("nan"), True, 300, 2**31 - 1, -(2**31)]


def outcome(call: Callable[[], Any]) -> Any:
    """The bits and types of what a call gives, or the error that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            out = call()
        except Exception as error:
            return type(error), str(error)
    leaves, structure = tree.flatten(out)
    return structure, [(getattr(x, "aval", type(x)), np.asarray(x).tobytes()) for x in leaves]


def is_settled(call: Callable[[], Any]) -> bool:
    """Whether a call gives at each time what it gave at first."""
    first = outcome(call)
    return all(outcome(call) == first for _ in range(LEARN_AT + 2))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("scalar", SCALARS)
def test_operators_with_scalars(dtype, scalar):
    x = jnp.array([0, 1, 2, 3]).astype(dtype)
    for name in ("add", "sub", "mul", "truediv", "pow", "lt", "eq", "and", "floordiv"):
        for method in (f"__{name}__", f"__r{name}__"):
            operator = getattr(type(x), method, None)
            if operator is not None:
                assert is_settled(lambda f=operator: f(x, scalar)), method
    for function in (jnp.add, jnp.maximum, jnp.power, jnp.where, jnp.full_like, jnp.clip):
        args = (x > 1, x, scalar) if function is jnp.where else (x, scalar)
        assert is_settled(lambda f=function, a=args: f(*a)), function


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool"])
def test_indices(dtype):
    x = jnp.arange(24).reshape(4, 6).astype(dtype)
    at = jnp.array([0, -1, 7])
    indices: list[Any] = [
        3, -1, 100, -100, (1, 2), (slice(1, 3), -2), slice(None, None, 2), slice(3, 0, -1), None,
        (None, 1), ..., (..., 0), at, (at, 1), (1, at), (slice(1, 2), at), x > 2, True, (1, 2, 3),
        "a", 1.5, [0, 1], np.int32(2), np.array([1, 2]), slice(0, np.int64(2)), slice(2**40),
    ]  # fmt: skip
    for index in indices:
        assert is_settled(lambda i=index: x[i]), index
        for value in (1, True, 300, 0.5, 1e30, 2**31 - 1):
            assert is_settled(lambda i=index, v=value: x.at[i].set(v)), (index, value)
        assert is_settled(lambda i=index: x.at[i].add(1)), index
        assert is_settled(lambda i=index: x.at[i].get(mode="fill", fill_value=0)), index


def test_many_indices_are_one_program():
    x = jnp.arange(50.0)
    for i in (*range(-50, 50), 60, -60):
        place = min(max(i if i >= 0 else i + 50, 0), 49)
        assert float(x[i]) == place
        expected = np.arange(50.0)
        if -50 <= i < 50:
            expected[i] = -1
        assert x.at[i].set(-1).tolist() == expected.tolist()


def test_axes_and_flags():
    x = jnp.arange(6.0).reshape(2, 3)
    calls: list[Callable[[], Any]] = [
        lambda: x.sum(0), lambda: x.sum(1), lambda: x.sum(axis=(0, 1)), lambda: x.sum(True),
        lambda: x.sum(axis=0, keepdims=True), lambda: x.sum(keepdims=1), lambda: x.sum(5),
        lambda: x.sum(axis=1.0), lambda: x.sum(dtype="int32"), lambda: x.sum(dtype=jnp.float16),
        lambda: x.sum(dtype=np.dtype("int32")), lambda: x.reshape(3, 2), lambda: x.reshape(-1),
        lambda: x.reshape((6,)), lambda: x.reshape(4), lambda: x.transpose(1, 0), lambda: x.T,
        lambda: x.astype("int32"), lambda: x.astype(jnp.bfloat16), lambda: x.astype(bool),
        lambda: jnp.stack([x, x], axis=1), lambda: jnp.stack((x, x), 1),
        lambda: jnp.stack([x, 1.0]),
        lambda: jnp.concatenate([x, x[:1]]), lambda: jnp.split(x, 3, axis=1),
        lambda: jnp.split(x, [1, 2], axis=1), lambda: jnp.split(x, 4), lambda: jnp.zeros((2, 3)),
        lambda: jnp.zeros(3, int), lambda: jnp.zeros(-1), lambda: jnp.ones(()),
        lambda: jnp.arange(5),
        lambda: jnp.arange(5.0), lambda: jnp.arange(1, 9, 2), lambda: jnp.full((2,), 7),
        lambda: jnp.full((2,), 0.5, "int8"), lambda: jnp.full(2, 300, "int8"),
        lambda: jnp.eye(3), lambda: jnp.dot(x, x.T),
        lambda: jnp.dot(x, x), lambda: jnp.einsum("ij,kj->ik", x, x), lambda: x @ x.T,
        lambda: jnp.roll(x, 1), lambda: jnp.roll(x, -1, axis=0), lambda: divmod(x, 2.0),
        lambda: x ** 2, lambda: x ** -1, lambda: x ** 0.5, lambda: 2 ** x, lambda: round(x, 1),
        lambda: jnp.take(x, 1), lambda: jnp.take(x, jnp.array([1, 9]), axis=1), lambda: abs(x),
        lambda: jnp.where(x > 1), lambda: x.mean(), lambda: x.std(ddof=1), lambda: x.var(axis=1),
        lambda: jnp.where(x > 1, 1, 2), lambda: jnp.where(x > 1, x, -1.5), lambda: x.clip(1, 2),
        lambda: jnp.clip(x, min=1), lambda: jnp.clip(x, max=2.5), lambda: jnp.exp(1), lambda: -x,
        lambda: list(x), lambda: jnp.sort(x, axis=0), lambda: x.argmax(), lambda: x.flatten(),
        lambda: jnp.linalg.norm(x), lambda: x.real, lambda: x.at[0].multiply(2), lambda: x.round(),
    ]  # fmt: skip
    for k, call in enumerate(calls):
        assert is_settled(call), k


def test_static_values_of_other_types_are_other_programs():
    x = jnp.arange(6.0).reshape(2, 3)
    for _ in range(LEARN_AT + 2):
        assert (x**2).tolist() == [[0, 1, 4], [9, 16, 25]]
        assert (x**3).tolist() == [[0, 1, 8], [27, 64, 125]]
        assert x.sum(0).tolist() == [3, 5, 7]
        assert x.sum(1).tolist() == [3, 12]


def test_what_belongs_to_other_types_is_left_to_them():
    class Other:
        def __radd__(self, x: Any) -> str:
            return "added"

    x = jnp.arange(3)
    for _ in range(LEARN_AT + 2):
        assert x + Other() == "added"
        with pytest.raises(TypeError):
            x + "text"
        with pytest.raises(TypeError):
            x < None  # noqa: B015


def test_copies_are_copies_and_views_are_the_array_itself():
    x = jnp.arange(3.0)
    for _ in range(LEARN_AT + 2):
        assert x.copy() is not x
        assert jnp.copy(x) is not x
        assert jnp.array(x) is not x
        assert jnp.asarray(x) is x
        assert x[...] is x


def test_settings_are_seen():
    x = jnp.arange(3)
    for _ in range(LEARN_AT + 2):
        assert jnp.zeros(2).dtype == np.float32
        assert (x + 1.0).dtype == np.float32
    for _ in range(LEARN_AT + 2):
        with jacana.enable_x64(True):
            assert jnp.zeros(2).dtype == np.float64
            assert (x + 1.0).dtype == np.float64
    with jacana.debug_nans(True), pytest.raises(FloatingPointError):
        jnp.zeros(3) / jnp.zeros(3)
    y = jnp.ones((2, 3)) + jnp.arange(3.0)
    for _ in range(LEARN_AT + 2):
        y + jnp.arange(3.0)
    with jacana.numpy_rank_promotion("raise"), pytest.raises(ValueError):
        y + jnp.arange(3.0)


def test_inside_transformations():
    f = lambda x: (x[1] * x + x.sum() ** 2).at[0].set(3.0).mean()
    x = jnp.arange(3.0)
    expected = jacana.grad(f)(x).tolist()
    text = str(jacana.make_jaxpr(f)(x))
    for _ in range(LEARN_AT + 2):
        f(x)
    assert jacana.grad(f)(x).tolist() == expected
    assert str(jacana.make_jaxpr(f)(x)) == text
    assert jacana.vmap(f)(jnp.ones((2, 3))).shape == (2,)


def test_deleted_arrays_and_donation():
    x = jnp.arange(3.0)
    for _ in range(LEARN_AT + 2):
        x + 1, x[0]
    x.delete()
    for use in (lambda: x + 1, lambda: x[0], lambda: x.sum(), lambda: jnp.exp(x)):
        with pytest.raises(RuntimeError, match="deleted"):
            use()


def test_public_functions_are_what_they_were():
    assert jnp.sum.__name__ == "sum"
    assert "sum over axes" in jnp.sum.__doc__
    assert jnp.abs is jnp.absolute
    assert pickle.loads(pickle.dumps(jnp.tanh)) is jnp.tanh
    assert jnp.add.reduce(jnp.arange(4)).item() == 6
    assert jacana.jit(jnp.tanh)(0.0) == 0
    assert jacana.vmap(jnp.sum)(jnp.ones((2, 3))).tolist() == [3, 3]
    for name in (eager_names.ELEMENTWISE + eager_names.OTHERS).split():
        assert callable(getattr(jnp, name))


@pytest.mark.skipif(not is_supported(), reason="memory of natively made calls")
def test_memory_does_not_grow():
    x, at = jnp.arange(10.0), jnp.array([1, 2])

    def work() -> None:
        x + x, 2 * x, x[3], x[1:4], x[at], x.at[2].set(1), x.sum(), jnp.stack([x, x])
        jnp.where(x > 2, x, 0.0), jnp.split(x, 2), jnp.zeros(3), list(x), x @ x

    # Functions that other tests called in many ways would take new kinds up later.
    jacana.clear_caches()
    for _ in range(20):
        work()
    gc.collect()
    counts = [sys.getrefcount(v) for v in (x, at, x.aval, type(x), None)]
    live = len(jacana.live_arrays())
    for _ in range(2000):
        work()
    now = [sys.getrefcount(v) for v in (x, at, x.aval, type(x), None)]
    assert now[:4] == counts[:4]
    assert abs(now[4] - counts[4]) < 50
    assert len(jacana.live_arrays()) == live


def test_threads():
    wrong = []

    def work(n: int) -> None:
        x = jnp.arange(float(n + 1))
        for i in range(100):
            k = i % (n + 1)
            if float(x[k] + k) != 2 * k or float(jnp.stack([x, x]).sum()) != n * (n + 1):
                wrong.append((n, i))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 7)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
