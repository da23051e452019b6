"""What `inspect` finds out: a function's program, command by command, and what each costs."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana.api.jit import Jitted, jit
from jacana.compiler import pipeline
from jacana.compiler.commands import (
    Command,
    ControlCommand,
    HostCommand,
    KernelCommand,
    LibraryCommand,
    Program,
)
from jacana.compiler.compile import compile_jaxpr
from jacana.compiler.cost import command_cost, slot_sizes, touched
from jacana.compiler.titles import title_of
from jacana.core.jaxpr import ClosedJaxpr, Jaxpr
from jacana.core.records import record
from jacana.core.show import show
from jacana.inspection.measure import command_seconds
from jacana.inspection.page import write_page
from jacana.kernel.show import show as show_kernel
from jacana.runtime.array import to_array


@record
class Step:
    """One command: what it is, what it reads and writes (slots), and what it costs."""

    number: int
    kind: str
    title: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    nbytes: int
    flops: float
    seconds: float
    share: float
    code: str


class Inspection:
    """A function's way from jaxpr to machine code for arguments of certain types.

    As text it is a report; `html(path)` writes the same as one page with a picture.
    """

    def __init__(
        self, name: str, stages: list[tuple[str, str]], program: Program, steps: list[Step]
    ) -> None:
        self.name, self.stages, self.program, self.steps = name, stages, program, steps
        self.labels = labels(program)
        self.seconds = sum(s.seconds for s in steps)

    @property
    def jaxpr(self) -> str:
        """The function as it was traced."""
        return self.stages[0][1]

    def why_stored(self, slot: int) -> str:
        """Why the value in a buffer is in memory instead of being computed where it is read."""
        if slot < len(self.program.inputs):
            return "an input"
        if slot in self.program.results:
            return "a result"
        readers = [s for s in self.steps if slot in s.reads and slot not in s.writes]
        whole = [s for s in readers if s.kind != "kernel"]
        if whole:
            return f"command {whole[0].number} ({whole[0].title}) needs it in memory"
        if len(readers) > 1:
            numbers = ", ".join(str(s.number) for s in readers)
            return f"commands {numbers} read it; computing it in each would cost more"
        if readers:
            return (
                f"command {readers[0].number} reads an element more than once, or its threads "
                f"share the work of it; computing it there would cost more"
            )
        return "the command writes it beside its other results"

    def __str__(self) -> str:
        parts = [f"inspection of {self.name}", *self._stage_texts(), self._summary()]
        parts += [f"--- command {s.number}: {s.title}\n{s.code}" for s in self.steps if s.code]
        return "\n\n".join(part.rstrip() for part in parts) + "\n"

    __repr__ = __str__

    def _stage_texts(self) -> list[str]:
        return [f"--- {name}\n{text}" for name, text in self.stages]

    def _summary(self) -> str:
        head = f"--- commands ({self.seconds * 1e6:.1f} us when each runs alone)"
        rows = [("", "command", "reads", "writes", "bytes", "flops", "time", "share")]
        for s in self.steps:
            rows.append((
                str(s.number), s.title, self._names(s.reads), self._names(s.writes),
                f"{s.nbytes:,}", f"{s.flops:,.0f}", f"{s.seconds * 1e6:.1f} us", f"{s.share:.0%}",
            ))  # fmt: skip
        stored = [
            f"{self.labels[slot]} is stored: {self.why_stored(slot)}"
            for slot in self.labels
            if slot >= len(self.program.inputs)
        ]
        return "\n".join([head, table(rows), *stored])

    def _names(self, slots: Sequence[int]) -> str:
        return " ".join(self.labels.get(s, "?") for s in slots)

    def html(self, path: str) -> None:
        """Write the report as one self-contained page."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(write_page(self))


def inspect(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Inspection:
    """How a function is compiled for these arguments, and what each part of it costs.

    Arrays that are given as ShapeDtypeStruct are zeros while the time is measured.
    """
    jitted = fun if isinstance(fun, Jitted) else jit(fun)
    _, leaves, _ = jitted._key(args, kwargs)
    traced = jitted.trace(*args, **kwargs)
    jaxpr = traced._jaxpr.jaxpr
    program = compile_jaxpr(jaxpr)
    arrays = [to_array(_concrete(x)) for x in (*traced._consts, *leaves)]
    seconds = command_seconds(program, arrays)
    return Inspection(traced.fun_name, stages_of(jaxpr), program, steps_of(program, seconds))


def _concrete(value: Any) -> Any:
    return value if hasattr(value, "__array__") or np.isscalar(value) else np.zeros(
        value.shape, value.dtype
    )  # fmt: skip


def stages_of(jaxpr: Jaxpr) -> list[tuple[str, str]]:
    """The jaxpr as it was traced, and as it is after the passes."""
    found: list[tuple[str, str]] = []
    pipeline.run_passes(jaxpr, lambda name, j: found.append((name, show(ClosedJaxpr(j)))))
    return [("jaxpr", found[0][1]), ("jaxpr after all passes", found[-1][1])]


def steps_of(program: Program, seconds: Sequence[float]) -> list[Step]:
    sizes = slot_sizes(program)
    total = sum(seconds) or 1.0
    steps = []
    for i, (command, spent) in enumerate(zip(program.commands, seconds, strict=True)):
        cost = command_cost(command, sizes)
        reads, writes = touched(command)
        steps.append(Step(
            i, kind_of(command), title_of(command), tuple(sorted(reads)), tuple(sorted(writes)),
            cost.bytes_read + cost.bytes_written, cost.flops, spent, spent / total,
            code_of(command),
        ))  # fmt: skip
    return steps


def kind_of(command: Command) -> str:
    kinds = {
        KernelCommand: "kernel", LibraryCommand: "library", HostCommand: "Python",
        ControlCommand: "control",
    }  # fmt: skip
    return kinds[type(command)]


def code_of(command: Command) -> str:
    """The loop program of a kernel, or those of the kernels in a loop or branch."""
    match command:
        case KernelCommand() if command.kernel is not None:
            return f"params {list(command.params)}\n{show_kernel(command.kernel)}"
        case ControlCommand():
            inner = [c for p in command.programs for c in p.commands]
            return "\n".join(f"{title_of(c)}\n{code_of(c)}".rstrip() for c in inner)
    return ""


def labels(program: Program) -> dict[int, str]:
    """A name and type for each buffer that a command touches."""
    found = {i: f"in{i}:{aval.str_short(True)}" for i, aval in enumerate(program.inputs)}
    for k, (slot, aval) in enumerate(program.computed):
        found[slot] = f"out{k}:{aval.str_short(True)}"
    for k, (slot, nbytes) in enumerate(program.temporary_sizes):
        found[slot] = f"t{k}:{nbytes:,}B"
    return found


def table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip() for row in rows)
