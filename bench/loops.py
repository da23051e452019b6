"""Compiled loops and their gradients, and steps of training; NumPy has no counterpart."""

from collections.abc import Callable
from typing import Any

import numpy as np
from arrays import Programs


def programs(jax: Any, jnp: Any) -> Programs:
    lax = jax.lax

    def lorenz(state: Any) -> Any:
        def slope(s: Any) -> Any:
            x, y, z = s
            return jnp.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

        def step(s: Any, _: Any) -> Any:
            half = slope(s + 0.005 * slope(s))
            return s + 0.01 * half, None

        return lax.scan(step, state, None, length=10_000)[0]

    def sines(x: Any) -> Any:
        return lax.fori_loop(0, 10_000, lambda i, v: jnp.sin(v) + 0.1, x)

    def collatz(n: Any) -> Any:
        def step(s: Any) -> Any:
            n, count = s
            return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

        return lax.while_loop(lambda s: s[0] != 1, step, (n, 0))[1]

    def recurrent(w: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> Any:
            h = jnp.tanh(h @ w + x)
            return h, h.sum()

        return lax.scan(step, jnp.zeros(32), xs)[1].sum()

    def loss(layers: Any, x: Any, y: Any) -> Any:
        for w, b in layers:
            x = jnp.tanh(x @ w + b)
        return jnp.mean((x - y) ** 2)

    def train(layers: Any, x: Any, y: Any) -> Any:
        slopes = jax.grad(loss)(layers, x, y)
        return jax.tree.map(lambda p, g: p - 0.01 * g, layers, slopes)

    rng = np.random.default_rng(4)
    normal: Callable[..., Any] = lambda *shape: jnp.asarray(rng.normal(size=shape).astype("f4"))
    layers = [(normal(m, n) * 0.05, normal(n)) for m, n in ((784, 512), (512, 512), (512, 10))]
    rows = {
        "scan, 10000 steps of 3 numbers": (lorenz, (normal(3),)),
        "fori_loop, 10000 sines": (sines, (jnp.float32(0.3),)),
        "while_loop, 1000 counts": (jax.vmap(collatz), (jnp.arange(1, 1001),)),
        "recurrent, 200 steps of 32": (recurrent, (normal(32, 32) * 0.1, normal(200, 32))),
        "its gradient": (jax.grad(recurrent), (normal(32, 32) * 0.1, normal(200, 32))),
        "a step of training, 3 layers": (train, (layers, normal(128, 784), normal(128, 10))),
    }

    def call(function: Any, arguments: Any) -> Callable[[], object]:
        compiled = jax.jit(function)
        return lambda: jax.block_until_ready(compiled(*arguments))

    return {name: call(*row) for name, row in rows.items()}


def in_numpy() -> Programs:
    return {}
