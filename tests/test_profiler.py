"""jax.profiler: traces that Perfetto reads."""

import gzip
import json

import pytest

import jacana
import jacana.numpy as jnp
from jacana import profiler
from jacana.core import config


@jacana.jit
def step(x, w):
    return jnp.tanh(x @ w).sum(), x


def events_under(folder):
    (path,) = folder.glob("plugins/profile/*/perfetto_trace.json.gz")
    with gzip.open(path, "rt") as file:
        return json.load(file)["traceEvents"]


def test_a_trace_holds_calls_commands_operations_and_annotations(tmp_path):
    x, w = jnp.ones((64, 32)), jnp.ones((32, 64)) * 0.01
    expected = step(x, w)
    with profiler.trace(tmp_path):
        for i in range(3):
            with profiler.StepTraceAnnotation("train", step_num=i):
                total, same = step(x, w)
        total + 1
    assert float(total) == float(expected[0])
    assert same.address == x.address
    events = events_under(tmp_path)
    names = [e["name"] for e in events]
    assert names.count("jit(step)") == names.count("train") == 3
    assert sum(n.startswith("gemm float32 64x32 @ 32x64") for n in names) == 3
    assert [e["args"]["step_num"] for e in events if e["name"] == "train"] == [0, 1, 2]
    call = next(e for e in events if e["name"] == "jit(step)")
    inner = [e for e in events if e["cat"] == "command" and e["ts"] < call["ts"] + call["dur"]]
    assert inner and all(e["ts"] >= call["ts"] and e["ph"] == "X" for e in inner)
    assert "add" in {e["name"] for e in events if e["cat"] == "operation"}


def test_nothing_is_recorded_outside(tmp_path):
    with profiler.trace(tmp_path):
        pass
    step(jnp.ones((2, 2)), jnp.ones((2, 2)))
    with profiler.TraceAnnotation("alone"):
        pass
    assert events_under(tmp_path) == []
    assert not config.current().profiling


def test_one_trace_at_a_time(tmp_path):
    with pytest.raises(RuntimeError, match="No profile started"):
        profiler.stop_trace()
    profiler.start_trace(tmp_path)
    with pytest.raises(RuntimeError, match="already been started"):
        profiler.start_trace(tmp_path)
    assert profiler.stop_trace().endswith("perfetto_trace.json.gz")


def test_functions_are_annotated(tmp_path):
    @profiler.annotate_function
    def load():
        return 3

    with profiler.trace(tmp_path):
        assert load() == 3
    assert events_under(tmp_path)[0]["name"].endswith("load")
