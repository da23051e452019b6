"""Arguments of transformed functions: which are chosen, and what they may be."""

import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any

from jacana.core import dtypes, tree
from jacana.core.errors import NotAnArrayError
from jacana.core.values import aval_of, is_argument, is_array_like, is_ref
from jacana.runtime.array import Array
from jacana.runtime.fronts import plain_function

Argnums = int | Sequence[int]


def name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def named_after(
    function: Callable[..., Any], wrapper: Callable[..., Any], *more: str
) -> Callable[..., Any]:
    """The wrapper with the name, documentation, module and attributes of a function.

    As functools.update_wrapper, in a third of its time for plain functions and those of jnp.
    """
    assigned = ("__name__", "__doc__", "__module__", *more)
    source = plain_function(function)
    if type(source) is not types.FunctionType:
        return functools.update_wrapper(wrapper, function, assigned)
    for name in assigned:
        setattr(wrapper, name, getattr(source, name))
    vars(wrapper).update(source.__dict__)
    wrapper.__wrapped__ = function  # type: ignore[attr-defined]
    return wrapper


def check_callable(function: Any, transformation: str) -> None:
    if not callable(function):
        raise TypeError(f"Expected a callable value, got {function!r} ({transformation}).")


def split_argnums(
    args: Sequence[Any], argnums: Argnums, transformation: str
) -> tuple[list[int], list[Any]]:
    """The positions chosen by argnums and the arguments there."""
    numbers: list[Any] = list(argnums) if isinstance(argnums, Sequence) else [argnums]
    chosen = []
    for n in numbers:
        if isinstance(n, bool) or not hasattr(n, "__index__"):
            raise TypeError(
                f"{transformation} argnums must be an integer or a tuple of integers, got "
                f"{argnums!r}. Name arguments by their position."
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
        if is_ref(x):
            raise TypeError(
                f"{function} needs arrays where it is given a reference of type {x.aval}. Pass "
                f"what it holds, ref[...], and make a reference of that inside of the function."
            )
        if not is_array_like(x):
            raise NotAnArrayError(x, function)
    return leaves, structure


def flatten_arguments(value: Any, function: str) -> tuple[list[Any], Any]:
    """The same for arguments, which may be references to arrays."""
    leaves, structure = tree.flatten(value)
    for x in leaves:
        if not is_argument(x):
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
        if not aval.is_differentiable and not allow_int:
            raise TypeError(
                f"{transformation} requires real- or complex-valued inputs (input dtype that is a "
                f"sub-dtype of np.inexact), but got {dtypes.name(aval.dtype)}. If you want to use "
                f"Boolean- or integer-valued inputs, use vjp or set allow_int to True."
            )


class Chosen:
    """A function of the leaves of the arguments that it is differentiated in."""

    __slots__ = ("leaves", "_function", "_args", "_kwargs", "_numbers", "_structure", "_is_one")

    def __init__(
        self,
        function: Callable[..., Any],
        argnums: Argnums,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        transformation: str,
    ):
        self._function, self._args, self._kwargs = function, args, kwargs
        self._structure: tree.PyTreeDef
        self._is_one = type(argnums) is int or not isinstance(argnums, Sequence)
        if type(argnums) is int and 0 <= argnums < len(args) and type(args[argnums]) is Array:
            self._numbers, self._structure = [argnums], tree.LEAF
            self.leaves = [args[argnums]]
            return
        self._numbers, chosen = split_argnums(args, argnums, transformation)
        self.leaves, self._structure = flatten_arrays(
            chosen[0] if self._is_one else tuple(chosen), f"{transformation} of {name_of(function)}"
        )

    def __call__(self, *leaves: Any) -> Any:
        """The function's result with other leaves."""
        replaced = list(self._args)
        if self._structure is tree.LEAF:
            given: Any = leaves
        else:
            given = self.restore(leaves)
            given = [given] if self._is_one else given
        for n, value in zip(self._numbers, given, strict=True):
            replaced[n] = value
        return self._function(*replaced, **self._kwargs)

    def restore(self, leaves: Sequence[Any]) -> Any:
        """Leaves in the structure of the argument, or of the tuple of them."""
        return self._structure.unflatten(leaves)


def argument_names(function: Callable[..., Any], in_tree: Any, static: Sequence[int]) -> list[str]:
    """The user's names of the leaves of (args, kwargs), of which static positions are left out."""
    paths, _ = tree.flatten_with_path(in_tree.unflatten(range(in_tree.num_leaves)))
    names = []
    for path, _ in paths:
        if path[0] == tree.SequenceKey(1):
            names.append(f"{path[1].key}{tree.keystr(path[2:])}")
            continue
        position = path[1].idx
        for n in sorted(static):
            position += n <= position
        names.append(f"{parameter_name(function, position)}{tree.keystr(path[2:])}")
    return names


def parameter_name(function: Callable[..., Any], position: int) -> str:
    """The name of the parameter that takes a positional argument; args[i] where there is none."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return f"args[{position}]"
    for i, p in enumerate(parameters):
        if p.kind is inspect.Parameter.VAR_POSITIONAL:
            return f"{p.name}[{position - i}]"
        if p.kind not in (
            inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
        ):  # fmt: skip
            break
        if i == position:
            return p.name
    return f"args[{position}]"


def check_jit_arguments(
    function: Callable[..., Any],
    static: tuple[Sequence[int], Sequence[str]],
    donated: tuple[Sequence[int], Sequence[str]],
) -> None:
    """ValueError for static or donated arguments that the function does not take."""
    both = set(static[0]) & set(donated[0]) or set(static[1]) & set(donated[1])
    if both:
        raise ValueError(
            f"static_argnums and donate_argnums of jit cannot intersect: {both} of "
            f"{name_of(function)} is in both. A static argument has no memory to donate."
        )
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return
    kinds = {p.kind for p in parameters}
    count = sum(
        p.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for p in parameters
    )
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        for what, (numbers, _) in (("static_argnums", static), ("donate_argnums", donated)):
            wrong = [n for n in numbers if not -count <= n < count]
            if wrong:
                raise ValueError(
                    f"jitted function {name_of(function)} has {what}={tuple(numbers)} but only "
                    f"accepts {count} positional arguments."
                )
    if inspect.Parameter.VAR_KEYWORD not in kinds:
        known = [p.name for p in parameters]
        for what, (_, names) in (("static_argnames", static), ("donate_argnames", donated)):
            unknown = [n for n in names if n not in known]
            if unknown:
                raise ValueError(
                    f"jitted function {name_of(function)} has invalid argnames {unknown} in "
                    f"{what}. Function does not take these args: it takes {', '.join(known)}."
                )
