"""jax_check_tracer_leaks: values that outlive their trace are found when it ends."""

import numpy as np
import pytest

import jacana as jax
import jacana.numpy as jnp
from jacana import lax

held = []


def keep(x):
    y = jnp.sin(x)
    held.append(y)
    return y


@pytest.fixture(autouse=True)
def _empty():
    yield
    held.clear()


@pytest.mark.parametrize(
    "run",
    [
        lambda: jax.jit(keep)(1.0),
        lambda: jax.jit(lambda x: jax.jit(keep)(x))(1.0),
        lambda: lax.scan(lambda c, x: (keep(c), x), 1.0, jnp.arange(3)),
        lambda: lax.cond(True, keep, lambda x: x, 1.0),
        lambda: jax.make_jaxpr(keep)(1.0),
    ],
)
def test_leaks_are_found(run):
    message = (
        r"Leaked tracer\(s\) after (.|\n)*float32\[\].* is referred to by item 0 of a list of 1"
    )
    with jax.checking_leaks(), pytest.raises(Exception, match=message):
        run()
    held.clear()
    run()


def test_programs_that_leak_nothing_run():
    def loss(w, x):
        def body(c, row):
            return jnp.tanh(w @ c) + row, c.sum()

        c, sums = lax.scan(body, x[0], x)
        ref = jax.new_ref(sums)
        ref[0] = c[0]
        return jax.nn.softmax(ref[...]).sum() + jnp.where(c > 0, c, 0.0).sum()

    w, x = np.eye(3, dtype=np.float32), np.ones((2, 3), np.float32)
    wanted = jax.jit(jax.value_and_grad(loss))(w, x)
    jax.clear_caches()
    with jax.checking_leaks():
        found = jax.jit(jax.value_and_grad(loss))(w, x)
        jax.vmap(jax.grad(loss), (None, 0))(w, np.stack([x, x]))
    np.testing.assert_array_equal(found[1], wanted[1])
