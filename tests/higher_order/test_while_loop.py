"""Loops of unknown length: batches whose elements stop for themselves, and reverse mode."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import grad, jit, lax, vmap
from jacana.higher_order import while_loop as module
from jacana.higher_order.at_length import room_for
from tests.higher_order.laws import check_batches, check_forward, check_reverse, close


@pytest.fixture(autouse=True)
def _x64():
    with jacana.enable_x64(True):
        yield


@pytest.fixture(params=["together", "one by one"])
def lowering(request, monkeypatch):
    """Both ways of running a batch of loops."""
    jacana.clear_caches()
    limit = -1.0 if request.param == "one by one" else module.REPEATED_WORK
    monkeypatch.setattr(module, "REPEATED_WORK", limit)
    yield request.param
    jacana.clear_caches()


def growing(x, a):
    return lax.while_loop(
        lambda c: c[0] < 4.0,
        lambda c: (c[0] * 1.3 + jnp.sin(c[1]) ** 2 + a, c[1] * a),
        (x, x * a),
        reverse_differentiable=True,
    )


def of_vectors(n, x, w):
    step = lambda i, c: jnp.sin(c) + w * c[::-1]
    return lax.fori_loop(0, n, step, x, reverse_differentiable=True)


def in_a_scan(x, a):
    return lax.scan(lambda c, v: (growing(v, a)[1] - c, jnp.cos(c)), x, jnp.arange(3.0))


def in_a_choice(x, a):
    return lax.cond(x > 0, lambda x: growing(x, a)[1], lambda x: x * a, x)


def in_a_loop(x, a):
    def step(c):
        return growing(c[0] - 3.0, a)[0] * 1.1, c[1] + 1

    return lax.while_loop(lambda c: c[1] < 3, step, (x, 0), reverse_differentiable=True)[0]


X = np.array([0.7, 4.5, 2.1])


@pytest.mark.parametrize("function", [growing, in_a_scan, in_a_choice, in_a_loop])
def test_derivatives(function):
    args = (jnp.asarray(0.7), jnp.asarray(1.2))
    check_forward(function, args)
    check_reverse(function, args)


@pytest.mark.parametrize("function", [growing, in_a_choice, in_a_loop])
def test_batches(lowering, function):
    # Derivatives of nests take long to compile; those of one are enough.
    check_batches(function, (jnp.asarray(X), jnp.asarray(1.2)), (0, None), function is growing)


def test_batches_of_counts(lowering):
    n, x = jnp.array([0, 3, 1]), jnp.asarray(np.random.default_rng(0).uniform(0, 1, (3, 2)))
    w = jnp.array([0.5, -0.7])

    def total(x, w):
        return vmap(of_vectors, (0, 0, None))(n, x, w)

    rows = jnp.stack([of_vectors(int(k), row, w) for k, row in zip(n, x, strict=True)])
    close(total(x, w), rows, rtol=1e-13)
    check_reverse(total, (x, w))


def test_batches_of_batches(lowering):
    a = np.array([1.1, 1.3])
    table = [[growing(x, b) for b in a] for x in X]
    for found in (
        vmap(vmap(growing, (None, 0)), (0, None))(X, a),
        vmap(vmap(growing, (0, None), out_axes=0), (None, 0), out_axes=1)(X, a),
    ):
        for k in (0, 1):
            wanted = [[float(cell[k]) for cell in row] for row in table]
            np.testing.assert_allclose(found[k], wanted, rtol=1e-13)


@pytest.mark.parametrize("steps", [0, 1, 2, 5, 8, 9])
def test_any_number_of_steps(steps):
    def power(x, n):
        return lax.fori_loop(0, n, lambda i, c: c * x, 1.0, reverse_differentiable=True)

    n = jnp.asarray(steps)
    x = 1.5
    assert float(grad(power)(x, n)) == pytest.approx(steps * x ** (steps - 1), rel=1e-12)
    assert float(jit(grad(power))(x, n)) == pytest.approx(steps * x ** (steps - 1), rel=1e-12)
    third = steps * (steps - 1) * (steps - 2) * x ** (steps - 3)
    assert float(grad(grad(grad(power)))(x, n)) == pytest.approx(third, rel=1e-12)


def test_room_is_the_next_power_of_two():
    found = [room_for(np.int32(n)) for n in (0, 1, 2, 3, 4, 5, 1000)]
    assert found == [1, 1, 2, 4, 4, 8, 1024]
    assert room_for(np.zeros(0, np.int32)) == 1


def test_elements_that_are_done_are_left_alone(capsys):
    def halved(x):
        def step(x):
            jacana.debug.print("{}", x)
            return x / 2

        return lax.while_loop(lambda x: x > 1, step, x)

    np.testing.assert_array_equal(vmap(halved)(jnp.array([4.0, 0.5, 2.0])), [1, 0.5, 1])
    assert capsys.readouterr().out == "4.0\n2.0\n2.0\n"


def test_what_a_step_would_make_of_elements_that_are_done_is_nowhere(lowering):
    def down(x):
        return lax.while_loop(lambda x: x > 1, lambda x: jnp.sqrt(x - 1) * 0.9, x)

    x = jnp.array([0.5, 9.0, 30.0])
    values, tangents = jacana.jvp(vmap(down), (x,), (jnp.ones(3),))
    assert np.isfinite(values).all() and np.isfinite(tangents).all()
    np.testing.assert_array_equal(values, [down(v) for v in x])


def test_a_condition_that_asks_for_nothing_batched():
    def f(x, n):
        return lax.while_loop(lambda c: c[1] < n, lambda c: (c[0] * x, c[1] + 1), (1.0, 0))

    value, count = vmap(f, (0, None), out_axes=(0, None))(jnp.asarray(X), 3)
    np.testing.assert_allclose(value, X**3, rtol=1e-14)
    assert int(count) == 3


def test_without_the_option_reverse_mode_is_refused():
    def f(x):
        return lax.while_loop(lambda c: c < 3, lambda c: c * 2, x)

    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work"):
        grad(f)(1.0)
    with pytest.raises(ValueError, match="Reverse-mode differentiation does not work"):
        grad(lambda x: vmap(f)(x).sum())(jnp.ones(2))
    # What the loop does not differentiate does not need it.
    assert float(grad(lambda x: x * f(lax.stop_gradient(x)))(1.0)) == 4.0
