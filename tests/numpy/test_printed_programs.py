"""Programs of jnp functions print as JAX prints them."""

import pytest

import jacana.numpy as jnp
from jacana import make_jaxpr

X = jnp.ones((2, 3))

EQUATIONS = {
    "b:f32[2,2,3] = stack[axis=1] a a": lambda x: jnp.stack([x, x], 1),
    "b:f32[1,2,3] = stack[axis=0] a": lambda x: jnp.stack([x]),
    "b:f32[4,6] = tile[reps=(2, 2)] a": lambda x: jnp.tile(x, (2, 2)),
    "b:f32[2,6] = tile[reps=(1, 2)] a": lambda x: jnp.tile(x, 2),
    "b:f32[2,3] = tile[reps=(1, 1)] a": lambda x: jnp.tile(x, ()),
    "b:f32[1,2,3] = broadcast_in_dim[broadcast_dimensions=(1, 2)] a": lambda x: x[None],
    "b:f32[2,3,1] = broadcast_in_dim[broadcast_dimensions=(0, 1)] a": jnp.atleast_3d,
    "b:f32[4,3] = concatenate[dimension=0] a a": lambda x: jnp.concatenate([x, x]),
}


@pytest.mark.parametrize("text", EQUATIONS)
def test_one_equation(text):
    program = f"{{ lambda ; a:f32[2,3]. let {text} in (b,) }}"
    assert " ".join(str(make_jaxpr(EQUATIONS[text])(X)).split()) == program


def test_several_equations():
    assert str(make_jaxpr(lambda x: jnp.tile(x, (2, 1, 1)))(X)) == (
        "{ lambda ; a:f32[2,3]. let\n"
        "    b:f32[1,2,3] = broadcast_in_dim[broadcast_dimensions=(1, 2)] a\n"
        "    c:f32[2,2,3] = tile[reps=(2, 1, 1)] b\n"
        "  in (c,) }"
    )
    assert str(make_jaxpr(lambda x: jnp.array([x, 2.0]))(X[0, 0])) == (
        "{ lambda ; a:f32[]. let\n"
        "    b:f32[1] = broadcast_in_dim a\n"
        "    c:f32[1] = broadcast_in_dim 2.0:f32[]\n"
        "    d:f32[2] = concatenate[dimension=0] b c\n"
        "  in (d,) }"
    )
    assert str(make_jaxpr(lambda x: jnp.unstack(x, axis=0))(X)) == (
        "{ lambda ; a:f32[2,3]. let b:f32[3] c:f32[3] = unstack[axis=0] a in (b, c) }"
    )
