"""jax.profiler: when jitted functions, their commands and un-jitted operations ran.

A trace is a JSON file that https://ui.perfetto.dev and chrome://tracing open. While one is taken,
programs run command by command; functions are traced and compiled once more for that.
"""

import functools
import gzip
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar

from jacana.runtime import recorder

Function = TypeVar("Function", bound=Callable[..., Any])

_folder: list[str] = []


def start_trace(
    log_dir: str | os.PathLike[str],
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> None:
    """Take a trace from now on; `stop_trace` writes it into a folder under `log_dir`."""
    if recorder.is_on():
        raise RuntimeError("Profile has already been started. Only one profile may be run at once.")
    _folder[:] = [os.fspath(log_dir)]
    recorder.start()


def stop_trace() -> str:
    """End the trace and write it; the path of the file."""
    if not recorder.is_on():
        raise RuntimeError("No profile started")
    events = recorder.stop()
    stamp = time.strftime("%Y_%m_%d_%H_%M_%S")
    folder = os.path.join(_folder.pop(), "plugins", "profile", stamp)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "perfetto_trace.json.gz")
    with gzip.open(path, "wt", encoding="utf-8") as file:
        json.dump({"traceEvents": events, "displayTimeUnit": "ns"}, file)
    return path


@contextmanager
def trace(
    log_dir: str | os.PathLike[str],
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> Iterator[None]:
    """`with trace("/tmp/trace"):` takes a trace of what runs inside."""
    start_trace(log_dir)
    try:
        yield
    finally:
        stop_trace()


class TraceAnnotation:
    """`with TraceAnnotation("name"):` a span of that name in the trace, with any details."""

    def __init__(self, name: str, **details: Any) -> None:
        self._name, self._details = name, details
        self._begin = 0

    def __enter__(self) -> "TraceAnnotation":
        self._begin = time.perf_counter_ns()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if recorder.is_on():
            end = time.perf_counter_ns()
            recorder.add(self._name, "annotation", self._begin, end, **self._details)


class StepTraceAnnotation(TraceAnnotation):
    """The span of one step of training: `with StepTraceAnnotation("train", step_num=3):`."""


def annotate_function(func: Function, name: str | None = None, **details: Any) -> Function:
    """The function, each of whose calls is a span in the trace."""
    title = str(name or getattr(func, "__qualname__", type(func).__name__))

    @functools.wraps(func)
    def annotated(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(title, **details):
            return func(*args, **kwargs)

    return annotated  # type: ignore[return-value]
