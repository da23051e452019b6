"""pmap: one slice for each device."""

import numpy as np
import pytest

import jacana as jax
import jacana.numpy as jnp
from jacana import lax
from jacana.sharding import PartitionSpec as P

pytestmark = pytest.mark.usefixtures("eight_devices")
X = np.sin(np.arange(16.0)).reshape(8, 2).astype(np.float32)


def test_results_and_where_they_are():
    f = jax.pmap(lambda a: a * 2)
    for _ in range(4):
        found = f(X)
    np.testing.assert_array_equal(found, X * 2)
    assert found.sharding.spec == P("_internal_pmap_axis_name") and len(found.devices()) == 8
    assert [s.data.shape for s in found.addressable_shards] == [(1, 2)] * 8
    assert len(f(X[:3]).devices()) == 3
    some = jax.pmap(lambda a: a, devices=jax.devices()[2:4])(X[:2])
    assert some.devices() == set(jax.devices()[2:4])


def test_collectives():
    def normalized(a):
        return a / lax.psum(a, "i")

    f = jax.pmap(normalized, axis_name="i")
    np.testing.assert_allclose(f(X), X / X.sum(0), rtol=1e-5)
    np.testing.assert_array_equal(f(X), jax.vmap(normalized, axis_name="i")(X))
    assert f(X).sharding.spec == P("i")
    index = jax.pmap(lambda a: lax.axis_index("i"), axis_name="i")(X)
    np.testing.assert_array_equal(index, np.arange(8))


def test_axes():
    f = jax.pmap(lambda a, b, c: (a + b["k"] * c, a), in_axes=(1, {"k": 0}, None), out_axes=(1, -1))
    a, b = X.T, {"k": X}
    first, second = f(a, b, 2.0)
    np.testing.assert_array_equal(first, (X + X * 2).T)
    np.testing.assert_array_equal(second, X.T)
    assert first.sharding.spec == P(None, "_internal_pmap_axis_name")
    same = jax.pmap(lambda a: lax.psum(a, "i"), axis_name="i", out_axes=None)(X)
    np.testing.assert_allclose(same, X.sum(0), rtol=1e-5)
    assert same.is_fully_replicated
    np.testing.assert_array_equal(jax.pmap(lambda a, *, b: a + b)(X, b=X), X + X)


def test_static_and_donated_arguments():
    f = jax.pmap(lambda n, a: a * n, static_broadcasted_argnums=0, donate_argnums=1)
    x = jnp.array(X)
    np.testing.assert_array_equal(f(3, x), X * 3)
    assert x.is_deleted()


def test_derivatives():
    def mean(w):
        f = jax.pmap(lambda a, w: lax.pmean(jnp.sin(a * w), "i"), axis_name="i", in_axes=(0, None))
        return f(X, w).sum()

    expected = jax.grad(lambda w: 8 * jnp.sin(X * w).mean(0).sum())
    np.testing.assert_allclose(jax.grad(mean)(2.0), expected(2.0), rtol=1e-4)
    np.testing.assert_allclose(jax.grad(jax.grad(mean))(2.0), jax.grad(expected)(2.0), rtol=1e-4)

    def step(w, a):
        return w - lax.pmean(jax.grad(lambda w: jnp.sum(jnp.sin(a * w)))(w), "i")

    stepped = jax.pmap(step, axis_name="i", in_axes=(None, 0))(2.0, X)
    slope = np.mean(np.sum(X * np.cos(X * 2), 1))
    np.testing.assert_allclose(stepped, np.full(8, 2 - slope), rtol=1e-5)


def test_transformations_of_it():
    f = jax.pmap(lambda a: lax.psum(a, "i"), axis_name="i")
    batch = np.stack([X, 2 * X])
    np.testing.assert_array_equal(jax.vmap(f)(batch), np.stack([f(b) for b in batch]))
    np.testing.assert_array_equal(jax.jit(f)(X), f(X))
    nested = jax.pmap(jax.pmap(lambda a: lax.psum(a, "j"), axis_name="j"))
    np.testing.assert_allclose(nested(X[:4]), np.tile(X[:4].sum(1, keepdims=True), 2), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: jax.pmap(f)(np.ones(9)), "requires 9 logical devices, but only 8"),
        (lambda f: jax.pmap(f, devices=jax.devices()[:3])(X[:2]), "3 devices and a mapped axis of"),
        (lambda f: jax.pmap(lambda a, b: a)(X, X[:4]), "inconsistent sizes .* 4, 8"),
        (lambda f: jax.pmap(f, in_axes=None)(X), "at least one argument with a mapped axis"),
        (lambda f: jax.pmap(f, in_axes=2)(X), r"argument of shape \(8, 2\) has rank 2"),
        (lambda f: jax.pmap(f, in_axes=(0, 0))(X), r"len\(in_axes\)=2, len\(args\)=1"),
        (lambda f: jax.pmap(f, out_axes=3)(X), "out_axes 3 is out of bounds"),
        (lambda f: jax.pmap(f, backend="tpu")(X), "'tpu' requested"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises((ValueError, RuntimeError), match=message):
        call(lambda a: a)
