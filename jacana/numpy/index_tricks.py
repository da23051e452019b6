"""Joining by index syntax: r_[1:3, 5] and c_[x, y]."""

from typing import Any

from jacana import ops
from jacana.numpy.creation import asarray
from jacana.numpy.joining import concatenate
from jacana.numpy.manipulation import moveaxis, reshape
from jacana.numpy.ranges import arange, linspace


class _Joiner:
    """Joins what is written between brackets; slices are ranges, an imaginary step is a count.

    A leading text "axis,least rank,place of the axes" changes the defaults, as NumPy has it.
    """

    axis: int
    least: int
    place: int

    def __getitem__(self, key: Any) -> Any:
        items = list(key) if isinstance(key, tuple) else [key]
        axis, least, place = self.axis, self.least, self.place
        if items and isinstance(items[0], str):
            text = items.pop(0)
            if text in ("r", "c"):
                raise NotImplementedError("matrices (the texts 'r' and 'c') are not supported.")
            numbers = [int(n) for n in text.split(",")]
            axis, least, place = (*numbers, *(axis, 1, -1)[len(numbers) :])
        return concatenate([_raised(_array_of(item), least, place) for item in items], axis)


def _array_of(item: Any) -> Any:
    if not isinstance(item, slice):
        return asarray(item)
    start = 0 if item.start is None else item.start
    step = 1 if item.step is None else item.step
    if isinstance(step, complex):
        return linspace(start, item.stop, int(abs(step)))
    return arange(start, item.stop, step)


def _raised(x: Any, least: int, place: int) -> Any:
    """x with ones added to reach the least rank, its own axes from `place` on."""
    rank = x.ndim
    if rank >= least:
        return x if rank else reshape(x, (1,))
    missing = least - max(rank, 0)
    shape = (*x.shape, *(1,) * missing) if place >= 0 else (*(1,) * missing, *x.shape)
    made = ops.reshape(x, new_sizes=shape)
    return (
        moveaxis(made, tuple(range(rank)), tuple(range(place, place + rank))) if place > 0 else made
    )


class RowJoiner(_Joiner):
    """`r_[...]`: along the first axis."""

    axis, least, place = 0, 1, -1


class ColumnJoiner(_Joiner):
    """`c_[...]`: along the last axis, vectors as columns."""

    axis, least, place = -1, 2, 0


r_, c_ = RowJoiner(), ColumnJoiner()
