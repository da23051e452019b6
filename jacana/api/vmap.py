"""vmap: a function of single examples as a function of batches."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from jacana.api.arguments import argument_names, check_callable, flatten_arguments, name_of
from jacana.api.references import check_distinct, check_not_returned
from jacana.core import tree
from jacana.core.errors import NotAnArrayError
from jacana.core.values import aval_of, is_array_like
from jacana.transforms.batch import batch, to_axis


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
    sum_match: bool = False,
) -> Callable[..., Any]:
    """`fun` over one more axis of its arguments and results.

    Args:
      fun: a function of arrays, or of containers of arrays, to the same.
      in_axes: which axis of each argument is mapped: an int, None (not mapped), or a tuple of these
        and of containers that begin the arguments' structure.
      out_axes: where the axis goes in the results; None for results that do not depend on it.
      axis_name: a name for collectives such as lax.psum over the axis.
      axis_size: the size of the axis; needed only where nothing mapped tells it.
      spmd_axis_name: accepted for JAX's sake; it says how to divide the axis between devices.
      sum_match: accepted for JAX's sake.

    >>> import jacana.numpy as jnp
    >>> vmap(jnp.dot)(jnp.ones((2, 3)), jnp.ones((2, 3)))
    Array([3., 3.], dtype=float32)
    """
    check_callable(fun, "vmap")
    in_axes = _checked_in_axes(in_axes)

    @functools.wraps(fun, assigned=("__name__", "__qualname__", "__doc__", "__module__"))
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                f"vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
                f"positional arguments passed to the function, but got "
                f"len(in_axes)={len(in_axes)}, len(args)={len(args)}"
            )
        leaves, structure = _flattened(fun, args, kwargs)
        # Keyword arguments are mapped along their first axis.
        axes = tree.broadcast_prefix(
            (in_axes, 0), (args, kwargs), is_leaf=lambda x: x is None, name="vmap in_axes"
        )
        axes = [_canonical(x, a) for x, a in zip(leaves, axes, strict=True)]
        size = _mapped_size(fun, args, kwargs, leaves, axes, axis_size)
        structures: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            given, named = structure.unflatten(xs)
            out, out_structure = tree.flatten(fun(*given, **named))
            structures.append(out_structure)
            return _checked(fun, out, out_structure)

        outs, found = batch(flat, size, leaves, axes, axis_name)
        wanted = _out_axes(out_axes, structures[0].unflatten(outs))
        results = [_placed(fun, o, a, w, size) for o, a, w in zip(outs, found, wanted, strict=True)]
        return structures[0].unflatten(results)

    return mapped


def _flattened(fun: Any, args: Any, kwargs: Any) -> tuple[list[Any], Any]:
    """The leaves and structure of the arguments."""
    leaves, structure = flatten_arguments((args, kwargs), f"vmap of {name_of(fun)}")
    names = functools.partial(argument_names, fun, structure, ())
    check_distinct(leaves, names, name_of(fun), "vmap")
    return leaves, structure


def _checked(fun: Any, out: list[Any], structure: Any) -> list[Any]:
    """The leaves of a result, which are arrays."""
    for x in out:
        if not is_array_like(x):
            check_not_returned(structure.unflatten(out), name_of(fun), "vmap")
            raise NotAnArrayError(x, f"vmap (as a result of {name_of(fun)})")
    return out


def _checked_in_axes(in_axes: Any) -> Any:
    """in_axes with lists as tuples; TypeError if an entry is not an int or None."""
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or isinstance(in_axes, int | tuple)):
        raise TypeError(
            f"vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
            f"positional arguments passed to the function, but got {in_axes}."
        )
    for leaf in tree.leaves(in_axes):
        if not isinstance(leaf, int):
            raise TypeError(
                f"vmap in_axes must be an int, None, or (nested) container with those types as "
                f"leaves, but got {in_axes}."
            )
    return in_axes


def _canonical(x: Any, axis: int | None) -> int | None:
    if axis is None:
        return None
    rank = np.ndim(x)
    if not -rank <= axis < rank:
        raise ValueError(
            f"vmap was requested to map its argument along axis {axis}, which implies that its "
            f"rank should be at least {axis + 1 if axis >= 0 else -axis}, but is only {rank} (its "
            f"shape is {np.shape(x)})."
        )
    return axis % rank


def _mapped_size(
    fun: Any, args: Any, kwargs: Any, leaves: list[Any], axes: list[int | None], given: int | None
) -> int:
    sizes: set[int] = {np.shape(x)[a] for x, a in zip(leaves, axes, strict=True) if a is not None}
    if given is not None:
        sizes.add(given)
    if len(sizes) == 1:
        return sizes.pop()
    if not leaves:
        raise ValueError(
            f"vmap wrapped function must be passed at least one argument containing an array or "
            f"axis_size must be specified, got empty *args={args} and **kwargs={kwargs}."
        )
    if not sizes:
        raise ValueError(
            f"vmap must have at least one non-None value in in_axes or axis_size must be specified "
            f"(function {name_of(fun)})."
        )
    places: dict[int, list[str]] = {}
    paths, _ = tree.flatten_with_path((args, kwargs))
    for (path, x), a in zip(paths, axes, strict=True):
        if a is not None:
            place = f"axis {a} of {_argument(fun, path)} of type {aval_of(x).str_short()}"
            places.setdefault(np.shape(x)[a], []).append(place)
    lines = [] if given is None else [f"  * the `axis_size` argument was {given}"]
    most_first = sorted(places.items(), key=lambda item: -len(item[1]))
    for i, (size, where) in enumerate(most_first):
        if len(where) == 1:
            lines.append(f"  * one axis had size {size}: {where[0]}")
        else:
            share = "most" if i == 0 and len(where) > len(most_first[-1][1]) else "some"
            count = f"{share} axes ({len(where)} of them)"
            lines.append(f"  * {count} had size {size}, e.g. {where[0]}")
    raise ValueError(
        "vmap got inconsistent sizes for array axes to be mapped:\n" + ";\n".join(lines)
    )


def _argument(fun: Any, path: Any) -> str:
    """The name of the parameter that an argument belongs to, with the way to the leaf."""
    if path[0] == tree.SequenceKey(1):
        return f"kwargs{tree.keystr(path[1:])}"
    number = path[1].idx
    try:
        names = list(inspect.signature(fun).bind_partial(*range(number + 1)).arguments.items())
    except (TypeError, ValueError):
        names = []
    for name, value in names:
        if value == number:
            return f"argument {name}{tree.keystr(path[2:])}"
    return f"args{tree.keystr(path[1:])}"


def _out_axes(out_axes: Any, out: Any) -> list[Any]:
    if isinstance(out_axes, list):
        out_axes = tuple(out_axes)
    found: list[Any] = tree.broadcast_prefix(
        out_axes, out, is_leaf=lambda x: x is None, name="vmap out_axes"
    )
    return found


def _placed(fun: Any, out: Any, axis: int | None, wanted: int | None, size: int) -> Any:
    if wanted is None:
        if axis is not None:
            raise ValueError(
                f"at vmap out_axes, got axis spec None but an output of {name_of(fun)} was batched "
                f"on axis {axis}. Give it an axis, or return something that does not depend on "
                f"mapped arguments."
            )
        return out
    rank = np.ndim(out) + (axis is None)
    if not -rank <= wanted < rank:
        raise ValueError(
            f"axis {wanted} in out_axes is out of bounds for an output of dimension {rank}"
        )
    return to_axis(out, axis, wanted % rank, size)
