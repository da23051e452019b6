"""Recorder: what ran when, while `jax.profiler` traces. Nothing costs time while it does not."""

import importlib
import os
import threading
import time
from typing import Any

from jacana.core import config
from jacana.core.jaxpr import Jaxpr
from jacana.core.primitive import Primitive
from jacana.core.trace import BaseTrace
from jacana.runtime import compiling
from jacana.runtime.array import Array

# Events of the trace in progress, in Chrome's trace format, which Perfetto reads.
events: list[dict[str, Any]] = []
_plain_evaluate: list[Any] = []


def is_on() -> bool:
    return bool(_plain_evaluate)


def start() -> None:
    """Record from now on."""
    events.clear()
    _plain_evaluate[:] = [BaseTrace.evaluate]
    BaseTrace.evaluate = staticmethod(_evaluate)
    config.update("jax_profiling", True)


def stop() -> list[dict[str, Any]]:
    """What was recorded; nothing more is."""
    config.update("jax_profiling", False)
    if BaseTrace.evaluate is _evaluate:
        BaseTrace.evaluate = staticmethod(_plain_evaluate[0])
    _plain_evaluate.clear()
    found = list(events)
    events.clear()
    return found


def add(name: str, category: str, begin: int, end: int, **details: Any) -> None:
    """Record that something ran between two times of perf_counter_ns."""
    events.append({
        "name": name, "cat": category, "ph": "X", "ts": begin / 1000, "dur": (end - begin) / 1000,
        "pid": os.getpid(), "tid": threading.get_native_id(), "args": details,
    })  # fmt: skip


def _evaluate(primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The primitive's output on concrete operands, recorded."""
    begin = time.perf_counter_ns()
    out = _plain_evaluate[0](primitive, args, params)
    add(primitive.name, "operation", begin, time.perf_counter_ns())
    return out


class RecordedExecutable:
    """An executable that tells when it and its commands run."""

    __slots__ = ("executable", "_name", "_steps", "_titles")

    def __init__(self, executable: Any, jaxpr: Jaxpr, name: str) -> None:
        program = compiling.lower(jaxpr)
        titles = importlib.import_module("jacana.compiler.titles")
        self.executable, self._name = executable, name
        self._steps = importlib.import_module("jacana.runtime.stepwise").Stepwise(program)
        self._titles = [titles.title_of(c) for c in program.commands]

    def run(self, arrays: list[Array]) -> list[Any]:
        if not is_on():
            found: list[Any] = self.executable.run(arrays)
            return found
        begin = time.perf_counter_ns()
        outs, times = self._steps.run(arrays)
        add(f"jit({self._name})", "call", begin, time.perf_counter_ns())
        for title, (start, stop) in zip(self._titles, times):
            add(title, "command", start, stop)
        return list(outs)


def recorded(executable: Any, jaxpr: Jaxpr, name: str) -> Any:
    """The executable, recorded if the setting, which jit's keys hold, asks for it."""
    return RecordedExecutable(executable, jaxpr, name) if config.current().profiling else executable
