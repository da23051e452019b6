"""The examples in docstrings run and give what they show."""

import doctest
import importlib
import inspect

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import lax
from jacana.numpy import fft, linalg
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


def public_functions(module):
    """The functions of a module of jnp; those that it imports for its own use are of others."""
    for name, value in vars(module).items():
        home = getattr(inspect.unwrap(value), "__module__", None) if callable(value) else None
        # jnp has functions from all its files; fft's file imports some that are not of fft.
        is_own = (home or "").startswith(module.__name__)
        if is_own and not name.startswith("_") and not isinstance(value, type):
            yield name, value


@pytest.mark.parametrize("module", [jnp, linalg, fft], ids=lambda m: m.__name__)
def test_public_functions_have_examples(module):
    """Also of functions that are made by others, whose examples doctest does not find."""
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner()
    lacking, ran = [], 0
    for name, value in public_functions(module):
        text = inspect.getdoc(value) or ""
        if ">>> " not in text:
            lacking.append(name)
            continue
        found = vars(inspect.getmodule(inspect.unwrap(value)))
        test = parser.get_doctest(text, {**found, **NAMES}, name, None, 0)
        ran += runner.run(test).attempted
    assert not lacking
    assert ran and not runner.failures
