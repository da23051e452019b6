"""Gather and scatter: slices read from, and combined into, an array at an array of places."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core.avals import ShapedArray
from jacana.core.stage import stage
from jacana.core.values import aval_of
from jacana.lax.operands import axes_of, integers, operand as operand_of
from jacana.lax.shape import concatenate, expand_dims, full
from jacana.ops import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from jacana.ops.gather import fill_of

Mode = str | GatherScatterMode | None


def gather(
    operand: Any,
    start_indices: Any,
    dimension_numbers: GatherDimensionNumbers,
    slice_sizes: Sequence[int],
    *,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    mode: Mode = None,
    fill_value: Any = None,
) -> Any:
    """Slices of extents slice_sizes that begin at the places along the last axis of the indices.

    mode: "clip" moves places inside; "fill" gives fill_value (nan, or an extreme integer) for
    slices that are not inside; "promise_in_bounds" is the caller's promise.

    >>> numbers = GatherDimensionNumbers((), (0,), (0,))
    >>> gather(np.arange(5), np.array([[1], [3]]), numbers, (1,)).tolist()
    [1, 3]
    """
    x = operand_of("gather", operand)
    parsed = GatherScatterMode.PROMISE_IN_BOUNDS
    if mode is not None:
        parsed = GatherScatterMode.from_any(mode)
    if parsed is GatherScatterMode.FILL_OR_DROP:
        fill_value = fill_of(fill_value, aval_of(x).dtype)
    else:
        fill_value = None
    return ops.gather(
        x, operand_of("gather", start_indices, 1),
        dimension_numbers=GatherDimensionNumbers(*map(tuple, dimension_numbers)),
        slice_sizes=integers("gather", "slice_sizes", slice_sizes),
        unique_indices=bool(unique_indices), indices_are_sorted=bool(indices_are_sorted),
        mode=parsed, fill_value=fill_value,
    )  # fmt: skip


def index_take(src: Any, idxs: Sequence[Any], axes: Sequence[int]) -> Any:
    """The slices of src at index vectors: idxs[k], of shape (n,), is the index along axes[k].

    Negative indices count from the end.

    >>> index_take(np.arange(4), [np.array([1, -1])], (0,)).tolist()
    [1, 3]
    """
    x = operand_of("index_take", src)
    taken = axes_of(axes, np.ndim(x))
    columns = []
    for i, a in zip(idxs, taken, strict=True):
        dtype = aval_of(i).dtype
        extent = np.shape(x)[a]
        shape = np.shape(i)
        zero, extents = (full(shape, v, dtype) for v in (0, extent))
        columns.append(expand_dims(ops.select_n(ops.lt(i, zero), i, ops.add(i, extents)), (1,)))
    sizes = [1 if a in taken else n for a, n in enumerate(np.shape(x))]
    offset = tuple(range(1, np.ndim(x) - len(taken) + 1))
    numbers = GatherDimensionNumbers(offset, tuple(sorted(taken)), taken)
    return gather(x, concatenate(columns, 1), numbers, sizes)


def _scatter(
    primitive: Any, operand: Any, indices: Any, updates: Any, numbers: ScatterDimensionNumbers,
    indices_are_sorted: bool, unique_indices: bool, mode: Mode, **params: Any,
) -> Any:  # fmt: skip
    name = primitive.name
    return primitive(
        operand_of(name, operand), operand_of(name, indices, 1), operand_of(name, updates, 2),
        dimension_numbers=ScatterDimensionNumbers(*map(tuple, numbers)),
        indices_are_sorted=bool(indices_are_sorted), unique_indices=bool(unique_indices),
        mode=GatherScatterMode.from_any(mode), **params,
    )  # fmt: skip


def scatter(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Any:
    """The operand with slices replaced by updates; where several meet, the last one remains.

    mode: "drop" (also None) leaves out slices that are not inside, "clip" moves them inside.

    >>> numbers = ScatterDimensionNumbers((), (0,), (0,))
    >>> scatter(np.zeros(3, int), np.array([[1], [1]]), np.array([5, 7]), numbers).tolist()
    [0, 7, 0]
    """
    return _scatter(
        ops.scatter, operand, scatter_indices, updates, dimension_numbers, indices_are_sorted,
        unique_indices, mode,
    )  # fmt: skip


def scatter_add(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Any:
    """The operand with updates added to slices, in row-major order of the updates.

    >>> numbers = ScatterDimensionNumbers((), (0,), (0,))
    >>> scatter_add(np.zeros(3, int), np.array([[1], [1]]), np.array([5, 7]), numbers).tolist()
    [0, 12, 0]
    """
    return _scatter(
        ops.scatter_add, operand, scatter_indices, updates, dimension_numbers, indices_are_sorted,
        unique_indices, mode,
    )  # fmt: skip


def scatter_sub(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Any:
    """The operand with updates subtracted from slices."""
    return _scatter(
        ops.scatter_sub, operand, scatter_indices, updates, dimension_numbers, indices_are_sorted,
        unique_indices, mode,
    )  # fmt: skip


def scatter_mul(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Any:
    """The operand with slices multiplied by updates; differentiable where updates meet, too."""
    return _scatter(
        ops.scatter_mul, operand, scatter_indices, updates, dimension_numbers, indices_are_sorted,
        unique_indices, mode,
    )  # fmt: skip


def scatter_min(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Any:
    """The operand with slices replaced by the smaller of element and update."""
    return _scatter(
        ops.scatter_min, operand, scatter_indices, updates, dimension_numbers, indices_are_sorted,
        unique_indices, mode,
    )  # fmt: skip


def scatter_max(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Any:
    """The operand with slices replaced by the greater of element and update."""
    return _scatter(
        ops.scatter_max, operand, scatter_indices, updates, dimension_numbers, indices_are_sorted,
        unique_indices, mode,
    )  # fmt: skip


@functools.lru_cache(maxsize=256)
def _applied(function: Callable[[Any], Any], dtype: Any) -> Any:
    """The program (element, update) -> function(element)."""
    aval = ShapedArray((), dtype)
    jaxpr, consts = stage(lambda x, update: [function(x)], [aval, aval])
    if consts:
        raise NotImplementedError("scatter_apply of a function that uses arrays from outside.")
    return jaxpr


def scatter_apply(
    operand: Any,
    scatter_indices: Any,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Mode = None,
) -> Any:
    """The operand with func applied to the elements at the places: once for each time they occur.

    `update_shape` is the shape that updates would have.

    >>> numbers = ScatterDimensionNumbers((), (0,), (0,))
    >>> places = np.array([[1], [1]])
    >>> scatter_apply(np.ones(3), places, lambda x: x * 2, numbers, update_shape=(2,)).tolist()
    [1.0, 4.0, 1.0]
    """
    dtype = aval_of(operand_of("scatter_apply", operand)).dtype
    return _scatter(
        ops.scatter, operand, scatter_indices, full(update_shape, 0, dtype), dimension_numbers,
        indices_are_sorted, unique_indices, mode, update_jaxpr=_applied(func, dtype),
    )  # fmt: skip
