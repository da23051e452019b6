"""Fingerprints: the same text for the same program, in every process.

`Jaxpr.key` serves one process. A fingerprint names primitives, types and params by what they are
called, so a program may be looked up that another process compiled.
"""

import enum
from typing import Any

import numpy as np

from jacana.core.avals import ShapedArray, is_ref_type
from jacana.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from jacana.core.primitive import registry
from jacana.core.records import FIELDS, fields_of


class Nameless(Exception):
    """A program holds something that only this process knows, such as a function."""


def fingerprint(jaxpr: Jaxpr) -> str:
    """The text of a jaxpr; Nameless if it has none."""
    writer = _Writer()
    writer.reference(jaxpr)
    return "\n".join(writer.texts)


class _Writer:
    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self.texts: list[str] = []
        self.types: dict[Any, str] = {}

    def reference(self, jaxpr: Jaxpr) -> str:
        """The number of a jaxpr, which is written when it is met first."""
        number = self.numbers.get(id(jaxpr))
        if number is None:
            number = self.numbers[id(jaxpr)] = len(self.numbers)
            self.texts.append(self._jaxpr(number, jaxpr))
        return f"@{number}"

    def _jaxpr(self, number: int, jaxpr: Jaxpr) -> str:
        names: dict[Var, str] = {}
        for v in (*jaxpr.constvars, *jaxpr.invars):
            names[v] = str(len(names))
        inputs = [self._type(v.aval) for v in jaxpr.invars]
        captured = [self._type(v.aval) for v in jaxpr.constvars]
        lines = [f"@{number} {captured} {inputs}"]
        for eqn in jaxpr.eqns:
            operands = " ".join([self._atom(a, names) for a in eqn.invars])
            for v in eqn.outvars:
                names[v] = str(len(names))
            results = " ".join([self._type(v.aval) for v in eqn.outvars])
            lines.append(f"{results} = {self._operation(eqn)} {operands}")
        lines.append(" ".join([self._atom(a, names) for a in jaxpr.outvars]))
        return "\n".join(lines)

    def _operation(self, eqn: JaxprEqn) -> str:
        # A call means what it calls; its other params are for transformations.
        callee = eqn.primitive.callee(eqn.params)
        if callee is not None:
            return f"call {self.reference(callee)}"
        home = type(eqn.primitive).__module__
        own = registry.get(eqn.primitive.name) is eqn.primitive
        if not own or not home.startswith("jacana."):
            raise Nameless(eqn.primitive)  # its rules may change while its name stays
        params = " ".join([f"{k}={self._param(v)}" for k, v in eqn.params.items()])
        return f"{home}.{eqn.primitive.name}[{params}]"

    def _atom(self, atom: Atom, names: dict[Var, str]) -> str:
        if isinstance(atom, Literal):
            return f"{atom.val!r}:{self._type(atom.aval)}"
        return names[atom]

    def _type(self, aval: ShapedArray) -> str:
        text = self.types.get(aval)
        if text is None:
            weak = "~" if aval.weak_type else ""
            ref = "&" if is_ref_type(aval) else ""
            text = self.types[aval] = f"{ref}{weak}{aval.dtype!r}{list(aval.shape)}"
        return text

    def _param(self, value: Any) -> str:
        kind = type(value)
        if kind in _PLAIN:
            return repr(value)
        if isinstance(value, enum.Enum):
            return f"{kind.__qualname__}.{value.name}"
        if isinstance(value, tuple | list):
            return f"{kind.__name__}({','.join([self._param(v) for v in value])})"
        if isinstance(value, np.dtype | np.generic):
            return f"{kind.__name__} {value!r}"
        if isinstance(value, Jaxpr | ClosedJaxpr):
            return self._inner(value)
        if isinstance(value, ShapedArray):
            return self._type(value)
        if hasattr(kind, FIELDS):
            return f"{kind.__name__}({[self._param(getattr(value, k)) for k in fields_of(kind)]})"
        if isinstance(value, type) and value.__module__ in ("builtins", "numpy"):
            return value.__qualname__
        raise Nameless(value)

    def _inner(self, value: Jaxpr | ClosedJaxpr) -> str:
        if isinstance(value, Jaxpr):
            return self.reference(value)
        if value.consts:
            raise Nameless(value)
        return self.reference(value.jaxpr)


_PLAIN = frozenset((int, str, bool, float, complex, bytes, type(None)))
