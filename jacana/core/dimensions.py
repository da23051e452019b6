"""Divided dimensions: the mesh axes of an array's dimensions, and what operations make of them."""

from collections.abc import Iterable, Sequence
from typing import Any

# The mesh axes that divide each dimension of an array.
Dimensions = tuple[tuple[Any, ...], ...]


def merged(dimensions: Iterable[Dimensions]) -> Dimensions:
    """The axes of arrays that meet element by element; each axis once, where it comes first."""
    result: list[tuple[Any, ...]] = []
    used: set[Any] = set()
    for names in dimensions:
        result += [()] * (len(names) - len(result))
        for i, axes in enumerate(names):
            if not result[i] and used.isdisjoint(axes):
                result[i] = axes
                used.update(axes)
    return tuple(result)


def replicated(ndim: int) -> Dimensions:
    return ((),) * ndim


def kept_dimensions(
    specs: Sequence[Dimensions], shapes: Sequence[tuple[int, ...]], out: tuple[int, ...]
) -> Dimensions:
    """The axes of a result: those of operands of its rank, where their extents are its own."""
    aligned: list[Dimensions] = [
        tuple([axes if n == m else () for axes, n, m in zip(spec, shape, out)])
        for spec, shape in zip(specs, shapes)
        if len(shape) == len(out)
    ]
    return merged([replicated(len(out)), *aligned])


def placed_at(spec: Dimensions, places: Sequence[int], ndim: int) -> Dimensions:
    """The axes of a result whose dimension places[i] is the operand's dimension i."""
    found = list(replicated(ndim))
    for axes, place in zip(spec, places):
        found[place] = axes
    return tuple(found)


def without_dimensions(spec: Dimensions, dropped: Sequence[int]) -> Dimensions:
    return tuple([axes for i, axes in enumerate(spec) if i not in dropped])
