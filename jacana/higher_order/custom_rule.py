"""Functions that bring a rule of their own: how each kind of trace runs them.

Outside of a jaxpr such a function is no equation: it runs as plain Python, and its rule runs in its
place where it is differentiated, so both may look at concrete values. Staging makes an equation of
it that keeps the rule as a param.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from jacana.core.evaluate import evaluate
from jacana.core.jaxpr import ClosedJaxpr, Jaxpr
from jacana.core.stage import JaxprTrace, stage
from jacana.core.trace import ConcreteTrace, Trace, Tracer, current, set_current
from jacana.core.values import aval_of
from jacana.transforms.batch import BatchTrace, BatchTracer, batch, to_axis, with_axis
from jacana.transforms.derived import evaluated, kept
from jacana.transforms.eager_tape import EagerTape
from jacana.transforms.jet import JetTrace
from jacana.transforms.jvp import JVPTrace
from jacana.transforms.linearize import Tape

Flat = Callable[..., list[Any]]


class Named:
    """A function with the name that a printed program shows."""

    __slots__ = ("function", "__name__")

    def __init__(self, function: Callable[..., Any], name: str):
        self.function, self.__name__ = function, name

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.function(*args, **options)


class CustomFunction(Protocol):
    """A flat function and its rule."""

    function: Flat

    def differentiate(self, primals: list[Any], tangents: list[Any]) -> tuple[list[Any], list[Any]]:
        """Outputs and their tangents (None: zero), by the rule."""

    def run_batch(
        self, trace: BatchTrace, values: list[Any], axes: list[int | None]
    ) -> tuple[list[Any], list[int | None]]:
        """Outputs for values with batch axes, and theirs, under the trace's parent."""

    def record(self, trace: JaxprTrace, args: Sequence[Any]) -> list[Any]:
        """The outputs of an equation for it."""


def run(custom: CustomFunction, args: Sequence[Any]) -> list[Any]:
    """The outputs under the current trace."""
    return run_under(current(), custom, args)


def run_under(trace: Trace, custom: CustomFunction, args: Sequence[Any]) -> list[Any]:
    mine = any(isinstance(x, Tracer) and x._trace is trace for x in args)
    if isinstance(trace, JVPTrace):
        if not mine:
            return run_under(trace.parent, custom, args)
        return trace.call(custom.differentiate, args)
    if isinstance(trace, BatchTrace):
        if not mine and trace.axis_name is None:
            return run_under(trace.parent, custom, args)
        outs, out_axes = custom.run_batch(trace, *trace.split(args))
        pairs = zip(outs, out_axes, strict=True)
        return [o if a is None else BatchTracer(trace, o, a) for o, a in pairs]
    if isinstance(trace, JetTrace):
        if not mine:
            return run_under(trace.parent, custom, args)
        # As an equation, so that its rule makes the series.
        program, consts = staged(lambda *xs: run(custom, xs), args, "jet")
        with set_current(trace):
            return evaluate(program.jaxpr, (), [*consts, *args])
    if isinstance(trace, Tape | EagerTape) and not mine:
        return run_under(trace.parent, custom, args)
    if isinstance(trace, ConcreteTrace):
        return run_under(trace.receiver(args), custom, args)
    with set_current(trace):
        # On a tape the function is applied to tangents, which it is linear in: it runs as it is.
        if isinstance(trace, JaxprTrace) and not isinstance(trace, Tape):
            return custom.record(trace, args)
        return custom.function(*args)


def staged(function: Flat, args: Sequence[Any], name: str) -> tuple[ClosedJaxpr, list[Any]]:
    """The function's jaxpr with what it captures as its first inputs, and those values."""
    return hoisted(*stage(function, [aval_of(x) for x in args], name))


def batched_function(function: Flat, size: int, axes: Sequence[int | None], name: Any) -> Flat:
    """A flat function over one more axis, which is the first of every output."""

    def run_batched(*args: Any) -> list[Any]:
        outs, found = batch(function, size, args, axes, name)
        return [to_axis(o, a, 0, size) for o, a in zip(outs, found, strict=True)]

    return run_batched


def batched_program(
    jaxpr: Jaxpr, size: int, axes: tuple[int | None, ...], name: Any
) -> tuple[ClosedJaxpr, list[Any]]:
    """A program over one more axis, the first of every output, and values of its first inputs."""

    def make() -> tuple[ClosedJaxpr, list[Any]]:
        avals = [with_axis(v, size, a) for v, a in zip(jaxpr.in_avals, axes, strict=True)]
        function = batched_function(evaluated(jaxpr), size, axes, name)
        return hoisted(*stage(function, avals, jaxpr.debug_name))

    return kept(jaxpr, ("batch all", size, axes, name), make)


def hoisted(jaxpr: Jaxpr, consts: list[Any]) -> tuple[ClosedJaxpr, list[Any]]:
    """The program with its constants as its first inputs, and their values."""
    return ClosedJaxpr(jaxpr.with_constvars_as_inputs()), consts
