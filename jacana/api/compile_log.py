"""What is traced and compiled, told to the log: `jax_log_compiles`, `jax_explain_cache_misses`."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from jacana.api.arguments import argument_names, parameter_name
from jacana.core import config
from jacana.core.avals import ShapedArray
from jacana.runtime import cache


def warn(text: str) -> None:
    """Say something in the log "jacana", which shows warnings unless a program hides them."""
    import logging

    logging.getLogger("jacana").warning(text)


@contextmanager
def tracing(name: str) -> Iterator[None]:
    """While a function is traced."""
    start = time.perf_counter()
    yield
    if config.current().log_compiles:
        spent = time.perf_counter() - start
        warn(f"Finished tracing + transforming {name} for jit in {spent:.6f} sec")


@contextmanager
def compiling(name: str, avals: Sequence[ShapedArray]) -> Iterator[None]:
    """While the program of a traced function is compiled, or found."""
    start, before = time.perf_counter(), cache.counts()
    yield
    if not config.current().log_compiles:
        return
    spent, after = time.perf_counter() - start, cache.counts()
    made = after.compiled - before.compiled
    found = after.disk_hits - before.disk_hits
    types = ", ".join(map(str, avals[:8])) + (", ..." if len(avals) > 8 else "")
    warn(
        f"Finished compilation of jit({name}) for ({types}) in {spent:.6f} sec: {made} kernels "
        f"compiled, {found} read from the disk"
    )


# --- why a function is traced again -----------------------------------------------------------

# The parts of a key of Jitted: static arguments, structure, avals, settings, named axes.
Key = tuple[Any, Any, tuple[ShapedArray, ...], tuple[Any, ...], Any]


def explain_miss(name: str, function: Callable[..., Any], key: Key, known: Sequence[Key]) -> str:
    """Why a call is traced although the function has been called before, in one line."""
    start = f"TRACING CACHE MISS for jit({name})"
    if not known:
        return f"{start}: never seen function: it is traced for the first time"
    nearest = min(reversed(known), key=lambda other: distance(key, other))
    found = "; ".join(differences(function, key, nearest)) or "a captured value has changed"
    return f"{start}: {found}"


def distance(key: Key, other: Key) -> int:
    """How much two keys differ."""
    static, tree, avals, settings, axes = key
    changed = (settings, axes, static, tree) != (other[3], other[4], other[0], other[1])
    if len(avals) != len(other[2]):
        return 1000 + changed
    return 100 * changed + sum([a is not b for a, b in zip(avals, other[2])])


def differences(function: Callable[..., Any], key: Key, other: Key) -> Iterator[str]:
    """What differs, argument by argument."""
    static, tree, avals, settings, axes = key
    yield from static_differences(function, static, other[0])
    if tree != other[1]:
        yield f"the structure of the arguments is {tree}, was {other[1]}"
    elif len(avals) == len(other[2]):
        positions = [n for n, _ in static[0]] if static else []
        names = argument_names(function, tree, positions)
        for name, aval, before in zip(names, avals, other[2]):
            if aval is not before:
                yield f"{name} {aval_difference(aval, before)}"
    for name, value, was in zip(config.TRACED, settings, other[3]):
        if value != was:
            yield f"jax_{name} is {value!r}, was {was!r}"
    if axes != other[4]:
        yield f"the named axes are {axes}, were {other[4]}"


def static_differences(function: Callable[..., Any], static: Any, other: Any) -> Iterator[str]:
    if static == other:
        return
    before = _static_values(function, other)
    after = _static_values(function, static)
    for name in dict.fromkeys((*after, *before)):
        if name not in after or name not in before:
            yield f"static argument {name} is {'absent' if name not in after else 'given'}"
        elif after[name] != before[name]:
            yield f"static argument {name} is {after[name].value!r}, was {before[name].value!r}"


def _static_values(function: Callable[..., Any], static: Any) -> Mapping[str, Any]:
    if not static:
        return {}
    positional = {parameter_name(function, n): value for n, value in static[0]}
    return {**positional, **dict(static[1])}


def aval_difference(aval: ShapedArray, before: ShapedArray) -> str:
    """What differs between two types of one argument."""
    if aval.shape != before.shape:
        return f"has shape {aval.shape}, had {before.shape} ({aval}, was {before})"
    if aval.dtype != before.dtype:
        return f"has dtype {aval.dtype}, had {before.dtype} ({aval}, was {before})"
    kinds = "strongly typed (an array)", "weakly typed (a Python number)"
    return f"is {kinds[aval.weak_type]}, was {kinds[before.weak_type]} ({aval})"
