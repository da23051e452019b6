"""The pass list: what it does to programs, and how a faulty pass is found."""

import pytest

from jacana import make_jaxpr, ops
from jacana.compiler import pipeline
from jacana.core import config
from jacana.core.errors import JaxprTypeError
from jacana.core.jaxpr import Jaxpr


def program():
    return make_jaxpr(lambda x: ops.add(ops.sin(x), ops.sin(x)))(1.0).jaxpr


def test_passes_are_seen_one_by_one():
    seen = []
    made = pipeline.run_passes(program(), lambda name, jaxpr: seen.append((name, jaxpr)))
    assert [name for name, _ in seen] == ["traced", *[name for name, _ in pipeline.PASSES]]
    assert seen[-1][1] is made
    assert str(made) == "{ lambda ; a:f32[]. let b:f32[] = sin a; c:f32[] = add b b in (c,) }"


def test_faulty_pass_is_found(monkeypatch):
    def forgetful(jaxpr):
        return Jaxpr(jaxpr.constvars, jaxpr.invars, jaxpr.outvars, jaxpr.eqns[1:])

    monkeypatch.setattr(pipeline, "PASSES", [*pipeline.PASSES, ("forget", forgetful)])
    text = "add: a variable of type ~float32"
    with config.override(enable_checks=True), pytest.raises(JaxprTypeError, match=text):
        pipeline.run_passes(program())
    with config.override(enable_checks=False):
        pipeline.run_passes(program())
