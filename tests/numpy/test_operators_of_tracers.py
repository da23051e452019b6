"""Tracers have the methods of arrays, whatever kind of trace they belong to."""

import pytest

import jacana
import jacana.numpy as jnp
from jacana.numpy.operators import METHODS

WRAPS = {
    "jit": jacana.jit,
    "grad": lambda f: lambda x: jacana.grad(lambda y: jnp.sum(y * y))(x) * f(x).size,
    "jvp": lambda f: lambda x: jacana.jvp(f, (x,), (x,))[0],
    "linearize": lambda f: lambda x: jacana.linearize(f, x)[0],
    "vmap": jacana.vmap,
}


@pytest.mark.parametrize("wrap", WRAPS)
def test_no_field_of_a_tracer_hides_a_method(wrap):
    hidden = []

    def f(x):
        hidden.extend(name for name in METHODS if not callable(getattr(type(x), name, None)))
        hidden.extend(name for name in METHODS if name in getattr(type(x), "__slots__", ()))
        return x.sum()

    WRAPS[wrap](f)(jnp.ones((2, 3)))
    assert not hidden
