"""Guards against falling back: times beside NumPy's in this process, with limits far from what is
usual. `make bench` measures; here only a change of kind shows, and a busy machine does not."""

import time

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp

RNG = np.random.default_rng(0)
SQUARE = RNG.normal(size=(1024, 1024)).astype("f4")
TALL = RNG.normal(size=(100_000, 10)).astype("f4")
SHORT = RNG.normal(size=(4000, 100)).astype("f4")
SMALL = RNG.normal(size=(1000, 4, 4)).astype("f4") + 4 * np.eye(4, dtype="f4")
THREE = np.arange(3, dtype="f4")
ATTEMPTS, SECONDS = 6, 0.02


def selu(xp, x):
    return 1.05 * xp.where(x > 0, x, 1.67 * xp.exp(x) - 1.67)


def softmax(xp, x):
    e = xp.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


# A function of (module, array), the array, and how many times NumPy's time is far too much.
JITTED = {
    "elementwise": (selu, SQUARE, 0.5),
    "softmax": (softmax, SQUARE, 1.0),
    "sum of squares": (lambda xp, x: (x * x).sum(), SQUARE, 1.0),
    "sum over the first axis": (lambda xp, x: x.sum(0), TALL, 0.5),
    "argmax": (lambda xp, x: x.argmax(), SQUARE, 3.0),
    "median": (lambda xp, x: xp.median(x, axis=0), TALL, 2.0),
    "sort rows": (lambda xp, x: xp.sort(x, -1), SHORT, 6.0),
    "sort": (lambda xp, x: xp.sort(x), SQUARE.reshape(-1)[:100_000], 6.0),
    "transpose": (lambda xp, x: x.T * 2, SQUARE, 4.0),
    "product": (lambda xp, x: x @ x, SQUARE[:256, :256], 2.0),
    "small solves": (lambda xp, x: xp.linalg.solve(x, x), SMALL, 0.8),
    "a small call": (lambda xp, x: x + x, THREE, 4.0),
}  # fmt: skip
EAGER = {
    "elementwise": (selu, SQUARE, 0.7),
    "a small call": (lambda xp, x: x + x, THREE, 4.0),
    "an element": (lambda xp, x: x[1], THREE, 20.0),
}


def best(call) -> float:
    """The least time of a call within a moment."""
    end, least = time.perf_counter() + SECONDS, float("inf")
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - start)
    return least


def check(ours, numpys, limit):
    for _ in range(5):
        ours()
    ratios = []
    for _ in range(ATTEMPTS):
        ratios.append(best(ours) / best(numpys))
        if ratios[-1] <= limit:
            return
    pytest.fail(f"{min(ratios):.2f} times NumPy's time at best; the limit is {limit}")


@pytest.mark.parametrize("name", JITTED)
def test_jitted(name):
    function, x, limit = JITTED[name]
    compiled, given = jacana.jit(lambda a: function(jnp, a)), jnp.asarray(x)
    check(lambda: compiled(given).block_until_ready(), lambda: function(np, x), limit)


@pytest.mark.parametrize("name", EAGER)
def test_eager(name):
    function, x, limit = EAGER[name]
    given = jnp.asarray(x)
    check(lambda: function(jnp, given).block_until_ready(), lambda: function(np, x), limit)


def test_gradients_are_quicker_than_finite_differences():
    def f(xp, x):
        return xp.sum(1.0 / (1.0 + xp.exp(-x)))

    def differences():
        steps = 1e-3 * np.eye(3, dtype="f4")
        return [(f(np, THREE + s) - f(np, THREE - s)) / 2e-3 for s in steps]

    gradient, x = jacana.grad(lambda x: f(jnp, x)), jnp.asarray(THREE)
    check(lambda: gradient(x), differences, 2.0)
    compiled = jacana.jit(gradient)
    check(lambda: compiled(x), differences, 0.1)
