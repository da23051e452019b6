"""Statistics of samples: rankdata, mode, sem."""

from typing import Any, NamedTuple

import numpy as np

import jacana.numpy as jnp
from jacana import lax
from jacana.core import config, dtypes
from jacana.nn.programs import Program
from jacana.numpy.promotion import as_array, normalized_axis


class ModeResult(NamedTuple):
    """The most frequent values, and how often they occur."""

    mode: Any
    count: Any


def along_last(function: str, a: Any, axis: int | None) -> tuple[Any, int]:
    """The array with the axis moved to the end (flat for None), and its number."""
    x = as_array(function, a)
    if axis is None:
        return jnp.ravel(x), 0
    if x.ndim == 0:
        return jnp.reshape(x, (1,)), 0
    found = normalized_axis(axis, x.ndim)
    return jnp.moveaxis(x, found, -1), found


def check_policy(function: str, policy: str, known: tuple[str, ...]) -> None:
    """Raise for what to do with nan that is not known, or not there."""
    if policy not in ("propagate", "omit", "raise"):
        raise ValueError(
            f"Illegal nan_policy value {policy!r}; expected one of {{'propagate', 'omit', 'raise'}}"
        )
    if policy not in known:
        raise NotImplementedError(f"Logic for `nan_policy` of {policy} is not implemented")


def runs(ordered: Any) -> tuple[Any, Any, Any]:
    """Of sorted elements: places, whether each differs from the one before, its run's start."""
    at = jnp.broadcast_to(jnp.arange(ordered.shape[-1]), ordered.shape)
    after, before = ordered[..., 1:], ordered[..., :-1]
    # One nan is like another: sorted, they stand at the end.
    different = (after != before) & ~((after != after) & (before != before))
    first = jnp.ones((*ordered.shape[:-1], 1), bool)
    begins = jnp.concatenate([first, different], -1)
    return at, begins, lax.cummax(jnp.where(begins, at, 0), axis=ordered.ndim - 1)


def mode(
    a: Any, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """The most frequent value along an axis, the least of them if there are several.

    >>> mode(np.array([2, 1, 2, 1, 3]))
    ModeResult(mode=Array(1, dtype=int32), count=Array(2, dtype=int32))
    """
    check_policy("mode", nan_policy, ("propagate",))
    x, _ = along_last("mode", a, axis)
    if not x.shape[-1]:
        raise ValueError("mode of no elements is not defined.")
    value, count = _mode(x)
    if keepdims:
        rank = max(np.ndim(a), 1)
        places = tuple(range(rank)) if axis is None else axis
        value, count = jnp.expand_dims(value, places), jnp.expand_dims(count, places)
    return ModeResult(value, count)


@Program
def _mode(x: Any) -> Any:
    ordered = jnp.sort(x, -1)
    at, _, start = runs(ordered)
    length = at - start + 1
    best = jnp.argmax(length, -1, keepdims=True)
    value = jnp.take_along_axis(ordered, best, -1)
    count = jnp.take_along_axis(length, best, -1)
    return jnp.squeeze(value, -1), jnp.squeeze(count, -1)


def rankdata(
    a: Any, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"
) -> Any:
    """The ranks of elements as floats, from 1, flat or along an axis.

    method: what equal elements get: "average", "min" or "max" of their ranks, "dense" ("min"
    without gaps) or "ordinal" (each its own, in order).

    >>> rankdata(np.array([3, 1, 3]))
    Array([2.5, 1. , 2.5], dtype=float32)
    """
    check_policy("rankdata", nan_policy, ("propagate",))
    if method not in ("average", "min", "max", "dense", "ordinal"):
        raise ValueError(f"unknown method '{method}'")
    x, found = along_last("rankdata", a, axis)
    ranks = _rankdata(x, method=method, x64=config.current().enable_x64)
    return ranks if axis is None else jnp.moveaxis(ranks, -1, found)


@Program
def _rankdata(x: Any, *, method: str, x64: bool) -> Any:
    order = jnp.argsort(x, -1)
    place = jnp.argsort(order, -1)
    real = dtypes.python_scalar_dtype(float, x64)
    if method == "ordinal":
        return (place + 1).astype(real)
    at, begins, start = runs(jnp.take_along_axis(x, order, -1))
    if method == "dense":
        ranks = jnp.cumsum(begins, -1)
    else:
        last = x.shape[-1] - 1
        ends = jnp.concatenate([begins[..., 1:], begins[..., :1]], -1)
        ends = jnp.where(at == last, True, ends)
        end = lax.cummin(jnp.where(ends, at, last), axis=x.ndim - 1, reverse=True)
        ranks = {"min": start + 1, "max": end + 1}.get(method)
        if ranks is None:
            ranks = (start + end + 2).astype(real) / 2
    ranks = jnp.take_along_axis(ranks, place, -1).astype(real)
    if dtypes.is_float(x.dtype):
        # One nan leaves nothing to compare with.
        unknown = jnp.any(jnp.isnan(x), -1, keepdims=True)
        ranks = jnp.where(unknown, np.nan, ranks)
    return ranks


def sem(
    a: Any,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Any:
    """The standard error of the mean along an axis: std(ddof=ddof) / sqrt(n).

    nan_policy: "omit" leaves nan out, "propagate" does not.

    >>> sem(np.float32([1, 2, 3, 4]))
    Array(0.6454972, dtype=float32)
    """
    check_policy("sem", nan_policy, ("propagate", "omit"))
    x = as_array("sem", a)
    if nan_policy == "omit":
        count = jnp.sum(jnp.logical_not(jnp.isnan(x)), axis, keepdims=keepdims)
        return jnp.nanstd(x, axis, ddof=ddof, keepdims=keepdims) / jnp.sqrt(count)
    size = x.size if axis is None else x.shape[axis]
    return jnp.std(x, axis, ddof=ddof, keepdims=keepdims) / size**0.5
