"""Partition and dead code: the parts compute what the whole does."""

import numpy as np
import pytest

import jacana
from jacana import make_jaxpr, numpy as jnp
from jacana.core.check import check_jaxpr
from jacana.core.evaluate import evaluate
from jacana.transforms.dead_code import without_dead_code
from jacana.transforms.partition import partition


def program():
    def f(x, y):
        inner = jacana.jit(lambda a: a * 2.0)
        return jnp.sin(x) * y, jnp.cos(x), inner(y), x, 3.0

    return make_jaxpr(f)(1.0, 2.0).jaxpr


@pytest.mark.parametrize("unknown", [(False, True), (True, False), (True, True), (False, False)])
def test_partition(unknown):
    jaxpr, args = program(), (0.5, 0.7)
    parts = partition(jaxpr, unknown)
    check_jaxpr(parts.known)
    check_jaxpr(parts.unknown)
    first = evaluate(parts.known, (), [x for x, u in zip(args, unknown) if not u])
    count = len(first) - len(parts.residual_avals)
    later = [x for x, u in zip(args, unknown) if u]
    second = iter(evaluate(parts.unknown, (), [*first[count:], *later]))
    known = iter(first[:count])
    outs = [next(second) if u else next(known) for u in parts.unknown_outputs]
    expected = evaluate(jaxpr, (), args)
    np.testing.assert_allclose([float(x) for x in outs], [float(x) for x in expected])


def test_forced_outputs_and_no_waste():
    parts = partition(program(), (False, True), [False, True, False, False, False])
    assert parts.unknown_outputs == [True, True, True, False, False]
    assert [e.primitive.name for e in parts.known.eqns] == ["sin", "cos"]
    assert [e.primitive.name for e in parts.unknown.eqns] == ["mul", "jit"]


def test_without_dead_code():
    jaxpr, used = without_dead_code(
        program(), [False, True, False, False, False], keep_inputs=False
    )
    assert str(jaxpr) == "{ lambda ; a:f32[]. let b:f32[] = cos a in (b,) }"
    assert used == [True, False]
