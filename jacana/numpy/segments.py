"""Reductions over segments: segment_sum and the like; `jax.ops` for programs."""

from collections.abc import Callable
from typing import Any

import numpy as np

from jacana.core import dtypes
from jacana.core.errors import ConcretizationTypeError
from jacana.core.trace import Tracer
from jacana.numpy.indexing import update
from jacana.numpy.promotion import as_array, as_arrays, broadcast_to
from jacana.ops.extremes import greatest, least


def _count(segment_ids: Any) -> int:
    """One more than the greatest id, which must be concrete."""
    known = segment_ids.concrete() if isinstance(segment_ids, Tracer) else segment_ids
    if known is None:
        raise ConcretizationTypeError(
            segment_ids,
            "the number of segments",
            "Pass num_segments= to fix it: under jit the ids are not known.",
        )
    return int(np.max(np.asarray(known), initial=-1)) + 1


def _segments(
    kind: str, identity: Callable[[Any], Any], data: Any, segment_ids: Any,
    num_segments: int | None, flags: dict[str, Any],
) -> Any:  # fmt: skip
    x, ids = as_arrays(f"segment_{kind}", data, segment_ids)
    if ids.ndim != 1 or x.ndim == 0 or ids.shape[0] != x.shape[0]:
        raise ValueError(
            f"segment ids are one integer for each row of the data, got {ids.aval} for {x.aval}."
        )
    if not dtypes.is_integer(ids.dtype):
        raise TypeError(f"segment ids are integers, got {ids.aval}.")
    count = _count(ids) if num_segments is None else num_segments
    if count < 0:
        raise ValueError("num_segments must be non-negative.")
    fill = np.asarray(identity(x.dtype)).astype(x.dtype)[()]
    start = broadcast_to(fill, (count, *x.shape[1:]))
    return update(as_array("segment", start), ids, kind, x, **flags)


def _flags(indices_are_sorted: bool, unique_indices: bool, mode: Any) -> dict[str, Any]:
    return {
        "mode": mode, "indices_are_sorted": indices_are_sorted, "unique_indices": unique_indices
    }  # fmt: skip


def segment_sum(
    data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False,
    unique_indices: bool = False, bucket_size: int | None = None, mode: Any = None,
) -> Any:  # fmt: skip
    """The sums of the rows of each segment; ids of num_segments and more are left out.

    >>> segment_sum(np.array([1.0, 2.0, 4.0]), np.array([0, 1, 0]))
    Array([5., 2.], dtype=float32)
    """
    flags = _flags(indices_are_sorted, unique_indices, mode)
    return _segments("add", lambda dtype: 0, data, segment_ids, num_segments, flags)


def segment_prod(
    data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False,
    unique_indices: bool = False, bucket_size: int | None = None, mode: Any = None,
) -> Any:  # fmt: skip
    """The products of the rows of each segment; 1 for empty ones."""
    flags = _flags(indices_are_sorted, unique_indices, mode)
    return _segments("mul", lambda dtype: 1, data, segment_ids, num_segments, flags)


def segment_max(
    data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False,
    unique_indices: bool = False, bucket_size: int | None = None, mode: Any = None,
) -> Any:  # fmt: skip
    """The greatest rows of each segment; the least value of the dtype for empty ones."""
    flags = _flags(indices_are_sorted, unique_indices, mode)
    return _segments("max", least, data, segment_ids, num_segments, flags)


def segment_min(
    data: Any, segment_ids: Any, num_segments: int | None = None, indices_are_sorted: bool = False,
    unique_indices: bool = False, bucket_size: int | None = None, mode: Any = None,
) -> Any:  # fmt: skip
    """The least rows of each segment; the greatest value of the dtype for empty ones."""
    flags = _flags(indices_are_sorted, unique_indices, mode)
    return _segments("min", greatest, data, segment_ids, num_segments, flags)
