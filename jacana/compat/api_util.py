"""What programs import from `jax.api_util`: functions of trees as functions of lists."""

from collections.abc import Generator, Iterable, Sequence
from typing import Any

from jacana.compat.extend.linear_util import WrappedFun, transformation_with_aux
from jacana.compat.internals.sequences import safe_map as safe_map
from jacana.core import tree
from jacana.core.avals import ShapedArray
from jacana.core.values import aval_of

__all__ = [
    "debug_info",
    "flatten_fun",
    "flatten_fun_nokwargs",
    "rebase_donate_argnums",
    "shaped_abstractify",
]


def shaped_abstractify(x: Any) -> ShapedArray:
    """The aval of a value."""
    return aval_of(x)


def debug_info(
    traced_for: str, fun: Any, args: Sequence[Any], kwargs: dict[str, Any], **_: Any
) -> str:
    """What lu.wrap_init takes to tell which function is meant: its name."""
    return str(getattr(fun, "__name__", type(fun).__name__))


def flatten_fun(fun: WrappedFun, in_tree: Any, **_: Any) -> Any:
    """The function of the leaves of (args, kwargs), and a function that gives the result's tree."""
    return transformation_with_aux(_with_kwargs, fun, in_tree)


def flatten_fun_nokwargs(fun: WrappedFun, in_tree: Any, **_: Any) -> Any:
    """The function of the leaves of args, and a function that gives the result's tree."""
    return transformation_with_aux(_without_kwargs, fun, in_tree)


def _with_kwargs(in_tree: Any, *leaves: Any) -> Generator[Any, Any, None]:
    out = yield in_tree.unflatten(leaves)
    yield tree.flatten(out)


def _without_kwargs(in_tree: Any, *leaves: Any) -> Generator[Any, Any, None]:
    out = yield in_tree.unflatten(leaves), {}
    yield tree.flatten(out)


def rebase_donate_argnums(
    donate_argnums: Iterable[int], static_argnums: Iterable[int]
) -> tuple[int, ...]:
    """Numbers of donated arguments once static ones, which cannot be donated, are left out.

    >>> rebase_donate_argnums((3, 4), (0, 1))
    (1, 2)
    """
    static = sorted(set(static_argnums))
    both = set(static) & set(donate_argnums)
    if both:
        raise ValueError(f"static_argnums and donate_argnums cannot intersect: {both} is in both.")
    return tuple(sorted(n - sum(s < n for s in static) for n in donate_argnums))
