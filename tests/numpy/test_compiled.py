"""Functions give the same bits and types under jit as op by op."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana.core import tree
from tests.numpy import tables
from tests.numpy.test_numpy import CALLS

NAMES = [name for name in vars(tables) if len(name) == 1]
VALUES = {name: getattr(tables, name) for name in NAMES}
# The values decide the size of these results, or NumPy is called on an operand.
CONCRETE = {
    "order-unique", "order-unique_all", "order-unique_axis", "order-unique_nan", "order-union1d",
    "order-intersect1d", "order-intersect1d_indices", "order-setdiff1d", "order-setxor1d",
    "statistics-cov_weights",
}  # fmt: skip


def with_operands(call, monkeypatch):
    """The call as a function of the arrays that it uses."""

    def function(values):
        with monkeypatch.context() as patch:
            for name, value in values.items():
                patch.setattr(tables, name, value)
            return call(jnp)

    return function


def bits(x):
    return np.asarray(x).tobytes()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [n for n in CALLS if n not in CONCRETE])
def test_jit_changes_no_bit(name, monkeypatch):
    function = with_operands(CALLS[name], monkeypatch)
    compiled = tree.leaves(jacana.jit(function)(VALUES))
    eager = tree.leaves(function({k: jnp.asarray(v) for k, v in VALUES.items()}))
    assert [x.aval for x in compiled] == [x.aval for x in eager]
    assert [bits(x) for x in compiled] == [bits(x) for x in eager]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(CONCRETE - {"statistics-cov_weights"}))
def test_sizes_that_depend_on_values_are_refused(name, monkeypatch):
    function = with_operands(CALLS[name], monkeypatch)
    with pytest.raises(jacana.core.errors.ConcretizationTypeError, match="size="):
        jacana.jit(function)(VALUES)


def test_sized_sets():
    x = jnp.array([3, 1, 3, 2])
    y = jnp.array([2, 3, 7])
    sized = jacana.jit(lambda x, y: (
        jnp.unique(x, size=4), jnp.unique(x, size=2), jnp.unique(x, size=5, fill_value=-1),
        jnp.union1d(x, y, size=6, fill_value=0), jnp.intersect1d(x, y, size=3, fill_value=-1),
        jnp.setdiff1d(x, y, size=2, fill_value=-1), jnp.setxor1d(x, y, size=3, fill_value=-1),
    ))  # fmt: skip
    got = [np.asarray(v).tolist() for v in sized(x, y)]
    assert got == [
        [1, 2, 3, 1], [1, 2], [1, 2, 3, -1, -1], [1, 2, 3, 7, 0, 0], [2, 3, -1], [1, -1],
        [1, 7, -1],
    ]  # fmt: skip


def test_unique_parts_with_size():
    values, index, inverse, counts = jacana.jit(
        lambda x: jnp.unique(x, True, True, True, size=4, fill_value=9)
    )(jnp.array([3, 1, 3]))
    assert values.tolist() == [1, 3, 9, 9]
    assert index.tolist()[:2] == [1, 0]
    assert inverse.tolist() == [1, 0, 1]
    assert counts.tolist() == [1, 2, 0, 0]


def test_repeat_with_a_total_length():
    f = jacana.jit(lambda x, n: jnp.repeat(x, n, total_repeat_length=6))
    assert f(jnp.arange(3), jnp.array([2, 0, 3])).tolist() == [0, 0, 2, 2, 2, 2]


def test_roll_by_a_traced_shift():
    f = jacana.jit(lambda x, n: jnp.roll(x, n, 0))
    for n in (-7, -1, 0, 2, 5, 11):
        assert f(jnp.arange(5), n).tolist() == np.roll(np.arange(5), n).tolist()


def test_bincount_with_a_length():
    f = jacana.jit(lambda x: jnp.bincount(x, length=3))
    assert f(jnp.array([0, 2, 2, 5, -1])).tolist() == [2, 0, 2]
