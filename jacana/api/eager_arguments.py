"""Arguments of eager functions: which leaves are given at each call, and what decides a program."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from jacana.core import config, dtypes, tree
from jacana.core.avals import ShapedArray
from jacana.core.jaxpr import Jaxpr
from jacana.core.stage import JaxprTrace, JaxprTracer
from jacana.core.trace import Tracer, current, set_current
from jacana.core.values import aval_of
from jacana.runtime.array import Array
from jacana.runtime.calls import Due, InProgram, OnTape, due_of
from jacana.runtime.patterns import is_plain_slice, is_told_by_equality
from jacana.transforms.linearize import TapedTracer

# What a Python scalar is: part of the program, an operand that takes part in promotion,
# a value that becomes an element of an array of its dtype, or a position in an array.
STATIC, OPERAND, VALUE, INDEX = "static", "operand", "value", "index"
# A program is made when arguments of a kind come for this time; for some there never is one.
LEARN_AT = 3
NEVER = -1


class UnknownArgumentError(Exception):
    """Native code cannot tell an argument, or its value decides what the function does."""


_ARRAYS = frozenset((Array, TapedTracer, JaxprTracer, np.ndarray))


class Roles:
    """What Python scalars are in each positional argument, and in all others."""

    __slots__ = ("_positional", "_rest")

    def __init__(self, positional: tuple[str, ...], rest: str):
        self._positional, self._rest = positional, rest

    def of(self, place: int | str) -> str:
        if isinstance(place, int) and place < len(self._positional):
            return self._positional[place]
        return self._rest

    def is_leaf(self, place: int | str, value: Any) -> bool:
        """Whether a value in the argument of a number or name is given at each call."""
        kind = type(value)
        if kind in _ARRAYS:
            return True
        return self.of(place) != STATIC and kind in (int, float, bool)


class Arguments:
    """The arguments of one call: leaves, what they must be, and a key of their kind."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], roles: Roles):
        self.args, self.kwargs, self.roles = args, kwargs, roles
        self.leaves: list[Any] = []
        self.dues: list[Due] = []
        self.avals: list[ShapedArray] = []
        self._scalars: set[tuple[str, Any]] = set()
        read = [self._read(x, i) for i, x in enumerate(args)]
        read += [(k, self._read(kwargs[k], k)) for k in sorted(kwargs)]
        self._check_scalars()
        self.key = (config.current(), *kwargs, *read)

    def _read(self, value: Any, place: int | str) -> Any:
        """An argument's part of the key."""
        kind = type(value)
        if kind is Array:
            if value.aval.sharding is not None:
                raise UnknownArgumentError
            return self._leaf(value, value.aval, value.aval)
        if kind is TapedTracer:
            return self._leaf(value, OnTape(value.aval), value.aval)
        if kind is JaxprTracer:
            return self._leaf(value, InProgram(value.aval), value.aval)
        if kind is np.ndarray:
            return self._numpy(value)
        if self.roles.is_leaf(place, value):
            return self._scalar(value, self.roles.of(place))
        if kind is tuple or kind is list:
            return (kind, *[self._read(item, place) for item in value])
        if kind in (int, bool, str) or value is None:
            return (kind, value)
        if kind is float:
            return (kind, value if is_told_by_equality(value) else id(value))
        if kind is slice and is_plain_slice(value):
            return (kind, value.start, value.stop, value.step)
        if isinstance(value, type | np.dtype) or value is Ellipsis:
            return (kind, value)
        raise UnknownArgumentError

    def _scalar(self, value: Any, role: str) -> Any:
        aval = aval_of(value)
        due = due_of(value, aval)
        if due is None or role == INDEX and type(value) is not int:
            raise UnknownArgumentError
        if role != INDEX:
            self._scalars.add((role, aval.dtype))
        return self._leaf(value, due, aval)

    def _numpy(self, value: np.ndarray) -> Any:
        # Programs have arrays of NumPy's as their constants.
        due = None if isinstance(current(), JaxprTrace) else due_of(value, aval_of(value))
        if due is None:
            raise UnknownArgumentError
        return self._leaf(value, due, aval_of(value))

    def _leaf(self, value: Any, due: Due, aval: ShapedArray) -> Any:
        self.leaves.append(value)
        self.dues.append(due)
        self.avals.append(aval)
        return due

    def _check_scalars(self) -> None:
        """Refuse scalars that are rounded twice, or may be out of range, beside arrays."""
        for role, dtype in self._scalars:
            allowed = SAFE[role, dtypes.kind(dtype)]
            for aval, due in zip(self.avals, self.dues):
                if not isinstance(due, int) and aval.dtype not in allowed and aval.dtype != dtype:
                    raise UnknownArgumentError

    def restore(self, leaves: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments with tracers in place of leaves."""
        rest = iter(leaves)
        args = [self._replaced(x, i, rest) for i, x in enumerate(self.args)]
        kwargs = {k: self._replaced(self.kwargs[k], k, rest) for k in sorted(self.kwargs)}
        return args, kwargs

    def _replaced(self, value: Any, place: int | str, leaves: Iterator[Any]) -> Any:
        if type(value) is tuple or type(value) is list:
            return type(value)([self._replaced(item, place, leaves) for item in value])
        return next(leaves) if self.roles.is_leaf(place, value) else value


_WIDE = frozenset((dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128))
# Dtypes of arrays beside which any scalar of a kind may be converted while a program runs.
_WHOLE = frozenset((dtypes.int32, dtypes.int64, dtypes.bool_))
SAFE = {
    (OPERAND, "float"): _WIDE | _WHOLE,
    (OPERAND, "int"): _WIDE | {dtypes.bool_},
    (OPERAND, "bool"): _WIDE | _WHOLE,
    (VALUE, "float"): _WIDE,
    (VALUE, "int"): _WIDE,
    (VALUE, "bool"): _WIDE | _WHOLE,
}


def trace_function(
    function: Callable[..., Any], arguments: Arguments
) -> tuple[Jaxpr, list[Any], Any]:
    """What the function does: a jaxpr, captured values that it takes first, and a tree."""
    staged = JaxprTrace(function.__name__)
    try:
        with set_current(staged):
            args, kwargs = arguments.restore([staged.add_arg(a) for a in arguments.avals])
            flat, out_tree = tree.flatten(function(*args, **kwargs))
            jaxpr, consts = staged.finish(flat)
    finally:
        staged.alive = False
    if any(isinstance(c, Tracer) for c in consts):
        raise UnknownArgumentError
    return jaxpr.with_constvars_as_inputs(), consts, out_tree


def traced_like(
    function: Callable[..., Any], arguments: Arguments, out: Any
) -> tuple[Jaxpr, list[Any], tree.PyTreeDef]:
    """The function traced, if it gives arrays of the types and in the tree of a result it gave.

    Raises UnknownArgumentError if not, or if the function warns.
    """
    results, out_tree = tree.flatten(out)
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        jaxpr, consts, traced_tree = trace_function(function, arguments)
    suits = [v.aval for v in jaxpr.outvars] == [getattr(x, "aval", None) for x in results]
    if raised or not suits or traced_tree != out_tree:
        raise UnknownArgumentError
    return jaxpr, consts, out_tree


def same_objects(numbers: Sequence[int], given: Sequence[Any], results: Sequence[Any]) -> bool:
    """Whether a program gives back what it was given, and one object twice, where `results` do."""
    found = [given[n] if n < len(given) else None for n in numbers]
    kept = all(
        (x is y) if x is not None else all(y is not z for z in given)
        for x, y in zip(found, results)
    )
    return kept and len(set(numbers)) == len(set(map(id, results)))
