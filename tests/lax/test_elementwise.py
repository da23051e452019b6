"""lax's elementwise functions: their signatures, and what bad operands get."""

import importlib
import inspect
import json
import re

import numpy as np
import pytest

from jacana import lax

MODULES = ("comparison", "convert", "elementwise", "special")
F32, I32, C64 = np.ones(3, np.float32), np.ones(3, np.int32), np.ones(3, np.complex64)


@pytest.mark.parametrize("name", MODULES)
def test_signatures_are_those_of_jax(name, shared_file):
    surface = json.loads(shared_file("golden/api_surface.json").read_text())["modules"]["jax.lax"]
    module = importlib.import_module(f"jacana.lax.{name}")
    for function, value in vars(module).items():
        if not inspect.isfunction(value) or value.__module__ != module.__name__:
            continue
        stated = surface[function]["signature"]
        if "params" not in surface[function] or stated == "(*args)":
            continue
        wanted = [[n, k] for n, k, _ in surface[function]["params"]]
        params = inspect.signature(value).parameters.values()
        assert [[p.name, p.kind.name] for p in params] == wanted, function


def test_shapes_agree_or_are_one():
    assert lax.add(np.ones((1, 3), np.float32), np.ones((2, 1), np.float32)).shape == (2, 3)
    assert lax.mul(F32, np.float32(2)).shape == (3,)


# Call -> the class of the error, and what its message begins with.
REFUSED = [
    (lambda: lax.add(F32, 1), TypeError, "lax.add requires arguments to have the same dtypes"),
    (lambda: lax.add(F32, I32), TypeError, "lax.add requires arguments to have the same dtypes"),
    (lambda: lax.add(True, True), TypeError, "add does not accept dtype bool at position 0"),
    (lambda: lax.add([1.0], F32), TypeError, "lax.add needs an array as argument 0"),
    (lambda: lax.add(F32, "a"), TypeError, "lax.add needs an array as argument 1"),
    (
        lambda: lax.add(np.ones((2, 2)), np.ones((3, 1))),
        TypeError,
        "add got incompatible shapes for broadcasting: (2, 2), (3, 1)",
    ),
    (
        lambda: lax.add(np.ones(2), np.ones((3, 1))),
        TypeError,
        "add: arrays must have the same number of dimensions",
    ),
    (lambda: lax.exp(I32), TypeError, "exp does not accept dtype int32. Accepted dtypes are sub"),
    (lambda: lax.abs(np.uint8(1)), TypeError, "abs does not accept dtype uint8"),
    (lambda: lax.lt(C64, C64), TypeError, "lt does not accept dtype complex64 at position 0"),
    (lambda: lax.pow(I32, I32), TypeError, "pow does not accept dtype int32 at position 0"),
    (lambda: lax.pow(C64, F32), TypeError, "the first argument to pow must have an inexact dtype"),
    (lambda: lax.integer_pow(I32, -2), TypeError, "Integers cannot be raised to negative powers"),
    (lambda: lax.clamp(F32[:2], F32, 1.0), TypeError, "clamp requires min to be a scalar"),
    (lambda: lax.round(F32, 2), ValueError, "2 is not a valid RoundingMethod"),
    (lambda: lax.select(F32, F32, F32), TypeError, "select `which` must be boolean or integer"),
    (lambda: lax.select(F32 > 0, F32, 1.0), TypeError, "select cases must have the same shapes"),
    (lambda: lax.select(F32[:2] > 0, F32, F32), TypeError, "select `which` must be scalar or"),
    (lambda: lax.select_n(F32 > 0, F32, F32, F32), TypeError, "select with boolean `which`"),
    (lambda: lax.convert_element_type(F32, None), ValueError, "dtype must be specified"),
    (lambda: lax.bitcast_convert_type(C64, np.int32), TypeError, "lax.bitcast_convert_type does"),
    (lambda: lax.bitcast_convert_type(np.uint8(1), np.int32), ValueError, "Attempting to convert"),
    (lambda: lax.reduce_precision(F32, 0, 3), ValueError, "reduce_precision: exponent_bits must"),
    (lambda: lax.complex(np.float16(1), np.float16(1)), TypeError, "complex does not accept"),
    (lambda: lax.real(F32), TypeError, "real does not accept dtype float32"),
    (lambda: lax.igamma(C64, C64), TypeError, "igamma does not accept dtype complex64"),
]


@pytest.mark.parametrize(
    ("call", "error", "start"), REFUSED, ids=[start for _, _, start in REFUSED]
)
def test_refused(call, error, start):
    with pytest.raises(error, match=re.escape(start)):
        call()


def test_weak_types_follow_the_operands():
    assert lax.exp(1.0).weak_type and not lax.exp(np.float32(1)).weak_type
    assert not lax.add(np.float32(1), 1.0).weak_type
    assert not lax.convert_element_type(1, np.float32).weak_type
