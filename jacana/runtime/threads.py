"""How many threads parallel kernels use. The pool itself is native (`compiler.llvm`)."""

import atexit
import ctypes
import functools
import operator
import os

from jacana.compiler.llvm import native
from jacana.core import config
from jacana.runtime import limits


def set_num_threads(count: int) -> None:
    """Let parallel kernels use `count` threads, the calling one included, from now on.

    Results do not depend on it. A job that is running in another thread is waited for.
    """
    if operator.index(count) < 1:
        raise ValueError(f"set_num_threads needs a whole number of at least 1, got {count!r}.")
    start()
    _set(count)


def get_num_threads() -> int:
    """How many threads parallel kernels may use, the calling one included."""
    start()
    return _current[0]


def count_workers() -> int:
    """How many native threads have been started and live now."""
    start()
    return int(_entry("count_workers")())


def default_num_threads() -> int:
    """The number in the Config, or else of the processors that this process may use."""
    chosen = config.current().num_threads
    return chosen if chosen > 0 else limits.processors()


_current = [1]


@functools.cache
def start() -> None:
    """Give the native pool its size and make it safe in forks and at exit; threads come later."""
    _set(default_num_threads())
    os_fork = getattr(os, "register_at_fork", None)
    if os_fork is not None:
        before, after = _entry("threads_before_fork"), _entry("threads_after_fork", ctypes.c_int64)
        os_fork(
            before=before,
            after_in_parent=functools.partial(after, 0),
            after_in_child=functools.partial(after, 1),
        )
    # Later kernels, such as those of other exit functions, run in the calling thread.
    atexit.register(_entry("set_threads", ctypes.c_int64), 1)


def _set(count: int) -> None:
    _entry("set_threads", ctypes.c_int64)(count)
    _current[0] = count


@functools.cache
def _entry(name: str, *params: type[ctypes.c_int64]) -> "ctypes._CFunctionType":
    """A native function as a Python one; the GIL is released while it runs."""
    return ctypes.CFUNCTYPE(ctypes.c_int64, *params)(native.runtime.address(name))
