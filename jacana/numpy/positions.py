"""Positions in arrays: between flat and multi-dimensional ones, and open grids of them."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.numpy.elementwise import (
    add,
    multiply,
)
from jacana.numpy.manipulation import reshape
from jacana.numpy.promotion import (
    as_array,
    as_arrays,
    canonical_shape,
    convert,
    literal,
    promote_dtypes,
)
from jacana.numpy.sorting import index_dtype


def unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    """Flat indices as one index for each axis; those outside mean the nearest end.

    >>> jnp.unravel_index(5, (2, 3))
    (Array(1, dtype=int32), Array(2, dtype=int32))
    """
    index = as_array("unravel_index", indices)
    sizes = canonical_shape(shape)
    total = math.prod(sizes)
    index = convert(index, index.dtype)
    negative = ops.lt(index, literal(0, index))
    index = ops.select_n(negative, index, ops.add(index, literal(total, index)))
    index = ops.clamp(literal(0, index), index, literal(max(total - 1, 0), index))
    out: list[Any] = []
    for n in sizes[::-1]:
        size = literal(max(n, 1), index)
        out.append(ops.rem(index, size))
        index = ops.div(index, size)
    return tuple(out[::-1])


def ravel_multi_index(
    multi_index: Sequence[Any], dims: Sequence[int], mode: str = "raise", order: str = "C", *,
    dtype: Any = None,
) -> Any:  # fmt: skip
    """One index for each axis as flat indices.

    mode says what indices outside mean: "clip" the nearest end, "wrap" round it; "raise" needs
    concrete ones.

    >>> jnp.ravel_multi_index((jnp.array([1]), jnp.array([2])), (2, 3))
    Array([5], dtype=int32)
    """
    sizes = canonical_shape(dims)
    if len(multi_index) != len(sizes):
        raise ValueError(f"len(multi_index)={len(multi_index)} != len(dims)={len(sizes)}")
    xs = as_arrays("ravel_multi_index", *promote_dtypes(*multi_index))
    if any(not dtypes.is_integer(x.dtype) for x in xs):
        raise TypeError("only int indices permitted")
    found: Any = index_dtype() if dtype is None else dtypes.dtype(dtype)
    xs = [_inside(convert(x, found), n, mode) for x, n in zip(xs, sizes)]
    if order not in ("C", "F"):
        raise ValueError(f"invalid order={order!r}. Expected one of 'C' or 'F'")
    steps = np.cumprod([1, *(sizes[:0:-1] if order == "C" else sizes[:-1])])
    strides = steps[::-1] if order == "C" else steps
    total: Any = None
    for x, stride in zip(xs, strides):
        term = multiply(x, found.type(stride))
        total = term if total is None else add(total, term)
    return total


def _inside(x: Any, n: int, mode: str) -> Any:
    if mode == "raise":
        values = np.asarray(x)
        if np.any((values < 0) | (values >= n)):
            raise ValueError("invalid entry in coordinates array")
        return x
    size = literal(n, x)
    if mode == "clip":
        return ops.clamp(literal(0, x), x, literal(n - 1, x))
    if mode == "wrap":
        rest = ops.rem(x, size)
        return ops.select_n(ops.lt(rest, literal(0, x)), rest, ops.add(rest, size))
    raise ValueError(f"invalid mode={mode!r}. Expected one of 'raise', 'wrap', or 'clip'")


def ix_(*args: Any) -> tuple[Any, ...]:
    """Vectors as an open grid of indices, so that x[ix_(i, j)] is a block; booleans select.

    >>> jnp.ix_(jnp.array([0, 1]), jnp.array([2]))
    (Array([[0],
           [1]], dtype=int32), Array([[2]], dtype=int32))
    """
    n = len(args)
    out = []
    for d, given in enumerate(args):
        x = as_array("ix_", np.asarray(given, index_dtype()) if _is_empty(given) else given)
        if x.ndim != 1:
            raise ValueError(
                f"Arguments to jax.numpy.ix_ must be 1-dimensional, got shape {x.shape}"
            )
        if dtypes.is_bool(x.dtype):
            x = as_array("ix_", np.flatnonzero(np.asarray(x)).astype(index_dtype()))
        out.append(reshape(x, tuple(x.size if k == d else 1 for k in range(n))))
    return tuple(out)


def _is_empty(given: Any) -> bool:
    return isinstance(given, list | tuple) or np.size(given) == 0
