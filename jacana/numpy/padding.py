"""pad: an array with a border, in all of NumPy's modes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.numpy.elementwise import (
    multiply,
    subtract,
)
from jacana.numpy.joining import concatenate, take_rows
from jacana.numpy.manipulation import reshape
from jacana.numpy.promotion import as_array, broadcast_to, convert
from jacana.numpy.quantiles import median
from jacana.numpy.ranges import linspace
from jacana.numpy.reductions import amax, amin, mean

Widths = list[tuple[int, int]]

# Which element of an axis of extent n stands at position i, for any integer i.
_INDEX: dict[str, Callable[[Any, int], Any]] = {
    "edge": lambda i, n: np.clip(i, 0, n - 1),
    "wrap": lambda i, n: i % n,
    "reflect": lambda i, n: _reflected(i, n),
    "symmetric": lambda i, n: n - 1 - np.abs(n - 1 - i % (2 * n) + (i % (2 * n) >= n)),
}

_STATISTICS: dict[str, Any] = {"maximum": amax, "minimum": amin, "mean": mean, "median": median}

_OPTIONS = {
    "constant": {"constant_values"}, "linear_ramp": {"end_values"}, "edge": set(), "wrap": set(),
    "empty": set(), "reflect": {"reflect_type"}, "symmetric": {"reflect_type"},
    **{name: {"stat_length"} for name in _STATISTICS},
}  # fmt: skip


def _reflected(i: Any, n: int) -> Any:
    if n == 1:
        return np.zeros_like(i)
    period = 2 * (n - 1)
    return (n - 1) - np.abs((n - 1) - i % period)


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """An array with `pad_width` elements before and after along each axis.

    pad_width: one number, one pair, or a pair for each axis (or a dict from axes to those). mode:
    constant (constant_values), edge, reflect and symmetric (reflect_type), wrap, linear_ramp
    (end_values), maximum, minimum, mean, median (stat_length), empty, or a function as NumPy's.

    >>> jnp.pad(jnp.arange(3), (1, 2))
    Array([0, 0, 1, 2, 0, 0], dtype=int32)
    """
    x = as_array("pad", array)
    widths = _widths(pad_width, x.ndim)
    if callable(mode):
        return _padded_by(mode, x, widths, kwargs)
    if mode not in _OPTIONS:
        raise NotImplementedError(
            f"Unimplemented padding mode {mode!r} for np.pad. Modes are {', '.join(_OPTIONS)}."
        )
    unknown = set(kwargs) - _OPTIONS[mode]
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode {mode!r}: {unknown}")
    if kwargs.get("reflect_type", "even") == "odd":
        return _padded_by_odd_reflection(x, widths, mode)
    if mode in _INDEX:
        return _padded_by_index(x, widths, mode)
    if mode in ("constant", "empty"):
        return _padded_by_constant(x, widths, kwargs.get("constant_values", 0))
    for d, width in enumerate(widths):
        x = _padded_axis(x, d, width, mode, kwargs)
    return x


def _widths(pad_width: Any, rank: int) -> Widths:
    if isinstance(pad_width, dict):
        by_axis = {d % rank if rank else d: w for d, w in pad_width.items()}
        return [_pair(by_axis.get(d, 0)) for d in range(rank)]
    whole = np.asarray(pad_width)
    if whole.dtype.kind not in "iu":
        raise TypeError(f"`pad_width` must be of integral type, got {pad_width!r}.")
    if np.any(whole < 0):
        raise ValueError("index can't contain negative values")
    if whole.ndim == 2 and whole.shape[0] not in (1, rank) or whole.ndim > 2:
        raise ValueError(
            f"jnp.pad: pad_width with shape {whole.shape} not understood for an array of rank "
            f"{rank}. Give one pair (before, after) for each axis."
        )
    pairs = np.broadcast_to(whole, (rank, 2))
    return [(int(a), int(b)) for a, b in pairs]


def _pair(width: Any) -> tuple[int, int]:
    before, after = np.broadcast_to(width, 2)
    return int(before), int(after)


def _values(given: Any, x: Any) -> Any:
    """Values for both ends of each axis, as nested lists of scalars."""
    if isinstance(given, tuple | list):
        rows = [list(g) if isinstance(g, tuple | list) else g for g in given]
        if rows and isinstance(rows[0], list):
            full = rows * x.ndim if len(rows) == 1 else rows
            return [row * 2 if len(row) == 1 else row for row in full]
        row = rows * 2 if len(rows) == 1 else rows
        return [row] * x.ndim
    if np.ndim(given) == 0:
        return [[given, given]] * x.ndim
    return np.broadcast_to(np.asarray(given), (x.ndim, 2))


def _padded_by_constant(x: Any, widths: Widths, values: Any) -> Any:
    if np.ndim(values) == 0 and not isinstance(values, tuple | list):
        config = tuple((before, after, 0) for before, after in widths)
        return ops.pad(x, convert(values, x.dtype), padding_config=config) if x.ndim else x
    for d, ((before, after), (low, high)) in enumerate(zip(widths, _values(values, x))):
        for width, value in (((before, 0), low), ((0, after), high)):
            config = tuple((*width, 0) if k == d else (0, 0, 0) for k in range(x.ndim))
            x = ops.pad(x, convert(value, x.dtype), padding_config=config)
    return x


def _padded_by_index(x: Any, widths: Widths, mode: str) -> Any:
    for d, (before, after) in enumerate(widths):
        n = x.shape[d]
        if before == after == 0:
            continue
        _refuse_empty(n, d)
        index = _INDEX[mode](np.arange(-before, n + after), n).astype(np.int32)
        x = take_rows(x, as_array("pad", index), d)
    return x


def _refuse_empty(n: int, d: int) -> None:
    if n == 0:
        raise ValueError(
            f"jnp.pad: can't extend empty axis {d} using modes other than 'constant' or 'empty'"
        )


def _padded_by_odd_reflection(x: Any, widths: Widths, mode: str) -> Any:
    """The border where what is so much above the edge inside is as much below it outside."""
    for d, (before, after) in enumerate(widths):
        while before or after:
            n = x.shape[d]
            _refuse_empty(n, d)
            if n == 1 and mode == "reflect":
                x = _padded_by_index(x, _only(d, x.ndim, (before, after)), "edge")
                break
            most = n if mode == "symmetric" else n - 1
            low, high = min(before, most), min(after, most)
            first, last = _end(x, d, 1, True), _end(x, d, 1, False)
            even = _padded_by_index(x, _only(d, x.ndim, (low, high)), mode)
            front = subtract(multiply(first, 2), _end(even, d, low, True))
            back = subtract(multiply(last, 2), _end(even, d, high, False))
            x = convert(concatenate([front, x, back], d), x.dtype)
            before, after = before - low, after - high
    return x


def _only(d: int, rank: int, width: tuple[int, int]) -> Widths:
    """Widths of one axis; the others are not padded."""
    return [width if k == d else (0, 0) for k in range(rank)]


def _end(x: Any, d: int, length: int, front: bool) -> Any:
    """The first or last `length` slices along an axis."""
    n = x.shape[d]
    low, high = [0] * x.ndim, list(x.shape)
    low[d], high[d] = (0, length) if front else (n - length, n)
    return ops.slice(x, start_indices=tuple(low), limit_indices=tuple(high), strides=None)


def _padded_axis(x: Any, d: int, width: tuple[int, int], mode: str, kwargs: Any) -> Any:
    parts = [x]
    for side, (count, front) in enumerate(zip(width, (True, False))):
        if mode == "linear_ramp":
            target = _values(kwargs.get("end_values", 0), x)[d][side]
            part = _ramp(x, d, count, target, front)
        else:
            lengths = kwargs.get("stat_length")
            length = x.shape[d] if lengths is None else int(_values(lengths, x)[d][side])
            value = _STATISTICS[mode](_end(x, d, min(length, x.shape[d]), front), d, keepdims=True)
            if dtypes.is_integer(x.dtype) and not dtypes.is_integer(value.dtype):
                value = ops.round(value, rounding_method=1)
            shape = tuple(count if k == d else n for k, n in enumerate(x.shape))
            part = broadcast_to(convert(value, x.dtype), shape)
        parts.insert(0 if front else len(parts), part)
    return concatenate(parts, d)


def _ramp(x: Any, d: int, count: int, target: Any, front: bool) -> Any:
    edge = ops.squeeze(_end(x, d, 1, front), dimensions=(d,))
    ramp = linspace(convert(target, x.dtype), edge, count, endpoint=False, dtype=x.dtype, axis=d)
    return ramp if front else ops.rev(ramp, dimensions=(d,))


def _padded_by(function: Any, x: Any, widths: Widths, kwargs: Any) -> Any:
    """The border made by a function of vectors: function(vector, width, axis, kwargs)."""
    out = _padded_by_constant(x, widths, 0)
    for d, width in enumerate(widths):
        shape = out.shape
        rows = reshape(ops.transpose(out, permutation=_last(d, out.ndim)), (-1, shape[d]))
        made = [
            as_array("pad", _changed(function, rows[i], width, d, kwargs))
            for i in range(rows.shape[0])
        ]
        moved = tuple(n for k, n in enumerate(shape) if k != d)
        whole = reshape(concatenate([reshape(m, (1, -1)) for m in made]), (*moved, shape[d]))
        back = tuple(int(k) for k in np.argsort(_last(d, out.ndim)))
        out = ops.transpose(whole, permutation=back)
    return out


def _last(d: int, rank: int) -> tuple[int, ...]:
    return (*[k for k in range(rank) if k != d], d)


def _changed(function: Any, vector: Any, width: tuple[int, int], d: int, kwargs: Any) -> Any:
    result = function(vector, width, d, kwargs)
    return vector if result is None else result
