"""Programs as data: typed, in single assignment, nested for control flow."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jacana.core.avals import ShapedArray

if TYPE_CHECKING:
    from jacana.core.primitive import Primitive
    from jacana.core.source import Source


class Var:
    """A typed variable, defined exactly once in its jaxpr."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var(id={id(self)}):{self.aval}"


class DropVar(Var):
    """An output that nobody uses; printed as `_`."""

    __slots__ = ()


class Literal:
    """A scalar constant written in the program: a Python or NumPy scalar of dtype `aval.dtype`."""

    __slots__ = ("val", "aval")

    def __init__(self, val: Any, aval: ShapedArray):
        self.val = val
        self.aval = aval

    def __repr__(self) -> str:
        return f"{literal_text(self.val)}:{self.aval.str_short(True)}"


Atom = Var | Literal


def literal_text(val: Any) -> str:
    return str(val.item() if hasattr(val, "item") and val.dtype.kind in "biufc" else val)


class JaxprEqn:
    """outvars = primitive[params](invars)."""

    __slots__ = ("invars", "outvars", "primitive", "params", "source")

    def __init__(
        self,
        invars: Sequence[Atom],
        outvars: Sequence[Var],
        primitive: "Primitive",
        params: dict[str, Any],
        source: "Source | None" = None,
    ):
        self.invars, self.outvars = list(invars), list(outvars)
        self.primitive, self.params, self.source = primitive, params, source

    def replace(self, **changes: Any) -> "JaxprEqn":
        fields = {name: getattr(self, name) for name in JaxprEqn.__slots__}
        return JaxprEqn(**{**fields, **changes})

    @property
    def effects(self) -> frozenset[str]:
        return self.primitive.effects(self.params)

    def __repr__(self) -> str:
        names = " ".join(map(repr, self.invars))
        return f"{' '.join(map(repr, self.outvars))} = {self.primitive.name} {names}"


class Jaxpr:
    """A program from constvars and invars to outvars; never changed after it is made."""

    __slots__ = (
        "constvars", "invars", "outvars", "eqns", "debug_name", "derived", "_key", "__weakref__",
    )  # fmt: skip

    def __init__(
        self,
        constvars: Sequence[Var],
        invars: Sequence[Var],
        outvars: Sequence[Atom],
        eqns: Sequence[JaxprEqn],
        debug_name: str = "",
    ):
        self.constvars, self.invars = list(constvars), list(invars)
        self.outvars, self.eqns = list(outvars), list(eqns)
        self.debug_name = debug_name
        # Programs derived from this one by transformations, so that each is derived once.
        self.derived: dict[Any, Any] = {}
        self._key: Any = None

    @property
    def effects(self) -> frozenset[str]:
        found: frozenset[str] | None = self.derived.get("effects")
        if found is None:
            found = frozenset().union(*(e.effects for e in self.eqns))
            self.derived["effects"] = found
        return found

    @property
    def work(self) -> float:
        """Scalar operations that running it takes, about (see Primitive.work)."""
        found: float | None = self.derived.get("work")
        if found is None:
            found = sum(
                e.primitive.work([a.aval for a in e.invars], [v.aval for v in e.outvars], e.params)
                for e in self.eqns
            )
            self.derived["work"] = found
        return found

    @property
    def is_total(self) -> bool:
        """Whether it may run on any operands (see Primitive.is_total)."""
        found: bool | None = self.derived.get("is total")
        if found is None:
            found = not self.effects and all(
                e.primitive.is_total and all(j.is_total for j in subjaxprs(e.params))
                for e in self.eqns
            )
            self.derived["is total"] = found
        return found

    @property
    def axis_names(self) -> tuple[Any, ...]:
        """The named axes that it communicates over."""
        names = self.derived.get("axis names")
        if names is None:
            found = [n for e in self.eqns for n in e.primitive.axis_names(e.params)]
            names = self.derived["axis names"] = tuple(dict.fromkeys(found))
        return names

    @property
    def in_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.invars]

    @property
    def out_avals(self) -> list[ShapedArray]:
        return [v.aval for v in self.outvars]

    def with_constvars_as_inputs(self) -> "Jaxpr":
        """The same program with its constants as its first inputs; one object at every call."""
        if not self.constvars:
            return self
        found = self.derived.get("inputs")
        if found is None:
            invars = [*self.constvars, *self.invars]
            found = Jaxpr([], invars, self.outvars, self.eqns, self.debug_name)
            self.derived["inputs"] = found
        return found

    @property
    def key(self) -> Any:
        """A hashable value that two jaxprs share exactly when they are the same program."""
        if self._key is None:
            self._key = KeyOf(_structure(self))
        return self._key


class ClosedJaxpr:
    """A jaxpr with the values of its constvars."""

    __slots__ = ("jaxpr", "consts", "__weakref__")

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any] = ()):
        assert len(consts) == len(jaxpr.constvars)
        self.jaxpr = jaxpr
        self.consts = list(consts)

    @property
    def in_avals(self) -> list[ShapedArray]:
        return self.jaxpr.in_avals

    @property
    def out_avals(self) -> list[ShapedArray]:
        return self.jaxpr.out_avals

    def with_consts(self, consts: Sequence[Any]) -> "ClosedJaxpr":
        """The program whose first inputs are constants with these values."""
        assert not self.consts
        n, j = len(consts), self.jaxpr
        return ClosedJaxpr(
            Jaxpr(j.invars[:n], j.invars[n:], j.outvars, j.eqns, j.debug_name), consts
        )

    @property
    def eqns(self) -> list[JaxprEqn]:
        return self.jaxpr.eqns

    @property
    def literals(self) -> list[Any]:
        return self.consts

    @property
    def effects(self) -> frozenset[str]:
        return self.jaxpr.effects

    @property
    def key(self) -> Any:
        return (self.jaxpr.key, tuple(map(id, self.consts)))


class SameObject:
    """The key of a param that has no hash, such as an array: itself, kept alive."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameObject) and self.value is other.value


class KeyOf:
    """A nested tuple with its hash computed once."""

    __slots__ = ("structure", "hash")

    def __init__(self, structure: Any):
        self.structure = structure
        self.hash = hash(structure)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, KeyOf)
            and self.hash == other.hash
            and self.structure == other.structure
        )


def _structure(jaxpr: Jaxpr) -> Any:
    numbers: dict[Var, int] = {}
    for v in (*jaxpr.constvars, *jaxpr.invars):
        numbers[v] = len(numbers)

    def atom(a: Atom) -> Any:
        if isinstance(a, Literal):
            # repr separates 0.0 from -0.0 and makes nan equal to itself.
            return (repr(a.val), a.aval)
        return numbers[a]

    eqns = []
    for e in jaxpr.eqns:
        invars = tuple([atom(a) for a in e.invars])
        outs = []
        for v in e.outvars:
            numbers[v] = len(numbers)
            outs.append(v.aval)
        eqns.append((e.primitive, invars, tuple(outs), params_key(e.params)))
    return (
        tuple(v.aval for v in jaxpr.constvars),
        tuple(v.aval for v in jaxpr.invars),
        tuple(eqns),
        tuple(atom(a) for a in jaxpr.outvars),
    )


def params_key(params: dict[str, Any]) -> Any:
    """A hashable form of an equation's params: inner jaxprs by their keys."""
    return tuple([(name, param_key(value)) for name, value in params.items()])


def param_key(value: Any) -> Any:
    kind = type(value)
    if kind is int or kind is str or value is None:
        return value
    if kind is tuple or isinstance(value, _SEQUENCES):
        return tuple([param_key(v) for v in value])
    if isinstance(value, _PROGRAMS):
        return value.key
    if isinstance(value, float):
        return (float, repr(value))
    if isinstance(value, _TOLD_BY_TEXT):
        return (type(value), repr(value))
    try:
        hash(value)
    except TypeError:
        return SameObject(value)
    return value


# Tuples of types, which are quicker to ask about than unions.
_SEQUENCES = (tuple, list)
_PROGRAMS = (Jaxpr, ClosedJaxpr)
_TOLD_BY_TEXT = (bool, complex, np.inexact)
_SCALARS = (bool, int, float, complex, np.generic)
# Values of these types are their own keys: equal ones are the same param.
_PLAIN = frozenset((int, str, bool, type(None)))


def operation_key(params: dict[str, Any]) -> Any:
    """As params_key, faster for the params that most operations have."""
    for value in params.values():
        kind = type(value)
        if kind in _PLAIN or (kind is tuple and (not value or type(value[0]) is int)):
            continue
        if not isinstance(value, np.dtype):
            return params_key(params)
    return tuple(params.items())


def subjaxprs(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """The jaxprs held by an equation's params."""
    for value in params.values():
        for item in value if isinstance(value, _SEQUENCES) else (value,):
            if isinstance(item, ClosedJaxpr):
                yield item.jaxpr
            elif isinstance(item, Jaxpr):
                yield item


def is_literal_value(value: Any) -> bool:
    """Python scalars and NumPy scalars are written into programs; arrays never are."""
    return isinstance(value, _SCALARS)
