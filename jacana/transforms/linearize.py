"""Linearize: run a function, and record the linear map that its tangents go through as a jaxpr.

It is forward mode over a Tape: operations on tangents are recorded, all others are the parent's.
So a rule such as `mul(t, cos(x))` computes cos(x) now and records one multiplication by it.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jacana.core.jaxpr import Jaxpr
from jacana.core.primitive import Primitive
from jacana.core.stage import JaxprTrace, JaxprTracer
from jacana.core.trace import current, swap_current
from jacana.core.values import aval_of
from jacana.transforms.jvp import JVPTrace, JVPTracer, has_tangents, run_jvp


class Tape(JaxprTrace):
    """Records what depends on its own variables; the rest is done by the parent."""

    __slots__ = ()

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        for x in args:
            if type(x) is JaxprTracer and x._trace is self:
                return JaxprTrace.process(self, primitive, args, params)
        assert self.parent is not None
        return self.parent.process(primitive, args, params)


class LinearizeTrace(JVPTrace):
    """Forward mode whose tangents are variables of a tape."""

    __slots__ = ()

    def apply(
        self, primitive: Primitive, primals: list[Any], tangents: list[Any], params: dict[str, Any]
    ) -> tuple[Any, Any]:
        rule = primitive.linearize_rule
        if rule is None:
            return JVPTrace.apply(self, primitive, primals, tangents, params)
        # The rule gives the output and a function that records tangents from tangents.
        tape = self.parent
        assert isinstance(tape, Tape) and tape.parent is not None
        swap_current(tape.parent)
        try:
            out, record = rule(primals, [t is not None for t in tangents], params)
        finally:
            swap_current(tape)
        return out, record([t for t in tangents if t is not None])


class Linearized(NamedTuple):
    """A function at a point: its outputs, and the linear map from input to output tangents.

    `jaxpr` maps tangents of the chosen inputs to those of outputs with `nonzero`; its constvars are
    the residuals.
    """

    outs: list[Any]
    jaxpr: Jaxpr
    residuals: list[Any]
    nonzero: list[bool]


def linearize(
    function: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    chosen: Sequence[bool] | None = None,
    outputs: Callable[[], int] | None = None,
) -> Linearized:
    """The linearization of a flat function in its chosen inputs (all differentiable ones).

    `outputs()`, asked after the function has run, is how many of its outputs are differentiated.
    """
    tape = Tape(parent=current())
    trace = LinearizeTrace(tape)
    args = []
    for i, p in enumerate(primals):
        if (chosen is None or chosen[i]) and has_tangents(p):
            args.append(JVPTracer(trace, p, tape.new_arg(aval_of(p).to_tangent_aval())))
        else:
            args.append(p)
    try:
        outs, tangents = run_jvp(trace, function, args)
        if outputs is not None:
            del tangents[outputs() :]
        jaxpr, residuals = tape.finish([t for t in tangents if t is not None])
    finally:
        tape.alive = False
    return Linearized(outs, jaxpr, residuals, [t is not None for t in tangents])
