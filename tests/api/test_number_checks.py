"""debug_nans and debug_infs: what raises, and the line that is named."""

import numpy as np
import pytest

import jacana as jax
import jacana.numpy as jnp
from jacana import lax
from jacana.api import eager


def test_un_jitted():
    assert np.isnan(jnp.log(-1.0))
    with jax.debug_nans():
        with pytest.raises(
            FloatingPointError, match=r"\(nan\) encountered in log at .*test_number"
        ):
            jnp.log(-1.0)
        assert jnp.isinf(jnp.log(0.0))
    with jax.debug_infs(), pytest.raises(FloatingPointError, match=r"\(inf\) encountered in log"):
        jnp.log(0.0)
    assert np.isnan(jnp.log(-1.0))


def test_programs_are_learned_again_when_the_checks_are_off():
    with jax.debug_nans():
        jnp.ones(3) + 1
    calls = known_calls_of(jnp.cosh)
    for _ in range(4):
        jnp.cosh(jnp.ones(7))
    assert known_calls_of(jnp.cosh) > calls


def known_calls_of(function) -> int:
    """How many kinds of arguments native code knows of an eager function."""
    learner = next(x for x in eager.learners if x._function.__name__ == function.__name__)
    return len(learner._counts)


def test_jitted_names_the_line():
    @jax.jit
    def f(x):
        y = x + 1
        z = jnp.log(y)  # this line
        return z * 2

    assert np.isnan(f(-3.0))
    line = f.__wrapped__.__code__.co_firstlineno + 3
    with jax.debug_nans():
        with pytest.raises(FloatingPointError, match=rf"in log at .*test_number_checks.py:{line} "):
            f(-3.0)
        assert f(0.0) == 0
        with pytest.raises(FloatingPointError, match=rf"in log at .*:{line} "):
            f(-3.0)
    assert np.isnan(f(-3.0))


def test_inside_of_calls_and_loops():
    inner = jax.jit(lambda x: jnp.sqrt(x))
    with jax.debug_nans():
        with pytest.raises(FloatingPointError, match="in sqrt"):
            jax.jit(lambda x: inner(x) + 1)(-1.0)
        with pytest.raises(FloatingPointError, match=r"in (scan|log)"):
            jax.jit(lambda x: lax.scan(lambda c, _: (jnp.log(c), None), x, None, 2)[0])(-1.0)


@pytest.mark.parametrize("jitted", [False, True])
def test_gradient(jitted):
    def f(x):
        return jnp.sqrt(x) * 0.0

    grad = jax.jit(jax.grad(f)) if jitted else jax.grad(f)
    assert np.isnan(grad(0.0))
    with jax.debug_nans(), pytest.raises(FloatingPointError):
        grad(0.0)


def test_config_update():
    jax.config.update("jax_debug_nans", True)
    try:
        with pytest.raises(FloatingPointError):
            jnp.zeros(3) / jnp.zeros(3)
        assert jnp.asarray(np.array([np.nan], "float32")).shape == (1,)
    finally:
        jax.config.update("jax_debug_nans", False)
