"""Evaluate: run a jaxpr's equations under the current trace."""

from collections.abc import Sequence
from typing import Any

from jacana.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, Literal, Var


def evaluate(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    """The jaxpr's outputs for the given arguments, by binding its primitives one by one."""
    values: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
    values.update(zip(jaxpr.invars, args, strict=True))

    def read(a: Atom) -> Any:
        return a.val if isinstance(a, Literal) else values[a]

    for e in jaxpr.eqns:
        out = e.primitive(*[read(a) for a in e.invars], **e.params)
        if e.primitive.multiple_results:
            values.update(zip(e.outvars, out, strict=True))
        else:
            values[e.outvars[0]] = out
    return [read(a) for a in jaxpr.outvars]


def evaluate_closed(closed: ClosedJaxpr, *args: Any) -> list[Any]:
    return evaluate(closed.jaxpr, closed.consts, args)


def evaluate_reference(closed: ClosedJaxpr, *args: Any) -> list[Any]:
    """The outputs for NumPy arrays by the primitives' references, whatever the current trace."""
    jaxpr = closed.jaxpr
    values: dict[Var, Any] = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    values.update(zip(jaxpr.invars, args, strict=True))

    def read(a: Atom) -> Any:
        return a.aval.dtype.type(a.val) if isinstance(a, Literal) else values[a]

    for e in jaxpr.eqns:
        out = e.primitive.reference(*[read(a) for a in e.invars], **e.params)
        values.update(zip(e.outvars, out if e.primitive.multiple_results else [out], strict=True))
    return [read(a) for a in jaxpr.outvars]
