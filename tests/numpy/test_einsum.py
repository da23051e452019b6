"""einsum against NumPy: every form of a formula, its dtypes, its errors and its gradients."""

import numpy as np
import pytest

import jacana.numpy as jnp
from jacana import enable_x64, grad, jit, make_jaxpr, vmap


def array(*shape, dtype="float64"):
    rng = np.random.default_rng(sum(shape))
    return np.asarray(rng.integers(-3, 4, shape)).astype(dtype)


FORMULAS = (
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ba", (2, 3)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("iij->j", (3, 3, 2)),
    ("iijj->ij", (3, 3, 2, 2)),
    ("ij->", (2, 3)),
    ("ij->ji", (2, 3)),
    ("i,j->ij", (2,), (3,)),
    ("i,i", (3,), (3,)),
    ("i,i->i", (3,), (3,)),
    ("i,i", (3,), (1,)),
    ("ij,ij->i", (2, 3), (1, 3)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("...ij,...jk->...ik", (2, 3, 4), (4, 5)),
    ("...ij,...jk->...ik", (7, 1, 3, 4), (2, 4, 5)),
    ("...i->...", (2, 3, 4)),
    ("i...->...", (2, 3, 4)),
    ("...", (2, 3)),
    ("...,...", (2, 3), (3,)),
    ("i...j->j...", (2, 3, 4, 5)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("ij,ij,ij->", (2, 3), (2, 3), (2, 3)),
    ("i,j,k->kji", (2,), (3,), (4,)),
    ("bhqd,bhkd->bhqk", (2, 2, 3, 4), (2, 2, 5, 4)),
    ("abcd->bd", (3, 2, 3, 2)),
    ("ijk,ilm,njm,nlk->", (2, 3, 4), (2, 3, 4), (2, 3, 4), (2, 3, 4)),
    (" i j , j k -> i k ", (2, 3), (3, 4)),
    (",i->i", (), (3,)),
    ("ij,kj->ik", (0, 3), (2, 3)),
    ("ij,jk->ik", (2, 0), (0, 3)),
)  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda f: f"{f[0]}-{len(f[1:])}")
def test_formulas(formula):
    text, *shapes = formula
    xs = [array(*s) for s in shapes]
    want = np.einsum(text, *xs)
    with enable_x64():
        for made in (jnp.einsum(text, *xs), jit(lambda *xs: jnp.einsum(text, *xs))(*xs)):
            assert made.shape == want.shape
            np.testing.assert_array_equal(made, want)
        if len(xs) > 2:
            for optimize in (False, True, "greedy", "optimal"):
                np.testing.assert_array_equal(jnp.einsum(text, *xs, optimize=optimize), want)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "float32", "complex64"])
def test_dtypes(dtype):
    for text, *shapes in FORMULAS[:10]:
        xs = [array(*s, dtype=dtype) for s in shapes]
        want = np.einsum(text, *xs)
        made = jnp.einsum(text, *xs)
        assert made.dtype == want.dtype
        np.testing.assert_array_equal(made, want)


def test_lists_of_labels():
    x, y = array(2, 3), array(3, 4)
    with enable_x64():
        np.testing.assert_array_equal(jnp.einsum(x, [0, 1], y, [1, 2], [2, 0]), (x @ y).T)
        np.testing.assert_array_equal(jnp.einsum(x, [0, 1], y, [1, 2]), x @ y)
        np.testing.assert_array_equal(jnp.einsum(x, [..., 1], [1, ...]), x.T)


def test_preferred_dtype_and_precision():
    x = jnp.full((2, 3), 100, jnp.int8)
    made = jnp.einsum("ij,kj->ik", x, x, preferred_element_type=jnp.int32)
    assert made.dtype == "int32"
    assert made.tolist() == [[30000] * 2] * 2
    low = jnp.ones((2, 3), jnp.bfloat16)
    assert jnp.einsum("ij,kj->ik", low, low, preferred_element_type=jnp.float32).dtype == "float32"
    assert jnp.einsum("ij->i", low, preferred_element_type=jnp.float32).dtype == "float32"
    shown = str(make_jaxpr(lambda x: jnp.einsum("ij,kj->ik", x, x, precision="highest"))(low))
    assert "HIGHEST" in shown
    assert jnp.einsum("i,i", 2 * jnp.ones(3), jnp.arange(3), precision="high") == 6


def test_path():
    shapes = ((2, 3), (3, 4), (4, 2))
    path, report = jnp.einsum_path("ij,jk,kl", *[jnp.ones(s) for s in shapes])
    assert sorted(path[-1]) == [0, 1]
    assert "Complete contraction" in str(report)
    made = jnp.einsum("ij,jk,kl", *[jnp.ones(s) for s in shapes], optimize=path)
    assert made.tolist() == [[12.0] * 2] * 2


MESSAGES = (
    (("ij,jk", (2, 3), (2, 3)), r"Size of label 'j' for operand 1 \(2\) does not match"),
    (("ii", (2, 3)), r"Size of label 'i' for operand 0 \(3\) does not match"),
    (("ij->ijk", (2, 3)), "Output character 'k' did not appear in the input"),
    (("ij->ii", (2, 2)), "Output character 'i' appeared more than once in the output"),
    (("ij", (3,)), "does not contain the correct number of indices for operand 0"),
    (("ij,jk->ik", (2, 3)), "Number of einsum subscripts, 2, must be equal to the number of op"),
    (("i1", (2, 3)), "made of letters"),
)


@pytest.mark.parametrize(("call", "text"), MESSAGES)
def test_messages(call, text):
    with pytest.raises(ValueError, match=text):
        jnp.einsum(call[0], *[jnp.ones(s) for s in call[1:]])


def test_gradients_have_the_shapes_of_their_operands():
    with enable_x64():
        for text, *shapes in FORMULAS:
            xs = [array(*s) for s in shapes]
            weight = np.random.default_rng(0).normal(size=np.einsum(text, *xs).shape)

            def f(*xs, text=text, weight=weight):
                return jnp.sum(weight * jnp.einsum(text, *xs))

            for i, g in enumerate(grad(f, tuple(range(len(xs))))(*xs)):
                assert g.shape == xs[i].shape
                # f is linear in each operand.
                np.testing.assert_allclose(jnp.sum(g * xs[i]), f(*xs), atol=1e-9)


def test_batched():
    x, y = array(5, 2, 3), array(3, 4)
    with enable_x64():
        made = vmap(lambda x: jnp.einsum("ij,jk->ki", x, y))(x)
        np.testing.assert_array_equal(made, np.einsum("bij,jk->bki", x, y))
