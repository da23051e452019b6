"""Programs that train: models as pytrees, losses, optimizers; checked against NumPy."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import grad, jit, lax, random, vmap


def program_linear_regression():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3)).astype(np.float32)
    true = np.array([1.0, -2.0, 0.5], np.float32)
    y = x @ true + 3.0

    def loss(params, x, y):
        return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)

    @jit
    def update(params, x, y):
        grads = grad(loss)(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

    params = {"w": jnp.zeros(3), "b": jnp.array(0.0)}
    for _ in range(300):
        params = update(params, x, y)
    np.testing.assert_allclose(params["w"], true, atol=1e-3)
    np.testing.assert_allclose(params["b"], 3.0, atol=1e-3)
    assert update._cache_size() == 1


def program_logistic_regression():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(100, 4)).astype(np.float32)
    y = (x @ np.array([2.0, -1.0, 0.0, 1.0]) > 0).astype(np.float32)

    def loss(w):
        logits = x @ w
        return -jnp.mean(y * jax.nn.log_sigmoid(logits) + (1 - y) * jax.nn.log_sigmoid(-logits))

    w = rng.normal(size=4).astype(np.float32)
    p = 1 / (1 + np.exp(-(x @ w)))
    np.testing.assert_allclose(grad(loss)(w), x.T @ (p - y) / 100, atol=1e-6)
    wanted = (x.T * (p * (1 - p))) @ x / 100
    np.testing.assert_allclose(jax.hessian(loss)(w), wanted, atol=1e-6)
    # Newton's method with a ridge.
    w = jnp.zeros(4)
    for _ in range(10):
        g, h = grad(loss)(w) + 0.01 * w, jax.hessian(loss)(w) + 0.01 * jnp.eye(4)
        w = w - jnp.linalg.solve(h, g)
    assert np.max(np.abs(grad(loss)(w) + 0.01 * w)) < 1e-6


def init_mlp(sizes, key):
    keys = random.split(key, len(sizes))
    return [
        (random.normal(k, (n, m)) / np.sqrt(m), jnp.zeros(n))
        for m, n, k in zip(sizes[:-1], sizes[1:], keys)
    ]


def predict(params, image):
    activations = image
    for w, b in params[:-1]:
        activations = jax.nn.relu(jnp.dot(w, activations) + b)
    w, b = params[-1]
    logits = jnp.dot(w, activations) + b
    return logits - jax.nn.logsumexp(logits)


batched_predict = vmap(predict, in_axes=(None, 0))


def cross_entropy(params, images, targets):
    return -jnp.mean(jnp.sum(batched_predict(params, images) * targets, axis=1))


def program_mlp_on_blobs():
    rng = np.random.default_rng(2)
    centres = rng.normal(size=(3, 20)) * 3
    labels = rng.integers(0, 3, 300)
    images = (centres[labels] + rng.normal(size=(300, 20))).astype(np.float32)
    targets = jax.nn.one_hot(labels, 3)
    params = init_mlp([20, 32, 16, 3], random.key(0))

    @jit
    def step(params, images, targets):
        value, grads = jax.value_and_grad(cross_entropy)(params, images, targets)
        return [(w - 0.1 * dw, b - 0.1 * db) for (w, b), (dw, db) in zip(params, grads)], value

    first = cross_entropy(params, images, targets)
    for _ in range(20):
        for batch in range(0, 300, 100):
            params, value = step(params, images[batch : batch + 100], targets[batch : batch + 100])
    assert value < 0.05 < first
    accuracy = jnp.mean(jnp.argmax(batched_predict(params, images), axis=1) == labels)
    assert accuracy > 0.98
    # The gradient of the last bias, by hand.
    grads = grad(cross_entropy)(params, images, targets)
    wanted = np.mean(np.exp(batched_predict(params, images)) - targets, axis=0)
    np.testing.assert_allclose(grads[-1][1], wanted, atol=1e-6)


def program_adam_in_a_scan():
    """The whole training loop as one scan, with the optimizer's state in a pytree."""

    def loss(p):
        return (p["x"] - 1.0) ** 2 + 10 * (p["y"] + 2.0) ** 2

    def adam(state, i):
        p, m, v = state
        g = grad(loss)(p)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, g)
        t = i + 1.0

        def move(p, m, v):
            return p - 0.1 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.99**t)) + 1e-8)

        return (jax.tree.map(move, p, m, v), m, v), loss(p)

    p = {"x": jnp.array(5.0), "y": jnp.array(5.0)}
    zeros = jax.tree.map(jnp.zeros_like, p)
    (p, _, _), losses = lax.scan(adam, (p, zeros, zeros), jnp.arange(400.0))
    np.testing.assert_allclose([p["x"], p["y"]], [1.0, -2.0], atol=2e-2)
    # The same in NumPy.
    x, m, v = np.array([5.0, 5.0]), np.zeros(2), np.zeros(2)
    for i in range(400):
        g = np.array([2 * (x[0] - 1), 20 * (x[1] + 2)])
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        x = x - 0.1 * (m / (1 - 0.9 ** (i + 1))) / (np.sqrt(v / (1 - 0.99 ** (i + 1))) + 1e-8)
    np.testing.assert_allclose([p["x"], p["y"]], x, atol=1e-3)
    assert losses.shape == (400,)


def program_rnn():
    """An Elman network over a sequence: scan against a loop, gradients against differences."""
    rng = np.random.default_rng(3)
    params = {
        "wh": rng.normal(size=(5, 5)).astype(np.float32) * 0.4,
        "wx": rng.normal(size=(5, 3)).astype(np.float32) * 0.4,
        "wo": rng.normal(size=(2, 5)).astype(np.float32),
    }
    xs = rng.normal(size=(7, 3)).astype(np.float32)

    def run(params, xs):
        def cell(h, x):
            h = jnp.tanh(params["wh"] @ h + params["wx"] @ x)
            return h, params["wo"] @ h

        return lax.scan(cell, jnp.zeros(5), xs)[1]

    h, ys = np.zeros(5), []
    for x in xs:
        h = np.tanh(params["wh"] @ h + params["wx"] @ x)
        ys.append(params["wo"] @ h)
    np.testing.assert_allclose(jit(run)(params, xs), ys, rtol=1e-5, atol=1e-6)

    def loss(params):
        return jnp.sum(run(params, xs) ** 2)

    g = jit(grad(loss))(params)
    moved = dict(params, wh=params["wh"] + 1e-3 * np.eye(5, dtype=np.float32))
    back = dict(params, wh=params["wh"] - 1e-3 * np.eye(5, dtype=np.float32))
    np.testing.assert_allclose(
        np.trace(g["wh"]), (loss(moved) - loss(back)) / 2e-3, rtol=2e-3, atol=1e-2
    )
    batch = np.stack([xs, xs[::-1]])
    both = vmap(run, in_axes=(None, 0))(params, batch)
    np.testing.assert_allclose(both[1], run(params, xs[::-1]), rtol=1e-5, atol=1e-6)


def program_attention():
    rng = np.random.default_rng(4)
    q, k, v = (rng.normal(size=(2, 6, 3, 4)).astype(np.float32) for _ in range(3))

    @jit
    def attention(q, k, v):
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
        mask = jnp.tril(jnp.ones((6, 6), bool))
        scores = jnp.where(mask, scores, -jnp.inf)
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), v)

    scores = np.einsum("bqhd,bkhd->bhqk", q, k) / 2.0
    scores = np.where(np.tril(np.ones((6, 6), bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    np.testing.assert_allclose(
        attention(q, k, v), np.einsum("bhqk,bkhd->bqhd", weights, v), rtol=1e-5, atol=1e-6
    )
    gradient = grad(lambda q: jnp.sum(attention(q, k, v) ** 2))(q)
    assert np.all(np.isfinite(gradient))


def program_convolution():
    rng = np.random.default_rng(5)
    image = rng.normal(size=(1, 1, 8, 8)).astype(np.float32)
    kernel = rng.normal(size=(2, 1, 3, 3)).astype(np.float32)

    def conv(image, kernel):
        return lax.conv_general_dilated(image, kernel, (1, 1), "SAME")

    padded = np.pad(image[0, 0], 1)
    wanted = np.zeros((2, 8, 8))
    for o in range(2):
        for i in range(8):
            for j in range(8):
                wanted[o, i, j] = np.sum(padded[i : i + 3, j : j + 3] * kernel[o, 0])
    np.testing.assert_allclose(jit(conv)(image, kernel)[0], wanted, rtol=1e-4, atol=1e-5)
    g = grad(lambda k: jnp.sum(conv(image, k)))(kernel)
    sums = [[padded[a : a + 8, b : b + 8].sum() for b in range(3)] for a in range(3)]
    np.testing.assert_allclose(g[0, 0], sums, rtol=1e-4, atol=1e-5)


def program_per_example_gradients():
    rng = np.random.default_rng(6)
    params = init_mlp([4, 8, 3], random.key(1))
    images = rng.normal(size=(6, 4)).astype(np.float32)
    targets = jax.nn.one_hot(np.arange(6) % 3, 3)

    def loss(params, image, target):
        return -jnp.sum(predict(params, image) * target)

    each = jit(vmap(grad(loss), in_axes=(None, 0, 0)))(params, images, targets)
    mean = jax.tree.map(lambda g: jnp.mean(g, axis=0), each)
    together = grad(cross_entropy)(params, images, targets)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-6), mean, together)
    assert each[0][0].shape == (6, 8, 4)


if __name__ == "__main__":
    for name, program in list(globals().items()):
        if name.startswith("program_"):
            program()
            print("ok", name)
