"""Eager functions in un-jitted derivatives: at the tenth call what they give at the first."""

import gc
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana.api import eager
from jacana.api.eager_arguments import LEARN_AT
from jacana.core import tree
from jacana.core.trace import BaseTrace
from jacana.numpy import eager_names
from jacana.runtime import dispatch
from jacana.runtime.native_objects import is_supported
from tests.api.test_eager import is_settled, outcome

native_only = pytest.mark.skipif(not is_supported(), reason="this interpreter has no fronts")
X = [0.3, -1.25, 2.0, 0.75]
# Functions whose arguments are not all arrays of one shape.
ARGUMENTS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "where": lambda x: (x > 0, x, 0.5), "clip": lambda x: (x, -0.5, 0.5),
    "stack": lambda x: ([x, x * 2],), "concatenate": lambda x: ([x, x],),
    "hstack": lambda x: ((x, x),), "vstack": lambda x: ((x, x),), "dstack": lambda x: ((x, x),),
    "column_stack": lambda x: ((x, x),), "dot": lambda x: (x, x),
    "einsum": lambda x: ("i,i->", x, x),
    "reshape": lambda x: (x, (2, 2)), "broadcast_to": lambda x: (x, (2, 4)),
    "moveaxis": lambda x: (x.reshape(2, 2), 0, 1), "matmul": lambda x: (x, x),
    "swapaxes": lambda x: (x.reshape(2, 2), 0, 1), "take": lambda x: (x, 2),
    "tensordot": lambda x: (x, x, 1), "split": lambda x: (x, 2), "unstack": lambda x: (x,),
    "trace": lambda x: (x.reshape(2, 2),), "diagonal": lambda x: (x.reshape(2, 2),),
    "outer": lambda x: (x, x), "inner": lambda x: (x, x), "kron": lambda x: (x, x),
    "vdot": lambda x: (x, x), "power": lambda x: (x, 3), "roll": lambda x: (x, 1),
    "pad": lambda x: (x, 1), "tile": lambda x: (x, 2), "repeat": lambda x: (x, 2),
    "full_like": lambda x: (x, 2.0), "expand_dims": lambda x: (x, 0),
}  # fmt: skip


def value_and_pulled(f: Callable[[Any], Any], x: Any) -> Any:
    """What the function gives, and the cotangents of x for ones."""
    out, pullback = jacana.vjp(f, x)
    return out, pullback(tree.map(cotangent, out))


def cotangent(x: Any) -> Any:
    dtype = jnp.asarray(x).aval.to_tangent_aval().dtype
    return np.ones(x.shape, dtype) if dtype == jacana.float0 else jnp.ones(x.shape, dtype)


@pytest.mark.parametrize("name", (eager_names.ELEMENTWISE + eager_names.OTHERS + "take").split())
def test_functions(name):
    function = getattr(jnp, name)

    def calls(x: Any) -> Any:
        if name in ARGUMENTS:
            return function(*ARGUMENTS[name](x))
        try:
            return function(x)
        except TypeError:
            return function(x, x * 0.5)

    assert is_settled(lambda: value_and_pulled(calls, jnp.array(X)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize("scalar", [2, -3, 0, 1.1, -0.0, float("nan"), True, 2**31 - 1, 2**40])
def test_operators_with_scalars(dtype, scalar):
    x = jnp.array(X).astype(dtype)
    for name in ("add", "sub", "mul", "truediv", "pow"):
        for method in (f"__{name}__", f"__r{name}__"):
            call = lambda x, m=method: getattr(x, m)(scalar)
            assert is_settled(lambda f=call: value_and_pulled(f, x)), method


def test_indices():
    x, at = jnp.arange(24.0).reshape(4, 6), jnp.array([0, -1])
    for index in (3, -1, (1, 2), slice(1, 3), (slice(None), 2), None, ..., at, (at, 1), (1, at)):
        assert is_settled(lambda i=index: value_and_pulled(lambda x: x[i] * 2, x)), index
        assert is_settled(lambda i=index: value_and_pulled(lambda x: x.at[i].set(1.5), x)), index
        assert is_settled(lambda i=index: value_and_pulled(lambda x: x.at[i].add(x[0, 0]), x)), (
            index
        )


def test_methods_and_properties():
    x = jnp.array(X).reshape(2, 2)
    uses: list[Callable[[Any], Any]] = [
        lambda x: x.sum(0), lambda x: x.T @ x, lambda x: x.mean(axis=1, keepdims=True),
        lambda x: x.reshape(4), lambda x: x.astype("float16"), lambda x: x.astype(int),
        lambda x: (x > 0, x), lambda x: abs(-x), lambda x: x.max(), lambda x: x.real,
        lambda x: divmod(x, 0.5), lambda x: x + np.ones(2), lambda x: x.clip(0.0, 1.0),
        lambda x: jnp.exp(x) + 1j, lambda x: jnp.sort(x), lambda x: list(x), lambda x: x.var(),
    ]  # fmt: skip
    for f in uses:
        assert is_settled(lambda f=f: value_and_pulled(f, x))


@native_only
def test_programs_are_used(monkeypatch):
    # Checks of numbers, once used in a process, stand in for it.
    monkeypatch.setattr(BaseTrace, "evaluate", staticmethod(dispatch.evaluate))
    eager.clear()
    f = lambda x: (jnp.exp(x) * 2.0 + x[0]).sum()
    for _ in range(LEARN_AT + 1):
        jacana.grad(f)(jnp.array(X))
    seen = []
    profile = lambda frame, event, _: event == "call" and seen.append(frame.f_code.co_filename)
    out = []

    def watched(x: Any) -> Any:
        sys.setprofile(profile)
        y = f(x)
        sys.setprofile(None)
        out.append(y)
        return y

    jacana.grad(watched)(jnp.array(X))
    assert {name for name in seen if "jacana" in name.rpartition("/")[0]} <= {__file__}
    assert type(out[0]).__name__ == "TapedTracer"


def test_side_effects_happen_at_each_call():
    seen: list[Any] = []
    scale = [1.0]

    def f(x: Any) -> Any:
        seen.append(float(x[0]))
        return (jnp.sin(x) * scale[0]).sum() if x[0] > 0 else -x.sum()

    gradient = jacana.grad(f)
    for k in range(LEARN_AT + 3):
        scale[0] = float(k)
        got = gradient(jnp.array([1.0, 2.0]))
        np.testing.assert_allclose(got, k * np.cos([1.0, 2.0]), rtol=1e-6)
        assert gradient(jnp.array([-1.0, 2.0])).tolist() == [-1, -1]
    assert seen == [1.0, -1.0] * (LEARN_AT + 3)


def test_other_transformations_inside_and_around():
    x = jnp.array(X)
    f = lambda x: (jnp.tanh(x) * x).sum()
    uses: list[Callable[[], Any]] = [
        lambda: jacana.grad(lambda x: jacana.grad(f)(x).sum())(x),
        lambda: jacana.hessian(f)(x),
        lambda: jacana.grad(lambda x: jacana.vmap(jnp.exp)(x).sum())(x),
        lambda: jacana.vmap(jacana.grad(lambda x: jnp.exp(x) * x))(x),
        lambda: jacana.grad(lambda x: jacana.jit(f)(jnp.exp(x)))(x),
        lambda: jacana.jvp(jacana.grad(f), (x,), (x,)),
        lambda: jacana.grad(lambda x: jacana.jvp(f, (jnp.exp(x),), (x,))[1])(x),
        lambda: jacana.grad(lambda x: jacana.lax.stop_gradient(jnp.exp(x)).sum() + x[0])(x),
        lambda: jacana.grad(lambda x: jacana.nn.relu(jnp.exp(x) - 1).sum())(x),
    ]
    for use in uses:
        assert is_settled(use)


def test_tracers_of_other_traces_are_refused():
    leaked: list[Any] = []
    f = lambda x: leaked.append(x) or jnp.exp(x).sum()
    for _ in range(LEARN_AT + 1):
        jacana.grad(f)(jnp.array(X))

    def uses_leaked(x: Any) -> Any:
        return (jnp.exp(leaked[0]) + x).sum()

    first = outcome(lambda: jacana.grad(uses_leaked)(jnp.array(X)))
    assert first[0] is not None
    inner = lambda x: jacana.grad(lambda y: (jnp.exp(x) * y).sum())(x).sum()
    assert is_settled(lambda: jacana.grad(inner)(jnp.array(X)))


def test_deleted_arrays_are_refused():
    x, w = jnp.array(X), jnp.array(X)
    f = lambda x: (w * x).sum()
    for _ in range(LEARN_AT + 1):
        jacana.grad(f)(x)
    w.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        jacana.grad(f)(x)


def test_settings_of_a_block():
    x = np.array(X)
    f = lambda x: (jnp.sin(x) * 2).sum()
    for _ in range(LEARN_AT + 2):
        assert jacana.grad(f)(x).dtype == "float32"
        with jacana.enable_x64(True):
            assert jacana.grad(f)(x).dtype == "float64"


def test_what_is_returned_as_it_came():
    x = jnp.array(X)
    for _ in range(LEARN_AT + 2):
        jacana.grad(lambda x: x.sum() if x.astype("float32") is x.astype("float32") else 0 * x[0])(
            x
        )
        assert jacana.vjp(lambda x: jnp.reshape(x, (4,)), x)[1](x)[0].tolist() == x.tolist()


def test_references_are_given_back():
    x = jnp.array(X)
    f = lambda x: sum(y.sum() for y in jnp.split(jnp.exp(x) * 2.0, 2)) + (x > 0).sum()
    for _ in range(LEARN_AT + 2):
        jacana.grad(f)(x)
    gc.collect()
    before, arrays = len(gc.get_objects()), len(jacana.live_arrays())
    counts = [sys.getrefcount(o) for o in (x, x.aval, None, jnp.exp)]
    for _ in range(200):
        jacana.grad(f)(x)
    gc.collect()
    after = [sys.getrefcount(o) for o in (x, x.aval, None, jnp.exp)]
    assert all(abs(a - b) < 20 for a, b in zip(after, counts))
    assert len(gc.get_objects()) - before < 20
    assert len(jacana.live_arrays()) - arrays < 5


def test_threads():
    f = lambda x: (jnp.exp(x) * x + jnp.sin(x)).sum()
    want = [np.asarray(jacana.grad(f)(jnp.array(X) * k)) for k in range(4)]
    wrong: list[Any] = []

    def work(k: int) -> None:
        for _ in range(50):
            got = np.asarray(jacana.grad(f)(jnp.array(X) * k))
            if not np.array_equal(got, want[k]):
                wrong.append(got)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_integer_arguments_have_their_own_gradients():
    x, f = jnp.array(X), lambda x, n: (jnp.exp(x) * 2).sum()
    for _ in range(4):
        assert jacana.grad(f)(x, 3).shape == (4,)
        first, second = jacana.grad(f, argnums=(0, 1), allow_int=True)(x, 3)
        assert first.shape == (4,) and second.dtype == jacana.float0


def test_derivatives_are_named_after_their_functions():
    def f(x):
        """About f."""
        return jnp.sum(x)

    f.attribute = 1
    for transform in (jacana.grad, jacana.value_and_grad, jacana.jacrev, jacana.jacfwd):
        made = transform(f)
        assert (made.__name__, made.__doc__, made.__module__) == ("f", "About f.", __name__)
        assert made.__wrapped__ is f and made.attribute == 1
        assert transform(jnp.sum).__name__ == "sum" and transform(jnp.sum).__doc__
        assert transform(jacana.jit(f)).__name__ == "f"
