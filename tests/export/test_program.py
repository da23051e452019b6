"""Programs as bytes: every primitive comes back as it was, and damage is noticed."""

import json

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import lax
from jacana.compat.extend import core
from jacana.core.values import aval_of
from jacana.export.program import MAGIC, VERSION, from_bytes, to_bytes
from jacana.transforms.derived import one_equation
from tests.ops.cases import load_all

CASES = load_all()
MINE = core.Primitive("mine")
MINE.def_abstract_eval(lambda x: x)


def again(jaxpr):
    """A program after it was bytes."""
    header, found, _ = from_bytes(to_bytes({"a": 1}, {"it": jaxpr}, []))
    assert header == {"a": 1}
    return found["it"]


# A sharding names devices of this process.
@pytest.mark.parametrize("name", sorted({*CASES.by_name} - {"sharding_constraint"}))
def test_primitives(name):
    for case in CASES.by_name[name]:
        with jacana.enable_x64(True):
            avals = [aval_of(x) for x in case.operands(np.random.default_rng(0))]
            jaxpr = one_equation(case.primitive, avals, case.params)
        assert again(jaxpr).key == jaxpr.key


def test_programs_in_programs():
    def f(x, n):
        x = lax.scan(lambda c, v: (c * v, jnp.sin(c)), 1.0, x)[1]
        x = lax.cond(n > 0, jnp.cos, lambda x: -x, x)
        return lax.fori_loop(0, n, lambda _, x: x * np.float32(1.5) + 1e-3, x)

    jaxpr = jacana.make_jaxpr(f)(jnp.ones(3), 2).jaxpr
    assert again(jaxpr).key == jaxpr.key


def test_constants_of_all_dtypes():
    consts = [
        np.arange(3, dtype="int8"), np.ones((2, 0), "complex64"), np.array(np.nan, "float32"),
        np.asarray(jnp.ones(3, jnp.bfloat16)), np.array([True, False]),
    ]  # fmt: skip
    _, _, found = from_bytes(to_bytes({}, {}, consts))
    for a, b in zip(consts, found, strict=True):
        assert (a.shape, a.dtype, a.tobytes()) == (b.shape, b.dtype, b.tobytes())


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: jacana.pure_callback(np.sin, x, x), "that uses pure_callback.*this process"),
        (MINE.bind, "that uses mine, a primitive of the user's"),
    ],
)
def test_what_cannot_be_written(function, message):
    jaxpr = jacana.make_jaxpr(function)(1.0).jaxpr
    with pytest.raises(ValueError, match=message):
        to_bytes({}, {"it": jaxpr}, [])


def changed(**fields):
    data = to_bytes({}, {"it": jacana.make_jaxpr(jnp.sin)(1.0).jaxpr}, [np.ones(3)])
    start = len(MAGIC) + 8
    end = start + int.from_bytes(data[len(MAGIC) : start], "little")
    text = json.dumps({**json.loads(data[start:end]), **fields}).encode()
    return MAGIC + len(text).to_bytes(8, "little") + text + data[end:]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"abc", "not a program that jacana exported"),
        (MAGIC + b"\0" * 8, "header of the exported program is damaged"),
        (changed(version=VERSION + 1), "versions up to"),
        (changed()[:-4], "cut short"),
        (changed(jaxprs=[[[], [["never", {}, [], []]], []]]), "'never', which is no primitive"),
    ],
)
def test_damage_is_noticed(data, message):
    with pytest.raises(ValueError, match=message):
        from_bytes(data)
