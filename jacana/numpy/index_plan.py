"""What an index expression means: `x[i, ..., 2:5, None, mask]` taken apart against x's shape.

An index is basic (integers, slices, None) or has arrays. Basic ones become slices; with arrays, all
integers and arrays together say where, and the axes they stand for become one block of axes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jacana.core import dtypes, errors
from jacana.core.trace import Tracer
from jacana.core.values import aval_of, is_array_like
from jacana.numpy.promotion import broadcast_shape
from jacana.runtime.array import Array

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """How one axis is indexed: by a number or array `at`, or by start + step * k, k < count."""

    axis: int
    at: Any = None
    start: int = 0
    step: int = 1
    count: int = 0

    @property
    def is_slice(self) -> bool:
        return self.at is None


@dataclass(frozen=True, slots=True)
class Plan:
    """One Part for each axis, and the result: its axes before None is inserted, and where it is."""

    parts: tuple[Part, ...]
    block: Shape  # the shape that all `at` broadcast to
    block_position: int  # how many slice axes of the result come before the block
    inserted: tuple[int, ...]  # places of None in the result
    is_basic: bool
    wraps: bool = True  # whether negative indices count from the end

    @property
    def is_window(self) -> bool:
        """Whether it names a part of the array that lies in it as wide as it is."""
        return self.is_basic and self.wraps

    @property
    def slices(self) -> list[Part]:
        return [p for p in self.parts if p.is_slice]

    @property
    def places(self) -> list[Part]:
        return [p for p in self.parts if not p.is_slice]

    @property
    def shape(self) -> Shape:
        """The result's shape without inserted axes."""
        counts = [p.count for p in self.slices]
        k = self.block_position
        return (*counts[:k], *self.block, *counts[k:])

    @property
    def full_shape(self) -> Shape:
        shape = list(self.shape)
        for place in self.inserted:
            shape.insert(place, 1)
        return tuple(shape)


def plan_index(index: Any, shape: Shape, wraps: bool = True) -> Plan:
    """The meaning of an index of an array of the shape; IndexError or TypeError if it has none."""
    items = list(index) if isinstance(index, tuple) else [index]
    items = [expanded for item in items for expanded in _expand(item)]
    items = _fill_ellipsis(items, shape)
    parts: list[Part] = []
    newaxes: list[int] = []  # in units of parts that come before
    separators: list[int] = []  # likewise, of what stands between arrays though no axis does
    for item in items:
        if item is None or item is Ellipsis:
            separators.append(len(parts))
        if item is None:
            newaxes.append(len(parts))
        elif item is not Ellipsis:
            parts.append(_part(item, len(parts), shape))
    return _assemble(parts, newaxes, separators, wraps)


def _expand(item: Any) -> list[Any]:
    """A mask as the integer arrays it stands for; a list or sequence as an array."""
    if item is None or item is Ellipsis or isinstance(item, slice):
        return [item]
    if isinstance(item, list | tuple):
        raise TypeError(
            f"Using a non-tuple sequence for multidimensional indexing is not allowed; use "
            f"`arr[array(seq)]` instead of `arr[seq]`. The index holds {item!r}."
        )
    if isinstance(item, str) or not is_array_like(item):
        raise TypeError(
            f"JAX does not support string indexing; got {item!r}"
            if isinstance(item, str)
            else f"Indexer must have integer or boolean type, got indexer {item!r} of type "
            f"{type(item).__name__}. Use integers, slices, None, ..., or arrays of these."
        )
    aval = aval_of(item)
    if dtypes.is_bool(aval.dtype):
        if is_traced_mask(item):
            raise errors.NonConcreteBooleanIndexError(item)
        mask = np.asarray(item.concrete() if isinstance(item, Tracer) else item)
        found = mask.nonzero()
        return [_MaskPart(where, n) for where, n in zip(found, mask.shape, strict=True)]
    if not dtypes.is_integer(aval.dtype):
        raise TypeError(
            f"Indexer must have integer or boolean type, got indexer with type {aval.dtype} at "
            f"{item!r}. Convert it first, for example with astype(int)."
        )
    return [item]


def is_traced_mask(item: Any) -> bool:
    """Whether an item of an index is an array of booleans that are not known while tracing."""
    return isinstance(item, Tracer) and dtypes.is_bool(item.dtype) and item.concrete() is None


def is_scalar_mask(item: Any) -> bool:
    """Whether an item of an index is a single boolean."""
    if isinstance(item, bool | np.bool_):
        return True
    return (
        isinstance(item, Array | Tracer | np.ndarray)
        and not item.shape
        and dtypes.is_bool(item.dtype)
    )


def without_scalar_masks(index: tuple[Any, ...], rank: int) -> tuple[tuple[int, ...], Any]:
    """Single booleans as indices of axes of extent 1: where those are inserted, and the new index.

    True takes the one element of such an axis, False none.
    """
    used = [_axes_used(item) for item in index]
    consumed = [rank - sum(m or 0 for m in used) if n is None else n for n in used]
    inserted: list[int] = []
    items: list[Any] = []
    for k, item in enumerate(index):
        if is_scalar_mask(item):
            inserted.append(sum(consumed[:k]) + len(inserted))
            if is_traced_mask(item):
                raise errors.NonConcreteBooleanIndexError(item)
            item = np.zeros(int(bool(item)), np.int32)
        items.append(item)
    return tuple(inserted), tuple(items)


def _axes_used(item: Any) -> int | None:
    """How many axes an item stands for; None for an ellipsis, which takes what is left."""
    if item is Ellipsis:
        return None
    if item is None or is_scalar_mask(item):
        return 0
    if not isinstance(item, slice) and is_array_like(item) and dtypes.is_bool(aval_of(item).dtype):
        return np.ndim(item)
    return 1


class _MaskPart:
    """The places of a mask along one of its axes."""

    def __init__(self, where: np.ndarray, extent: int):
        self.where, self.extent = where, extent


def _fill_ellipsis(items: list[Any], shape: Shape) -> list[Any]:
    used = sum(i is not None and i is not Ellipsis for i in items)
    if sum(i is Ellipsis for i in items) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if used > len(shape):
        raise IndexError(
            f"Too many indices: array is {len(shape)}-dimensional, but {used} were indexed"
        )
    full: list[Any] = [slice(None)] * (len(shape) - used)
    at = next((k for k, i in enumerate(items) if i is Ellipsis), None)
    if at is None:
        return [*items, *full]
    # An ellipsis of no axes still stands between its neighbours.
    return [*items[:at], *(full or [Ellipsis]), *items[at + 1 :]]


def _part(item: Any, axis: int, shape: Shape) -> Part:
    extent = shape[axis]
    if isinstance(item, slice):
        start, stop, step = slice(*map(_static, (item.start, item.stop, item.step))).indices(extent)
        return Part(axis, None, start, step, len(range(start, stop, step)))
    if isinstance(item, _MaskPart):
        if item.extent != extent:
            raise IndexError(
                f"boolean index did not match shape of indexed array in index {axis}: got "
                f"{item.extent}, expected {extent}"
            )
        return Part(axis, item.where)
    return Part(axis, item)


def _static(bound: Any) -> Any:
    """A bound of a slice as a Python integer."""
    if bound is None or isinstance(bound, int):
        return bound
    if isinstance(bound, Tracer) and bound.concrete() is None:
        raise IndexError(
            f"Array slice indices must have static start/stop/step to be used with NumPy indexing "
            f"syntax. Found{errors.here()} {errors.describe(bound)}. To index a statically sized "
            f"array at a dynamic position, try lax.dynamic_slice/dynamic_update_slice."
        )
    return bound.__index__()


def _assemble(
    parts: Sequence[Part], newaxes: Sequence[int], separators: Sequence[int], wraps: bool
) -> Plan:
    places = [p for p in parts if not p.is_slice]
    shapes = [np.shape(p.at) for p in places]
    is_basic = not any(shapes)
    block: Shape = ()
    # Where the block of the arrays' axes is, in units of parts that come before.
    first = len(parts)
    if not is_basic:
        try:
            block = broadcast_shape("indexing", *shapes)
        except TypeError as e:
            raise ValueError(
                f"Incompatible shapes for broadcasting: {shapes} of the arrays in an index"
            ) from e
        axes = [p.axis for p in places]
        # Arrays that stand side by side keep their place; with something between, they go first.
        together = axes == list(range(axes[0], axes[-1] + 1)) and not any(
            axes[0] < n <= axes[-1] for n in separators
        )
        first = axes[0] if together else -1
    position = sum(p.is_slice for p in parts[: max(first, 0)]) if not is_basic else 0
    inserted: list[int] = []
    for order, before in enumerate(newaxes):
        place = sum([p.is_slice for p in parts[:before]]) + order
        inserted.append(place + (len(block) if before > first else 0))
    return Plan(tuple(parts), block, position, tuple(inserted), is_basic, wraps)


def is_static(value: Any) -> bool:
    """Whether an index is a number known while tracing."""
    return isinstance(value, int | np.integer) and not isinstance(value, Array)
