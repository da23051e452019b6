"""at_length: a program with room for as many steps as an operand says when it runs.

There is a program for each length, a power of two, made and compiled when it is first needed. So
what a loop of unknown length must remember for reverse mode is an array like any other, and the
rules of scan are its derivatives, of any order; nothing of it leaves the operation.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from jacana.core.avals import ShapedArray
from jacana.core.evaluate import evaluate, evaluate_reference
from jacana.core.jaxpr import ClosedJaxpr, Jaxpr
from jacana.core.primitive import Inapplicable, Linear, Primitive
from jacana.transforms.batch import BatchTrace, batch_program
from jacana.transforms.derived import Runner, closed
from jacana.transforms.jvp import jvp_program
from jacana.transforms.linearize import linearize_programs
from jacana.transforms.transpose import transpose_program

# No program is run at this length; it stands for all of them where types and forms are asked for.
EXAMPLE = 32749


class Lengths:
    """Programs that differ in the length of their loops alone; equal if they are at one length."""

    def __init__(self, make: Callable[[int], ClosedJaxpr]):
        self._make = make
        self._programs: dict[int, ClosedJaxpr] = {}
        self._runners: dict[int, Runner] = {}
        self._derived: dict[Any, Lengths] = {}

    def at(self, length: int) -> ClosedJaxpr:
        if length not in self._programs:
            self._programs[length] = self._make(length)
        return self._programs[length]

    @property
    def example(self) -> Jaxpr:
        return self.at(EXAMPLE).jaxpr

    def derive(self, key: Any, change: Callable[[Jaxpr, int], ClosedJaxpr]) -> "Lengths":
        """change(program, captured) at each length, where the first inputs are captured values."""

        def make(length: int) -> ClosedJaxpr:
            program = self.at(length)
            made = change(program.jaxpr.with_constvars_as_inputs(), len(program.consts))
            if not program.consts:
                return made
            inputs = ClosedJaxpr(made.jaxpr.with_constvars_as_inputs())
            return inputs.with_consts([*made.consts, *program.consts])

        if key not in self._derived:
            self._derived[key] = Lengths(make)
        return self._derived[key]

    def run(self, count: Any, *args: Any) -> list[Any]:
        """The outputs, at the first length that has room for the count."""
        length = room_for(count)
        if length not in self._runners:
            self._runners[length] = Runner(self.at(length))
        return self._runners[length]([count, *args])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lengths) and self.at(EXAMPLE).key == other.at(EXAMPLE).key

    def __hash__(self) -> int:
        return hash(self.at(EXAMPLE).key)


def room_for(count: Any) -> int:
    """The smallest power of two that is no less than any of the counts."""
    most = int(np.max(count, initial=1))
    return 1 << (most - 1).bit_length()


class AtLength(Primitive):
    """The outputs of `programs`, of the count (or counts) and the other operands."""

    name = "at_length"
    multiple_results = True
    jvp = Inapplicable("jvp_rule differentiates the program of each length")
    batch = Inapplicable("batch_rule batches the program of each length")

    def type_rule(self, *xs: ShapedArray, programs: Lengths) -> list[ShapedArray]:
        return programs.example.out_avals

    def reference(self, count: Any, *xs: Any, programs: Lengths) -> list[Any]:
        return evaluate_reference(programs.at(room_for(count)), count, *xs)

    def effects(self, params: dict[str, Any]) -> frozenset[str]:
        return params["programs"].example.effects  # type: ignore[no-any-return]

    def axis_names(self, params: dict[str, Any]) -> tuple[Any, ...]:
        return params["programs"].example.axis_names  # type: ignore[no-any-return]

    def work(
        self, operands: list[ShapedArray], outs: list[ShapedArray], params: dict[str, Any]
    ) -> float:
        return params["programs"].example.work  # type: ignore[no-any-return]

    def jvp_rule(
        self, primals: list[Any], tangents: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        programs, nonzero = params["programs"], tuple(t is not None for t in tangents)
        made = programs.derive(
            ("jvp", nonzero), lambda j, n: jvp_program(j, (*[False] * n, *nonzero))[0]
        )
        _, out_nonzero = jvp_program(*flagged(programs, nonzero))
        outs = self(*primals, *[t for t in tangents if t is not None], programs=made)
        n = len(programs.example.outvars)
        rest = iter(outs[n:])
        return outs[:n], [next(rest) if nz else None for nz in out_nonzero]

    def linearize_rule(
        self, primals: list[Any], nonzero: list[bool], params: dict[str, Any]
    ) -> tuple[list[Any], Callable[[list[Any]], list[Any]]]:
        outs = self(*primals, **params)
        return outs, partial(self.record, params["programs"], primals, tuple(nonzero))

    def record(
        self, programs: Lengths, primals: Sequence[Any], nonzero: tuple[bool, ...],
        tangents: list[Any],
    ) -> list[Any]:  # fmt: skip
        """The tangents of the outputs, from the operands' nonzero ones: the rest is run again."""
        found = linearize_programs(*flagged(programs, nonzero)).nonzero
        if not any(found):
            return [None] * len(found)
        made = programs.derive(("tangent", nonzero), lambda j, n: tangent_part(j, n, nonzero))
        outs = iter(self(*primals, *tangents, programs=made))
        return [next(outs) if nz else None for nz in found]

    def transpose(self, cts: list[Any], *xs: Any, programs: Lengths) -> list[Any]:
        linear = tuple(isinstance(x, Linear) for x in xs)
        nonzero = tuple(ct is not None for ct in cts)
        made = programs.derive(
            ("transpose", linear, nonzero),
            lambda j, n: transpose_program(j, (*[False] * n, *linear), nonzero)[0],
        )
        jaxpr, flags = flagged(programs, linear)
        found = transpose_program(jaxpr, flags, nonzero)[1][len(flags) - len(linear) :]
        known = [x for x, is_linear in zip(xs, linear, strict=True) if not is_linear]
        outs = iter(self(*known, *[ct for ct in cts if ct is not None], programs=made))
        return [next(outs) if f else None for f in found]

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        programs, size, name = params["programs"], trace.size, trace.axis_name
        given = tuple(axes)
        made = programs.derive(
            ("batch", size, given, name),
            lambda j, n: batch_program(j, size, (*[None] * n, *given), name)[0],
        )
        captured = len(programs.at(EXAMPLE).consts)
        example = programs.example.with_constvars_as_inputs()
        out_axes = batch_program(example, size, (*[None] * captured, *given), name)[1]
        return self(*values, programs=made), list(out_axes)

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"programs": params["programs"].at(EXAMPLE)}

    def lower(self, build: Any, *xs: Any, programs: Lengths) -> Any:
        outputs = [(a.shape, a.dtype) for a in programs.example.out_avals]
        return build.host(programs.run, outputs, xs, effects=bool(programs.example.effects))


def flagged(programs: Lengths, flags: tuple[bool, ...]) -> tuple[Jaxpr, tuple[bool, ...]]:
    """The example as a program of captured values and operands, and flags for all of these."""
    captured = len(programs.at(EXAMPLE).consts)
    return programs.example.with_constvars_as_inputs(), (*[False] * captured, *flags)


def tangent_part(jaxpr: Jaxpr, captured: int, nonzero: tuple[bool, ...]) -> ClosedJaxpr:
    """(inputs, nonzero tangents) -> nonzero tangents of outputs, by the residuals of the inputs."""
    halves = linearize_programs(jaxpr, (*[False] * captured, *nonzero))
    count = len(jaxpr.invars)

    def run(*args: Any) -> list[Any]:
        outs = evaluate(halves.primal.jaxpr, halves.primal.consts, args[:count])
        values = [*args[:count], *outs]
        given = [*[values[p] for p in halves.places], *args[count:]]
        return evaluate(halves.tangent.jaxpr, halves.tangent.consts, given)

    avals = jaxpr.in_avals[captured:]
    tangents = [a.to_tangent_aval() for a, nz in zip(avals, nonzero, strict=True) if nz]
    return closed(run, [*jaxpr.in_avals, *tangents])


at_length = AtLength()
