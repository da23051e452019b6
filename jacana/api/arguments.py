"""Arguments of transformed functions: which are chosen, and what they may be."""

from collections.abc import Callable, Sequence
from typing import Any

from jacana.core import dtypes, tree
from jacana.core.errors import NotAnArrayError
from jacana.core.values import aval_of, is_array_like

Argnums = int | Sequence[int]


def name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def check_callable(function: Any, transformation: str) -> None:
    if not callable(function):
        raise TypeError(f"Expected a callable value, got {function!r} ({transformation}).")


def split_argnums(
    args: Sequence[Any], argnums: Argnums, transformation: str
) -> tuple[list[int], list[Any]]:
    """The positions chosen by argnums and the arguments there."""
    numbers: list[Any] = [argnums] if isinstance(argnums, int) else list(argnums)
    chosen = []
    for n in numbers:
        if not isinstance(n, int) or isinstance(n, bool):
            raise TypeError(
                f"{transformation} argnums must be an integer or a tuple of integers, got "
                f"{argnums!r}."
            )
        if n >= len(args):
            raise TypeError(
                f"differentiating with respect to argnums={argnums} requires at least {n + 1} "
                f"positional arguments to be passed by the caller, but got only {len(args)} "
                f"positional arguments ({transformation})."
            )
        if n < -len(args):
            raise ValueError(
                f"{transformation} argnums must be greater than or equal to -len(args) and less "
                f"than len(args), but got {n} for {len(args)} positional arguments."
            )
        chosen.append(n % len(args))
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"{transformation} got repeated argnums {argnums!r}.")
    return chosen, [args[n] for n in chosen]


def flatten_arrays(value: Any, function: str) -> tuple[list[Any], Any]:
    """Leaves and structure of a tree; TypeError if a leaf is not an array."""
    leaves, structure = tree.flatten(value)
    for x in leaves:
        if not is_array_like(x):
            raise NotAnArrayError(x, function)
    return leaves, structure


def check_differentiable(
    leaves: Sequence[Any], transformation: str, holomorphic: bool, allow_int: bool
) -> None:
    """TypeError for inputs that have no derivative of the kind asked for."""
    for x in leaves:
        aval = aval_of(x)
        if holomorphic and not dtypes.is_complex(aval.dtype):
            raise TypeError(
                f"{transformation} with holomorphic=True requires inputs with complex dtype, but "
                f"got {aval.dtype.name}."
            )
        if not dtypes.is_differentiable(aval.dtype) and not allow_int:
            raise TypeError(
                f"{transformation} requires real- or complex-valued inputs (input dtype that is a "
                f"sub-dtype of np.inexact), but got {dtypes.name(aval.dtype)}. If you want to use "
                f"Boolean- or integer-valued inputs, use vjp or set allow_int to True."
            )


def update_arguments(
    args: Sequence[Any], numbers: Sequence[int], chosen: Sequence[Any]
) -> list[Any]:
    """The arguments with the chosen ones replaced."""
    replaced = list(args)
    for n, value in zip(numbers, chosen, strict=True):
        replaced[n] = value
    return replaced
