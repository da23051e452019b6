"""The examples in docstrings run and give what they show."""

import doctest
import importlib

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import lax
from tests.conftest import ROOT

# What every example may use without importing it.
NAMES = {"jax": jacana, "jnp": jnp, "lax": lax, "np": np}


def module_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = [
    module_of(path)
    for path in sorted((ROOT / "jacana").rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    failed, tried = doctest.testmod(importlib.import_module(name), extraglobs=NAMES)
    assert tried and not failed
