"""Collectives over vmapped axes."""

import numpy as np
import pytest

import jacana
from jacana import grad, jit, lax, numpy as jnp, vmap

X = jnp.arange(3.0)
SQUARE = jnp.arange(9.0).reshape(3, 3)


def over(f, *args, **kwargs):
    return vmap(f, axis_name="i", **kwargs)(*args)


def test_folds():
    assert over(lambda x: lax.psum(x, "i"), X).tolist() == [3, 3, 3]
    assert over(lambda x: lax.psum(X, "i"), X)[0].tolist() == [0, 3, 6]
    assert over(lambda x: lax.pmean(x, "i"), X).tolist() == [1, 1, 1]
    assert over(lambda x: lax.pmax(x, "i"), X).tolist() == [2, 2, 2]
    assert over(lambda x: lax.pmin(x > 1, "i"), X).tolist() == [False] * 3
    assert over(lambda x: lax.psum(x > 0, "i"), X).tolist() == [2, 2, 2]
    assert over(lambda x: lax.psum(x, 0), jnp.ones((3, 2))).tolist() == [2, 2, 2]


def test_constants_and_indices():
    assert over(lambda x: lax.psum(1, "i"), X).tolist() == [3, 3, 3]
    assert over(lambda x: lax.axis_size("i"), X).tolist() == [3, 3, 3]
    assert over(lambda x: lax.axis_index("i"), X).tolist() == [0, 1, 2]
    two = vmap(vmap(lambda x: lax.axis_index(("i", "j")), axis_name="j"), axis_name="i")
    assert two(jnp.ones((2, 3))).tolist() == [[0, 1, 2], [3, 4, 5]]
    total = vmap(vmap(lambda x: lax.psum(x, ("i", "j")), axis_name="j"), axis_name="i")
    assert total(jnp.ones((2, 3))).tolist() == [[6] * 3] * 2


def test_exchange():
    assert over(lambda x: lax.all_gather(x, "i"), X).tolist() == [[0, 1, 2]] * 3
    assert over(lambda x: lax.all_gather(x, "i", tiled=True), jnp.ones((3, 2))).shape == (3, 6)
    assert over(lambda x: lax.all_gather(x, "i", axis=1), jnp.ones((3, 2))).shape == (3, 2, 3)
    assert over(lambda x: lax.ppermute(x, "i", [(0, 2), (1, 0)]), X + 1).tolist() == [2, 0, 1]
    assert over(lambda x: lax.pshuffle(x, "i", [2, 0, 1]), X).tolist() == [2, 0, 1]
    assert over(lambda x: lax.pbroadcast(x, "i", 1), X).tolist() == [1, 1, 1]
    assert over(lambda x: lax.all_to_all(x, "i", 0, 0), SQUARE).tolist() == SQUARE.T.tolist()
    assert over(lambda x: lax.pswapaxes(x, "i", 0), SQUARE).tolist() == SQUARE.T.tolist()
    assert over(lambda x: lax.psum_scatter(x, "i"), SQUARE).tolist() == [9, 12, 15]
    blocks = jnp.arange(36.0).reshape(3, 3, 4)
    tiled = over(lambda x: lax.all_to_all(x, "i", 0, 1, tiled=True), blocks)
    expected = np.asarray(blocks).transpose(1, 0, 2).reshape(3, 1, 12)
    assert tiled.tolist() == expected.tolist()


def test_all_to_all_moves_the_axis():
    x = jnp.arange(18.0).reshape(3, 3, 2)
    expected = np.asarray(x).transpose(1, 2, 0)
    assert over(lambda x: lax.all_to_all(x, "i", 0, 1), x).tolist() == expected.tolist()


@pytest.mark.parametrize(
    "f",
    [
        lambda x: lax.psum(x * x, "i"),
        lambda x: lax.pmean(x * x, "i") * x,
        lambda x: lax.pmax(x * x, "i") * x,
        lambda x: (lax.all_gather(x * x, "i") * jnp.arange(3.0)).sum(),
        lambda x: lax.ppermute(x * x, "i", [(0, 2), (1, 0)]),
        lambda x: lax.psum_scatter(x * jnp.arange(3.0), "i"),
        lambda x: (lax.all_to_all(x * x * jnp.ones(3), "i", 0, 0) ** 2).sum(),
    ],
)
@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
def test_gradients_of_the_whole(f, wrap):
    with jacana.enable_x64(True):
        x = np.array([0.3, -0.7, 1.1])
        whole = lambda x: (over(wrap(f), x) * np.array([1.0, 2.0, 3.0])).sum()
        found = grad(whole)(x)
        step = 1e-6
        expected = [
            (float(whole(x + step * e)) - float(whole(x - step * e))) / (2 * step)
            for e in np.eye(3)
        ]
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_inner_gradients_sum_over_examples():
    assert over(grad(lambda x: lax.psum(x * x, "i")), X).tolist() == [0, 6, 12]


def test_jit_knows_the_axis_of_each_call():
    f = jit(lambda x: x * lax.psum(1, "i") + lax.axis_index("i"))
    assert over(f, jnp.ones(3)).tolist() == [3, 4, 5]
    assert over(f, jnp.ones(2)).tolist() == [2, 3]


def test_errors():
    with pytest.raises(NameError, match="unbound axis name: j"):
        over(lambda x: lax.psum(x, "j"), X)
    with pytest.raises(NameError, match="unbound axis name: i"):
        lax.axis_index("i")
    with pytest.raises(NotImplementedError, match="axis_index_groups"):
        over(lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1], [2]]), X)
    with pytest.raises(ValueError, match="size of the mapped axis"):
        over(lambda x: lax.all_to_all(x, "i", 0, 0), jnp.ones((3, 2)))
