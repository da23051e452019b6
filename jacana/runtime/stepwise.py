"""Stepwise: a program run one command at a time, with the time that each takes."""

import time
from collections.abc import Sequence

from jacana.compiler.commands import Program
from jacana.runtime import calls, executor
from jacana.runtime.array import Array
from jacana.runtime.buffer import Buffer, allocate
from jacana.runtime.executable import Executable


class Stepwise:
    """A program whose commands are programs of their own, over buffers that are all apart."""

    def __init__(self, program: Program) -> None:
        self.program = program
        n = len(program.inputs)
        self._sizes = [
            *[(slot, aval.nbytes) for slot, aval in program.computed], *program.temporary_sizes
        ]  # fmt: skip
        where = {**{i: i for i in range(n)}, **{s: n + k for k, (s, _) in enumerate(self._sizes)}}
        given = n + len(self._sizes)
        executable = Executable(program)
        self._runs = [
            executor.Program(
                [executable.record(c, where)], given, release_gil=True, keep=executable
            ).run
            for c in program.commands
        ]  # fmt: skip

    def run(self, arrays: Sequence[Array]) -> tuple[list[Array], list[tuple[int, int]]]:
        """The results, and when each command began and ended (perf_counter_ns)."""
        calls.check_arrays(arrays, len(self.program.inputs))
        buffers: dict[int, Buffer] = {slot: allocate(size) for slot, size in self._sizes}
        addresses = [*[a.address for a in arrays], *[b.address for b in buffers.values()]]
        times = []
        for run in self._runs:
            start = time.perf_counter_ns()
            run(addresses)
            times.append((start, time.perf_counter_ns()))
        made = {slot: Array(aval, buffers[slot]) for slot, aval in self.program.computed}
        return [made[s] if s in made else arrays[s] for s in self.program.results], times
