"""Programs that differentiate: Jacobians, custom rules, implicit functions, checkpoints."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import custom_jvp, custom_vjp, grad, hessian, jacfwd, jacrev, jit, jvp, lax, vjp, vmap

jax.config.update("jax_enable_x64", True)


def program_log1pexp():
    @custom_jvp
    def log1pexp(x):
        return jnp.log(1.0 + jnp.exp(x))

    @log1pexp.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        return log1pexp(x), (1 - 1 / (1 + jnp.exp(x))) * t

    assert grad(log1pexp)(1000.0) == 1.0
    np.testing.assert_allclose(grad(log1pexp)(3.0), 1 / (1 + np.exp(-3.0)))
    np.testing.assert_allclose(
        jit(vmap(grad(grad(log1pexp))))(jnp.array([0.0, 1.0])),
        [0.25, np.exp(1) / (1 + np.exp(1)) ** 2],
    )


def program_clip_gradient():
    @partial(custom_vjp, nondiff_argnums=(0, 1))
    def clip_gradient(low, high, x):
        return x

    def forward(low, high, x):
        return x, None

    def backward(low, high, _, ct):
        return (jnp.clip(ct, low, high),)

    clip_gradient.defvjp(forward, backward)
    f = lambda x: jnp.sin(clip_gradient(-0.75, 0.75, x))
    x = jnp.linspace(0, 10, 50)
    np.testing.assert_allclose(vmap(grad(f))(x), np.clip(np.cos(x), -0.75, 0.75))
    np.testing.assert_allclose(f(x), np.sin(x))


def program_straight_through():
    def quantise(x):
        return x + lax.stop_gradient(jnp.round(x) - x)

    x = jnp.array([0.2, 1.7, -2.4])
    np.testing.assert_array_equal(quantise(x), np.round(x))
    np.testing.assert_array_equal(grad(lambda x: jnp.sum(quantise(x) ** 2))(x), 2 * np.round(x))


def program_fixed_point():
    """Implicit differentiation of a fixed point with custom_vjp, as in JAX's tutorial."""

    @partial(custom_vjp, nondiff_argnums=(0,))
    def fixed_point(f, a, guess):
        def unfinished(carry):
            before, now = carry
            return jnp.max(jnp.abs(before - now)) > 1e-12

        return lax.while_loop(unfinished, lambda c: (c[1], f(a, c[1])), (guess, f(a, guess)))[1]

    def forward(f, a, guess):
        x = fixed_point(f, a, guess)
        return x, (a, x)

    def rev_iter(f, packed, u):
        a, x, x_bar = packed
        _, vjp_x = vjp(lambda x: f(a, x), x)
        return x_bar + vjp_x(u)[0]

    def backward(f, res, x_bar):
        a, x = res
        _, vjp_a = vjp(lambda a: f(a, x), a)
        (a_bar,) = vjp_a(fixed_point(partial(rev_iter, f), (a, x, x_bar), x_bar))
        return a_bar, jnp.zeros_like(x)

    fixed_point.defvjp(forward, backward)

    def root(a):
        return fixed_point(lambda a, x: 0.5 * (x + a / x), a, a)

    np.testing.assert_allclose(root(2.0), np.sqrt(2))
    np.testing.assert_allclose(grad(root)(2.0), 0.5 / np.sqrt(2))
    np.testing.assert_allclose(grad(grad(root))(2.0), -0.25 * 2.0**-1.5, rtol=1e-6)
    np.testing.assert_allclose(jit(vmap(grad(root)))(jnp.array([1.0, 4.0])), [0.5, 0.25])


def program_hessian_vector_products():
    def f(x):
        return jnp.sum(jnp.sin(x[:-1]) * x[1:] ** 2) + jnp.prod(x)

    x = jnp.array([0.5, 1.5, -0.7, 2.0])
    v = jnp.array([1.0, 0.0, -1.0, 2.0])
    wanted = hessian(f)(x) @ v
    np.testing.assert_allclose(jvp(grad(f), (x,), (v,))[1], wanted)
    np.testing.assert_allclose(grad(lambda x: jnp.vdot(grad(f)(x), v))(x), wanted)
    np.testing.assert_allclose(vjp(grad(f), x)[1](v)[0], wanted)
    np.testing.assert_allclose(jax.linearize(grad(f), x)[1](v), wanted)
    columns = vmap(lambda v: jvp(grad(f), (x,), (v,))[1])(jnp.eye(4))
    np.testing.assert_allclose(columns, hessian(f)(x))
    np.testing.assert_allclose(jacrev(jacfwd(f))(x), jacfwd(jacrev(f))(x), atol=1e-14)


def program_jacobians_of_trees():
    def f(p):
        return {"a": p["x"] * p["y"], "b": jnp.sum(p["x"]) * p["y"][0]}

    p = {"x": jnp.array([1.0, 2.0]), "y": jnp.array([3.0, 4.0])}
    for jacobian in (jacfwd, jacrev):
        j = jit(jacobian(f))(p)
        np.testing.assert_allclose(j["a"]["x"], np.diag([3.0, 4.0]))
        np.testing.assert_allclose(j["a"]["y"], np.diag([1.0, 2.0]))
        np.testing.assert_allclose(j["b"]["x"], [3.0, 3.0])
        np.testing.assert_allclose(j["b"]["y"], [3.0, 0.0])


def program_td_zero():
    """stop_gradient in a temporal-difference update, and per-example gradients by vmap."""
    theta = jnp.array([0.1, -0.1, 0.0])
    before, after, r = jnp.array([1.0, 2.0, -1.0]), jnp.array([2.0, 1.0, 0.0]), 1.0

    def loss(theta, before, r, after):
        target = r + jnp.dot(theta, after)
        return -0.5 * (lax.stop_gradient(target) - jnp.dot(theta, before)) ** 2

    delta = r + theta @ after - theta @ before
    np.testing.assert_allclose(grad(loss)(theta, before, r, after), delta * before)
    many = vmap(grad(loss), in_axes=(None, 0, 0, 0))(
        theta, jnp.stack([before, after]), jnp.ones(2), jnp.stack([after, before])
    )
    np.testing.assert_allclose(many[0], delta * before)


def program_checkpoint():
    calls = []

    @jax.checkpoint
    def layer(w, x):
        calls.append(1)
        return jnp.sin(jnp.sin(w @ x))

    def loss(ws, x):
        for w in ws:
            x = layer(w, x)
        return jnp.sum(x)

    rng = np.random.default_rng(0)
    ws = [jnp.asarray(rng.normal(size=(3, 3))) for _ in range(3)]
    x = jnp.ones(3)
    plain = grad(lambda ws, x: jnp.sum(_chain(ws, x)))(ws, x)
    for got, want in zip(jit(grad(loss))(ws, x), plain):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def _chain(ws, x):
    for w in ws:
        x = jnp.sin(jnp.sin(w @ x))
    return x


def program_numerical_check():
    """Every derivative of a nested function against central differences, to third order."""

    def f(x):
        return jnp.tanh(x) * jnp.exp(-x * x) + lax.cond(x > 0, jnp.sin, jnp.cos, x)

    def difference(f, x, h=1e-5):
        return (f(x + h) - f(x - h)) / (2 * h)

    for x in (0.3, -0.8):
        g = f
        for _ in range(3):
            d = grad(g)
            np.testing.assert_allclose(d(x), difference(g, x), rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose(jit(d)(x), d(x), rtol=1e-14)
            g = d


def program_complex_derivatives():
    def f(z):
        return jnp.exp(1j * z) * z

    z = 0.5 + 0.25j
    np.testing.assert_allclose(
        grad(f, holomorphic=True)(z), 1j * np.exp(1j * z) * z + np.exp(1j * z)
    )
    # The gradient of |z|^2 is 2 conj(z) in JAX's convention.
    np.testing.assert_allclose(grad(lambda z: jnp.real(z * jnp.conj(z)))(z), 2 * np.conj(z))


if __name__ == "__main__":
    for name, program in list(globals().items()):
        if name.startswith("program_"):
            program()
            print("ok", name)
