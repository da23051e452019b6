"""Check: whether a jaxpr is well formed. Run between passes, and on what transformations derive."""

from collections.abc import Sequence
from typing import Any

from jacana.core.avals import ShapedArray
from jacana.core.errors import JaxprTypeError
from jacana.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Var, subjaxprs
from jacana.core.show import Names, equation_text
from jacana.core.values import aval_of

# Equations shown before and after the faulty one.
SHOWN = 10


def check_jaxpr(jaxpr: Jaxpr | ClosedJaxpr) -> None:
    """JaxprTypeError, with the equations around the fault, unless the program is well formed.

    Each variable is defined once and before its uses, each equation has the types that its
    primitive's type rule gives, and so on within.
    """
    if isinstance(jaxpr, ClosedJaxpr):
        _check_constants(jaxpr)
    program = jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
    defined: set[Var] = set()
    for v in (*program.constvars, *program.invars):
        if v in defined:
            raise JaxprTypeError(f"input {v} of a jaxpr occurs twice.")
        defined.add(v)
    for i, eqn in enumerate(program.eqns):
        fault = _fault(eqn, defined)
        if fault:
            raise JaxprTypeError(f"{fault}\n\n{_around(program, i)}")
        defined.update(eqn.outvars)
    for a in program.outvars:
        fault = _undefined(a, defined)
        if fault:
            raise JaxprTypeError(f"an output: {fault}\n\n{_around(program, len(program.eqns))}")


def _check_constants(closed: ClosedJaxpr) -> None:
    for v, value in zip(closed.jaxpr.constvars, closed.consts, strict=True):
        if not _agree(v.aval, aval_of(value)):
            raise JaxprTypeError(f"constant of type {v.aval} has a value of type {aval_of(value)}.")


def _fault(eqn: JaxprEqn, defined: set[Var]) -> str:
    for a in eqn.invars:
        fault = _undefined(a, defined)
        if fault:
            return f"{eqn.primitive.name}: {fault}"
    for v in eqn.outvars:
        if v in defined:
            return f"{eqn.primitive.name} defines a variable that is defined already."
    if len(set(eqn.outvars)) != len(eqn.outvars):
        return f"{eqn.primitive.name} defines a variable twice."
    for inner in subjaxprs(eqn.params):
        try:
            check_jaxpr(inner)
        except JaxprTypeError as error:
            return f"in a program of {eqn.primitive.name}: {error}"
    return _type_fault(eqn)


def _undefined(a: Atom, defined: set[Var]) -> str:
    if isinstance(a, Var):
        return "" if a in defined else f"a variable of type {a.aval} is not defined."
    if a.aval.shape:
        return f"the literal {a} is not a scalar."
    return ""


def _type_fault(eqn: JaxprEqn) -> str:
    try:
        found: Any = eqn.primitive.type_rule(*[a.aval for a in eqn.invars], **eqn.params)
    except Exception as error:
        return f"{eqn.primitive.name} does not accept its operands: {error}"
    expected: Sequence[ShapedArray] = found if eqn.primitive.multiple_results else [found]
    if len(expected) != len(eqn.outvars):
        return f"{eqn.primitive.name} has {len(expected)} outputs, not {len(eqn.outvars)}."
    for v, aval in zip(eqn.outvars, expected, strict=True):
        if not _agree(v.aval, aval):
            return f"{eqn.primitive.name} gives {aval}, but its output is said to be {v.aval}."
    return ""


def _agree(a: ShapedArray, b: ShapedArray) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype


def _around(jaxpr: Jaxpr, place: int) -> str:
    """The equations around one, which is marked."""
    names = Names()
    for v in (*jaxpr.constvars, *jaxpr.invars):
        names.name(v)
    lines = []
    for i, eqn in enumerate(jaxpr.eqns):
        text = equation_text(eqn, names)
        if abs(i - place) <= SHOWN:
            mark = "--> " if i == place else "    "
            lines.append(mark + text.replace("\n", "\n    "))
    if place == len(jaxpr.eqns):
        lines.append(f"--> in ({', '.join([names.atom(a) for a in jaxpr.outvars])})")
    return "\n".join(lines)
