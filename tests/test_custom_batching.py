"""Functions with batching rules of their own: where the rule runs, and its derivatives."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import grad, jit, jvp, lax, vmap
from jacana.custom_batching import custom_vmap, sequential_vmap


@pytest.fixture
def seen():
    return []


@pytest.fixture
def product(seen):
    """sin(x) y for one example, cos(x) y for batches: so results tell which of them ran."""

    @custom_vmap
    def f(x, y):
        return jnp.sin(x) * y

    @f.def_vmap
    def rule(axis_size, in_batched, x, y):
        seen.append((axis_size, in_batched))
        return jnp.cos(x) * y, any(in_batched)

    return f


X = np.array([0.3, 1.0, 2.0], np.float32)


@pytest.mark.parametrize("wrap", [lambda f: f, jit])
def test_the_rule_computes_batches(product, seen, wrap):
    np.testing.assert_allclose(wrap(product)(X[0], 2.0), np.sin(X[0]) * 2, rtol=1e-6)
    assert seen == []
    np.testing.assert_allclose(wrap(vmap(product, (0, None)))(X, 2.0), np.cos(X) * 2, rtol=1e-6)
    assert seen == [(3, [True, False])]
    moved = vmap(product, (1, None))(np.stack([X, X]), 2.0)
    np.testing.assert_allclose(moved, np.cos(np.stack([X, X], 1)) * 2, rtol=1e-6)
    np.testing.assert_allclose(vmap(jit(product))(X, X), np.cos(X) * X, rtol=1e-6)
    twice = vmap(vmap(product, (0, None)), (None, 0))(X, X)
    np.testing.assert_allclose(twice, np.cos(X)[None] * X[:, None], rtol=1e-6)


@pytest.mark.parametrize("wrap", [lambda f: f, jit])
def test_forward_mode_differentiates_function_and_rule(product, wrap):
    _, tangent = jvp(wrap(product), (X[0], 2.0), (1.0, 0.5))
    assert float(tangent) == pytest.approx(2 * np.cos(X[0]) + 0.5 * np.sin(X[0]), rel=1e-6)
    slope = -2 * np.sin(X) * X + 0.5 * np.cos(X)
    inner = vmap(lambda x: jvp(wrap(product), (x, 2.0), (x, 0.5))[1])
    np.testing.assert_allclose(inner(X), slope, rtol=1e-5)
    outer = jvp(wrap(vmap(product, (0, None))), (X, 2.0), (X, 0.5))[1]
    np.testing.assert_allclose(outer, slope, rtol=1e-5)


@pytest.mark.parametrize("wrap", [lambda f: f, jit])
def test_reverse_mode(product, wrap):
    found = wrap(grad(lambda x: vmap(product, (0, None))(x, 2.0).sum()))(X)
    np.testing.assert_allclose(found, -2 * np.sin(X), rtol=1e-6)
    with pytest.raises(ValueError, match="do not support reverse-mode"):
        grad(wrap(product))(1.0, 2.0)

    @jacana.custom_vjp
    def both(x, y):
        return product(x, y)

    both.defvjp(lambda x, y: (product(x, y), (x, y)), lambda r, ct: (7.0 * ct, r[0] * ct))
    np.testing.assert_allclose(vmap(wrap(grad(both)), (0, None))(X, 2.0), [7, 7, 7])
    np.testing.assert_allclose(vmap(both, (0, None))(X, 2.0), np.cos(X) * 2, rtol=1e-6)


def test_trees_and_results_that_are_not_batched():
    @custom_vmap
    def f(d, s):
        return {"a": d["x"] + s, "b": d["y"]}

    @f.def_vmap
    def rule(axis_size, in_batched, d, s):
        assert in_batched == [{"x": True, "y": False}, False]
        return {"a": d["x"] - s, "b": d["y"]}, {"a": True, "b": False}

    given = {"x": X, "y": jnp.ones(2)}
    axes = ({"x": 0, "y": None}, None)
    out = vmap(f, axes, out_axes={"a": 0, "b": None})(given, 1.0)
    np.testing.assert_array_equal(out["a"], X - 1)
    assert out["b"].shape == (2,)


def test_sequential_vmap(capsys):
    @sequential_vmap
    def f(x, y):
        jacana.debug.print("{}", x)
        return {"s": x + y}

    np.testing.assert_array_equal(vmap(f, (0, None))(X, 1.0)["s"], X + 1)
    assert len(capsys.readouterr().out.splitlines()) == 3
    np.testing.assert_array_equal(vmap(vmap(f, (None, 0)), (0, None))(X, X)["s"], X[:, None] + X)
    np.testing.assert_array_equal(f(1.0, y=2.0)["s"], 3.0)


def test_inside_loops_and_choices(product):
    def scanned(x):
        return lax.scan(lambda c, v: (product(c, v), c), x, jnp.arange(1.0, 3.0))[0]

    def chosen(x):
        return lax.cond(x > 0.5, lambda x: product(x, 2.0), lambda x: x, x)

    np.testing.assert_allclose(vmap(scanned)(X), 2 * np.cos(np.cos(X)), rtol=1e-6)
    np.testing.assert_allclose(vmap(chosen)(X)[0], X[0])


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda x: x, "must return a pair"),
        (lambda x: ((x, x), (True, True)), "structure of output returned by custom vmap rule"),
        (lambda x: (x[:2], True), "its first axis must be the batch, of size 3"),
    ],
)
def test_messages(result, message):
    f = custom_vmap(lambda x: x)
    f.def_vmap(lambda axis_size, in_batched, x: result(x))
    with pytest.raises(ValueError, match=message):
        vmap(f)(X)


def test_without_a_rule():
    with pytest.raises(AttributeError, match="No batching rule defined for custom_vmap function"):
        custom_vmap(lambda x: x)(1.0)


def test_captured_arrays_that_are_mapped():
    def g(x):
        f = custom_vmap(lambda y: x * y)
        f.def_vmap(lambda n, b, y: (y, True))
        return jit(f)(x)

    with pytest.raises(NotImplementedError, match="Make them arguments"):
        vmap(g)(X)
