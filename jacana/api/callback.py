"""pure_callback, io_callback, debug.print and the like: the user's Python in compiled programs."""

import string
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana.api.arguments import check_callable, name_of
from jacana.core import tree
from jacana.core.avals import ShapedArray
from jacana.core.errors import NotAnArrayError
from jacana.core.records import record
from jacana.core.trace import Tracer, base_trace, current, set_current
from jacana.core.values import aval_of, is_array_like
from jacana.higher_order.callback import (
    VMAP_METHODS,
    debug_callback_primitive,
    io_callback_primitive,
    pure_callback_primitive,
)
from jacana.runtime.array import Array, from_numpy, to_array


@record()
class ArrayCallback:
    """The user's function on NumPy arrays, by way of Arrays and their tree."""

    function: Callable[..., Any]
    in_tree: Any
    out_tree: Any
    avals: tuple[ShapedArray, ...]
    is_batched: bool = False

    def __call__(self, *arrays: Any) -> list[Any]:
        # NumPy views are of memory that is used again afterwards.
        leaves = [x if type(x) is Array else from_numpy(x, aval_of(x)) for x in arrays]
        args, kwargs = self.in_tree.unflatten(leaves)
        with set_current(base_trace):
            out = self.function(*args, **kwargs)
        return self.checked(out)

    def checked(self, out: Any) -> list[Any]:
        results, out_tree = tree.flatten(out)
        name = name_of(self.function)
        if out_tree != self.out_tree:
            raise ValueError(
                f"the callback {name} returned a value of structure {out_tree}, where "
                f"result_shape_dtypes has {self.out_tree}."
            )
        arrays = [np.asarray(r) for r in results]
        for array, aval in zip(arrays, self.avals, strict=True):
            found = array.shape[-aval.ndim :] if aval.ndim else ()
            if self.is_batched and found == aval.shape:
                continue
            if array.shape != aval.shape:
                raise ValueError(
                    f"the callback {name} returned an array of shape {array.shape}, where "
                    f"result_shape_dtypes has {aval.shape}."
                )
        return arrays


def _results(result_shape_dtypes: Any, owner: str) -> tuple[tuple[ShapedArray, ...], Any]:
    """The types of a callback's results, and their structure."""
    leaves, structure = tree.flatten(result_shape_dtypes)
    for x in leaves:
        if not (hasattr(x, "shape") and hasattr(x, "dtype")):
            raise TypeError(
                f"result_shape_dtypes of {owner} must be a pytree of objects with shape and dtype, "
                f"such as jax.ShapeDtypeStruct, got {x!r}."
            )
    return tuple([aval_of(x).strip_weak_type() for x in leaves]), structure


def _arguments(owner: str, args: Any, kwargs: Any) -> tuple[list[Any], Any]:
    leaves, structure = tree.flatten((args, kwargs))
    for x in leaves:
        if not is_array_like(x):
            raise NotAnArrayError(x, owner)
    return leaves, structure


def _is_concrete(leaves: Sequence[Any]) -> bool:
    """Whether a call happens at once, outside of any program and transformation."""
    return current() is base_trace and not any(isinstance(x, Tracer) for x in leaves)


def _at_once(callback: ArrayCallback, leaves: Sequence[Any]) -> list[Any]:
    made = callback(*[to_array(x) for x in leaves])
    pairs = zip(made, callback.avals, strict=True)
    return [from_numpy(np.asarray(x).astype(a.dtype), a) for x, a in pairs]


def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """callback(*args, **kwargs), a function without side effects, called when the program runs.

    It may be called any number of times, or not at all if its result is not needed.

    Args:
      callback: called with arrays; returns arrays (or NumPy ones) of the declared types.
      result_shape_dtypes: a pytree of jax.ShapeDtypeStruct, one for each result.
      args: arguments, pytrees of arrays.
      kwargs: the same, by keyword.
      sharding: accepted and without meaning here.
      vmap_method: what vmap does: "sequential" calls it for each example, "expand_dims" once with
        a batch axis on each argument (of size 1 for those without), "broadcast_all" with that of
        the full size.

    >>> import jacana as jax, numpy as np
    >>> like = jax.ShapeDtypeStruct((), "float32")
    >>> jax.jit(lambda x: pure_callback(np.sin, like, x))(0.0)
    Array(0., dtype=float32)
    """
    check_callable(callback, "pure_callback")
    if vmap_method is not None and vmap_method not in VMAP_METHODS:
        raise ValueError(
            f"vmap_method must be on of the allowed methods {[*VMAP_METHODS, None]}, but got: "
            f"{vmap_method}"
        )
    leaves, in_tree = _arguments("pure_callback", args, kwargs)
    avals, out_tree = _results(result_shape_dtypes, "pure_callback")
    is_batched = vmap_method is not None and not vmap_method.startswith("sequential")
    flat = ArrayCallback(callback, in_tree, out_tree, avals, is_batched)
    if _is_concrete(leaves):
        return out_tree.unflatten(_at_once(flat, leaves))
    outs = pure_callback_primitive(
        *leaves, callback=flat, result_avals=avals, sharding=sharding, vmap_method=vmap_method
    )
    return out_tree.unflatten(outs)


def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Any = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """callback(*args, **kwargs), called each time the program comes by, in the program's order.

    `ordered` asks for what holds here anyway; vmap then refuses the call, as JAX does.

    >>> seen = []
    >>> _ = io_callback(lambda x: seen.append(int(x)), None, 3)
    >>> seen
    [3]
    """
    check_callable(callback, "io_callback")
    leaves, in_tree = _arguments("io_callback", args, kwargs)
    avals, out_tree = _results(result_shape_dtypes, "io_callback")
    flat = ArrayCallback(callback, in_tree, out_tree, avals)
    if _is_concrete(leaves):
        return out_tree.unflatten(_at_once(flat, leaves))
    outs = io_callback_primitive(
        *leaves, callback=flat, result_avals=avals, sharding=sharding, ordered=bool(ordered)
    )
    return out_tree.unflatten(outs)


# --- debugging ---


@record()
class Ignoring:
    """A function for its effect alone, with arguments that are no arrays put in their places."""

    function: Callable[..., Any]
    in_tree: Any
    fixed: tuple[tuple[int, Any], ...]

    def __call__(self, *leaves: Any) -> None:
        given = list(leaves)
        for place, value in self.fixed:
            given.insert(place, value)
        args, kwargs = self.in_tree.unflatten(given)
        self.function(*args, **kwargs)


def debug_callback(
    callback: Callable[..., Any],
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> None:
    """callback(*args, **kwargs), whose result is ignored, each time the program comes by.

    Under grad it sees the values of the forward pass, under vmap one example after the other.
    Arguments that are no arrays are passed on as they are.

    >>> jax.jit(lambda x: debug_callback(print, x))(2)
    2
    """
    check_callable(callback, "jax.debug.callback")
    leaves, in_tree = tree.flatten((args, kwargs))
    fixed = tuple([(i, x) for i, x in enumerate(leaves) if not is_array_like(x)])
    dynamic = [x for x in leaves if is_array_like(x)]
    _, plain = tree.flatten((tuple(dynamic), {}))
    flat = ArrayCallback(Ignoring(callback, in_tree, fixed), plain, tree.structure(None), ())
    if _is_concrete(dynamic):
        flat(*[to_array(x) for x in dynamic])
        return
    debug_callback_primitive(
        *dynamic, callback=flat, result_avals=(), ordered=bool(ordered), partitioned=partitioned
    )


class _Formatter(string.Formatter):
    """Formats, and refuses arguments that the format does not use."""

    def check_unused_args(self, used_args: Any, args: Sequence[Any], kwargs: Any) -> None:
        unused = [x for i, x in enumerate(args) if i not in used_args]
        if unused:
            raise ValueError(f"Unused positional arguments to `jax.debug.print`: {unused}")
        names = [k for k in kwargs if k not in used_args]
        if names:
            raise ValueError(
                f"Unused keyword arguments to `jax.debug.print`: {names}. Name them in the format, "
                f"as in {{{names[0]}}}; an f-string would print tracers."
            )


formatter = _Formatter()


class _Shape(str):
    """Takes the place of an array while a format is checked: any specification fits."""

    def __format__(self, spec: str) -> str:
        return ""

    def __getattr__(self, name: str) -> Any:
        return _Shape()

    def __getitem__(self, key: Any) -> Any:
        return _Shape()


@record()
class Printed:
    """Prints arguments by a format."""

    fmt: str

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        given = tree.map(_plain, (args, kwargs))
        sys.stdout.write(formatter.format(self.fmt, *given[0], **given[1]) + "\n")


def _plain(x: Any) -> Any:
    return np.asarray(x) if type(x) is Array else x


def debug_print(
    fmt: str,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> None:
    """Print values when the program runs: debug_print("x is {} and y {y:.2f}", x, y=y).

    Give a format and values, not an f-string, which would print tracers.

    >>> jax.jit(lambda x: debug_print("x = {x}", x=x))(1.0)
    x = 1.0
    """
    if not isinstance(fmt, str):
        raise TypeError(f"expected str, got {type(fmt).__name__}: jax.debug.print takes a format.")
    if not skip_format_check:
        formatter.format(fmt, *[_Shape() for _ in args], **{k: _Shape() for k in kwargs})
    debug_callback(Printed(fmt), *args, ordered=ordered, partitioned=partitioned, **kwargs)


def debug_breakpoint(*, ordered: bool = False, **ignored: Any) -> None:
    """Stop in Python's debugger (the builtin breakpoint()) when the program comes by."""
    debug_callback(_stop, ordered=ordered)


def _stop() -> None:
    breakpoint()
