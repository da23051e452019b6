"""Linearize: run a function, and record the linear map that its tangents go through as a jaxpr.

It is forward mode over a tape: operations on tangents are recorded, all others are the parent's.
So a rule such as `mul(t, cos(x))` computes cos(x) now and records one multiplication by it.
Un-jitted code has the same done once for each kind of operation, by programs (EagerTape).
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jacana.core.avals import ShapedArray
from jacana.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, Literal
from jacana.core.primitive import Primitive
from jacana.core.stage import JaxprTrace, JaxprTracer
from jacana.core.trace import BaseTrace, Tracer, base_trace, current, swap_current
from jacana.core.values import aval_of
from jacana.transforms.derived import Cache, Runner, closed, evaluated, kept, one_equation
from jacana.transforms.eager_tape import EagerTape, TapeEntry, TapeTracer
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
    the residuals. Where `is_shared`, it is one object for all functions of the same form.
    """

    outs: list[Any]
    jaxpr: Jaxpr
    residuals: list[Any]
    nonzero: list[bool]
    is_shared: bool


def linearize(
    function: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    chosen: Sequence[bool] | None = None,
    outputs: Callable[[], int] | None = None,
) -> Linearized:
    """The linearization of a flat function in its chosen inputs (all differentiable ones).

    `outputs()`, asked after the function has run, is how many of its outputs are differentiated.
    """
    parent = current()
    # Native calls of un-jitted derivatives do not see where a tracer's value is.
    if parent is base_trace and not (ShapedArray.any_placed() and any_is_placed(primals)):
        return linearize_eagerly(function, primals, chosen, outputs)
    tape = Tape(parent=parent)
    trace = LinearizeTrace(tape)
    args = []
    for i, p in enumerate(primals):
        if (chosen is None or chosen[i]) and has_tangents(p):
            args.append(JVPTracer(trace, p, tape.add_arg(aval_of(p).to_tangent_aval())))
        else:
            args.append(p)
    try:
        outs, tangents = run_jvp(trace, function, args)
        if outputs is not None:
            del tangents[outputs() :]
        jaxpr, residuals = tape.finish([t for t in tangents if t is not None])
    finally:
        tape.alive = False
    return Linearized(outs, jaxpr, residuals, [t is not None for t in tangents], False)


def any_is_placed(values: Sequence[Any]) -> bool:
    """Whether a value is an array with a sharding of its own."""
    avals = [getattr(x, "aval", None) for x in values]
    return any(a is not None and a.sharding is not None for a in avals)


# --- linearized programs ---


class Halves(NamedTuple):
    """A program's linearization as two programs, and how they fit."""

    primal: ClosedJaxpr
    """Inputs -> outputs, then residuals that are neither."""
    tangent: ClosedJaxpr
    """Residuals, tangents of inputs -> nonzero tangents of outputs."""
    nonzero: list[bool]
    """Which outputs have tangents."""
    places: list[int]
    """Where each residual is among the inputs and outputs of the first."""


def linearize_programs(jaxpr: Jaxpr, nonzero: tuple[bool, ...]) -> Halves:
    """A program linearized in the inputs with nonzero tangents."""

    def make() -> Halves:
        found: list[Linearized] = []

        def run(*args: Any) -> list[Any]:
            result = linearize(evaluated(jaxpr), args, nonzero)
            found.append(result)
            return [*result.outs, *result.residuals]

        whole = closed(run, jaxpr.in_avals)
        primal, places = without_repeats(whole.jaxpr, len(jaxpr.outvars))
        linear = found[0]
        tangent = ClosedJaxpr(linear.jaxpr.with_constvars_as_inputs())
        return Halves(ClosedJaxpr(primal, whole.consts), tangent, linear.nonzero, places)

    return kept(jaxpr, ("linearize", nonzero), make)


def without_repeats(jaxpr: Jaxpr, count: int) -> tuple[Jaxpr, list[int]]:
    """The program without the outputs after `count` that are inputs or other outputs already.

    Also where each of those outputs is among the inputs and outputs that are left.
    """
    outs = jaxpr.outvars[:count]
    place_of: dict[Atom, int] = {}
    for place, atom in enumerate((*jaxpr.invars, *outs)):
        place_of.setdefault(atom, place)
    places = []
    for atom in jaxpr.outvars[count:]:
        if isinstance(atom, Literal) or atom not in place_of:
            place_of[atom] = len(jaxpr.invars) + len(outs)
            outs.append(atom)
        places.append(place_of[atom])
    return Jaxpr(jaxpr.constvars, jaxpr.invars, outs, jaxpr.eqns, jaxpr.debug_name), places


# --- un-jitted code ---


class LinearizedOperation:
    """One operation on operands of certain types, linearized: a program that runs at once, and
    what it adds to a tape.
    """

    __slots__ = ("run", "entry", "nonzero", "places")

    def __init__(
        self,
        primitive: Primitive,
        avals: tuple[ShapedArray, ...],
        params: dict[str, Any],
        nonzero: tuple[bool, ...],
    ):
        jaxpr = one_equation(primitive, avals, params)
        halves = linearize_programs(jaxpr, nonzero)
        self.run = Runner(halves.primal)
        self.entry = TapeEntry(halves.tangent)
        self.nonzero, self.places = halves.nonzero, halves.places


linearized_operations = Cache(LinearizedOperation)


class TapedTracer(Tracer):
    """A value of un-jitted code whose tangent is the variable of a number on a tape."""

    __slots__ = ("primal", "number")
    _trace: "EagerLinearizeTrace"

    def __init__(self, trace: "EagerLinearizeTrace", primal: Any, aval: ShapedArray, number: int):
        self._trace, self.primal, self.aval, self.number = trace, primal, aval, number

    @property
    def tangent(self) -> TapeTracer:
        return TapeTracer(self._trace.parent, self.number)

    def concrete(self) -> Any:
        return self.primal


class EagerLinearizeTrace(JVPTrace):
    """Forward mode of un-jitted code whose tangents are variables of a tape."""

    __slots__ = ()
    parent: EagerTape

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        primals, avals, mask, numbers = [], [], [], []
        for x in args:
            if type(x) is TapedTracer and x._trace is self:
                primals.append(x.primal)
                avals.append(x.aval)
                mask.append(True)
                numbers.append(x.number)
            elif type(x) is JVPTracer and x._trace is self:
                return JVPTrace.process(self, primitive, args, params)
            else:
                primals.append(x)
                avals.append(aval_of(x))
                mask.append(False)
        if not numbers:
            return base_trace.process(primitive, args, params)
        how = linearized_operations.get(primitive, tuple(avals), params, tuple(mask))
        outs = how.run(primals)
        # Inputs and outputs, among which residuals are found by their places.
        values = primals + outs
        residuals = [values[i] for i in how.places]
        results = self.record(how.entry, how.nonzero, outs, residuals, numbers)
        return results if primitive.multiple_results else results[0]

    def record(
        self,
        entry: TapeEntry,
        nonzero: Sequence[bool],
        outs: Sequence[Any],
        residuals: Sequence[Any],
        numbers: Sequence[int],
    ) -> list[Any]:
        """The outputs, of which those with nonzero tangents are variables from now on."""
        if not entry.out_avals:
            return list(outs[: len(nonzero)])
        tape = self.parent
        number = len(tape.avals)
        tape.avals += entry.out_avals
        tape.entries.append((entry, residuals, tuple(numbers)))
        results = []
        for out, is_nonzero in zip(outs, nonzero):
            if is_nonzero:
                out = TapedTracer(self, out, out.aval.plain, number)
                number += 1
            results.append(out)
        return results

    def split(self, args: Sequence[Any]) -> tuple[list[Any], list[Any], bool]:
        primals, tangents, mine = [], [], False
        for x in args:
            if type(x) in (TapedTracer, JVPTracer) and x._trace is self:
                mine = True
                primals.append(x.primal)
                tangents.append(x.tangent)
            else:
                primals.append(x)
                tangents.append(None)
        return primals, tangents, mine

    def join(self, outs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        results = []
        for out, t in zip(outs, tangents, strict=True):
            if type(t) is TapeTracer and t._trace is self.parent:
                out = TapedTracer(self, out, aval_of(out), t.number)
            elif t is not None:
                # A rule gave a value that does not depend on the tape.
                out = JVPTracer(self, out, t)
            results.append(out)
        return results


def linearize_eagerly(
    function: Callable[..., Sequence[Any]],
    primals: Sequence[Any],
    chosen: Sequence[bool] | None = None,
    outputs: Callable[[], int] | None = None,
) -> Linearized:
    """As `linearize`, of un-jitted code: nothing is traced if the tape has a form met before."""
    tape = EagerTape()
    trace = EagerLinearizeTrace(tape)
    args, variables = [], []
    for i, p in enumerate(primals):
        aval = aval_of(p)
        if aval.is_differentiable and (chosen is None or chosen[i]):
            variables.append(p)
            value = p if hasattr(p, "aval") else BaseTrace.to_array(p)
            p = TapedTracer(trace, value, aval, tape.add_arg(aval))
        args.append(p)
    previous = swap_current(trace)
    try:
        outs = function(*args)
    finally:
        swap_current(previous)
        trace.alive = tape.alive = False
    values, tangents, nonzero = [], [], []
    tangent: Any
    count = len(outs) if outputs is None else outputs()
    for i, o in enumerate(outs):
        kind = type(o)
        if kind is TapedTracer and o._trace is trace:
            # An argument is given back as it came.
            given = o.number < len(variables)
            values.append(variables[o.number] if given else o.primal)
            tangent = o.number
        elif kind is JVPTracer and o._trace is trace:
            values.append(o.primal)
            tangent = o.tangent
        else:
            values.append(o)
            tangent = None
        if i < count:
            nonzero.append(tangent is not None)
            if tangent is not None:
                tangents.append(tangent)
    jaxpr, residuals = tape.finish(tangents)
    return Linearized(values, jaxpr, residuals, nonzero, tape.is_shared)
