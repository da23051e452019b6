"""Choosing by conditions: where, piecewise, choose."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.numpy import selection, take
from jacana.numpy.joining import take_rows
from jacana.numpy.manipulation import broadcast_arrays, reshape
from jacana.numpy.promotion import as_array, as_arrays, convert, promote_dtypes, refuse_out
from jacana.numpy.reductions import cumsum


def where(
    condition: Any,
    x: Any = None,
    y: Any = None,
    /,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """x where the condition holds, else y; shapes broadcast and dtypes are promoted.

    With the condition alone: the indices where it holds, as `nonzero`.

    >>> jnp.where(jnp.array([True, False]), 1.0, jnp.zeros(2))
    Array([1., 0.], dtype=float32)
    """
    if x is None and y is None:
        return take.nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ValueError("Either both or neither of the x and y arguments should be provided.")
    if size is not None or fill_value is not None:
        raise ValueError(
            "size and fill_value arguments cannot be used in three-term where function."
        )
    return selection.where(condition, x, y)


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """The function of the last condition that holds, applied to x elementwise; else the default.

    funclist may have one function (or constant) more than conditions: the default, otherwise 0.

    >>> jnp.piecewise(jnp.array([-1.0, 2.0]), [jnp.array([True, False])], [0.0, lambda v: v])
    Array([0., 2.], dtype=float32)
    """
    x = as_array("piecewise", x)
    conditions = condlist if isinstance(condlist, list | tuple) else list(_rows(condlist))
    choices: list[Any] = list(funclist)
    if len(choices) == len(conditions):
        default: Any = 0
    elif len(choices) == len(conditions) + 1:
        default = choices.pop()
    else:
        raise ValueError(
            f"with {len(conditions)} condition(s), either {len(conditions)} or "
            f"{len(conditions) + 1} functions are expected; got {len(choices)}"
        )
    result = _value(default, x, args, kw)
    for condition, choice in zip(conditions, choices):
        result = selection.where(condition, _value(choice, x, args, kw), result)
    return result


def _rows(condlist: Any) -> list[Any]:
    whole = as_array("piecewise", condlist)
    return [whole] if whole.ndim == 0 else [whole[i] for i in range(whole.shape[0])]


def _value(choice: Any, x: Any, args: Any, kw: Any) -> Any:
    if not callable(choice):
        return convert(as_array("piecewise", choice), x.dtype)
    apply: Callable[..., Any] = choice
    return convert(as_array("piecewise", apply(x, *args, **kw)), x.dtype)


def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Any:
    """choices[a[i]][i] at each index i; mode "wrap" or "clip" says what indices outside mean.

    >>> jnp.choose(jnp.array([0, 1]), [jnp.array([1, 2]), jnp.array([3, 4])])
    Array([1, 4], dtype=int32)
    """
    refuse_out("choose", out)
    index = as_array("choose", a)
    if not dtypes.is_integer(index.dtype):
        raise ValueError(f"`a` array must be integer typed, got {index.aval}.")
    rows = list(choices) if isinstance(choices, list | tuple) else list(_rows(choices))
    n = len(rows)
    if mode == "raise":
        values = np.asarray(index)
        if np.any((values < 0) | (values >= n)):
            raise ValueError("invalid entry in choice array")
    elif mode == "wrap":
        index = index % n
    elif mode != "clip":
        raise ValueError(f"mode={mode!r} not understood. Must be 'raise', 'wrap', or 'clip'")
    which, *cases = broadcast_arrays(index, *as_arrays("choose", *promote_dtypes(*rows)))
    # select_n itself takes the nearest case for indices outside.
    return ops.select_n(convert(which, dtypes.int32), *cases)


def place(arr: Any, mask: Any, vals: Any, *, inplace: bool = True) -> Any:
    """`arr` with the elements where the mask holds replaced by the values in turn, over and over.

    inplace must be False, since arrays never change.

    >>> jnp.place(jnp.arange(3), jnp.array([True, False, True]), jnp.array([7, 8]), inplace=False)
    Array([7, 1, 8], dtype=int32)
    """
    if inplace:
        raise NotImplementedError(
            "JAX arrays are immutable, must use inplace=False. place gives a changed copy."
        )
    x, keep, v = as_arrays("place", arr, mask, vals)
    if x.size != keep.size:
        raise ValueError(
            f"place: arr and mask must be the same size, got {x.aval} and {keep.aval}."
        )
    if v.size == 0:
        if x.size:
            raise ValueError("Cannot place values from an empty array")
        return x
    chosen = selection.as_condition(reshape(keep, (keep.size,)))
    number = ops.sub(cumsum(convert(chosen, dtypes.int32)), np.int32(1))
    source = take_rows(
        convert(reshape(v, (v.size,)), x.dtype), ops.rem(number, np.int32(v.size)), 0
    )
    return selection.where(reshape(chosen, x.shape), reshape(source, x.shape), x)
