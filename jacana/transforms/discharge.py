"""Discharge: programs on references to arrays as programs on the arrays themselves.

A reference becomes the value that it has at each point, so what is left is a program without
effects on memory; docs/design/refs.md says how it comes to change memory in place again.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from jacana.core.avals import is_ref_type
from jacana.core.evaluate import evaluate
from jacana.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from jacana.core.primitive import Primitive
from jacana.core.stage import JaxprTrace, JaxprTracer
from jacana.core.trace import set_current
from jacana.transforms.derived import kept

# The effect of programs that have references, be it only for a while.
STATE = "state"


class Discharged(NamedTuple):
    """A program on values: its outputs, then the new values of the inputs that it writes."""

    program: ClosedJaxpr
    written: list[bool]


def discharged(jaxpr: Jaxpr, final: bool) -> Discharged:
    """A program that captures nothing as one on values; one object at every call.

    `final` is whether no transformation follows, so that rules for derivatives may be forgotten.
    """

    def make() -> Discharged:
        program, written = discharge(jaxpr, final)
        return Discharged(ClosedJaxpr(program), written)

    return kept(jaxpr, ("discharge", final), make)


def discharge(jaxpr: Jaxpr, final: bool = True) -> tuple[Jaxpr, list[bool]]:
    """The program on values, with all inputs as invars, and which inputs are written."""
    inputs = [*jaxpr.constvars, *jaxpr.invars]
    trace = JaxprTrace(jaxpr.debug_name)
    with set_current(trace):
        given = [trace.add_arg(value_aval(v.aval)) for v in inputs]
        run = _Discharging(trace, dict(zip(inputs, given, strict=True)), final)
        for eqn in jaxpr.eqns:
            run.equation(eqn)
        outs = [run.read(a) for a in jaxpr.outvars]
        written = [run.values[v] is not x for v, x in zip(inputs, given, strict=True)]
        outs += [run.values[v] for v, w in zip(inputs, written, strict=True) if w]
        program, consts = trace.finish(outs)
    assert not consts
    return program, written


def value_aval(aval: Any) -> Any:
    """The type of what a reference refers to; that of an array as it is."""
    return aval.inner_aval if is_ref_type(aval) else aval


def has_state(jaxpr: Jaxpr) -> bool:
    """Whether the program has references."""
    return STATE in jaxpr.effects or any(is_ref_type(a) for a in jaxpr.in_avals)


class _Discharging:
    """A program under way: each variable's value, a reference's as it is now."""

    def __init__(self, trace: JaxprTrace, values: dict[Var, Any], final: bool):
        self.trace, self.values, self.final = trace, values, final

    def read(self, atom: Atom) -> Any:
        return atom.val if isinstance(atom, Literal) else self.values[atom]

    def equation(self, eqn: JaxprEqn) -> None:
        refs: list[Any] = [a if is_ref_type(a.aval) else None for a in eqn.invars]
        if STATE not in eqn.effects and not any(refs):
            invars = [a if isinstance(a, Literal) else self.trace.atom(self.values[a])
                      for a in eqn.invars]  # fmt: skip
            self.trace.eqns.append(eqn.replace(invars=invars))
            self.values.update({v: JaxprTracer(self.trace, v, eqn.source) for v in eqn.outvars})
            return
        start = len(self.trace.eqns)
        operands = [self.read(a) for a in eqn.invars]
        outs, changes = discharge_operation(eqn.primitive, operands, refs, eqn.params, self.final)
        for made in self.trace.eqns[start:]:
            made.source = eqn.source
        self.values.update(zip(eqn.outvars, outs, strict=True))
        for ref, change in zip(refs, changes, strict=True):
            if ref is not None and change is not None:
                self.values[ref] = change


def discharge_operation(
    primitive: Primitive, values: list[Any], refs: Sequence[Any], params: dict[str, Any],
    final: bool,
) -> tuple[list[Any], list[Any]]:  # fmt: skip
    """The outputs of an operation, and new values of the references that it writes."""
    rule = primitive.discharge_rule
    if rule is not None:
        return rule(values, refs, params, final)  # type: ignore[no-any-return]
    callee = primitive.callee(params)
    if callee is None or not final:
        raise NotImplementedError(
            f"{primitive.name} is transformed while it holds references to arrays, which works for "
            f"jit, cond, while_loop and scan alone. Read the reference before it, and write after."
        )
    return discharge_call(callee, values, refs, final)


def discharge_call(
    callee: Jaxpr, values: list[Any], refs: Sequence[Any], final: bool
) -> tuple[list[Any], list[Any]]:
    """The same for the program that a call stands for, whose equations join the caller's."""
    program, written = discharged(callee, final)
    outs = evaluate(program.jaxpr, program.consts, values)
    return split_changes(outs, len(callee.outvars), written)


def split_changes(
    outs: Sequence[Any], count: int, written: Sequence[bool]
) -> tuple[list[Any], list[Any]]:
    """The first outputs, and the others as changes of the inputs that are written."""
    changes = iter(outs[count:])
    return list(outs[:count]), [next(changes) if w else None for w in written]
