"""Results of jitted functions are Arrays of their own: deleting one leaves the others alone."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp

ROUNDS = 5  # native calls take over meanwhile
donate = jacana.jit(lambda a: a * 0, donate_argnums=0)


def test_equal_results():
    for function in (lambda x: (x + 1, x + 1), lambda x: (jnp.ones(4), jnp.ones(4))):
        compiled = jacana.jit(function)
        for _ in range(ROUNDS):
            a, b = compiled(jnp.zeros(4))
            donate(a)
            assert a.is_deleted() and b.tolist() == [1] * 4


@pytest.mark.parametrize("given", [jnp.ones(4), np.ones(4, np.float32)])
def test_arguments_that_are_results(given):
    compiled = jacana.jit(lambda s: {"p": s["p"] - 1, "kept": s["kept"]})
    for _ in range(ROUNDS):
        out = compiled({"p": given, "kept": given})
        out["kept"].delete()
        assert given.tolist() == [1] * 4 and out["p"].tolist() == [0] * 4


def test_captured_arrays_that_are_results():
    c = jnp.ones(3)
    compiled = jacana.jit(lambda: c)
    for _ in range(ROUNDS):
        donate(compiled())
        assert compiled().tolist() == c.tolist() == [1] * 3


def test_donated_arguments_that_are_results():
    compiled = jacana.jit(lambda x: (x, x + 1), donate_argnums=0)
    for _ in range(ROUNDS):
        x = jnp.ones(3)
        same, more = compiled(x)
        assert x.is_deleted() and same.tolist() == [1] * 3 and more.tolist() == [2] * 3


def test_memory_is_shared():
    x = jnp.ones(1000)
    compiled = jacana.jit(lambda x: x)
    for _ in range(ROUNDS):
        assert compiled(x) is not x and compiled(x).address == x.address


def test_iterating_over_long_arrays_compiles_nothing_long():
    rows = iter(jnp.arange(1_000_000))
    assert [int(next(rows)) for _ in range(3)] == [0, 1, 2]
