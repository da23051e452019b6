"""What is said about tracing and compiling."""

import logging

import pytest

import jacana
import jacana.numpy as jnp
from jacana.core import config


@pytest.fixture
def said(caplog):
    caplog.set_level(logging.WARNING, logger="jacana")
    return lambda: [record.getMessage() for record in caplog.records]


def test_log_compiles_tells_what_was_traced_and_compiled(said):
    @jacana.jit
    def area(x, y):
        return x * y

    with jacana.log_compiles():
        area(jnp.ones(3), 2.0)
        area(jnp.ones(3), 3.0)
    traced, compiled = said()
    assert traced.startswith("Finished tracing + transforming area for jit in ")
    assert compiled.startswith("Finished compilation of jit(area) for (float32[3], ~float32[]) in")
    assert compiled.endswith(" read from the disk")


def test_nothing_is_said_otherwise(said):
    jacana.jit(lambda x: x + 1)(jnp.ones(3))
    assert said() == []


CASES = {
    "shape": ((jnp.ones(3), {"w": 1.0}), "x has shape (3,), had (2,) (float32[3], was float32[2])"),
    "dtype": ((jnp.arange(2), {"w": 1.0}), "x has dtype int32, had float32"),
    "weak": (
        (jnp.ones(2), {"w": jnp.float32(1)}),
        "params['w'] is strongly typed (an array), was weakly typed (a Python number) (float32[])",
    ),
    "tree": ((jnp.ones(2), {"w": 1.0, "b": 2.0}), "the structure of the arguments is"),
    "static": ((jnp.ones(2), {"w": 1.0}, 3), "static argument n is 3, was 2"),
}


@pytest.mark.parametrize("case", CASES)
def test_why_a_function_is_traced_again(said, case):
    args, expected = CASES[case]

    def scaled(x, params, n):
        return x * params["w"] * n

    scaled = jacana.jit(scaled, static_argnums=2)
    with config.override(explain_cache_misses=True):
        scaled(jnp.ones(2), {"w": 1.0}, 2)
        scaled(*args, *[2][: 3 - len(args)])
    first, second = said()
    assert first.endswith("never seen function: it is traced for the first time")
    assert second.startswith("TRACING CACHE MISS for jit(scaled): ")
    assert expected in second
    assert "\n" not in second


def test_a_setting_is_named(said):
    f = jacana.jit(lambda x: x + 1)
    with config.override(explain_cache_misses=True):
        f(jnp.ones(2))
        with config.override(numpy_rank_promotion="raise"):
            f(jnp.ones(2))
    assert said()[1].endswith("jax_numpy_rank_promotion is 'raise', was 'allow'")
