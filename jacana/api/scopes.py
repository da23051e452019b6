"""Scopes of a program: names for its parts, and computing while tracing."""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from jacana.core.trace import ConcreteTrace, base_trace, current, set_current


@contextmanager
def named_scope(name: str) -> Iterator[None]:
    """`with named_scope("name"):` names a part of a program; it changes nothing."""
    if not isinstance(name, str):
        raise TypeError(f"named_scope name argument must be a string, got {name!r}.")
    yield


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """The function, within a scope of its name."""
    scope = name or str(getattr(fun, "__name__", "call"))

    @functools.wraps(fun)
    def named(*args: Any, **kwargs: Any) -> Any:
        with named_scope(scope):
            return fun(*args, **kwargs)

    return named


@contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """Inside, operations on concrete arrays run at once even while a function is traced."""
    outer = current()
    with set_current(outer if outer is base_trace else ConcreteTrace(outer)):
        yield


def effects_barrier() -> None:
    """Waits until side effects have happened: they have."""
