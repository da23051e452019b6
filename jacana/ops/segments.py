"""Segments: products over elements that share a number, for the derivative of a product."""

from typing import Any

import numpy as np

from jacana import ops


def products_of_others(values: Any, segment: Any) -> Any:
    """For each element the product of the other elements of equal segment number.

    It is made of products only, so zeros are right to any order of differentiation. Elements are
    sorted by segment; products before and after each are found by doubling the reach.
    """
    shape, size = np.shape(values), int(np.prod(np.shape(values)))
    if size == 0:
        return values
    flat = ops.reshape(values, new_sizes=(size,))
    number = ops.reshape(segment, new_sizes=(size,))
    position = ops.iota(dtype=number.dtype, shape=(size,), dimension=0)
    number, order = ops.sort(number, position, dimension=0, is_stable=True, num_keys=1)
    ordered = _take(flat, order)
    before = _exclusive(ordered, number, reverse=False)
    after = _exclusive(ordered, number, reverse=True)
    _, place = ops.sort(order, position, dimension=0, is_stable=True, num_keys=1)
    return ops.reshape(_take(ops.mul(before, after), place), new_sizes=shape)


def _take(x: Any, order: Any) -> Any:
    """x[order] for a permutation."""
    size = np.shape(x)[0]
    numbers = ops.GatherDimensionNumbers(
        offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,)
    )
    return ops.gather(
        x, ops.broadcast_in_dim(order, shape=(size, 1), broadcast_dimensions=(0,)),
        dimension_numbers=numbers, slice_sizes=(1,), unique_indices=True,
        mode=ops.GatherScatterMode.PROMISE_IN_BOUNDS,
    )  # fmt: skip


def _exclusive(x: Any, number: Any, reverse: bool) -> Any:
    """Products of the elements before (or after) each in its segment; x is sorted by it."""
    size = np.shape(x)[0]
    one = x.dtype.type(1)
    products = _shifted(x, number, 1, reverse, one)
    reach = 1
    while reach < size:
        products = ops.mul(products, _shifted(products, number, reach, reverse, one))
        reach *= 2
    return products


def _shifted(x: Any, number: Any, by: int, reverse: bool, one: Any) -> Any:
    """The element `by` places before (or after) each, or 1 where that is in another segment."""
    config = ((-by, by, 0),) if reverse else ((by, -by, 0),)
    moved = ops.pad(x, one, padding_config=config)
    other = ops.pad(number, number.dtype.type(-2), padding_config=config)
    ones = ops.broadcast_in_dim(one, shape=np.shape(x), broadcast_dimensions=())
    return ops.select_n(ops.eq(number, other), ones, moved)
