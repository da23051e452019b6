"""The examples in docstrings run and give what they show."""

import doctest
import importlib
import pkgutil

import pytest

import jacana
import jacana.numpy as jnp

MODULES = [m.name for m in pkgutil.iter_modules(jnp.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"jacana.numpy.{name}")
    failed, _ = doctest.testmod(module, extraglobs={"jnp": jnp, "jax": jacana})
    assert failed == 0
