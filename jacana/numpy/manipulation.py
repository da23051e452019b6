"""Shapes: the same elements under another shape, order of axes or position."""

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core.errors import TracerIntegerConversionError
from jacana.core.trace import Tracer
from jacana.numpy.promotion import (
    as_array,
    as_arrays,
    broadcast_shape,
    broadcast_to as broadcast_operand,
    canonical_shape,
    normalized_axes,
    normalized_axis,
)

Shape = tuple[int, ...]

# --- reshape ---


def reshape(
    a: Any,
    shape: Any,
    order: str = "C",
    *,
    copy: bool | None = None,
    out_sharding: Any = None,
) -> Any:
    """The elements of `a` under another shape; a size of -1 is worked out from the others.

    TypeError if the number of elements differs.

    >>> jnp.reshape(jnp.arange(6), (2, -1))
    Array([[0, 1, 2],
           [3, 4, 5]], dtype=int32)
    """
    x = as_array("reshape", a)
    sizes = _resolved(x.shape, shape)
    if order == "F":
        turned = ops.transpose(x, permutation=tuple(range(x.ndim))[::-1])
        made = ops.reshape(turned, new_sizes=sizes[::-1])
        return ops.transpose(made, permutation=tuple(range(len(sizes)))[::-1])
    if order not in ("C", "A"):
        raise ValueError(f"Unexpected value for 'order' argument: {order}.")
    return x if x.shape == sizes else ops.reshape(x, new_sizes=sizes)


def _resolved(old: Shape, shape: Any) -> Shape:
    """The sizes asked for, with -1 worked out."""
    sizes = _sizes(shape)
    size = math.prod(old)
    if -1 in sizes:
        rest = -math.prod(sizes)
        if sizes.count(-1) > 1:
            raise TypeError(
                f"can only specify one unknown axis size with a `-1` value, got {sizes}"
            )
        if rest == 0 or size % rest:
            raise TypeError(
                f"cannot reshape array of shape {old} (size {size}) into shape {sizes} because "
                f"the product of specified axis sizes ({rest}) does not evenly divide {size}"
            )
        return tuple([size // rest if n == -1 else n for n in sizes])
    if math.prod(sizes) != size:
        raise TypeError(
            f"cannot reshape array of shape {old} (size {size}) into shape {sizes} (size "
            f"{math.prod(sizes)})"
        )
    return sizes


def _sizes(shape: Any) -> Shape:
    """Sizes of which one may be -1, checked like those of canonical_shape."""
    single = not isinstance(shape, tuple | list) and np.ndim(shape) == 0
    given = (shape,) if single else tuple(shape)
    try:
        sizes = tuple([operator.index(n) for n in given])
    except TracerIntegerConversionError:
        raise
    except TypeError:
        raise TypeError(
            f"Shapes must be 1D sequences of concrete values of integer type, got {given}. Give "
            f"Python integers; a value that is traced must be a static argument of jit."
        ) from None
    if any(n < -1 for n in sizes):
        raise TypeError(f"shape must have every element be nonnegative or -1, got {sizes}.")
    return sizes


def reshape_method(self: Any, *args: Any, order: str = "C", out_sharding: Any = None) -> Any:
    """`x.reshape(2, 3)` and `x.reshape((2, 3))`."""
    return reshape(self, args[0] if len(args) == 1 else args, order)


def ravel(a: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """The elements as a vector, rows first (columns first for order="F").

    >>> jnp.ravel(jnp.arange(4).reshape(2, 2))
    Array([0, 1, 2, 3], dtype=int32)
    """
    if order == "K":
        raise NotImplementedError("Ravel not implemented for order='K'.")
    x = as_array("ravel", a)
    return reshape(x, (x.size,), order)


def resize(a: Any, new_shape: Any) -> Any:
    """The elements repeated, or cut off, to fill a shape.

    >>> jnp.resize(jnp.arange(3), (2, 2))
    Array([[0, 1],
           [2, 0]], dtype=int32)
    """
    x = as_array("resize", a)
    sizes = canonical_shape(new_shape)
    wanted = math.prod(sizes)
    flat = ops.reshape(x, new_sizes=(x.size,))
    if x.size == 0:
        return broadcast_operand(np.zeros((), x.dtype)[()], sizes)
    if wanted > x.size:
        times = -(-wanted // x.size)
        rows = ops.broadcast_in_dim(flat, shape=(times, x.size), broadcast_dimensions=(1,))
        flat = ops.reshape(rows, new_sizes=(times * x.size,))
    cut = ops.slice(flat, start_indices=(0,), limit_indices=(wanted,), strides=None)
    return ops.reshape(cut, new_sizes=sizes)


def squeeze(a: Any, axis: Any = None) -> Any:
    """`a` without its axes of extent 1, or without the given ones of them.

    >>> jnp.squeeze(jnp.ones((1, 2, 1)))
    Array([1., 1.], dtype=float32)
    """
    x = as_array("squeeze", a)
    if axis is None:
        axes = tuple(d for d, n in enumerate(x.shape) if n == 1)
    else:
        axes = normalized_axes(axis, x.ndim)
    if any(x.shape[d] != 1 for d in axes):
        raise ValueError(
            f"cannot select an axis to squeeze out which has size not equal to one, got shape="
            f"{x.shape} and dimensions={axes}"
        )
    return ops.squeeze(x, dimensions=tuple(sorted(axes))) if axes else x


def expand_dims(a: Any, axis: Any) -> Any:
    """`a` with axes of extent 1 inserted, so that they are at the given places of the result.

    >>> jnp.expand_dims(jnp.arange(2), 0)
    Array([[0, 1]], dtype=int32)
    """
    x = as_array("expand_dims", a)
    count = len(axis) if isinstance(axis, tuple | list) else 1
    rank = x.ndim + count
    added = normalized_axes(axis, rank)
    kept = tuple(d for d in range(rank) if d not in added)
    shape = [1] * rank
    for d, n in zip(kept, x.shape):
        shape[d] = n
    return ops.broadcast_in_dim(x, shape=tuple(shape), broadcast_dimensions=kept)


def atleast_1d(*arys: Any) -> Any:
    """Arrays with at least one axis.

    >>> jnp.atleast_1d(3)
    Array([3], dtype=int32, weak_type=True)
    """
    return _each("atleast_1d", arys, lambda x: x if x.ndim else expand_dims(x, 0))


def atleast_2d(*arys: Any) -> Any:
    """Arrays with at least two axes; vectors become rows.

    >>> jnp.atleast_2d(jnp.arange(2))
    Array([[0, 1]], dtype=int32)
    """

    def raised(x: Any) -> Any:
        return x if x.ndim >= 2 else expand_dims(x, tuple(range(2 - x.ndim)))

    return _each("atleast_2d", arys, raised)


def atleast_3d(*arys: Any) -> Any:
    """Arrays with at least three axes; matrices get a last axis, vectors one on each side.

    >>> jnp.atleast_3d(jnp.arange(2)).shape
    (1, 2, 1)
    """

    def raised(x: Any) -> Any:
        return x if x.ndim >= 3 else expand_dims(x, ((0, 1, 2), (0, 2), 2)[x.ndim])

    return _each("atleast_3d", arys, raised)


def _each(name: str, arys: Sequence[Any], function: Any) -> Any:
    made = [function(as_array(name, x)) for x in arys]
    return made[0] if len(arys) == 1 else made


# --- axes ---


def transpose(a: Any, axes: Any = None) -> Any:
    """`a` with its axes in another order, the reverse one where none is given.

    >>> jnp.transpose(jnp.arange(4).reshape(2, 2))
    Array([[0, 2],
           [1, 3]], dtype=int32)
    """
    x = as_array("transpose", a)
    if axes is None:
        order = tuple(range(x.ndim))[::-1]
    else:
        order = tuple(normalized_axis(d, x.ndim) for d in axes)
    if order == tuple(range(x.ndim)):
        return x
    return ops.transpose(x, permutation=order)


permute_dims = transpose


def transpose_method(self: Any, *args: Any) -> Any:
    """`x.transpose()`, `x.transpose(1, 0)` and `x.transpose((1, 0))`."""
    if not args:
        return transpose(self)
    return transpose(self, args[0] if len(args) == 1 and np.ndim(args[0]) else args)


def matrix_transpose(x: Any, /) -> Any:
    """x with its last two axes exchanged.

    >>> jnp.matrix_transpose(jnp.arange(4).reshape(2, 2))
    Array([[0, 2],
           [1, 3]], dtype=int32)
    """
    x = as_array("matrix_transpose", x)
    if x.ndim < 2:
        raise ValueError(
            f"x must be at least two-dimensional for matrix_transpose; got ndim={x.ndim}"
        )
    return swapaxes(x, -1, -2)


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """`a` with two axes exchanged.

    >>> jnp.swapaxes(jnp.zeros((2, 3)), 0, 1).shape
    (3, 2)
    """
    x = as_array("swapaxes", a)
    order = list(range(x.ndim))
    i, j = normalized_axis(axis1, x.ndim), normalized_axis(axis2, x.ndim)
    order[i], order[j] = j, i
    return transpose(x, order)


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """`a` with axes moved to other places; the others keep their order.

    >>> jnp.moveaxis(jnp.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    x = as_array("moveaxis", a)
    sources, places = normalized_axes(source, x.ndim), normalized_axes(destination, x.ndim)
    if len(sources) != len(places):
        raise ValueError(
            f"Inconsistent number of elements: {len(sources)} vs {len(places)}. moveaxis needs one "
            f"destination for each source."
        )
    order = [d for d in range(x.ndim) if d not in sources]
    for place, d in sorted(zip(places, sources)):
        order.insert(place, d)
    return transpose(x, order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """`a` with an axis moved to stand before the axis `start`.

    >>> jnp.rollaxis(jnp.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    x = as_array("rollaxis", a)
    source = normalized_axis(axis, x.ndim)
    place = normalized_axis(start, x.ndim + 1)
    return moveaxis(x, source, place - 1 if source < place else place)


# --- repetition ---


def broadcast_to(array: Any, shape: Any, *, out_sharding: Any = None) -> Any:
    """An array repeated to a shape that it broadcasts to; ValueError if it does not.

    >>> jnp.broadcast_to(jnp.arange(2), (2, 2))
    Array([[0, 1],
           [0, 1]], dtype=int32)
    """
    x = as_array("broadcast_to", array)
    sizes = canonical_shape(shape)
    first = len(sizes) - x.ndim
    if first < 0 or any(n not in (1, m) for n, m in zip(x.shape, sizes[first:])):
        raise ValueError(
            f"Incompatible types for broadcasting: input type={x.aval} and requested shape={sizes}."
            f" Each axis of the array must be 1 or equal the axis of the shape, from the right."
        )
    return broadcast_operand(x, sizes)


def broadcast_shapes(*shapes: Any) -> Shape:
    """The shape that arrays of these shapes broadcast to; ValueError if there is none.

    >>> jnp.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    return np.broadcast_shapes(*[canonical_shape(s) for s in shapes])


def broadcast_arrays(*args: Any) -> list[Any]:
    """The arrays repeated to the shape they broadcast to together.

    >>> jnp.broadcast_arrays(jnp.arange(2), 1)
    [Array([0, 1], dtype=int32), Array([1, 1], dtype=int32, weak_type=True)]
    """
    arrays = as_arrays("broadcast_arrays", *args)
    shape = broadcast_shape("broadcast_arrays", *[x.shape for x in arrays])
    return [broadcast_operand(x, shape) for x in arrays]


def tile(A: Any, reps: Any) -> Any:
    """A repeated `reps` times along each axis, whole after whole.

    >>> jnp.tile(jnp.arange(2), 3)
    Array([0, 1, 0, 1, 0, 1], dtype=int32)
    """
    x = as_array("tile", A)
    times = canonical_shape(reps)
    if len(times) > x.ndim:
        x = expand_dims(x, tuple(range(len(times) - x.ndim)))
    return ops.tile(x, reps=(1,) * (x.ndim - len(times)) + times)


# --- order ---


def flip(m: Any, axis: Any = None) -> Any:
    """m with the given axes (all) in reversed order.

    >>> jnp.flip(jnp.arange(3))
    Array([2, 1, 0], dtype=int32)
    """
    x = as_array("flip", m)
    axes = tuple(range(x.ndim)) if axis is None else normalized_axes(axis, x.ndim)
    return ops.rev(x, dimensions=axes) if axes else x


def fliplr(m: Any) -> Any:
    """m with its columns in reversed order.

    >>> jnp.fliplr(jnp.arange(4).reshape(2, 2))
    Array([[1, 0],
           [3, 2]], dtype=int32)
    """
    return flip(m, 1)


def flipud(m: Any) -> Any:
    """m with its rows in reversed order.

    >>> jnp.flipud(jnp.arange(4).reshape(2, 2))
    Array([[2, 3],
           [0, 1]], dtype=int32)
    """
    return flip(m, 0)


def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """m turned by k quarters in the plane of two axes, from the first toward the second.

    >>> jnp.rot90(jnp.arange(4).reshape(2, 2))
    Array([[1, 3],
           [0, 2]], dtype=int32)
    """
    x = as_array("rot90", m)
    found = tuple(normalized_axis(d, x.ndim) for d in axes)
    if found[0] == found[1]:
        raise ValueError("Axes must be different")
    first, second = found
    turns = k % 4
    if turns == 0:
        return x
    if turns == 2:
        return flip(flip(x, first), second)
    order = list(range(x.ndim))
    order[first], order[second] = second, first
    if turns == 1:
        return transpose(flip(x, second), order)
    return flip(transpose(x, order), second)


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """`a` with elements moved along axes, round the end; without axis, as a flat array.

    >>> jnp.roll(jnp.arange(4), 1)
    Array([3, 0, 1, 2], dtype=int32)
    """
    x = as_array("roll", a)
    if axis is None:
        return reshape(roll(reshape(x, (x.size,)), shift, 0), x.shape)
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    by = _shifts(shift)
    if len(by) == 1:
        by = by * len(axes)
    if len(axes) == 1:
        axes = tuple(axes) * len(by)
    if len(by) != len(axes):
        raise ValueError(f"'shift' and 'axis' must be of equal length, got {shift} and {axis}.")
    for step, d in zip(by, axes):
        x = _rolled(x, step, normalized_axis(d, x.ndim))
    return x


def _shifts(shift: Any) -> list[Any]:
    if isinstance(shift, tuple | list):
        return list(shift)
    return list(unstack(as_array("roll", shift))) if np.ndim(shift) else [shift]


def _rolled(x: Any, step: Any, axis: int) -> Any:
    n = x.shape[axis]
    if n == 0:
        return x
    if isinstance(step, Tracer) and step.concrete() is None:
        # The array twice over holds every rotation of it as a slice.
        twice = ops.concatenate(x, x, dimension=axis)
        size = step.dtype.type(n)
        start = ops.sub(size, _modulo(step, size))
        zero = size - size
        starts = [start if d == axis else zero for d in range(x.ndim)]
        return ops.dynamic_slice(twice, *starts, slice_sizes=x.shape)
    cut = -operator.index(step) % n
    if cut == 0:
        return x
    head, tail = ops.split(x, sizes=(cut, n - cut), axis=axis)
    return ops.concatenate(tail, head, dimension=axis)


def _modulo(x: Any, size: Any) -> Any:
    """x modulo a positive scalar, never negative."""
    r = ops.rem(x, size)
    return ops.select_n(ops.lt(r, size - size), r, ops.add(r, size))


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The slices along an axis, without it.

    >>> jnp.unstack(jnp.arange(2))
    (Array(0, dtype=int32), Array(1, dtype=int32))
    """
    x = as_array("unstack", x)
    if x.ndim == 0:
        raise ValueError(
            "Unstack requires arrays with rank > 0, however a scalar array was passed."
        )
    d = normalized_axis(axis, x.ndim)
    return tuple(ops.unstack(x, axis=d))
