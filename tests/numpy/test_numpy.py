"""Functions give what NumPy gives, in the dtypes that 32-bit arrays lead to."""

import numpy as np
import pytest

import jacana.numpy as jnp
from jacana.core import tree
from jacana.runtime.array import Array
from tests.numpy import tables

CALLS = {
    f"{topic}-{name}": call
    for topic, table in {
        "elementwise": tables.ELEMENTWISE, "shapes": tables.SHAPES, "pad": tables.PADS,
        "reductions": tables.REDUCTIONS, "order": tables.ORDER, "statistics": tables.STATISTICS,
    }.items()
    for name, call in table.items()
}  # fmt: skip


def assert_same(got, want, tolerance=2e-6):
    got_leaves, want_leaves = tree.leaves(got), tree.leaves(_as_tree(want))
    assert len(got_leaves) == len(want_leaves)
    for mine, theirs in zip(got_leaves, want_leaves):
        assert type(mine) is Array
        theirs = np.asarray(theirs)
        assert mine.shape == theirs.shape
        kinds = {"i": "iu", "u": "iu"}
        assert np.asarray(mine).dtype.kind in kinds.get(theirs.dtype.kind, theirs.dtype.kind)
        if theirs.dtype.kind in "fc":
            np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(mine, theirs)


def _as_tree(value):
    return list(value) if isinstance(value, tuple | list) else value


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_same_as_numpy(name):
    assert_same(CALLS[name](jnp), CALLS[name](np))


@pytest.mark.parametrize("method", tables.METHODS)
def test_quantile_methods(method):
    q = np.linspace(0, 1, 9).astype(np.float32)
    got = jnp.quantile(tables.V, q, method=method)
    assert_same(got, np.quantile(tables.V.astype(np.float64), q, method=method))
