"""vmap: axes as trees, sizes, and its messages."""

import numpy as np
import pytest

from jacana import numpy as jnp, vmap
from jacana.core.errors import TracerBoolConversionError

X = jnp.arange(6.0).reshape(2, 3)


def test_axes():
    assert vmap(lambda x: x.sum(), in_axes=-1)(X).tolist() == [3, 5, 7]
    a, b = vmap(lambda x: (x, x * 2), out_axes=(1, 0))(X)
    assert a.shape == (3, 2) and b.shape == (2, 3)
    assert vmap(lambda x: x, out_axes=-1)(X).shape == (3, 2)
    outs = vmap(lambda x: (x, 3.0), out_axes=(0, None))(X)
    assert float(outs[1]) == 3.0
    tree = vmap(lambda p, x: p["a"] + p["b"] + x, in_axes=({"a": 0, "b": None}, 0))
    assert tree({"a": jnp.ones(3), "b": 1.0}, jnp.arange(3.0)).tolist() == [2, 3, 4]
    assert vmap(lambda x, y: x)(jnp.ones(2), None).tolist() == [1, 1]
    assert vmap(lambda x, k: x + k)(jnp.ones(2), k=jnp.arange(2.0)).tolist() == [1, 2]


def test_sizes():
    assert vmap(lambda: jnp.ones(2), axis_size=3)().shape == (3, 2)
    assert vmap(lambda x: 1.0)(X).tolist() == [1, 1]
    assert vmap(lambda x: x * 2)(jnp.zeros((0, 3))).shape == (0, 3)


def test_nested():
    table = vmap(vmap(jnp.multiply, in_axes=(None, 0)), in_axes=(0, None))
    assert table(jnp.arange(2.0), jnp.arange(3.0)).tolist() == [[0, 0, 0], [0, 1, 2]]


def test_inconsistent_sizes():
    with pytest.raises(ValueError) as error:
        vmap(lambda x, y: x, in_axes=(0, 1))({"a": jnp.ones(3), "b": jnp.ones(4)}, jnp.ones((4, 3)))
    assert str(error.value) == (
        "vmap got inconsistent sizes for array axes to be mapped:\n"
        "  * most axes (2 of them) had size 3, e.g. axis 0 of argument x['a'] of type float32[3];\n"
        "  * one axis had size 4: axis 0 of argument x['b'] of type float32[4]"
    )


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: vmap(lambda x: x)(1.0), "its rank should be at least 1, but is only 0"),
        (lambda: vmap(lambda x: x, in_axes=None)(X), "at least one non-None value in in_axes"),
        (lambda: vmap(lambda x: x)(), "at least one argument containing an array"),
        (lambda: vmap(lambda x: x, out_axes=None)(X), "out_axes, got axis spec None"),
        (lambda: vmap(lambda x: x, in_axes=(0, 0))(X), "got len\\(in_axes\\)=2, len\\(args\\)=1"),
        (lambda: vmap(lambda x: x, out_axes=3)(X), "out of bounds"),
        (lambda: vmap(lambda x: x, axis_size=4)(X), "the `axis_size` argument was 4"),
        (lambda: vmap(lambda x: x, in_axes=({"a": 0},))({"b": X}), "vmap in_axes"),
    ],
)
def test_bad_values(function, message):
    with pytest.raises(ValueError, match=message):
        function()


def test_bad_types():
    with pytest.raises(TypeError, match="vmap in_axes must be an int"):
        vmap(lambda x: x, in_axes="a")
    with pytest.raises(TypeError, match="not a valid JAX type"):
        vmap(lambda x: "a")(X)
    with pytest.raises(TracerBoolConversionError):
        vmap(lambda x: x if x > 0 else -x)(jnp.arange(3.0))


def test_programs_are_kept():
    # The second batch of the same form runs what the first one traced.
    assert vmap(jnp.dot)(X, X).tolist() == np.sum(np.asarray(X) ** 2, 1).tolist()
    assert vmap(jnp.dot)(X + 1, X).tolist() == np.sum(np.asarray(X + 1) * np.asarray(X), 1).tolist()
