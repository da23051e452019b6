"""Choices for each element of a batch: only what is chosen counts, in values and derivatives."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import grad, jit, lax, vmap
from jacana.higher_order import choices
from tests.higher_order.laws import check_batches, check_reverse, close, same_bits


@pytest.fixture(autouse=True)
def _x64():
    with jacana.enable_x64(True):
        yield


@pytest.fixture(params=["selection", "loop"])
def lowering(request, monkeypatch):
    """Both ways of running a batched choice."""
    jacana.clear_caches()
    limit = -1.0 if request.param == "loop" else choices.SELECTED_WORK
    monkeypatch.setattr(choices, "SELECTED_WORK", limit)
    yield request.param
    jacana.clear_caches()


def positive(x):
    return lax.cond(x > 0, jnp.log, jnp.zeros_like, x)


def of_two(p, x, w):
    return lax.cond(p > 0, lambda x: (jnp.sin(x) * w, x), lambda x: (w * w, x * x), x)


def several(p, x):
    branches = [lambda x: x, jnp.sqrt, lambda x: x * x * p, lambda x: jnp.zeros_like(x)]
    return lax.switch(jnp.floor(p).astype(int), branches, x)


def nested(p, x):
    def inner(x):
        return lax.cond(x[0] > p, lambda x: jnp.exp(x), lambda x: jnp.cos(x) * p, x)

    return lax.cond(p > 0, inner, lambda x: lax.scan(lambda c, v: (c * v, c), p, x)[1], x)


P = np.array([0.7, -0.3, 1.6, 2.2])
X = np.random.default_rng(3).uniform(0.2, 1.4, (4, 3))
W = np.array([0.5, -1.5, 0.8])


@pytest.mark.parametrize(
    ("function", "batches", "axes"),
    [
        (of_two, (P, X, W), (0, 0, None)),
        (of_two, (P, X[0], X), (0, None, 0)),
        (several, (P, X), (0, 0)),
        (nested, (P, X), (0, 0)),
    ],
    ids=["shared operand", "shared example", "switch", "nested"],
)
def test_laws(lowering, function, batches, axes):
    check_batches(function, [jnp.asarray(x) for x in batches], axes)


def test_the_dead_branch_poisons_nothing(lowering):
    x = jnp.array([-1.0, 0.0, 2.0])
    np.testing.assert_array_equal(vmap(positive)(x), [0, 0, np.log(2.0)])
    for gradient in (vmap(grad(positive)), grad(lambda x: vmap(positive)(x).sum())):
        np.testing.assert_array_equal(gradient(x), [0, 0, 0.5])
        np.testing.assert_array_equal(jit(gradient)(x), [0, 0, 0.5])
    np.testing.assert_array_equal(
        jacana.hessian(lambda x: vmap(positive)(x).sum())(x), np.diag([0, 0, -0.25])
    )


def test_a_matrix_that_the_batch_shares():
    def f(x, w):
        return lax.cond(x[0] > 0, lambda x: jnp.log(w @ x), lambda x: x * x, x)

    w = jnp.asarray(np.random.default_rng(0).uniform(0.5, 1, (3, 3)))
    xs = jnp.asarray(X * np.where(P > 0, 1, -1)[:, None])
    check_batches(f, (xs, w), (0, None))
    # No element takes the branch, which would give nan for all of them.
    gradient = grad(lambda w: vmap(f, (0, None))(-abs(xs), w).sum())
    np.testing.assert_array_equal(gradient(w), np.zeros((3, 3)))


def test_batches_of_batches(lowering):
    def f(p, x):
        return lax.cond(p > 0, lambda x: jnp.sin(x) * p, lambda x: x * x, x)

    table = np.array([[f(p, x) for x in X[:, 0]] for p in P])
    outer = {
        "both": vmap(vmap(f, (None, 0)), (0, None))(P, X[:, 0]),
        "turned": vmap(vmap(f, (0, None)), (None, 0), out_axes=1)(P, X[:, 0]),
        "whole": vmap(vmap(f))(np.repeat(P[:, None], 4, 1), np.repeat(X[None, :, 0], 4, 0)),
        "mixed": vmap(vmap(f, (0, 0)), (None, 0))(P[:1], X[:, :1]).reshape(-1),
    }
    close(outer["both"], table, rtol=1e-14)
    close(outer["turned"], table, rtol=1e-14)
    close(outer["whole"], table, rtol=1e-14)
    close(outer["mixed"], table[0], rtol=1e-14)

    def total(p, x):
        return vmap(vmap(f, (None, 0)), (0, None))(p, x)

    check_reverse(total, (jnp.asarray(P), jnp.asarray(X[:, 0])))


def test_empty_batches(lowering):
    assert vmap(positive)(jnp.zeros(0)).shape == (0,)
    assert grad(lambda x: vmap(positive)(x).sum())(jnp.zeros(0)).shape == (0,)


def test_effects_are_those_of_the_chosen_branch(capsys):
    def f(x):
        def shown(x):
            jacana.debug.print("took {}", x)
            return x

        return lax.cond(x > 0, shown, lambda x: -x, x)

    for function in (vmap(f), jit(vmap(f)), grad(lambda x: vmap(f)(x).sum())):
        function(jnp.array([1.0, -2.0, 3.0])).block_until_ready()
        assert capsys.readouterr().out == "took 1.0\ntook 3.0\n"


def test_a_branch_that_is_not_chosen_may_hold_an_endless_loop():
    def collatz(n):
        def halve(n):
            return lax.while_loop(
                lambda c: c[0] != 1,
                lambda c: (jnp.where(c[0] % 2 == 0, c[0] // 2, 3 * c[0] + 1), c[1] + 1),
                (n, 0),
            )[1]

        return lax.cond(n > 0, halve, lambda n: 0, n)

    n = jnp.array([0, 6, -3, 7])
    np.testing.assert_array_equal(vmap(collatz)(n), [0, 8, 0, 16])
    np.testing.assert_array_equal(lax.map(collatz, n), [0, 8, 0, 16])


def test_collectives_in_branches_see_the_whole_batch():
    def f(x):
        return lax.cond(x > 0, lambda x: lax.psum(x, "i"), lambda x: x, x)

    x = jnp.array([-1.0, 2.0, 3.0])
    np.testing.assert_array_equal(vmap(f, axis_name="i")(x), [-1, 4, 4])
    g = vmap(lambda y, x: lax.cond(y > 0, lambda x: lax.psum(x, "i"), lambda x: x, x), (0, None))
    found = vmap(g, (None, 0), axis_name="i")(jnp.array([1.0, -1.0]), x)
    np.testing.assert_array_equal(found, [[4, -1], [4, 2], [4, 3]])


def test_the_program_keeps_one_choice():
    program = str(jacana.make_jaxpr(vmap(positive))(jnp.ones(3)))
    assert "cond[" in program and "select" not in program
    same_bits(jit(vmap(positive))(jnp.ones(3)), jnp.zeros(3))
