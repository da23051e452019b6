"""Callbacks: in order, through jit, scan, while, cond, vmap and grad; their errors."""

import numpy as np
import pytest

import jacana as jax
import jacana.numpy as jnp
from jacana import lax
from jacana.experimental import io_callback

SCALAR = jax.ShapeDtypeStruct((), "float32")


@pytest.fixture
def seen():
    return []


def noting(seen):
    def note(x):
        seen.append(np.asarray(x).tolist())
        return np.float32(x) + 1

    return note


def test_pure_callback():
    def f(x):
        return jax.pure_callback(np.sin, SCALAR, x) * 2

    for call in (f, jax.jit(f)):
        np.testing.assert_allclose(call(1.0), 2 * np.sin(1), rtol=1e-6)
    tree = jax.jit(
        lambda x: jax.pure_callback(lambda a: {"out": a["in"] * 2}, {"out": x}, {"in": x})
    )
    assert tree(jnp.arange(3))["out"].tolist() == [0, 2, 4]


@pytest.mark.parametrize("jitted", [False, True])
def test_vmap_methods(jitted):
    shapes = []

    def function(x, y):
        shapes.append((x.shape, y.shape))
        return np.asarray(x) + np.asarray(y)

    def call(method):
        def f(x, y):
            return jax.pure_callback(function, SCALAR, x, y, vmap_method=method)

        mapped = jax.vmap(f, (0, None))
        shapes.clear()
        out = (jax.jit(mapped) if jitted else mapped)(jnp.arange(3.0), 1.0)
        assert out.tolist() == [1, 2, 3]
        return shapes

    assert call("sequential") == [((), ())] * 3
    assert call("expand_dims") == [((3,), (1,))]
    assert call("broadcast_all") == [((3,), (3,))]
    assert call("legacy_vectorized") == [((3,), ())]
    with pytest.raises(NotImplementedError, match="vmap_method=None"):
        call(None)
    with pytest.raises(ValueError, match="vmap_method must be"):
        call("no")


def test_io_callback_stays_and_keeps_order(seen):
    note = noting(seen)

    @jax.jit
    def f(x):
        io_callback(note, SCALAR, x, ordered=True)  # its result is not used
        y = io_callback(note, SCALAR, x + 1, ordered=True)
        io_callback(note, SCALAR, x, ordered=True)  # equal to the first, and not merged with it
        return y

    assert f(1.0) == 3 and seen == [1, 2, 1]
    f(5.0)
    assert seen[3:] == [5, 6, 5]


def test_no_results(seen):
    jax.jit(lambda x: io_callback(lambda v: seen.append(int(v)), None, x))(3)
    jax.jit(lambda x: jax.debug.callback(lambda v, k: seen.append((int(v), k)), x, "a"))(4)
    assert seen == [3, (4, "a")]


def test_control_flow(seen):
    def note(x):
        jax.debug.callback(lambda v: seen.append(int(v)), x)

    @jax.jit
    def f(n, up):
        note(n)

        def step(i, c):
            note(i)
            return c + i

        total = lax.fori_loop(0, n, step, 0)
        lax.cond(up, lambda: note(100), lambda: note(-100))
        lax.scan(lambda c, x: (note(x), (None, x))[1], None, jnp.arange(10, 12))
        note(total)
        return lax.while_loop(lambda c: (note(c + 20), c < 2)[1], lambda c: c + 1, 1)

    assert f(3, True) == 2
    assert seen == [3, 0, 1, 2, 100, 10, 11, 3, 21, 22]
    seen.clear()
    f(0, False)
    assert seen == [0, -100, 10, 11, 0, 21, 22]


@pytest.mark.parametrize("jitted", [False, True])
def test_transformations(seen, jitted):
    def f(x):
        jax.debug.callback(lambda v: seen.append(float(v)), x)
        return jnp.sin(x)

    def run(g, *args):
        seen.clear()
        return (jax.jit(g) if jitted else g)(*args)

    assert run(jax.grad(f), 0.0) == 1 and seen == [0]
    run(jax.vmap(f), jnp.arange(3.0))
    assert seen == [0, 1, 2]
    run(jax.vmap(jax.grad(f)), jnp.arange(2.0))
    assert seen == [0, 1]
    run(lambda x: jax.jvp(f, (x,), (x,)), 2.0)
    assert seen == [2]
    run(jax.grad(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, 2)[0]), 0.0)
    assert seen == [0, 0]


def test_debug_print(capsys):
    @jax.jit
    def f(x):
        jax.debug.print("x = {} and {y:.2f}", x, y=x * 2, ordered=True)
        jax.debug.print("plain")
        jax.debug.print("{name}: {}", jnp.arange(3), name="text")
        return x

    f(1.5)
    assert capsys.readouterr().out == "x = 1.5 and 3.00\nplain\ntext: [0 1 2]\n"
    jax.vmap(lambda x: jax.debug.print("{}", x))(jnp.arange(2))
    assert capsys.readouterr().out == "0\n1\n"
    jax.effects_barrier()


def test_errors_are_the_users_own():
    class Mine(Exception):
        pass

    def fail(x):
        raise Mine("here")

    f = jax.jit(lambda x: jax.pure_callback(fail, SCALAR, x) + 1)
    for _ in range(2):
        with pytest.raises(Mine, match="here"):
            f(1.0)
    with pytest.raises(Mine):
        jax.pure_callback(fail, SCALAR, 1.0)
    looping = jax.jit(
        lambda n: lax.fori_loop(0, n, lambda i, c: (jax.debug.callback(fail, i), c)[1], 0)
    )
    with pytest.raises(Mine):
        looping(3)
    assert jax.jit(lambda x: x + 1)(1) == 2


def test_messages():
    with pytest.raises(ValueError, match="Pure callbacks do not support JVP"):
        jax.grad(lambda x: jax.pure_callback(np.sin, SCALAR, x))(1.0)
    with pytest.raises(ValueError, match="IO callbacks do not support JVP"):
        jax.grad(lambda x: io_callback(np.sin, SCALAR, x))(1.0)
    with pytest.raises(ValueError, match="Cannot `vmap` ordered IO callback"):
        jax.vmap(lambda x: io_callback(np.sin, SCALAR, x, ordered=True))(jnp.ones(2))
    with pytest.raises(ValueError, match=r"shape \(3,\), where result_shape_dtypes has \(\)"):
        jax.jit(lambda x: jax.pure_callback(lambda x: np.ones(3), SCALAR, x))(1.0)
    with pytest.raises(ValueError, match="structure"):
        jax.pure_callback(lambda x: (x, x), SCALAR, 1.0)
    with pytest.raises(ValueError, match="Unused positional arguments"):
        jax.debug.print("no place", 1)
    with pytest.raises(ValueError, match="Unused keyword arguments"):
        jax.debug.print("no place", x=1)
    with pytest.raises(KeyError):
        jax.debug.print("{x}", y=1)
    with pytest.raises(TypeError, match="expected str"):
        jax.debug.print(3)


def test_callback_may_run_programs(seen):
    def function(x):
        seen.append(float(jax.jit(lambda v: v * 2)(x)))
        return jnp.sin(x)

    out = jax.jit(lambda x: jax.pure_callback(function, SCALAR, x))(1.0)
    assert seen == [2] and np.allclose(out, np.sin(1))


def test_checkpoint_calls_again(seen):
    f = jax.checkpoint(
        lambda x: (jax.debug.callback(lambda v: seen.append(float(v)), x), jnp.sin(x))[1]
    )
    assert jax.jit(jax.grad(f))(0.0) == 1
    assert seen in ([0], [0, 0])
