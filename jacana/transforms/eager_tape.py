"""The tape of un-jitted code: which linear programs its tangents go through, and their residuals.

Nothing is traced while it is recorded. A tape of the same form as an earlier one becomes the same
jaxpr, so its transpose is derived and compiled once.
"""

from collections.abc import Sequence
from typing import Any

from jacana.core.avals import ShapedArray
from jacana.core.evaluate import evaluate
from jacana.core.jaxpr import ClosedJaxpr, Jaxpr
from jacana.core.primitive import Primitive
from jacana.core.stage import JaxprTrace
from jacana.core.trace import Trace, Tracer, base_trace, set_current
from jacana.core.values import aval_of
from jacana.transforms.derived import LIMIT, Cache, one_equation

# (entries, inputs, outputs) -> jaxpr
_jaxprs: dict[Any, Jaxpr] = {}


class TapeEntry:
    """A linear program: (residuals, tangents) -> tangents."""

    __slots__ = ("program", "out_avals")

    def __init__(self, program: ClosedJaxpr):
        self.program = program
        self.out_avals = program.out_avals


class TapeTracer(Tracer):
    """A tangent: the variable of that number."""

    __slots__ = ("number",)

    def __init__(self, tape: "EagerTape", aval: ShapedArray, number: int):
        self._trace, self.aval, self.number = tape, aval, number


class EagerTape(Trace):
    """Records linear programs; what does not depend on its variables runs at once."""

    __slots__ = ("is_shared", "_arguments", "_entries", "_residuals", "_place_of", "_count")

    # Operations that do not concern it run at once.
    parent = base_trace

    def __init__(self) -> None:
        super().__init__()
        # Whether tapes of this form become one jaxpr, whose transpose may be compiled.
        self.is_shared = True
        self._arguments: list[ShapedArray] = []
        self._entries: list[Any] = []
        self._residuals: list[Any] = []
        self._place_of: dict[int, int] = {}
        self._count = 0

    def add_arg(self, aval: ShapedArray) -> TapeTracer:
        assert not self._entries
        self._arguments.append(aval)
        self._count += 1
        return TapeTracer(self, aval, self._count - 1)

    def add(
        self, entry: TapeEntry, tangents: Sequence[TapeTracer], residuals: Sequence[Any]
    ) -> list[TapeTracer]:
        """The tangents that a linear program gives."""
        places = [self._place(r) for r in residuals]
        first = self._count
        outs = [TapeTracer(self, a, first + i) for i, a in enumerate(entry.out_avals)]
        self._count = first + len(outs)
        self._entries.append((entry, tuple(places), tuple([t.number for t in tangents])))
        return outs

    def _place(self, residual: Any) -> int:
        place = self._place_of.get(id(residual))
        if place is None:
            place = self._place_of[id(residual)] = len(self._residuals)
            self._residuals.append(residual)
        return place

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        mine = tuple([type(x) is TapeTracer and x._trace is self for x in args])
        if True not in mine:
            return base_trace.process(primitive, args, params)
        avals = tuple([aval_of(x) for x in args])
        if primitive.calls_python:
            self.is_shared = False
            entry = _recorded(primitive, avals, params, mine)
        else:
            entry = recorded_operations.get(primitive, avals, params, mine)
        tangents = [x for x, m in zip(args, mine) if m]
        found = self.add(entry, tangents, [x for x, m in zip(args, mine) if not m])
        return found if primitive.multiple_results else found[0]

    def finish(self, outs: Sequence[Any]) -> tuple[Jaxpr, list[Any]]:
        """The linear program from the arguments to `outs`, and the values of its constvars."""
        ends = tuple(
            [
                (True, t.number) if type(t) is TapeTracer and t._trace is self
                else (False, self._place(t))
                for t in outs
            ]
        )  # fmt: skip
        self.alive = False
        if not self.is_shared:
            return self._jaxpr(ends), self._residuals
        key = (tuple(self._arguments), tuple(self._entries), ends)
        jaxpr = _jaxprs.get(key)
        if jaxpr is None:
            if len(_jaxprs) >= LIMIT:
                _jaxprs.clear()
            jaxpr = _jaxprs[key] = self._jaxpr(ends)
        return jaxpr, self._residuals

    def _jaxpr(self, ends: Sequence[tuple[bool, int]]) -> Jaxpr:
        trace = JaxprTrace("linear", parent=base_trace)
        with set_current(trace):
            residuals = [trace.add_arg(aval_of(r)) for r in self._residuals]
            values: list[Any] = [trace.add_arg(a) for a in self._arguments]
            for entry, places, numbers in self._entries:
                operands = [*[residuals[i] for i in places], *[values[i] for i in numbers]]
                values += evaluate(entry.program.jaxpr, entry.program.consts, operands)
            outs = [values[i] if is_tangent else residuals[i] for is_tangent, i in ends]
            jaxpr, consts = trace.finish(outs)
        assert not consts
        n = len(residuals)
        return Jaxpr(jaxpr.invars[:n], jaxpr.invars[n:], jaxpr.outvars, jaxpr.eqns, "linear")


def _recorded(
    primitive: Primitive,
    avals: tuple[ShapedArray, ...],
    params: dict[str, Any],
    mine: tuple[bool, ...],
) -> TapeEntry:
    """One operation on tangents, as a program of its other operands, then of the tangents."""
    j = one_equation(primitive, avals, params)
    first = [v for v, m in zip(j.invars, mine) if not m]
    last = [v for v, m in zip(j.invars, mine) if m]
    return TapeEntry(ClosedJaxpr(Jaxpr([], [*first, *last], j.outvars, j.eqns)))


recorded_operations = Cache(_recorded)
