"""Compiled control flow against the same loops in Python: values, both modes, batches, nesting."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import grad, jit, jvp, lax, vmap


def scanned(x, a):
    return lax.scan(lambda c, v: (jnp.sin(c * v) + c, c * c), x, a)


def looped(x, a):
    ys = []
    for v in a:
        ys.append(x * x)
        x = jnp.sin(x * v) + x
    return x, jnp.stack(ys)


A = np.arange(1.0, 5.0, dtype=np.float32)
X = np.float32(0.7)


def total(f):
    return lambda x, a: jnp.sum(f(x, a)[1]) + f(x, a)[0]


def test_scan_is_the_loop():
    for got, want in zip(scanned(X, A), looped(X, A), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("wrap", [lambda f: f, jit])
def test_derivatives_of_scan(wrap):
    for argnum in (0, 1):
        got = wrap(grad(total(scanned), argnum))(X, A)
        np.testing.assert_allclose(got, grad(total(looped), argnum)(X, A), rtol=2e-5)
    got = wrap(jacana.hessian(total(scanned)))(X, A)
    np.testing.assert_allclose(got, jacana.hessian(total(looped))(X, A), rtol=1e-4)
    _, tangent = jvp(total(scanned), (X, A), (X, A))
    _, wanted = jvp(total(looped), (X, A), (X, A))
    np.testing.assert_allclose(tangent, wanted, rtol=1e-5)


def test_batches_of_scan():
    xs = jnp.linspace(0.1, 1.0, 3)
    both = vmap(scanned, in_axes=(0, None))(xs, A)
    for i in range(3):
        np.testing.assert_allclose(both[1][i], scanned(xs[i], A)[1], rtol=1e-6)
    gradients = vmap(grad(total(scanned)), in_axes=(0, None))(xs, A)
    np.testing.assert_allclose(gradients[1], grad(total(scanned))(xs[1], A), rtol=1e-5)


def test_reverse_scan_and_pytrees():
    def step(carry, x):
        return {"n": carry["n"] + 1, "s": carry["s"] * x["a"]}, {"s": carry["s"], "n": carry["n"]}

    carry, ys = lax.scan(step, {"n": 0, "s": 1.0}, {"a": jnp.arange(1.0, 4.0)}, reverse=True)
    assert int(carry["n"]) == 3 and float(carry["s"]) == 6.0
    np.testing.assert_array_equal(ys["s"], [6.0, 3.0, 1.0])
    np.testing.assert_array_equal(ys["n"], [2, 1, 0])


def test_empty_and_long_scans():
    carry, ys = lax.scan(lambda c, x: (c + x, c), 1.0, jnp.zeros((0,)))
    assert float(carry) == 1.0 and ys.shape == (0,)
    assert int(lax.fori_loop(0, 100_000, lambda i, v: v + 1, 0)) == 100_000


def test_while_loop():
    def double(x):
        return lax.while_loop(lambda v: v[0] < 100, lambda v: (v[0] * 2, v[1] + 1), (x, 0))

    value, steps = double(3.0)
    assert float(value) == 192.0 and int(steps) == 6
    values, steps = vmap(double)(jnp.array([3.0, 40.0, 200.0]))
    np.testing.assert_array_equal(values, [192.0, 160.0, 200.0])
    np.testing.assert_array_equal(steps, [6, 2, 0])
    _, tangent = jvp(lambda x: double(x)[0], (3.0,), (1.0,))
    assert float(tangent) == 64.0
    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work"):
        grad(lambda x: double(x)[0])(3.0)


def test_fori_loop_with_traced_bounds():
    power = jit(lambda x, n: lax.fori_loop(0, n, lambda i, v: v * x, 1.0))
    assert float(power(2.0, 10)) == 1024.0
    assert float(grad(lambda x: lax.fori_loop(0, 3, lambda i, v: v * x, 1.0))(2.0)) == 12.0


def test_cond_and_switch():
    def f(x):
        return lax.cond(x > 0, lambda v: jnp.sin(v) * v, lambda v: v * v, x)

    for x in (2.0, -2.0):
        want = grad(lambda v, x=x: jnp.sin(v) * v if x > 0 else v * v)(x)
        np.testing.assert_allclose(grad(f)(x), want, rtol=1e-6)
        np.testing.assert_allclose(jit(grad(f))(x), want, rtol=1e-6)
        np.testing.assert_allclose(vmap(grad(f))(jnp.array([x, 1.0]))[0], want, rtol=1e-6)
    branches = [lambda v: v, lambda v: v + 1, lambda v: v * 10]
    assert [float(lax.switch(i, branches, 3.0)) for i in (-1, 1, 7)] == [3.0, 4.0, 30.0]


def test_nests():
    def f(x):
        def body(c, a):
            inner = lambda c: lax.while_loop(lambda v: v < 1.0, lambda v: v * 1.5, c)
            c = lax.cond(c > 1.0, lambda c: c * 0.5, inner, c)
            return c, c * a

        return lax.scan(body, x, jnp.arange(5.0))[1]

    def python(x):
        ys = []
        for a in range(5):
            if x > 1:
                x = x * 0.5
            else:
                while x < 1:
                    x = x * 1.5
            ys.append(x * a)
        return np.asarray(ys, np.float32)

    for x in (0.3, 2.0, 7.0):
        np.testing.assert_allclose(f(x), python(x), rtol=1e-6)
    np.testing.assert_allclose(
        vmap(f)(jnp.array([0.3, 7.0])), [python(0.3), python(7.0)], rtol=1e-6
    )


def test_closures_are_differentiated():
    def f(w):
        return lax.scan(lambda c, _: (jnp.tanh(w * c), None), 1.0, None, length=3)[0]

    def g(w):
        c = 1.0
        for _ in range(3):
            c = jnp.tanh(w * c)
        return c

    np.testing.assert_allclose(grad(f)(0.5), grad(g)(0.5), rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lax.scan(lambda c, x: (c.astype("int32"), x), 0.0, jnp.ones(2)), "equal types"),
        (lambda: lax.scan(lambda c, x: (c, x), 0.0), "length"),
        (lambda: lax.cond(jnp.ones(2) > 0, abs, abs, 1.0), "scalar"),
        (lambda: lax.cond(True, lambda x: x, lambda x: (x, x), 1.0), "same structure"),
        (lambda: lax.while_loop(lambda v: v, lambda v: v, 1.0), "boolean scalar"),
    ],
)
def test_messages(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


@pytest.mark.parametrize("length", [0, 1, 2, 3, 8, 13])
def test_associative_scan(length):
    x = np.random.default_rng(0).standard_normal((length, 2)).astype(np.float32)
    np.testing.assert_allclose(lax.associative_scan(jnp.add, x), np.cumsum(x, 0), rtol=1e-4)
    backward = lax.associative_scan(jnp.multiply, x.T, reverse=True, axis=1)
    np.testing.assert_allclose(backward, np.cumprod(x.T[:, ::-1], 1)[:, ::-1], rtol=1e-4)

    def compose(a, b):
        return a[0] * b[0], b[0] * a[1] + b[1]

    if length:
        _, states = lax.associative_scan(compose, (x[:, 0], x[:, 1]))
        h, wanted = 0.0, []
        for a, b in x:
            h = a * h + b
            wanted.append(h)
        np.testing.assert_allclose(states, wanted, rtol=1e-3, atol=1e-5)
        gradient = grad(lambda v: jnp.sum(lax.associative_scan(jnp.add, v)))(x[:, 0])
        np.testing.assert_allclose(gradient, np.arange(length, 0, -1))


def test_condition_that_reduces():
    def root(a):
        def unfinished(c):
            return jnp.max(jnp.abs(c[0] - c[1])) > 1e-6

        return lax.while_loop(unfinished, lambda c: (c[1], 0.5 * (c[1] + a / c[1])), (a, 1.5))[1]

    np.testing.assert_allclose(root(2.0), np.sqrt(2), rtol=1e-6)
    np.testing.assert_allclose(vmap(root)(jnp.array([2.0, 9.0])), np.sqrt([2, 9]), rtol=1e-6)


@pytest.mark.parametrize("shape", [(3,), (16, 4), (4, 17), (100,)])
def test_inner_loop_as_long_as_the_outer_counter_says(shape):
    def f(x):
        def body(i, c):
            return lax.fori_loop(0, i, lambda j, d: d * 0.5 + j, c)

        return lax.fori_loop(1, 4, body, x)

    x = np.linspace(-1, 1, np.prod(shape), dtype=np.float32).reshape(shape)
    wanted = x
    for i in range(1, 4):
        for j in range(i):
            wanted = wanted * np.float32(0.5) + np.float32(j)
    np.testing.assert_array_equal(vmap(f)(x), wanted)
    np.testing.assert_array_equal(f(x), wanted)


def test_gradient_in_one_part_of_the_carry():
    def last(q, v):
        def step(carry, _):
            q, v = carry
            q = q + 0.1 * v
            return (q, v + 0.1 * jnp.sin(q)), None

        return lax.scan(step, (q, v), None, length=3)[0]

    def loop(q, v):
        for _ in range(3):
            q = q + 0.1 * v
            v = v + 0.1 * jnp.sin(q)
        return q, v

    for argnum in (0, 1):
        for out in (0, 1):
            found = jacana.grad(lambda q, v, out=out: last(q, v)[out], argnum)(1.0, 2.0)
            expected = jacana.grad(lambda q, v, out=out: loop(q, v)[out], argnum)(1.0, 2.0)
            assert abs(found - expected) < 1e-6


@pytest.mark.parametrize("batch_size", [1, 2, 5, 7])
def test_map_in_batches(batch_size):
    xs = {"a": jnp.arange(5.0), "b": jnp.arange(10).reshape(5, 2)}

    def f(x):
        return x["a"] * x["b"], x["b"].sum()

    expected = lax.map(f, xs)
    for found in (
        lax.map(f, xs, batch_size=batch_size),
        jit(lambda xs: lax.map(f, xs, batch_size=batch_size))(xs),
    ):
        for x, y in zip(found, expected, strict=True):
            assert x.dtype == y.dtype
            assert np.array_equal(x, y)


def test_map_refuses_batches_of_nothing():
    with pytest.raises(ValueError, match="batch_size of at least one, got 0"):
        lax.map(lambda x: x, jnp.arange(3), batch_size=0)


def test_bodies_are_traced_once():
    traced = []

    def step(carry, x):
        traced.append(carry)
        return carry + x, carry

    program = jacana.make_jaxpr(lambda x: lax.scan(step, 0.0, x))(jnp.arange(3.0))
    assert len(traced) == 1
    assert str(program).endswith("] 0.0:f32[] a\n  in (b, c) }")


@pytest.mark.parametrize("jit", [False, True])
def test_derivatives_of_branches_capture_arrays(jit):
    scale, shift = jnp.array([1.0, 2.0]), jnp.array([3.0, 5.0])

    @jacana.custom_jvp
    def custom(x):
        return x * x

    custom.defjvp(lambda primals, tangents: (custom(primals[0]), tangents[0] * scale))

    @jacana.custom_vjp
    def other(x):
        return jnp.sin(x)

    other.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (ct * shift * x,))

    def f(p, x):
        return lax.cond(p, custom, other, x).sum()

    x = jnp.array([0.5, 1.5])
    gradient = grad(f, argnums=1)
    gradient = jacana.jit(gradient) if jit else gradient
    np.testing.assert_array_equal(gradient(True, x), scale)
    np.testing.assert_array_equal(gradient(False, x), shift * x)
    both = vmap(gradient)(jnp.array([True, False]), jnp.stack([x, x]))
    np.testing.assert_array_equal(both, jnp.stack([scale, shift * x]))
    tangent = jvp(lambda x: lax.cond(True, custom, lambda x: x, x), (x,), (x,))[1]
    np.testing.assert_array_equal(tangent, x * scale)
