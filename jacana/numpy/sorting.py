"""Order: sort, argsort, lexsort, partition, searchsorted."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import config, dtypes
from jacana.numpy.promotion import (
    as_array,
    as_arrays,
    normalized_axis,
    result_type_of,
)


def index_dtype() -> Any:
    """The dtype of positions."""
    return dtypes.python_scalar_dtype(int, config.current().enable_x64)


def _sorted_axis(name: str, a: Any, axis: int | None, kind: Any, order: Any) -> tuple[Any, int]:
    if kind is not None:
        raise TypeError(f"{name}: kind is not supported, use stable=True or stable=False instead.")
    if order is not None:
        raise TypeError(f"{name}: order is for structured dtypes, which are not supported.")
    x = as_array(name, a)
    if axis is None:
        return ops.reshape(x, new_sizes=(x.size,)), 0
    return x, normalized_axis(axis, x.ndim)


def sort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
) -> Any:
    """The elements in increasing (or decreasing) order along an axis; nan comes last (or first).

    >>> jnp.sort(jnp.array([3, 1, 2]))
    Array([1, 2, 3], dtype=int32)
    """
    x, d = _sorted_axis("sort", a, axis, kind, order)
    (out,) = ops.sort(x, dimension=d, is_stable=stable, num_keys=1)
    return ops.rev(out, dimensions=(d,)) if descending else out


def argsort(
    a: Any,
    axis: int | None = -1,
    *,
    kind: None = None,
    order: None = None,
    stable: bool = True,
    descending: bool = False,
    dtype: Any = None,
) -> Any:
    """The positions of the elements in increasing (or decreasing) order; equal ones keep theirs.

    >>> jnp.argsort(jnp.array([3, 1, 2]))
    Array([1, 2, 0], dtype=int32)
    """
    x, d = _sorted_axis("argsort", a, axis, kind, order)
    found = index_dtype()
    if dtype is not None:
        found = dtypes.requested(dtype, config.current().enable_x64, "argsort")
    if descending:
        # Reversed before and after: equal elements then keep their order.
        x = ops.rev(x, dimensions=(d,))
    position = ops.iota(dtype=found, shape=x.shape, dimension=d)
    if descending:
        position = ops.rev(position, dimensions=(d,))
    _, out = ops.sort(x, position, dimension=d, is_stable=stable or descending, num_keys=1)
    return ops.rev(out, dimensions=(d,)) if descending else out


def sort_complex(a: Any) -> Any:
    """The elements as complex numbers, ordered by real part, then imaginary part.

    >>> jnp.sort_complex(jnp.array([2, 1 + 1j]))
    Array([1.+1.j, 2.+0.j], dtype=complex64)
    """
    x = sort(a)
    if dtypes.is_complex(x.dtype):
        return x
    wide = dtypes.is_float(x.dtype) and x.dtype.itemsize == 8
    found = dtypes.complex128 if wide else dtypes.complex64
    return ops.convert_element_type(x, new_dtype=found, weak_type=False)


def lexsort(keys: Any, axis: int = -1) -> Any:
    """The order by the last key, then by the ones before it.

    >>> jnp.lexsort([jnp.array([2, 1, 2]), jnp.array([1, 1, 0])])
    Array([2, 1, 0], dtype=int32)
    """
    rows = list(keys) if isinstance(keys, list | tuple) else _rows(keys)
    if not rows:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    xs = as_arrays("lexsort", *rows)
    if len({x.shape for x in xs}) > 1:
        raise ValueError("all keys need to be the same shape")
    if xs[0].ndim == 0:
        return as_array("lexsort", np.zeros((), index_dtype()))
    d = normalized_axis(axis, xs[0].ndim)
    position = ops.iota(dtype=index_dtype(), shape=xs[0].shape, dimension=d)
    return ops.sort(*xs[::-1], position, dimension=d, is_stable=True, num_keys=len(xs))[-1]


def _rows(keys: Any) -> list[Any]:
    whole = as_array("lexsort", keys)
    return [whole[i] for i in range(whole.shape[0])]


def partition(a: Any, kth: int, axis: int = -1) -> Any:
    """The elements with the kth smallest at position kth, smaller ones before it (here: sorted).

    >>> jnp.partition(jnp.array([3, 1, 2]), 1)
    Array([1, 2, 3], dtype=int32)
    """
    x, d = _sorted_axis("partition", a, axis, None, None)
    _check_place("partition", kth, x.shape[d])
    return sort(x, d)


def argpartition(a: Any, kth: int, axis: int = -1) -> Any:
    """The positions of the elements as `partition` orders them.

    >>> jnp.argpartition(jnp.array([3, 1, 2]), 1)
    Array([1, 2, 0], dtype=int32)
    """
    x, d = _sorted_axis("argpartition", a, axis, None, None)
    _check_place("argpartition", kth, x.shape[d])
    return argsort(x, d)


def _check_place(name: str, kth: int, n: int) -> None:
    if not -n <= kth < n:
        raise ValueError(f"{name}: kth={kth} is out of bounds for an axis of extent {n}")


def searchsorted(
    a: Any, v: Any, side: str = "left", sorter: Any = None, *, method: str = "scan"
) -> Any:
    """Where to put v into a sorted vector to keep it sorted: before (left) or after equal elements.

    >>> jnp.searchsorted(jnp.array([1, 2, 2, 3]), 2, side="right")
    Array(3, dtype=int32)
    """
    if side not in ("left", "right"):
        raise ValueError(f"{side!r} is an invalid value for keyword 'side'. Use 'left' or 'right'.")
    if method not in ("scan", "scan_unrolled", "sort", "compare_all", "default"):
        raise ValueError(f"{method!r} is an invalid value for keyword 'method'.")
    x, query = as_arrays("searchsorted", a, v)
    if x.ndim != 1:
        raise ValueError(f"a should be 1-dimensional, got {x.aval}.")
    if sorter is not None:
        x = x[sorter]
    shape, n = query.shape, x.shape[0]
    x, query = _promoted(x, query)
    return _search(x, query, side) if n else _filled(0, dtypes.int32, shape)


def _filled(value: int, dtype: Any, shape: tuple[int, ...]) -> Any:
    return ops.broadcast_in_dim(dtype.type(value), shape=shape, broadcast_dimensions=())


def _promoted(x: Any, query: Any) -> tuple[Any, Any]:
    found, _ = result_type_of([x.aval, query.aval])
    first, second = (
        v if v.dtype == found else ops.convert_element_type(v, new_dtype=found, weak_type=False)
        for v in (x, query)
    )
    return first, second


def _search(x: Any, query: Any, side: str) -> Any:
    """Bisection, all queries at once, in as many steps as the length has bits."""
    n, shape = x.shape[0], query.shape
    dtype: Any = dtypes.int32 if n < 2**31 else dtypes.int64
    low, high = _filled(0, dtype, shape), _filled(n, dtype, shape)
    for _ in range(n.bit_length()):
        middle = ops.add(low, ops.div(ops.sub(high, low), dtype.type(2)))
        element = _element(x, middle)
        right = _precedes(element, query) if side == "left" else ops.not_(_precedes(query, element))
        right = ops.and_(right, ops.lt(low, high))
        low = ops.select_n(right, low, ops.add(middle, dtype.type(1)))
        high = ops.select_n(right, middle, high)
    return low


def _precedes(x: Any, y: Any) -> Any:
    """Whether x is ordered before y; nan is last."""
    if dtypes.is_complex(x.dtype):
        re, im = (ops.real(x), ops.real(y)), (ops.imag(x), ops.imag(y))
        return ops.or_(ops.lt(*re), ops.and_(ops.eq(*re), ops.lt(*im)))
    less = ops.lt(x, y)
    if not dtypes.is_float(x.dtype):
        return less
    return ops.or_(less, ops.and_(ops.eq(x, x), ops.ne(y, y)))


def _element(x: Any, index: Any) -> Any:
    numbers = ops.GatherDimensionNumbers(
        offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,)
    )
    shape: Sequence[int] = index.shape
    column = ops.reshape(index, new_sizes=(*shape, 1))
    return ops.gather(
        x, column, dimension_numbers=numbers, slice_sizes=(1,), mode=ops.GatherScatterMode.CLIP
    )
