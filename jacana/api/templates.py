"""Functions of arrays in functions that are traced: their equations are kept, and recorded again.

What a jnp function records depends on its arguments' types and on values that are part of programs
anyway. So the equations of one call, with other variables, are those of the next like it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from jacana.api import known_calls
from jacana.api.eager_arguments import Arguments, traced_like
from jacana.core import tree
from jacana.core.jaxpr import Jaxpr, JaxprEqn, Literal, Var, params_key
from jacana.core.source import user_source
from jacana.core.stage import JaxprTrace, JaxprTracer
from jacana.runtime.calls import FORM_FINISHED, Call, InProgram, Layout, Result


def learn(
    function: Callable[..., Any], arguments: Arguments, out: Any, recorded: Sequence[JaxprEqn]
) -> Call | None:
    """The call that records the equations that the function recorded; None if there is none."""
    outs = tree.leaves(out)
    given = [x for x, due in zip(arguments.leaves, arguments.dues) if isinstance(due, InProgram)]
    if not given or not outs or not all(type(x) is JaxprTracer for x in outs):
        return None
    if any(x is y for x in outs for y in given):
        return None
    jaxpr, consts, out_tree = traced_like(function, arguments, out)
    # Arrays among the arguments are tracers here: it may not have looked at their values.
    if consts or operations(jaxpr.eqns) != operations(recorded):
        return None
    template = Template(jaxpr, out_tree)
    layout = Layout(len(arguments.leaves), [], [], 0, None, 0, False)
    return known_calls.make_call(
        layout, [], Result(FORM_FINISHED, template), arguments.args, arguments.kwargs,
        arguments.leaves, arguments.dues, arguments.roles.is_leaf,
    )  # fmt: skip


def operations(eqns: Sequence[JaxprEqn]) -> list[Any]:
    """What equations do, without what they do it to."""
    return [(e.primitive, params_key(e.params), [v.aval for v in e.outvars]) for e in eqns]


class Template:
    """Equations between values that have numbers: operands first, then outputs in order."""

    __slots__ = ("_steps", "_outs", "_unflatten")

    def __init__(self, jaxpr: Jaxpr, out_tree: tree.PyTreeDef):
        number: dict[Var, int] = {}
        for v in jaxpr.invars:
            number[v] = len(number)
        self._steps = []
        for e in jaxpr.eqns:
            operands = [a if isinstance(a, Literal) else number[a] for a in e.invars]
            for v in e.outvars:
                number[v] = len(number)
            self._steps.append((operands, e.primitive, e.params, [v.aval for v in e.outvars]))
        # Outputs are what equations give: the function gave no operand and no scalar back.
        self._outs = [number[v] for v in jaxpr.outvars if isinstance(v, Var)]
        self._unflatten = None if tree.treedef_is_leaf(out_tree) else out_tree.unflatten

    def __call__(self, trace: JaxprTrace, operands: Sequence[Any]) -> Any:
        """Record the equations; what the function gives."""
        values: list[Any] = [trace.atom(x) for x in operands]
        source = user_source()
        for numbers, primitive, params, avals in self._steps:
            invars: list[Any] = [values[a] if type(a) is int else a for a in numbers]
            outvars = [Var(aval) for aval in avals]
            trace.eqns.append(JaxprEqn(invars, outvars, primitive, params, source))
            values += outvars
        if self._unflatten is None:
            return JaxprTracer(trace, values[self._outs[0]], source)
        return self._unflatten([JaxprTracer(trace, values[n], source) for n in self._outs])
