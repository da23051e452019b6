"""jax.ops: sums, products and extremes of the elements that share a segment number."""

import math
import operator
from typing import Any

from jacana import ops
from jacana.core import dtypes
from jacana.core.errors import ConcretizationTypeError
from jacana.core.trace import Tracer
from jacana.numpy.creation import full
from jacana.numpy.manipulation import broadcast_to
from jacana.numpy.promotion import as_array
from jacana.numpy.reductions import max as largest, min as smallest, prod, sum as total
from jacana.ops import GatherScatterMode, ScatterDimensionNumbers
from jacana.ops.extremes import greatest, least


def segment_sum(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The sums of data[i] over each i of one segment number.

    Args:
      data: numbers, of shape (n, ...) for segment_ids of shape (n,).
      segment_ids: integers, in any order; data at negative or too large ones is left out.
      num_segments: the result's extent; the largest number + 1 by default, which must be known.
      indices_are_sorted: a promise that may save time.
      unique_indices: a promise that may save time.
      bucket_size: how many elements are summed one after the other, before what they gave is.
      mode: "drop" (also None) or "clip", which moves numbers outside to the nearest segment.
      out_sharding: accepted for JAX's sake.

    Returns an array of shape (num_segments, ...); empty segments have 0.

    >>> import numpy as np
    >>> segment_sum(np.array([1, 2, 4]), np.array([0, 0, 2])).tolist()
    [3, 0, 4]
    """
    return _segmented(
        "segment_sum", ops.scatter_add, total, data, segment_ids, num_segments,
        indices_are_sorted, unique_indices, bucket_size, mode,
    )  # fmt: skip


def segment_prod(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The products of the elements of each segment, 1 for empty ones; arguments as segment_sum's.

    Derivatives are right at zeros, too.

    >>> import numpy as np
    >>> segment_prod(np.array([3, 2, 4]), np.array([0, 0, 2])).tolist()
    [6, 1, 4]
    """
    return _segmented(
        "segment_prod", ops.scatter_mul, prod, data, segment_ids, num_segments,
        indices_are_sorted, unique_indices, bucket_size, mode,
    )  # fmt: skip


def segment_max(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The largest element of each segment, the dtype's least value for empty ones.

    Arguments are segment_sum's.

    >>> import numpy as np
    >>> segment_max(np.array([3, 2, 4]), np.array([0, 0, 1])).tolist()
    [3, 4]
    """
    return _segmented(
        "segment_max", ops.scatter_max, largest, data, segment_ids, num_segments,
        indices_are_sorted, unique_indices, bucket_size, mode,
    )  # fmt: skip


def segment_min(
    data: Any,
    segment_ids: Any,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The smallest element of each segment, the dtype's greatest value for empty ones.

    Arguments are segment_sum's.

    >>> import numpy as np
    >>> segment_min(np.array([3, 2, 4]), np.array([0, 0, 1])).tolist()
    [2, 4]
    """
    return _segmented(
        "segment_min", ops.scatter_min, smallest, data, segment_ids, num_segments,
        indices_are_sorted, unique_indices, bucket_size, mode,
    )  # fmt: skip


def _identity(name: str, dtype: Any) -> Any:
    """What an empty segment has."""
    if name == "segment_max":
        return least(dtype)
    if name == "segment_min":
        return greatest(dtype)
    return dtype.type(name == "segment_prod")


def _count(name: str, ids: Any, num_segments: Any) -> int:
    """How many segments the result has."""
    if num_segments is not None:
        count = operator.index(num_segments)
        if count < 0:
            raise ValueError(f"{name}: num_segments must be non-negative, got {count}.")
        return count
    if isinstance(ids, Tracer):
        # Un-jitted transformations know the values.
        known = ids.concrete()
        if known is None:
            raise ConcretizationTypeError(
                ids, f"the number of segments of {name}", "Give num_segments, as a Python integer."
            )
        ids = known
    return max(int(largest(ids, initial=-1)) + 1, 0)


def _aligned(name: str, ids: Any, data: Any) -> tuple[Any, Any]:
    """Numbers of one axis, and data with as many rows."""
    rest = data.shape[1:]
    if ids.ndim == 1 and data.ndim and data.shape[0] == ids.shape[0]:
        return ids, data
    try:
        spread = broadcast_to(data, (*ids.shape, *rest))
    except ValueError:
        raise ValueError(
            f"{name} needs data with a row for each of the segment_ids, got data {data.aval} and "
            f"segment_ids {ids.aval}."
        ) from None
    rows = math.prod(ids.shape)
    return ops.reshape(ids, new_sizes=(rows,)), ops.reshape(spread, new_sizes=(rows, *rest))


def _segmented(
    name: str, primitive: Any, reduce: Any, data: Any, segment_ids: Any, num_segments: Any,
    indices_are_sorted: bool, unique_indices: bool, bucket_size: Any, mode: Any,
) -> Any:  # fmt: skip
    data, ids = as_array(name, data), as_array(name, segment_ids)
    if not dtypes.is_integer(ids.dtype):
        raise TypeError(f"{name} needs integers as segment_ids, got {ids.aval}.")
    if ids.ndim == 0:
        raise TypeError(f"{name} needs segment_ids of at least one axis, got {ids.aval}.")
    if dtypes.is_bool(data.dtype) and primitive in (ops.scatter_add, ops.scatter_mul):
        raise TypeError(f"{name} does not take booleans, got {data.aval}; convert them first.")
    count = _count(name, ids, num_segments)
    ids, data = _aligned(name, ids, data)
    extent = ids.shape[0]
    parsed = GatherScatterMode.FILL_OR_DROP if mode is None else GatherScatterMode.from_any(mode)
    fill = _identity(name, data.dtype)
    numbers = ScatterDimensionNumbers(tuple(range(1, data.ndim)), (0,), (0,))

    def combined(ids: Any, data: Any) -> Any:
        empty = full((count, *data.shape[1:]), fill, data.dtype)
        return primitive(
            empty, ops.reshape(ids, new_sizes=(ids.shape[0], 1)), data,
            dimension_numbers=numbers, indices_are_sorted=bool(indices_are_sorted),
            unique_indices=bool(unique_indices), mode=parsed,
        )  # fmt: skip

    if bucket_size is None:
        return combined(ids, data)
    size = operator.index(bucket_size)
    if size <= 0:
        raise ValueError(f"{name}: bucket_size must be positive, got {size}.")
    starts = range(0, extent, size)
    parts = [combined(ids[i : i + size], data[i : i + size]) for i in starts]
    stacked = ops.concatenate(
        *[ops.reshape(p, new_sizes=(1, *p.shape)) for p in parts], dimension=0
    )
    return reduce(stacked, axis=0)
