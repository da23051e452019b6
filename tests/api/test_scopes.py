"""Scopes, closure_convert, and shapes of what calls back or is checkpointed."""

import pytest

import jacana as jax
import jacana.numpy as jnp


def test_closure_convert():
    captured = []

    def apply(y):
        multiply, found = jax.closure_convert(lambda x: x * y + jnp.ones(()), 1.0)
        captured.append(len(found))
        return multiply(2.0, *found)

    assert apply(3.0) == 7
    assert jax.grad(apply)(3.0) == 2
    assert jax.vmap(apply)(jnp.arange(2.0)).tolist() == [1, 3]
    assert jax.jit(jax.grad(apply))(3.0) == 2
    assert captured == [0, 1, 0, 1]
    convert, _ = jax.closure_convert(lambda x: x, 1.0)
    with pytest.raises(TypeError, match="same Pytree structure"):
        convert((1.0, 2.0))


def test_names():
    named = jax.named_call(lambda x: x + 1, name="part")
    assert named(1) == 2 and jax.jit(named)(1) == 2

    @jax.named_scope("other")
    def f(x):
        return x * 2

    assert f(2) == 4
    with pytest.raises(TypeError, match="must be a string"), jax.named_scope(3):
        pass


def test_computing_while_tracing():
    def f(x):
        with jax.ensure_compile_time_eval():
            size = int(jnp.ones(3).sum())
        return x * size

    assert jax.jit(f)(2) == 6 and jax.grad(f)(1.0) == 3


def test_eval_shape():
    shape = jax.ShapeDtypeStruct((2,), "float32")
    assert jax.eval_shape(jax.checkpoint(lambda x: x * 2), shape) == shape
    called = jax.eval_shape(lambda x: jax.pure_callback(lambda x: x, shape, x), 1.0)
    assert called == shape
    assert jax.eval_shape(lambda x: jax.debug.print("{}", x), 1.0) is None


def test_traced_values_while_computing():
    @jax.jit
    def f(x):
        with jax.ensure_compile_time_eval():
            known = float(jnp.sin(0.0) + 2.0)
            traced = jnp.cos(x) * known
            inner = jax.jit(jnp.tanh)(x)
        return traced + inner

    assert f(0.0) == 2
    assert jax.grad(f)(0.0) == 1
    assert jax.vmap(f)(jnp.zeros(2)).tolist() == [2, 2]
