"""Memory plan: temporaries share one arena, each living from the command that writes it to the last
that reads it; updates happen in place where what they update is not needed any more.
"""

from bisect import insort
from collections.abc import Sequence

from jacana.compiler.commands import Command

ALIGNMENT = 64


def last_uses(commands: Sequence[Command]) -> dict[int, int]:
    """Slot -> position of the last command that names it."""
    return {slot: at for at, command in enumerate(commands) for slot in command.slots}


def plan(
    commands: Sequence[Command], temporaries: dict[int, int]
) -> tuple[tuple[tuple[int, int], ...], int]:
    """Offsets of the temporaries (slot -> size in bytes) in one arena, and the arena's size."""
    first: dict[int, int] = {}
    for at, command in enumerate(commands):
        for slot in command.slots:
            first.setdefault(slot, at)
    last = last_uses(commands)
    placed: list[tuple[int, int, int, int]] = []  # (offset, end, first, last), sorted
    offsets = []
    # Big ones first: they are the ones that are hard to place.
    for slot in sorted(temporaries, key=lambda s: (-temporaries[s], s)):
        size = -(-max(temporaries[slot], 1) // ALIGNMENT) * ALIGNMENT
        start, end = first.get(slot, 0), last.get(slot, 0)
        offset = _fit(size, start, end, placed)
        insort(placed, (offset, offset + size, start, end))
        offsets.append((slot, offset))
    return tuple(offsets), max((p[1] for p in placed), default=0)


def _fit(size: int, start: int, stop: int, placed: Sequence[tuple[int, int, int, int]]) -> int:
    """The lowest offset where `size` bytes do not overlap what lives between start and stop."""
    at = 0
    for offset, end, first, last in placed:
        if first > stop or last < start:
            continue
        if at + size <= offset:
            break
        if end > at:
            at = end
    return at
