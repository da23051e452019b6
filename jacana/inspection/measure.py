"""How long each command of a program takes when it runs alone, on the program's own data."""

import time
from collections.abc import Sequence
from statistics import median

from jacana.compiler.commands import Program
from jacana.compiler.cost import slot_sizes
from jacana.runtime import executor
from jacana.runtime.array import Array
from jacana.runtime.buffer import allocate
from jacana.runtime.executable import Executable

# How long to measure, and how often at most.
SECONDS, RUNS = 0.5, 50


def command_seconds(program: Program, arrays: Sequence[Array]) -> list[float]:
    """The median seconds of each command, over several runs of all of them in order."""
    if not program.commands:
        return []
    executable = Executable(program)
    sizes = slot_sizes(program)
    n = len(program.inputs)
    slots = sorted(s for s in sizes if s >= n)
    where = {**{i: i for i in range(n)}, **{s: n + k for k, s in enumerate(slots)}}
    buffers = [allocate(max(1, sizes[s])) for s in slots]
    addresses = [*[a.address for a in arrays], *[b.address for b in buffers]]
    runs = []
    for command in program.commands:
        record = executable.record(command, where)
        alone = executor.Program([record], len(addresses), release_gil=True, keep=executable)
        runs.append(alone.run)
    times: list[list[float]] = [[] for _ in runs]
    end = time.perf_counter() + SECONDS
    for done in range(RUNS + 1):
        for run, found in zip(runs, times):
            start = time.perf_counter()
            run(addresses)
            found.append(time.perf_counter() - start)
        if done and time.perf_counter() > end:
            break
    return [median(found[1:]) for found in times]
