"""Commands that run other commands: branches, while loops and scans, by native functions.

The inner commands' slots number the outer command's `buffers`. Nothing here knows of jaxprs.
"""

from collections.abc import Sequence
from typing import NamedTuple

from jacana.compiler.llvm import native
from jacana.runtime.executor import Command, Records


class Carry(NamedTuple):
    """A value that a loop hands on: the body reads one inner slot and writes another.

    The first value is in the buffer of `read`, and so is the last one. Both slots may be one if the
    body updates in place.
    """

    read: int
    written: int
    nbytes: int


class Slice(NamedTuple):
    """An inner slot that moves on by some bytes at each step of a scan."""

    slot: int
    step: int


def branch_command(buffers: Sequence[int], branches: Sequence[Records]) -> Command:
    """Run one of the branches: the one whose number is the int32 in the first buffer.

    A number out of range means the nearest branch. The caller keeps the records alive.
    """
    words = [word for records in branches for word in (records.address, records.count)]
    return Command(native.runtime.address("branch"), buffers, (len(branches), *words))


def while_command(
    buffers: Sequence[int], condition: Records, body: Records, carries: Sequence[Carry]
) -> Command:
    """Run `condition`, then `body`, again and again until the first buffer, a bool, is false."""
    programs = (condition.address, condition.count, body.address, body.count)
    params = (len(buffers), *programs, len(carries), *(word for c in carries for word in c))
    return Command(native.runtime.address("while"), buffers, params)


def scan_command(
    buffers: Sequence[int],
    body: Records,
    length: int,
    carries: Sequence[Carry],
    slices: Sequence[Slice],
    reverse: bool = False,
    index: int = -1,
) -> Command:
    """Run `body` `length` times; inner slot `index`, if not -1, gets the step's number as int64."""
    head = (len(buffers), body.address, body.count, length, int(reverse), index)
    words = [word for group in (carries, slices) for entry in group for word in entry]
    params = (*head, len(carries), len(slices), *words)
    return Command(native.runtime.address("scan"), buffers, params)
