"""checkpoint: same derivatives, values computed again, less memory; its policies."""

import numpy as np
import pytest

import jacana as jax
import jacana.numpy as jnp
from jacana import checkpoint_policies as policies, lax
from jacana.ad_checkpoint import checkpoint_name, print_saved_residuals
from jacana.api.checkpoint import saved_residuals
from jacana.compiler.compile import compile_jaxpr
from jacana.core.errors import TracerBoolConversionError


def chain(x, w):
    for _ in range(3):
        x = jnp.tanh(jnp.sin(x @ w))
    return x


X, W = np.linspace(-1, 1, 12).reshape(3, 4), np.cos(np.arange(16.0)).reshape(4, 4) / 4
POLICIES = [
    None,
    policies.everything_saveable,
    policies.nothing_saveable,
    policies.dots_saveable,
    policies.dots_with_no_batch_dims_saveable,
    policies.save_only_these_names("a"),
    policies.save_any_names_but_these("a"),
    policies.save_from_both_policies(policies.dots_saveable, policies.save_only_these_names("a")),
]


@pytest.mark.parametrize("policy", POLICIES)
def test_same_derivatives(policy):
    def named(x, w):
        return jnp.sum(checkpoint_name(chain(x, w), "a") ** 2)

    again = jax.checkpoint(named, policy=policy)
    expected = jax.grad(named, (0, 1))(X, W)
    for f in (jax.grad(again, (0, 1)), jax.jit(jax.grad(again, (0, 1)))):
        for got, want in zip(f(X, W), expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5)
    batched = jax.vmap(jax.grad(again), (0, None))(X, W)
    np.testing.assert_allclose(batched, expected[0], rtol=1e-5)
    out, tangent = jax.jvp(again, (X, W), (X, W))
    want = jax.jvp(named, (X, W), (X, W))
    np.testing.assert_allclose([out, tangent], want, rtol=1e-5)
    one = jax.grad(jax.checkpoint(twice, policy=policy))
    np.testing.assert_allclose(jax.grad(one)(0.7), jax.grad(jax.grad(twice))(0.7),
                               rtol=1e-6)  # fmt: skip


def twice(x):
    return jnp.sin(jnp.sin(x))


def residual_shapes(f, *args):
    return sorted(aval.shape for aval, _ in saved_residuals(f, *args))


def test_what_is_kept():
    def f(x, w):
        return jnp.sin(checkpoint_name(jnp.dot(jnp.sin(x), w), "dot"))

    assert residual_shapes(jax.checkpoint(f), X, W) == [(3, 4), (4, 4)]
    kept = residual_shapes(jax.checkpoint(f, policy=policies.dots_saveable), X, W)
    assert kept == [(3, 4), (3, 4), (4, 4)]
    named = jax.checkpoint(f, policy=policies.save_only_these_names("dot"))
    assert residual_shapes(named, X, W) == kept
    others = jax.checkpoint(f, policy=policies.save_any_names_but_these("dot"))
    assert residual_shapes(others, X, W) == [(3, 4), (4, 4)]


def test_print_saved_residuals(capsys):
    f = jax.checkpoint(lambda x: jnp.sin(checkpoint_name(jnp.sin(x), "inner")),
                       policy=policies.save_only_these_names("inner"))  # fmt: skip
    print_saved_residuals(f, 1.0)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "f32[] from the argument x"
    assert lines[1].startswith("f32[] named 'inner' from ")


def arena_of_gradient(layer, count, n=64):
    w = np.eye(n, dtype="float32") / 2

    def loss(x):
        for _ in range(count):
            x = layer(x, w)
        return jnp.sum(x)

    x = np.ones((n, n), "float32")
    return compile_jaxpr(jax.jit(jax.grad(loss)).trace(x).jaxpr.jaxpr).arena


def test_memory():
    def layer(x, w):
        for _ in range(4):
            x = jnp.sin(x @ w)
        return x

    plain = arena_of_gradient(layer, 8)
    again = arena_of_gradient(jax.checkpoint(layer), 8)
    # 32 products are kept, or the 8 inputs of layers and the 4 products of one.
    assert again < 0.55 * plain
    kept = arena_of_gradient(jax.checkpoint(layer, policy=policies.everything_saveable), 8)
    assert kept > 0.9 * plain


def test_in_scan():
    step = jax.checkpoint(lambda c, x: (jnp.sin(c * x), c), prevent_cse=False)

    def loss(c, xs):
        return jnp.sum(lax.scan(step, c, xs)[0])

    def plain(c, xs):
        return jnp.sum(lax.scan(lambda c, x: (jnp.sin(c * x), c), c, xs)[0])

    args = np.linspace(0, 1, 3), np.linspace(0.5, 1, 5)
    for got, want in zip(jax.grad(loss, (0, 1))(*args), jax.grad(plain, (0, 1))(*args)):
        np.testing.assert_allclose(got, want, rtol=1e-6)


def test_static_arguments_and_closures():
    scale = jnp.float32(3)

    @jax.checkpoint
    def closed(x):
        return {"out": scale * x}

    assert closed(2.0)["out"] == 6
    assert jax.grad(lambda s: jax.checkpoint(lambda x: s * x)(2.0))(1.0) == 2
    f = jax.checkpoint(lambda x, up: x if up else 2 * x, static_argnums=(1,))
    assert jax.grad(f)(1.0, False) == 2
    g = jax.checkpoint(lambda x, *, up: x if up else 2 * x, static_argnames="up")
    assert jax.jit(lambda x: g(x, up=False))(1.0) == 2
    assert jax.remat(lambda x: x, prevent_cse=False)(1.0) == 1


def test_printed():
    text = str(jax.make_jaxpr(jax.checkpoint(lambda x: jnp.sin(x)))(1.0))
    assert "remat2[" in text and "prevent_cse=True" in text and "differentiated=False" in text
    inner = str(jax.make_jaxpr(jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))))(1.0))
    assert "differentiated=True" in inner and "optimization_barrier" in inner


def test_errors():
    with pytest.raises(TypeError):
        jax.checkpoint(3)
    with pytest.raises(NotImplementedError, match="static_argnums"):
        jax.checkpoint(lambda x: x, concrete=True)
    with pytest.raises(TracerBoolConversionError):
        jax.checkpoint(lambda x: 1 if x > 0 else 2)(1.0)
    with pytest.raises(TypeError, match="as a result"):
        jax.checkpoint(lambda x: "a")(1.0)
