"""Stage: from a Python function of flat arguments to a Jaxpr."""

from collections.abc import Callable, Sequence
from typing import Any

from jacana.core import errors, leaks
from jacana.core.avals import AbstractRef, ShapedArray, is_ref_type
from jacana.core.jaxpr import (
    Atom,
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    Literal,
    Var,
    is_literal_value,
    subjaxprs,
)
from jacana.core.primitive import Primitive
from jacana.core.source import Source, user_source
from jacana.core.trace import RefTracer, Trace, Tracer, current, set_current
from jacana.core.values import aval_of
from jacana.core.variance import joint, pvary


class JaxprTracer(Tracer):
    """A variable of the jaxpr being recorded."""

    __slots__ = ("variable", "source")

    def __init__(self, trace: "JaxprTrace", var: Var, source: Source | None):
        self._trace, self.aval, self.variable, self.source = trace, var.aval, var, source

    def origin(self) -> Source | None:
        return self.source

    def arguments(self) -> str:
        assert isinstance(self._trace, JaxprTrace)
        return self._trace.arguments_behind(self.variable)


class JaxprRefTracer(RefTracer, JaxprTracer):
    """The same where the variable is a reference."""

    __slots__ = ()


def tracer_of(trace: "JaxprTrace", var: Var, source: Source | None) -> JaxprTracer:
    """The tracer of a variable."""
    return (JaxprRefTracer if is_ref_type(var.aval) else JaxprTracer)(trace, var, source)


class JaxprTrace(Trace):
    """Records every primitive as an equation, whatever its operands.

    Values from outside (arrays, tracers of enclosing traces) become constants.
    """

    __slots__ = (
        "eqns", "constvars", "consts", "_const_of", "name", "invars", "parent", "argument_names",
    )  # fmt: skip

    def __init__(self, name: str = "", parent: Trace | None = None) -> None:
        super().__init__()
        self.name = name
        # Operations never reach it; named axes are looked up along it.
        self.parent = current() if parent is None else parent
        self.eqns: list[JaxprEqn] = []
        self.invars: list[Var] = []
        self.constvars: list[Var] = []
        self.consts: list[Any] = []
        self._const_of: dict[int, Var] = {}
        # The user's names of the invars, for messages.
        self.argument_names: Callable[[], Sequence[str]] | None = None

    def add_arg(self, aval: ShapedArray) -> JaxprTracer:
        var = Var(aval)
        self.invars.append(var)
        return tracer_of(self, var, None)

    def atom(self, value: Any) -> Atom:
        """The variable or literal that stands for a value in this jaxpr."""
        if isinstance(value, JaxprTracer) and value._trace is self:
            return value.variable
        if isinstance(value, Tracer) and not value._trace.alive:
            raise errors.UnexpectedTracerError(value, self.name)
        if is_literal_value(value):
            return Literal(value, aval_of(value))
        var = self._const_of.get(id(value))
        if var is None:
            var = self._const_of[id(value)] = Var(aval_of(value))
            self.constvars.append(var)
            self.consts.append(value)
        return var

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        invars = [
            a.variable if type(a) is JaxprTracer and a._trace is self else self.atom(a)
            for a in args
        ]
        avals = [v.aval for v in invars]
        if AbstractRef in map(type, avals) and not primitive.takes_refs:
            raise errors.RefOperandError(primitive.name)
        vma = joint(avals)
        if vma:
            invars, out = self._process_varying(primitive, invars, params, vma)
        else:
            out = primitive.type_rule(*avals, **params)
        source = user_source()
        if primitive.multiple_results:
            outvars = [Var(aval) for aval in out]
            self.eqns.append(JaxprEqn(invars, outvars, primitive, params, source))
            return [JaxprTracer(self, v, source) for v in outvars]
        var = Var(out)
        self.eqns.append(JaxprEqn(invars, [var], primitive, params, source))
        return tracer_of(self, var, source)

    def _process_varying(
        self, primitive: Primitive, invars: list[Atom], params: dict[str, Any], vma: frozenset[Any]
    ) -> tuple[list[Atom], Any]:
        """Operands that vary alike, and types of results that do so too.

        Programs that an operation holds say themselves where they vary, as do some collectives.
        """
        if primitive.tells_variance or any(True for _ in subjaxprs(params)):
            return invars, primitive.type_rule(*[v.aval for v in invars], **params)
        alike = [v if isinstance(v, Literal) else self._vary(v, vma) for v in invars]
        out = primitive.type_rule(*[v.aval for v in alike], **params)
        if primitive.multiple_results:
            return alike, [aval.varying(vma) for aval in out]
        return alike, out.varying(vma)

    def _vary(self, atom: Atom, vma: frozenset[Any]) -> Atom:
        for name in sorted(vma - atom.aval.vma, key=str):
            made = Var(atom.aval.varying(atom.aval.vma | {name}))
            self.eqns.append(JaxprEqn([atom], [made], pvary(), {"axis_name": name}, user_source()))
            atom = made
        return atom

    def arguments_behind(self, var: Var) -> str:
        """The user's names of the arguments that a variable depends on, as an insertion."""
        if self.argument_names is None:
            return ""
        behind = {var}
        for e in reversed(self.eqns):
            if any(v in behind for v in e.outvars):
                behind.update([v for v in e.invars if isinstance(v, Var)])
        names = self.argument_names()
        found = [n for n, v in zip(names, self.invars, strict=False) if v in behind]
        if not found:
            return ""
        shown = ", ".join(found[:5]) + (", ..." if len(found) > 5 else "")
        return f"the argument{'s' if len(found) > 1 else ''} {shown} of {self.name}"

    def finish(self, outs: Sequence[Any]) -> tuple[Jaxpr, list[Any]]:
        """The jaxpr recorded so far that returns `outs`, and the values of its constvars."""
        outvars = [self.atom(o) for o in outs]
        eqns = mark_dropped(self.eqns, outvars)
        self.alive = False
        return Jaxpr(self.constvars, self.invars, outvars, eqns, self.name), self.consts


class BlockTrace(JaxprTrace):
    """Records a body that runs on blocks of arrays; mesh axes are its named axes.

    Where it is `checked`, types say over which of them values vary.
    """

    __slots__ = ("axes", "checked")

    def __init__(self, name: str, axes: dict[Any, int], checked: bool):
        super().__init__(name)
        self.axes, self.checked = axes, checked


def mark_dropped(eqns: list[JaxprEqn], outvars: Sequence[Atom]) -> list[JaxprEqn]:
    """The equations with outputs that nobody uses replaced by DropVars."""
    used = {v for v in outvars if isinstance(v, Var)}
    for e in eqns:
        used.update([v for v in e.invars if isinstance(v, Var)])
    marked = []
    for e in eqns:
        if any(v not in used for v in e.outvars):
            outvars_kept = [v if v in used else DropVar(v.aval) for v in e.outvars]
            e = JaxprEqn(e.invars, outvars_kept, e.primitive, e.params, e.source)
        marked.append(e)
    return marked


def stage(
    function: Callable[..., Sequence[Any]],
    avals: Sequence[ShapedArray],
    name: str = "",
    of_user: bool = False,
) -> tuple[Jaxpr, list[Any]]:
    """The jaxpr of a function from flat arrays to a flat sequence of arrays, and its constants.

    In a function of the user's leaks are looked for, if the settings ask for that.
    """
    trace = JaxprTrace(name)
    try:
        with set_current(trace):
            made = trace.finish(function(*[trace.add_arg(a) for a in avals]))
    finally:
        trace.alive = False
    if of_user:
        leaks.check(trace, name)
    return made


def stage_closed(
    function: Callable[..., Sequence[Any]], avals: Sequence[ShapedArray], name: str = ""
) -> ClosedJaxpr:
    jaxpr, consts = stage(function, avals, name)
    return ClosedJaxpr(jaxpr, consts)
