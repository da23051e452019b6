"""Loops as one kernel: which loops become one, and the same bits as when they run as commands."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import lax
from jacana.compiler import compile as compiler
from jacana.compiler.commands import ControlCommand, KernelCommand
from jacana.kernel.check import check
from jacana.runtime.executable import Executable

X = np.float32(0.3)
V = np.linspace(-1.5, 2, 45, dtype=np.float32)
M = np.linspace(-1, 1, 4 * 40, dtype=np.float32).reshape(4, 40)
TABLE = np.linspace(-1, 1, 600 * 5, dtype=np.float32).reshape(600, 5)


def program(function, *args):
    jaxpr = jacana.make_jaxpr(function)(*args).jaxpr.with_constvars_as_inputs()
    return compiler.compile_jaxpr(jaxpr)


def is_kernels(function, *args):
    commands = program(function, *args).commands
    for c in commands:
        if isinstance(c, KernelCommand):
            check(c.kernel)
    return not any(isinstance(c, ControlCommand) for c in commands)


def lorenz(s):
    x, y, z = s
    return s + 0.01 * jnp.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 2.5 * z])


def collatz(n):
    def step(state):
        k, count = state
        return jnp.where(k % 2 == 0, k // 2, 3 * k + 1), count + 1

    return lax.while_loop(lambda s: s[0] != 1, step, (n, 0))[1]


def root(a):
    return lax.while_loop(
        lambda s: (abs(s[0] * s[0] - a) > 1e-4) & (s[1] < 40),
        lambda s: (0.5 * (s[0] + a / s[0]), s[1] + 1),
        (1.0 + 0.0 * a, 0),
    )


def recurrence(x):
    def step(state, s):
        a, b = state
        return (b, jnp.tanh(a * 0.5 + s)), a - b

    return lax.scan(step, (x, x * 2), jnp.linspace(0, 1, 17))


def oscillators(s, length=20):
    def step(s, t):
        d = jnp.stack([s[1], (1.0 - s[0] ** 2) * s[1] - s[0] + t])
        return s + 0.1 * d, s[0]

    return lax.scan(step, s, jnp.arange(length) * 0.1)


PAIRS = np.stack([V, V[::-1]], axis=1)

# Each is one kernel for its loop.
KERNELS = {
    "fori": (lambda x: lax.fori_loop(0, 100, lambda i, s: s + jnp.sin(s + i * 0.1), x), (X,)),
    "bounds that are data": (lambda n: lax.fori_loop(0, n, lambda i, s: s + i * s, 1), (9,)),
    "a small array": (lambda x: lax.scan(lambda s, _: (lorenz(s), s), x, None, length=30),
                      (V[:3],)),
    "slices and results": (recurrence, (X,)),
    "reversed": (lambda v: lax.scan(lambda s, x: (s * 0.9 + x, s), 0.0, v, reverse=True), (V,)),
    "one step": (lambda v: lax.scan(lambda s, x: (s + x, s), 0.0, v[:1]), (V,)),
    "complex": (lambda x: lax.fori_loop(0, 9, lambda i, z: z * z + (x + 0.2j), x * 1j), (X,)),
    "booleans": (lambda v: lax.scan(lambda s, x: (s ^ (x > 0), s), False, v), (V,)),
    "small integers": (lambda v: lax.scan(lambda s, x: (s * 3 + x, s), np.int8(1), v),
                       (np.arange(40, dtype=np.int8),)),
    "bfloat16": (lambda x: lax.fori_loop(0, 50, lambda i, s: s * 1.01 + 0.1, x.astype("bfloat16")),
                 (X,)),
    "float64": (lambda x: lax.fori_loop(0, 50, lambda i, s: jnp.cos(s), x), (np.float64(0.3),)),
    "choice": (lambda x: lax.fori_loop(0, 50, lambda i, s: lax.cond(
        s > 1.0, lambda s: s - 1.0, lambda s: s + 0.3, s), x), (X,)),
    "switch": (lambda x: lax.fori_loop(0, 9, lambda i, s: lax.switch(
        i - 2, [jnp.sin, jnp.cos, jnp.tanh], s), x), (X,)),
    "while": (root, (X,)),
    "loop in a loop": (lambda: lax.fori_loop(1, 40, lambda i, s: s + collatz(i), 0), ()),
    "sum of a carry": (lambda v: lax.fori_loop(0, 9, lambda i, s: s / jnp.sum(s), v), (V[:5],)),
    "argmax of a carry": (lambda v: lax.fori_loop(
        0, 9, lambda i, s: jnp.where(jnp.arange(5) == jnp.argmax(s), s * 0.5, s), v), (V[:5],)),
    "element of a table": (lambda v: lax.fori_loop(0, 9, lambda i, s: s + v[i * 3], 0.0), (V,)),
    "row of a table": (lambda m: lax.scan(lambda s, i: (s + m[i], s[1]), m[0], jnp.array([3, 1])),
                       (M[:, :3],)),
    "elementwise on an array": (lambda v: lax.fori_loop(0, 9, lambda i, s: s * s - v, v), (V,)),
    "on a matrix": (lambda m: lax.fori_loop(0, 9, lambda i, s: jnp.cos(s) * i + m, m), (M,)),
    "batched scan": (jacana.vmap(oscillators), (PAIRS,)),
    "batched while": (jacana.vmap(root), (V + 3,)),
    "twice batched while": (jacana.vmap(jacana.vmap(root)), (M + 3,)),
    "batched loop in a loop": (jacana.vmap(lambda n: lax.fori_loop(
        0, 3, lambda i, s: s + collatz(n + i), 0)), (np.arange(1, 50),)),
    "gradient": (jacana.grad(lambda x: recurrence(x)[1].sum()), (X,)),
    "jvp of a batch": (lambda s: jacana.jvp(jacana.vmap(oscillators), (s,), (s,)), (PAIRS,)),
}  # fmt: skip

# These need other elements, memory or libraries.
COMMANDS = {
    "neighbours": (lambda v: lax.fori_loop(0, 9, lambda i, s: s + jnp.roll(s, 1), v), (M.ravel(),)),
    "an inner loop's neighbours": (lambda v: lax.fori_loop(
        0, 3, lambda i, s: lax.fori_loop(0, 3, lambda j, r: r + 1.5, s)[::-1], v), (M.ravel(),)),
    "any element goes on": (lambda v: lax.while_loop(
        lambda s: jnp.any(s < 40), lambda s: s + 1, v), (V,)),
    "any element decides": (lambda v: lax.while_loop(
        lambda s: jnp.any(s < 40), lambda s: jnp.where(jnp.any(s < 30), s + 2, s + 1), v), (V,)),
    "product": (lambda m: lax.fori_loop(0, 3, lambda i, s: jnp.tanh(s @ s.T @ s), m), (M,)),
    "sort": (lambda v: lax.fori_loop(0, 3, lambda i, s: jnp.sort(s)[::-1], v), (V,)),
    "a model that each lane would evaluate": (lambda s: lax.fori_loop(
        0, 3, lambda i, s: s - jacana.grad(lambda s: jnp.tanh(TABLE @ s).sum())(s), s), (V[:5],)),
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_becomes_kernels(name):
    function, args = KERNELS[name]
    assert is_kernels(function, *args)


@pytest.mark.parametrize("name", COMMANDS)
def test_runs_as_commands(name):
    function, args = COMMANDS[name]
    assert not is_kernels(function, *args)


@pytest.mark.parametrize("name", [*KERNELS, *COMMANDS])
def test_gives_the_bits_of_commands(name, monkeypatch):
    function, args = (KERNELS | COMMANDS)[name]
    arrays = [jnp.asarray(a) for a in args]
    found = jacana.tree.leaves(jacana.jit(function)(*arrays))
    monkeypatch.setattr(compiler, "write_loop", lambda *_: None)
    consts = [jnp.asarray(c) for c in jacana.make_jaxpr(function)(*arrays).consts]
    expected = Executable(program(function, *arrays))([*consts, *arrays])
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def test_results_that_nobody_reads_are_not_computed():
    def loop(x):
        return lax.scan(lambda s, _: ((s[0] * 0.9, jnp.sin(s[1])), s[1]), (x, x), None, length=9)

    def first(x):
        return loop(x)[0][0]

    texts = [str(c.kernel.body) for c in program(first, X).commands]
    assert not any("sin" in t for t in texts)


def test_long_batches_are_shared_by_threads():
    many = np.linspace(0, 1, 5000, dtype=np.float32)
    made = program(lambda v: lax.fori_loop(0, 500, lambda i, s: jnp.sin(s), v), many)
    loop = max(made.commands, key=lambda c: c.grain)
    assert loop.grain and loop.grain % 16 == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", [jnp.sin, jnp.cos])
def test_short_ways_of_scalars_give_the_bits_of_vectors(function, dtype):
    near = np.linspace(-0.8, 0.8, 3001)
    x = np.concatenate([near, [0.0, -0.0, 1e-40, -1e-12, 0.78, np.nextafter(0.78, 1), 3e5, np.nan]])
    with jacana.enable_x64(True):
        x = jnp.asarray(x.astype(dtype))
        one_by_one = lax.scan(lambda s, v: (s, function(v)), 0.0, x)[1]
        assert np.asarray(one_by_one).tobytes() == np.asarray(function(x)).tobytes()
