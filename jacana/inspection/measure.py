"""How long each command of a program takes when it runs alone, on the program's own data."""

import time
from collections.abc import Sequence
from statistics import median

from jacana.compiler.commands import Program
from jacana.runtime.array import Array
from jacana.runtime.stepwise import Stepwise

# How long to measure, and how often at most.
SECONDS, RUNS = 0.5, 50


def command_seconds(program: Program, arrays: Sequence[Array]) -> list[float]:
    """The median seconds of each command, over several runs of all of them in order."""
    if not program.commands:
        return []
    steps = Stepwise(program)
    steps.run(arrays)
    runs: list[list[float]] = []
    end = time.perf_counter() + SECONDS
    while len(runs) < RUNS and (not runs or time.perf_counter() < end):
        runs.append([(stop - start) * 1e-9 for start, stop in steps.run(arrays)[1]])
    return [median(found) for found in zip(*runs)]
