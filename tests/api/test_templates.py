"""Eager functions in functions that are traced: the same equations at each call."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana.api import eager
from jacana.api.eager_arguments import LEARN_AT
from jacana.core.jaxpr import JaxprEqn
from jacana.core.stage import JaxprTrace
from jacana.numpy import eager_names
from jacana.runtime.native_objects import is_supported
from tests.api.test_taped import ARGUMENTS, X

ZERO = 0.0


def text_of(f: Callable[..., Any], *args: Any) -> str:
    """The program of a function, with the values of its constants; or what it raises."""
    try:
        made = jacana.make_jaxpr(lambda *xs: f(*xs))(*args)
    except Exception as error:
        return f"{type(error)} {error}"
    return f"{made} {[np.asarray(c).tolist() for c in made.consts]}"


def is_settled(f: Callable[..., Any], *args: Any) -> bool:
    """Whether a function has at each time the equations that it had at first."""
    first = text_of(f, *args)
    return all(text_of(f, *args) == first for _ in range(LEARN_AT + 2))


@pytest.mark.parametrize("name", (eager_names.ELEMENTWISE + eager_names.OTHERS + "take").split())
def test_functions(name):
    function = getattr(jnp, name)
    arguments = ARGUMENTS.get(name, lambda x: (x,))
    assert is_settled(lambda x: function(*arguments(x)), jnp.array(X))
    assert is_settled(lambda x: function(x, x[0]), jnp.array(X))
    assert is_settled(lambda x: function(*arguments(x)), jnp.arange(4))


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "complex64"])
def test_scalars_are_literals(dtype):
    x = jnp.array(X).astype(dtype)
    scalars = [2, -3, 0, 1, 1.0, True, 0.0, -0.0, 0.0, float("nan"), 300, 2**40, 1j, np.float32(2)]
    for name in ("add", "rsub", "mul", "truediv", "rpow", "pow", "gt", "eq"):
        for scalar in scalars:
            f = lambda x, s=scalar, m=f"__{name}__": getattr(x, m)(s)
            assert is_settled(f, x), (name, scalar)
    for scalar in scalars:
        assert is_settled(lambda x, s=scalar: jnp.maximum(x, s), x), scalar


def test_zeros_of_both_signs_differ():
    for _ in range(LEARN_AT + 2):
        for zero in (0.0, -0.0, ZERO, -ZERO):
            made = jacana.make_jaxpr(lambda x, z=zero: x * z)(1.0)
            assert np.signbit(made.eqns[0].invars[1].val) == np.signbit(zero)


def test_arrays_are_constants():
    w, at = jnp.array(X), jnp.array([0, -1])
    for f in (
        lambda x: x @ w, lambda x: w * x + w, lambda x: x[at], lambda x: x.at[at].set(w[:2]),
        lambda x: jnp.where(w > 0, x, w), lambda x: jnp.concatenate([x, w]),
    ):  # fmt: skip
        assert is_settled(f, jnp.array(X))
    for k in range(LEARN_AT + 2):
        made = jacana.make_jaxpr(lambda x, k=k: x + jnp.full(4, k))(w)
        assert jacana.jit(lambda x, k=k: x + jnp.full(4, k))(w).tolist() == (w + k).tolist()
        assert made.eqns[0].invars[0].val == k


@pytest.mark.skipif(not is_supported(), reason="this interpreter has no fronts")
def test_equations_are_recorded_by_templates(monkeypatch):
    eager.clear()
    f = lambda x: (jnp.exp(x) * 2.0 + x[0]).sum()
    for _ in range(LEARN_AT + 1):
        jacana.make_jaxpr(f)(jnp.array(X))
    recorded: list[Any] = []
    process = JaxprTrace.process
    monkeypatch.setattr(JaxprTrace, "process", lambda *a: recorded.append(a) or process(*a))
    made = jacana.make_jaxpr(f)(jnp.array(X))
    assert not recorded and len(made.eqns) >= 5


def lines_of(made: Any) -> set[int]:
    def visit(eqn: JaxprEqn) -> int:
        assert eqn.source is not None and eqn.source.code.co_filename == __file__
        return eqn.source.line

    return set(map(visit, made.eqns))


def test_equations_know_the_line_of_the_user():
    def f(x):
        y = jnp.tanh(x)
        return y @ y

    start = inspect.getsourcelines(f)[1]
    wanted = lines_of(jacana.make_jaxpr(f)(jnp.array(X)))
    assert wanted == {start + 1, start + 2}
    for _ in range(LEARN_AT + 2):
        assert lines_of(jacana.make_jaxpr(f)(jnp.array(X))) == wanted


def test_what_is_given_back_is_the_same_object():
    def f(x):
        assert x.astype("float32") is x
        assert jnp.asarray(x) is x
        return x.reshape(2, 2).reshape(4)

    assert is_settled(f, jnp.array(X))


def test_settings_and_scopes():
    f = lambda x: (jnp.sin(x) * 2).sum() + jnp.zeros(3)
    for _ in range(LEARN_AT + 2):
        assert jacana.make_jaxpr(f)(np.array(X)).out_avals[0].dtype == "float32"
        with jacana.enable_x64(True):
            assert jacana.make_jaxpr(f)(np.array(X)).out_avals[0].dtype == "float64"


def test_nested_traces():
    def f(x):
        y = jnp.exp(x)
        inner = jacana.jit(lambda z: jnp.exp(z) + jnp.sin(y))
        return jacana.lax.fori_loop(0, 3, lambda i, c: jnp.exp(-c) + y, inner(x)).sum()

    assert is_settled(f, jnp.array(X))
    assert is_settled(jacana.grad(f), jnp.array(X))
    assert is_settled(jacana.vmap(f), jnp.array([X, X]))


def test_side_effects_and_errors_come_at_each_trace():
    seen: list[int] = []

    def f(x):
        seen.append(1)
        return jnp.dot(x, jnp.ones(3)) if len(seen) > LEARN_AT + 2 else jnp.exp(x)

    for _ in range(LEARN_AT + 2):
        jacana.make_jaxpr(f)(jnp.array(X))
    with pytest.raises(TypeError, match="dot"):
        jacana.make_jaxpr(f)(jnp.array(X))
    leaked: list[Any] = []
    jacana.make_jaxpr(lambda x: leaked.append(x) or x)(jnp.array(X))
    with pytest.raises(jacana.errors.UnexpectedTracerError):
        jacana.make_jaxpr(lambda x: jnp.exp(leaked[0]) + x)(jnp.array(X))
