"""Evenly spaced numbers: arange, linspace, and grids of them."""

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.api.placing import made_on
from jacana.core import config, dtypes, errors
from jacana.core.trace import Tracer
from jacana.core.values import aval_of
from jacana.numpy.promotion import (
    as_array,
    as_arrays,
    broadcast_operands,
    broadcast_to,
    canonical_shape,
    check_operands,
    convert,
    inexact_dtype,
    normalized_axis,
    promote_inexact,
    result_type_of,
)


def _x64() -> bool:
    return config.current().enable_x64


def _concrete(value: Any, name: str) -> Any:
    """A bound of arange as a Python number."""
    check_operands("arange", value)
    if isinstance(value, Tracer) and value.concrete() is None:
        raise errors.ConcretizationTypeError(
            value,
            f"the argument '{name}' of jnp.arange",
            "The length of an array cannot depend on a traced value: mark the argument that it "
            "comes from as static (static_argnums of jit).",
        )
    number = value.item() if hasattr(value, "item") else value
    if isinstance(number, complex):
        raise ValueError(
            "Passing complex start/stop/step to jnp.arange is no longer supported. Add a real "
            "range to a complex start instead."
        )
    return number


def arange(
    start: Any,
    stop: Any = None,
    step: Any = None,
    dtype: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Numbers from start (0 if only one bound is given) up to, without, stop.

    The length is ceil((stop - start) / step), with the bounds as given; bounds must be concrete.

    >>> jnp.arange(2, 8, 3)
    Array([2, 5], dtype=int32)
    """
    given = [x for x in (start, stop, step) if x is not None]
    first, last, by = (
        None if x is None else _concrete(x, name)
        for x, name in ((start, "start"), (stop, "stop"), (step, "step"))
    )
    if dtype is None:
        found, _ = result_type_of([aval_of(x) for x in given])
    else:
        found = dtypes.requested(dtype, _x64(), "arange")
    if last is None:
        first, last = 0, first
    first, by = first if first is not None else 0, 1 if by is None else by
    n = max(
        0, math.ceil((last - first) / by if isinstance(by, float) else _quotient(first, last, by))
    )
    if isinstance(by, float) and dtypes.is_integer(found):
        # Steps of fractions are added before they are cut to integers.
        counted = _progression(n, first, by, inexact_dtype(found))
        made = ops.convert_element_type(counted, new_dtype=found, weak_type=False)
    else:
        made = _progression(n, first, by, found)
    return made_on(made, device, out_sharding)


def _quotient(first: Any, last: Any, by: int) -> Any:
    """(last - first) / by, exact for integers of any size."""
    if isinstance(first, int) and isinstance(last, int):
        return -((first - last) // by)
    return (last - first) / by


def _progression(n: int, first: Any, by: Any, dtype: Any) -> Any:
    counted = ops.iota(dtype=dtype, shape=(n,), dimension=0)
    if by != 1:
        counted = ops.mul(np.asarray(by).astype(dtype)[()], counted)
    if first != 0:
        counted = ops.add(np.asarray(first).astype(dtype)[()], counted)
    return counted


def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """`num` evenly spaced numbers from start to stop, which is met exactly.

    Bounds may be arrays, which broadcast; the numbers run along a fresh `axis`. With endpoint=False
    stop is left out. With retstep, (numbers, step).

    >>> jnp.linspace(0, 1, 5)
    Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    check_operands("linspace", start, stop)
    num = canonical_count(num)
    found = _requested_or_inexact(dtype, "linspace", start, stop)
    out, step = _spaced(start, stop, num, endpoint)
    if dtypes.is_integer(found) and not dtypes.is_integer(out.dtype):
        out = ops.floor(out)
    if out.dtype != found or out.weak_type:
        out = ops.convert_element_type(out, new_dtype=found, weak_type=False)
    out = made_on(_moved(out, axis), device)
    return (out, step) if retstep else out


def canonical_count(num: Any) -> int:
    """A number of samples as a Python integer."""
    count = operator.index(num)
    if count < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    return count


def _requested_or_inexact(dtype: Any, function: str, *bounds: Any) -> Any:
    if dtype is not None:
        return dtypes.requested(dtype, _x64(), function)
    found, _ = result_type_of([aval_of(b) for b in bounds])
    return inexact_dtype(found)


def _spaced(start: Any, stop: Any, num: int, endpoint: bool) -> tuple[Any, Any]:
    """The numbers along a leading axis, and the step between them."""
    low, high = broadcast_operands(
        "linspace", *as_arrays("linspace", *promote_inexact(start, stop))
    )
    shape = np.shape(low) or np.shape(high)
    low, high = broadcast_to(low, shape), broadcast_to(high, shape)
    dtype = low.dtype
    low, high = convert(low, dtype), convert(high, dtype)
    pieces = num - 1 if endpoint else num
    real = dtypes.real_dtype(dtype)
    nan = np.full((), np.nan).astype(dtype)[()]
    if pieces < 1:
        step = ops.broadcast_in_dim(nan, shape=shape, broadcast_dimensions=())
        row = ops.reshape(low, new_sizes=(1, *shape))
        empty = ops.slice(
            row, start_indices=(0,) * row.ndim, limit_indices=(0, *shape), strides=None
        )
        return (row if num == 1 else empty), (step if num <= 1 else ops.sub(high, low))
    step = ops.div(ops.sub(high, low), dtype.type(pieces))
    # Weights of the two ends: the error stays that of one rounding, whatever the length.
    part = ops.mul(
        ops.iota(dtype=real, shape=(pieces,), dimension=0), real.type(1) / real.type(pieces)
    )
    weight = _as_column(convert(part, dtype), shape)
    rest = _as_column(convert(ops.sub(real.type(1), part), dtype), shape)
    low_row, high_row = (_as_row(v, pieces, shape) for v in (low, high))
    out = ops.add(ops.mul(low_row, rest), ops.mul(high_row, weight))
    if endpoint:
        out = ops.concatenate(out, ops.reshape(high, new_sizes=(1, *shape)), dimension=0)
    return out, step


def _as_column(x: Any, shape: tuple[int, ...]) -> Any:
    whole = (*np.shape(x), *shape)
    return ops.broadcast_in_dim(x, shape=whole, broadcast_dimensions=(0,)) if shape else x


def _as_row(x: Any, n: int, shape: tuple[int, ...]) -> Any:
    dims = tuple(range(1, len(shape) + 1))
    return ops.broadcast_in_dim(x, shape=(n, *shape), broadcast_dimensions=dims)


def _moved(x: Any, axis: int) -> Any:
    rank = len(x.shape)
    to = normalized_axis(axis, rank)
    order = list(range(1, rank))
    order.insert(to, 0)
    return x if to == 0 else ops.transpose(x, permutation=tuple(order))


def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """base ** linspace(start, stop, ...).

    >>> jnp.logspace(0, 2, 3)
    Array([  1.,  10., 100.], dtype=float32)
    """
    found = _requested_or_inexact(dtype, "logspace", start, stop)
    exponent = linspace(start, stop, num, endpoint, axis=axis)
    exponent, base = broadcast_operands("logspace", *promote_inexact(exponent, base))
    shape = np.shape(exponent) or np.shape(base)
    out = ops.pow(broadcast_to(as_array("logspace", base), shape), broadcast_to(exponent, shape))
    return convert(out, found)


def geomspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """`num` numbers from start to stop whose quotients are equal; both ends are met exactly.

    >>> jnp.geomspace(1, 8, 4)
    Array([1., 2., 4., 8.], dtype=float32)
    """
    found = _requested_or_inexact(dtype, "geomspace", start, stop)
    low, high = as_arrays("geomspace", *promote_inexact(start, stop))
    # The sign (or phase) is taken out so that the logarithm is real for negative bounds.
    phase = ops.sign(low)
    low, high = ops.div(low, phase), _divided(high, phase)
    shape = np.broadcast_shapes(np.shape(low), np.shape(high))
    low, high = broadcast_to(low, shape), broadcast_to(high, shape)
    log, _ = _spaced(ops.log(low), ops.log(high), canonical_count(num), endpoint)
    out = ops.mul(ops.exp(log), broadcast_to(broadcast_to(phase, shape), log.shape))
    ends = [_as_row(ops.mul(v, broadcast_to(phase, shape)), 1, shape) for v in (low, high)]
    out = _with_ends(out, ends, endpoint)
    return _moved(convert(out, found), axis)


def _divided(x: Any, by: Any) -> Any:
    shape = np.broadcast_shapes(np.shape(x), np.shape(by))
    return ops.div(broadcast_to(x, shape), broadcast_to(by, shape))


def _with_ends(out: Any, ends: Sequence[Any], endpoint: bool) -> Any:
    n = out.shape[0]
    if n == 0:
        return out
    last = 1 if endpoint and n > 1 else 0
    low = (1, *[0] * (out.ndim - 1))
    inner = ops.slice(
        out, start_indices=low, limit_indices=(n - last, *out.shape[1:]), strides=None
    )
    return ops.concatenate(ends[0], inner, *ends[1 : 1 + last], dimension=0)


# --- grids ---


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> list[Any]:
    """Coordinate arrays of the grid that vectors span.

    indexing="ij" gives axes in the order of the vectors, "xy" swaps the first two. With sparse each
    result has extent 1 in the axes of the others.

    >>> jnp.meshgrid(jnp.arange(2), jnp.arange(2))
    [Array([[0, 1],
           [0, 1]], dtype=int32), Array([[0, 0],
           [1, 1]], dtype=int32)]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Valid values for indexing are 'xy' and 'ij', got {indexing}")
    arrays = as_arrays("meshgrid", *xi)
    for x in arrays:
        if x.ndim > 1:
            raise ValueError(f"Arguments to jnp.meshgrid must be at most 1D, got shape {x.shape}.")
    rank = len(arrays)
    places = list(range(rank))
    if indexing == "xy" and rank >= 2:
        places[:2] = [1, 0]
    shape = [1] * rank
    for x, place in zip(arrays, places):
        shape[place] = x.size
    made = []
    for x, place in zip(arrays, places):
        own = [x.size if d == place else 1 for d in range(rank)] if sparse else shape
        vector = ops.reshape(x, new_sizes=(x.size,))
        made.append(ops.broadcast_in_dim(vector, shape=tuple(own), broadcast_dimensions=(place,)))
    return made


def indices(dimensions: Sequence[int], dtype: Any = None, sparse: bool = False) -> Any:
    """The index along each axis of a grid: one array [rank, *dimensions], or a tuple if sparse.

    >>> jnp.indices((2, 2)).shape
    (2, 2, 2)
    """
    sizes = canonical_shape(dimensions)
    found: Any = dtypes.requested(int if dtype is None else dtype, _x64(), "indices")
    made = []
    for d, n in enumerate(sizes):
        shape = tuple(n if k == d else 1 for k in range(len(sizes))) if sparse else sizes
        made.append(ops.iota(dtype=found, shape=shape, dimension=d))
    if sparse:
        return tuple(made)
    if not made:
        return ops.broadcast_in_dim(found.type(0), shape=(0,), broadcast_dimensions=())
    rows = [ops.reshape(m, new_sizes=(1, *sizes)) for m in made]
    return ops.concatenate(*rows, dimension=0)


class _Grid:
    """What mgrid and ogrid share: a[i:j:k] per axis, where an imaginary step is a count."""

    sparse: bool

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return _axis_of(key)
        axes = [_axis_of(k) for k in key]
        made = meshgrid(*axes, indexing="ij", sparse=self.sparse)
        dtype = result_type_of([m.aval for m in made])[0] if made else None
        made = [convert(m, dtype) for m in made]
        if self.sparse:
            return made
        rows = [ops.reshape(m, new_sizes=(1, *m.shape)) for m in made]
        return ops.concatenate(*rows, dimension=0) if rows else ()


def _axis_of(key: slice) -> Any:
    step = 1 if key.step is None else key.step
    start = 0 if key.start is None else key.start
    if isinstance(step, complex):
        return linspace(start, key.stop, int(abs(step)))
    return arange(start, key.stop, step)


class MeshGrid(_Grid):
    """`mgrid[0:2, 0:3]`: the coordinates of a grid as one array."""

    sparse = False


class OpenGrid(_Grid):
    """`ogrid[0:2, 0:3]`: coordinates that broadcast to a grid."""

    sparse = True


mgrid, ogrid = MeshGrid(), OpenGrid()
