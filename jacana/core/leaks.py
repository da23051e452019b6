"""Leaks: traced values that are still held when their trace has ended (jax_check_tracer_leaks)."""

import gc
from types import FrameType
from typing import Any

from jacana.core import config
from jacana.core.errors import describe
from jacana.core.trace import Trace, Tracer


class LeakError(Exception):
    """Traced values outlive their trace."""


def check(trace: Trace, function: str) -> None:
    """LeakError, with who holds them, if values of a trace that has ended are still held.

    Nothing is looked for unless the option jax_check_tracer_leaks is on, which is slow.
    """
    if not config.current().check_tracer_leaks:
        return
    gc.collect()
    leaked = [x for x in gc.get_referrers(trace) if isinstance(x, Tracer)]
    if not leaked:
        return
    lines = []
    for x in leaked:
        lines.append(f"  {describe(x)}, is referred to by {_holders(x, leaked)}")
    raise LeakError(
        f"Leaked trace {type(trace).__name__}. Leaked tracer(s) after {function or 'a function'} "
        f"was traced:\n" + "\n".join(lines) + "\nReturn the values from the function instead."
    )


def _holders(value: Any, apart_from: object) -> str:
    names = []
    for holder in gc.get_referrers(value):
        if holder is not apart_from and type(holder) is not FrameType:
            names.append(_name_of(holder, value))
    return ", ".join(names) or "a local variable"


def _name_of(holder: Any, value: Any) -> str:
    """Who holds a value, and under which name."""
    if isinstance(holder, dict):
        keys = [k for k, v in zip(holder, map(id, holder.values())) if v == id(value)]
        owner = holder.get("__name__")
        return (
            f"{owner}.{keys[0]}" if owner and keys else f"a dict, as {keys[0] if keys else '?'!r}"
        )
    if isinstance(holder, list | tuple):
        at = [id(v) for v in holder].index(id(value))
        return f"item {at} of a {type(holder).__name__} of {len(holder)}"
    return f"an object of type {type(holder).__name__}"
