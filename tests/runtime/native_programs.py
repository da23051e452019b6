"""Small programs over NumPy arrays, for tests of native functions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana.compiler.library.launch import Launch
from jacana.runtime.executor import Command, Program


def address_of(x: np.ndarray) -> int:
    data: Any = x.__array_interface__["data"]
    return int(data[0])


def run_native(
    function: int, launch: Launch, arrays: Sequence[np.ndarray], release_gil: bool = True
) -> None:
    """Run one native function on whole arrays."""
    command = Command(function, range(len(arrays)), *launch)
    program = Program([command], len(arrays), release_gil=release_gil)
    program.run([address_of(x) for x in arrays])
