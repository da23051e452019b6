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

    def __init__(self, tape: "EagerTape", number: int):
        self._trace, self.aval, self.number = tape, tape.avals[number], number


class EagerTape(Trace):
    """Records linear programs; what does not depend on its variables runs at once.

    An entry of its list is a program, residuals, and the numbers of the tangents that it is of.
    """

    __slots__ = ("is_shared", "avals", "entries", "_arguments")

    # Operations that do not concern it run at once.
    parent = base_trace

    def __init__(self) -> None:
        super().__init__()
        # Whether tapes of this form become one jaxpr, whose transpose may be compiled.
        self.is_shared = True
        # Those of all variables: arguments, then what the entries give.
        self.avals: list[ShapedArray] = []
        self.entries: list[tuple[TapeEntry, Sequence[Any], tuple[int, ...]]] = []
        self._arguments = 0

    def add_arg(self, aval: ShapedArray) -> int:
        """The number of another input variable."""
        assert not self.entries
        self.avals.append(aval)
        self._arguments += 1
        return self._arguments - 1

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
        numbers = tuple([x.number for x, m in zip(args, mine) if m])
        first = len(self.avals)
        self.avals += entry.out_avals
        self.entries.append((entry, [x for x, m in zip(args, mine) if not m], numbers))
        found = [TapeTracer(self, number) for number in range(first, len(self.avals))]
        return found if primitive.multiple_results else found[0]

    def finish(self, outs: Sequence[Any]) -> tuple[Jaxpr, list[Any]]:
        """The linear program from the arguments to `outs`, and the values of its constvars.

        An output is the number of a variable, or a value.
        """
        residuals: list[Any] = []
        place_of: dict[int, int] = {}
        entries = []
        for entry, values, numbers in self.entries:
            entries.append((entry, _places(values, residuals, place_of), numbers))
        form = tuple(entries)
        # Numbers are of variables, everything else is a residual.
        ends = tuple(
            [t if type(t) is int else (aval_of(t), _places([t], residuals, place_of)) for t in outs]
        )
        self.alive = False
        arguments = tuple(self.avals[: self._arguments])
        if not self.is_shared:
            return _jaxpr(arguments, form, ends, residuals), residuals
        key = (arguments, form, ends)
        jaxpr = _jaxprs.get(key)
        if jaxpr is None:
            if len(_jaxprs) >= LIMIT:
                _jaxprs.clear()
            jaxpr = _jaxprs[key] = _jaxpr(arguments, form, ends, residuals)
        return jaxpr, residuals


def _places(
    values: Sequence[Any], residuals: list[Any], place_of: dict[int, int]
) -> tuple[int, ...]:
    """Where values are among the residuals, each of which is there once."""
    places = []
    for x in values:
        place = place_of.get(id(x))
        if place is None:
            place = place_of[id(x)] = len(residuals)
            residuals.append(x)
        places.append(place)
    return tuple(places)


def _jaxpr(
    arguments: Sequence[ShapedArray],
    form: Sequence[tuple[TapeEntry, Sequence[int], Sequence[int]]],
    ends: Sequence[Any],
    given: Sequence[Any],
) -> Jaxpr:
    """The program of a tape, whose entries have places of residuals and numbers of tangents."""
    trace = JaxprTrace("linear", parent=base_trace)
    with set_current(trace):
        residuals = [trace.add_arg(aval_of(r)) for r in given]
        values: list[Any] = [trace.add_arg(a) for a in arguments]
        for entry, places, numbers in form:
            operands = [*[residuals[i] for i in places], *[values[i] for i in numbers]]
            values += evaluate(entry.program.jaxpr, entry.program.consts, operands)
        outs = [values[end] if type(end) is int else residuals[end[1][0]] for end in ends]
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
