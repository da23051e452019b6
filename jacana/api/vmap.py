"""vmap: a function of single examples as a function of batches."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from jacana.api.arguments import check_callable, flatten_arrays, name_of
from jacana.core import tree
from jacana.transforms.batch import batch, to_axis


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
) -> Callable[..., Any]:
    """`fun` over one more axis of its arguments and results.

    Args:
      in_axes: which axis of each argument is mapped: an int, None (not mapped), or a tuple of these
        and of containers that begin the arguments' structure.
      out_axes: where the axis goes in the results; None for results that do not depend on it.
      axis_name: a name for collectives such as lax.psum over the axis.
      axis_size: the size of the axis; needed only where nothing mapped tells it.

    >>> import jacana.numpy as jnp
    >>> vmap(jnp.dot)(jnp.ones((2, 3)), jnp.ones((2, 3)))
    Array([3., 3.], dtype=float32)
    """
    check_callable(fun, "vmap")
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

    @functools.wraps(fun, assigned=("__name__", "__qualname__", "__doc__", "__module__"))
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(
                f"vmap in_axes must be an int, None, or a tuple of entries corresponding to the "
                f"positional arguments passed to the function, but got len(in_axes)={len(in_axes)}, "
                f"len(args)={len(args)}"
            )
        leaves, structure = flatten_arrays((args, kwargs), f"vmap of {name_of(fun)}")
        # Keyword arguments are mapped along their first axis.
        axes = tree.broadcast_prefix(
            (in_axes, 0), (args, kwargs), is_leaf=lambda x: x is None, name="vmap in_axes"
        )
        axes = [_canonical(x, a, in_axes) for x, a in zip(leaves, axes, strict=True)]
        size = _mapped_size(fun, args, kwargs, leaves, axes, axis_size)
        structures: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            given, named = structure.unflatten(xs)
            out, out_structure = tree.flatten(fun(*given, **named))
            structures.append(out_structure)
            return out

        outs, found = batch(flat, size, leaves, axes, axis_name)
        wanted = _out_axes(out_axes, structures[0].unflatten(outs))
        results = [_placed(fun, o, a, w, size) for o, a, w in zip(outs, found, wanted, strict=True)]
        return structures[0].unflatten(results)

    return mapped


def _canonical(x: Any, axis: int | None, in_axes: Any) -> int | None:
    if axis is None:
        return None
    rank = np.ndim(x)
    if not -rank <= axis < rank:
        raise ValueError(
            f"vmap was requested to map its argument along axis {axis}, which implies that its rank "
            f"should be at least {axis + 1 if axis >= 0 else -axis}, but is only {rank} (its shape "
            f"is {np.shape(x)})."
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
    if not sizes:
        if not leaves:
            raise ValueError("vmap wrapped function must be passed at least one argument.")
        raise ValueError(
            f"vmap must have at least one non-None value in in_axes (function {name_of(fun)})."
        )
    paths, _ = tree.flatten_with_path((args, kwargs))
    lines = [
        f"  * {_argument(path)} has shape {np.shape(x)}: axis {a} has size {np.shape(x)[a]}"
        for (path, x), a in zip(paths, axes, strict=True)
        if a is not None
    ]
    raise ValueError(
        "vmap got inconsistent sizes for array axes to be mapped:\n" + "\n".join(lines)
    )


def _argument(path: Any) -> str:
    kind = "args" if path[0] == tree.SequenceKey(0) else "kwargs"
    return f"{kind}{tree.keystr(path[1:])}"


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
                f"vmap has mapped output (of {name_of(fun)}) but out_axes is None. Give it an axis, "
                f"or return something that does not depend on mapped arguments."
            )
        return out
    rank = np.ndim(out) + (axis is None)
    if not -rank <= wanted < rank:
        raise ValueError(
            f"axis {wanted} in out_axes is out of bounds for an output of dimension {rank}"
        )
    return to_axis(out, axis, wanted % rank, size)
