"""Whole arrays, jitted: functions of a module with NumPy's names, which NumPy runs as well."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

Programs = dict[str, Callable[[], object]]
ROWS = 1024


def softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(xp: Any, x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred / xp.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)


def standardized(xp: Any, x: Any) -> Any:
    return (x - x.mean(0)) / (x.std(0) + 1e-6)


def laplacian(xp: Any, u: Any) -> Any:
    middle = u[1:-1, 1:-1]
    return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * middle


def table() -> dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]]:
    """Name -> function of (module, *arrays), and the arrays."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(ROWS, ROWS)).astype("f4")
    v, tall = x.reshape(-1), rng.normal(size=(100_000, 10)).astype("f4")
    short = rng.normal(size=(10_000, 100)).astype("f4")
    whole = rng.integers(0, 1000, v.size).astype("i4")
    positions = rng.permutation(v.size).astype("i4")
    return {
        "a * b + 1": (lambda xp, a: a * a + 1, (v,)),
        "exp": (lambda xp, a: xp.exp(a), (v,)),
        "sin": (lambda xp, a: xp.sin(a), (v,)),
        "tanh": (lambda xp, a: xp.tanh(a), (v,)),
        "log1p(abs)": (lambda xp, a: xp.log1p(xp.abs(a)), (v,)),
        "where, clip": (lambda xp, a: xp.where(a > 0, xp.clip(a, -1, 1), a * 2), (v,)),
        "whole numbers, // 7": (lambda xp, a: a // 7, (whole,)),
        "sum": (lambda xp, a: a.sum(), (x,)),
        "sum of squares": (lambda xp, a: xp.sqrt((a * a).sum()), (x,)),
        "sum, first axis": (lambda xp, a: a.sum(0), (x,)),
        "sum, first axis of 100000 x 10": (lambda xp, a: a.sum(0), (tall,)),
        "std, last axis": (lambda xp, a: a.std(-1), (x,)),
        "nanmax": (lambda xp, a: xp.nanmax(a), (v,)),
        "argmax": (lambda xp, a: a.argmax(), (v,)),
        "cumsum": (lambda xp, a: a.cumsum(), (v,)),
        "median, first axis": (lambda xp, a: xp.median(a, axis=0), (tall,)),
        "softmax": (softmax, (x,)),
        "layer norm": (layer_norm, (x,)),
        "columns standardized": (standardized, (x,)),
        "transpose + 1": (lambda xp, a: a.T + 1, (x,)),
        "concatenate": (lambda xp, a: xp.concatenate([a, a + 1], 1), (x,)),
        "roll": (lambda xp, a: xp.roll(a, 3, 1), (x,)),
        "laplacian": (laplacian, (x,)),
        "sort": (lambda xp, a: xp.sort(a), (v,)),
        "argsort": (lambda xp, a: xp.argsort(a), (v,)),
        "sort rows of 100": (lambda xp, a: xp.sort(a, -1), (short,)),
        "take": (lambda xp, a, i: xp.take(a, i), (v, positions)),
        "searchsorted": (
            lambda xp, a, b: xp.searchsorted(b, a), (v, np.linspace(-3, 3, 1000, dtype="f4")),
        ),
        "bincount": (lambda xp, a: xp.bincount(a, **length(xp, 1000)), (whole,)),
        "histogram": (lambda xp, a: xp.histogram(a, 50)[0], (v,)),
    }  # fmt: skip


def length(xp: Any, n: int) -> dict[str, int]:
    """How long a result is, which programs with static shapes must be told."""
    return {} if xp is np else {"length": n}


def programs(jax: Any, jnp: Any) -> Programs:
    return jitted(jax, jnp, table())


def jitted(jax: Any, jnp: Any, rows: dict[str, Any]) -> Programs:
    """The rows of a table as jitted callables that wait for their results."""

    def call(function: Any, arrays: Any) -> Callable[[], object]:
        compiled = jax.jit(partial(function, jnp))
        given = [jnp.asarray(a) for a in arrays]
        return lambda: jax.block_until_ready(compiled(*given))

    return {name: call(*row) for name, row in rows.items()}


def in_numpy() -> Programs:
    return {name: partial(function, np, *arrays) for name, (function, arrays) in table().items()}
