"""Reductions: sum, prod, max, min, mean, var, all, any, argmax, and running sums and products."""

import builtins
import math
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import config, dtypes
from jacana.numpy.elementwise import (
    maximum,
    minimum,
    multiply,
    sqrt,
)
from jacana.numpy.manipulation import expand_dims
from jacana.numpy.promotion import (
    as_array,
    broadcast_shape,
    broadcast_to,
    convert,
    inexact_dtype,
    literal,
    normalized_axes,
    normalized_axis,
    promote_args,
    promote_args_inexact,
    refuse_out,
)
from jacana.numpy.selection import as_condition
from jacana.ops.extremes import greatest, least

Axes = tuple[int, ...]


def _x64() -> bool:
    return config.current().enable_x64


def axes_of(axis: Any, rank: int) -> Axes:
    """The axes that None (all), one axis or several stand for."""
    return tuple(range(rank)) if axis is None else normalized_axes(axis, rank)


def keep_axes(out: Any, axes: Axes, keepdims: bool) -> Any:
    """A reduced array with the reduced axes back at extent 1, if asked."""
    return expand_dims(out, axes) if keepdims and axes else out


def masked(function: str, x: Any, where: Any, identity: Any) -> Any:
    """x with the identity of a reduction where the mask is false."""
    if where is None:
        return x
    condition = as_condition(as_array(function, where))
    shape = broadcast_shape(function, np.shape(condition), x.shape)
    fill = np.asarray(identity).astype(x.dtype)[()]
    x = broadcast_to(x, shape)
    return ops.select_n(broadcast_to(condition, shape), broadcast_to(fill, shape), x)


def _summed_dtype(function: str, x: Any, dtype: Any, promote_integers: bool) -> Any:
    """The dtype of a sum or product: integers narrower than int become int (uint)."""
    if dtype is not None:
        return dtypes.requested(dtype, _x64(), function)
    if not promote_integers and not dtypes.is_bool(x.dtype):
        return x.dtype
    default = dtypes.python_scalar_dtype(int, _x64())
    if dtypes.is_bool(x.dtype):
        return default
    if dtypes.is_integer(x.dtype) and dtypes.bit_width(x.dtype) < 8 * default.itemsize:
        if dtypes.is_unsigned_integer(x.dtype):
            return np.dtype(f"uint{8 * default.itemsize}")
        return default
    return x.dtype


def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """The sum over axes; booleans and small integers are summed as int (or uint).

    initial: added to the sum. where: elements that count. f16 and bf16 are summed in f32.

    >>> jnp.sum(jnp.ones((2, 3)), axis=0)
    Array([2., 2., 2.], dtype=float32)
    """
    refuse_out("sum", out)
    x = as_array("sum", a)
    x = convert(x, _summed_dtype("sum", x, dtype, promote_integers))
    x = masked("sum", x, where, 0)
    axes = axes_of(axis, x.ndim)
    total = keep_axes(ops.reduce_sum(x, axes=axes), axes, keepdims)
    return total if initial is None else ops.add(*promote_args("sum", total, initial))


def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """The product over axes; booleans and small integers are multiplied as int (or uint).

    >>> jnp.prod(jnp.array([2, 3, 4]))
    Array(24, dtype=int32)
    """
    refuse_out("prod", out)
    x = as_array("prod", a)
    x = convert(x, _summed_dtype("prod", x, dtype, promote_integers))
    x = masked("prod", x, where, 1)
    axes = axes_of(axis, x.ndim)
    total = keep_axes(ops.reduce_prod(x, axes=axes), axes, keepdims)
    return total if initial is None else multiply(total, initial)


def _extreme(
    name: str, a: Any, axis: Any, keepdims: bool, initial: Any, where: Any, largest: bool
) -> Any:
    x = as_array(name, a)
    axes = axes_of(axis, x.ndim)
    if where is not None and initial is None:
        raise ValueError(
            f"reduction operation {name} does not have an identity, so to use a where mask one "
            f"has to specify 'initial'"
        )
    if initial is None and builtins.any(x.shape[d] == 0 for d in axes):
        raise ValueError(
            f"zero-size array to reduction operation {name} which has no identity. Give `initial`, "
            f"the value for no elements; the array is {x.aval}."
        )
    x = convert(x, x.dtype)
    x = masked(name, x, where, least(x.dtype) if largest else greatest(x.dtype))
    reduce = ops.reduce_max if largest else ops.reduce_min
    out = keep_axes(reduce(x, axes=axes), axes, keepdims)
    if initial is None:
        return out
    return (maximum if largest else minimum)(out, convert(initial, x.dtype))


def max(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The largest element over axes; nan if there is one. ValueError for no elements.

    >>> jnp.max(jnp.array([1, 3, 2]))
    Array(3, dtype=int32)
    """
    refuse_out("max", out)
    return _extreme("max", a, axis, keepdims, initial, where, largest=True)


def min(
    a: Any,
    axis: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """The smallest element over axes; nan if there is one. ValueError for no elements.

    >>> jnp.min(jnp.array([[3, 1], [2, 5]]), axis=1)
    Array([1, 2], dtype=int32)
    """
    refuse_out("min", out)
    return _extreme("min", a, axis, keepdims, initial, where, largest=False)


amax, amin = max, min


def _logical(name: str, a: Any, axis: Any, keepdims: bool, where: Any, every: bool) -> Any:
    x = as_condition(as_array(name, a))
    x = masked(name, x, where, every)
    axes = axes_of(axis, x.ndim)
    reduce = ops.reduce_and if every else ops.reduce_or
    return keep_axes(reduce(x, axes=axes), axes, keepdims)


def all(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Whether all elements over axes are nonzero.

    >>> jnp.all(jnp.array([[True, False], [True, True]]), axis=0)
    Array([ True, False], dtype=bool)
    """
    refuse_out("all", out)
    return _logical("all", a, axis, keepdims, where, every=True)


def any(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Whether any element over axes is nonzero.

    >>> jnp.any(jnp.array([[True, False], [False, False]]), axis=1)
    Array([ True, False], dtype=bool)
    """
    refuse_out("any", out)
    return _logical("any", a, axis, keepdims, where, every=False)


def ptp(a: Any, axis: Any = None, out: None = None, keepdims: bool = False) -> Any:
    """The largest element less the smallest, over axes.

    >>> jnp.ptp(jnp.array([3, 9, 4]))
    Array(6, dtype=int32)
    """
    refuse_out("ptp", out)
    return ops.sub(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


def count_nonzero(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """How many elements over axes are nonzero.

    >>> jnp.count_nonzero(jnp.array([0, 2, 3]))
    Array(2, dtype=int32)
    """
    return sum(as_condition(as_array("count_nonzero", a)), axis, keepdims=keepdims)


# --- means ---


def computation_dtype(dtype: Any) -> Any:
    """The dtype that means are computed in: float32 for narrower floats."""
    narrow = dtypes.is_float(dtype) and dtypes.bit_width(dtype) < 32
    return dtypes.float32 if narrow else dtype


def _result_dtype(function: str, x: Any, dtype: Any) -> Any:
    if dtype is not None:
        return dtypes.requested(dtype, _x64(), function)
    return inexact_dtype(x.dtype)


def _counted(x: Any, axes: Axes, where: Any) -> Any:
    """How many elements each reduced element is made of: a number, or an array under a mask."""
    if where is None:
        return math.prod([x.shape[d] for d in axes])
    mask = broadcast_to(as_condition(as_array("mean", where)), x.shape)
    return sum(mask, axes)


def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Any:
    """The mean over axes, of floats; nan of no elements.

    >>> jnp.mean(jnp.array([1, 2]))
    Array(1.5, dtype=float32)
    """
    refuse_out("mean", out)
    x = as_array("mean", a)
    found = _result_dtype("mean", x, dtype)
    x = _masked_shape(convert(x, computation_dtype(found)), where)
    axes = axes_of(axis, x.ndim)
    total = sum(x, axes, where=where, keepdims=keepdims)
    count = keep_axes(_counted(x, axes, where), axes, keepdims) if where is not None else None
    divisor = literal(_counted(x, axes, None), x) if where is None else convert(count, x.dtype)
    return convert(ops.div(total, divisor), found)


# `var` and `std` have an argument of that name.
_mean = mean


def _masked_shape(x: Any, where: Any) -> Any:
    """x repeated to the shape that it and a mask have together."""
    if where is None:
        return x
    return broadcast_to(x, broadcast_shape("where", x.shape, np.shape(where)))


def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """The mean of squared distances from the mean, over axes; divided by n - ddof.

    >>> jnp.var(jnp.array([1.0, 3.0]))
    Array(1., dtype=float32)
    """
    refuse_out("var", out)
    return _variance("var", a, axis, dtype, ddof, keepdims, where, mean, correction)


def _variance(
    name: str, a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: bool, where: Any, given: Any,
    correction: Any,
) -> Any:  # fmt: skip
    if correction is not None:
        if isinstance(ddof, int) and ddof == 0:
            ddof = correction
        else:
            raise ValueError("ddof and correction can't be provided simultaneously.")
    x = as_array(name, a)
    found = dtypes.real_dtype(_result_dtype(name, x, dtype))
    work = computation_dtype(_result_dtype(name, x, None) if dtype is None else found)
    if dtypes.is_complex(x.dtype):
        work = dtypes.complex_dtype(work)
    x = _masked_shape(convert(x, work), where)
    axes = axes_of(axis, x.ndim)
    if given is None:
        given = _mean(x, axes, keepdims=True, where=where)
    centre = broadcast_to(convert(given, work), x.shape)
    distance = ops.sub(x, centre)
    if dtypes.is_complex(work):
        squares = ops.add(ops.square(ops.real(distance)), ops.square(ops.imag(distance)))
    else:
        squares = ops.square(distance)
    total = sum(squares, axes, where=where, keepdims=keepdims)
    return convert(_over_count(total, x, axes, where, ddof, keepdims), found)


def _over_count(total: Any, x: Any, axes: Axes, where: Any, ddof: Any, keepdims: bool) -> Any:
    """total / (n - ddof), nan where that is not positive."""
    count = _counted(x, axes, where)
    if where is None and isinstance(ddof, int | float):
        left = count - ddof
        divisor = literal(left if left > 0 else np.nan, total)
        return ops.div(total, divisor)
    if where is not None:
        count = keep_axes(count, axes, keepdims)
    count = broadcast_to(convert(count, total.dtype), total.shape)
    left = ops.sub(count, broadcast_to(convert(ddof, total.dtype), total.shape))
    nan = broadcast_to(literal(np.nan, total), total.shape)
    zero = broadcast_to(literal(0, total), total.shape)
    return ops.select_n(ops.gt(left, zero), nan, ops.div(total, left))


def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """The square root of var.

    >>> jnp.std(jnp.array([1.0, 3.0]))
    Array(1., dtype=float32)
    """
    refuse_out("std", out)
    return sqrt(_variance("std", a, axis, dtype, ddof, keepdims, where, mean, correction))


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: bool = False
) -> Any:
    """The mean over axes, weighted if weights are given; with returned, (mean, sum of weights).

    >>> jnp.average(jnp.array([1.0, 3.0]), weights=jnp.array([3.0, 1.0]))
    Array(1.5, dtype=float32)
    """
    x = as_array("average", a)
    if weights is None:
        out = mean(x, axis, keepdims=keepdims)
        total = broadcast_to(literal(_counted(x, axes_of(axis, x.ndim), None), out), out.shape)
        return (out, total) if returned else out
    w = as_array("average", weights)
    if w.shape != x.shape:
        w = _weights_along(x, w, axis)
    x, w = promote_args_inexact("average", x, w)
    total = sum(w, axis, keepdims=keepdims)
    out = ops.div(*promote_args("average", sum(multiply(x, w), axis, keepdims=keepdims), total))
    return (out, broadcast_to(total, out.shape)) if returned else out


def _weights_along(x: Any, w: Any, axis: Any) -> Any:
    """A vector of weights in the place of an axis of x, repeated along the others."""
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = axes_of(axis, x.ndim)
    if tuple(x.shape[d] for d in axes) != tuple(np.shape(w)):
        raise ValueError(
            f"Shape of weights must be consistent with shape of a along specified axis, got "
            f"{np.shape(w)} for axis {axis} of {x.shape}."
        )
    return ops.broadcast_in_dim(w, shape=x.shape, broadcast_dimensions=axes)


# --- positions ---


def _arg_extreme(name: str, primitive: Any, a: Any, axis: Any, keepdims: Any) -> Any:
    x = as_array(name, a)
    rank = x.ndim
    if axis is None:
        x, d = ops.reshape(x, new_sizes=(x.size,)), 0
    else:
        d = normalized_axis(axis, rank)
    if x.shape[d] == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    if dtypes.is_complex(x.dtype):
        x, primitive = _where_extreme(x, d, primitive), ops.argmax
    out = primitive(x, axes=(d,), index_dtype=dtypes.python_scalar_dtype(int, _x64()))
    if not keepdims:
        return out
    return expand_dims(out, tuple(range(rank)) if axis is None else d)


def _where_extreme(x: Any, d: int, primitive: Any) -> Any:
    """Where complex elements are the extreme along an axis, or nan."""
    reduce = ops.reduce_max if primitive is ops.argmax else ops.reduce_min
    extreme = broadcast_to(expand_dims(reduce(x, axes=(d,)), d), x.shape)
    return ops.or_(ops.eq(x, extreme), ops.ne(x, x))


def argmax(a: Any, axis: Any = None, out: None = None, keepdims: Any = None) -> Any:
    """The index of the first largest element (or first nan), flat or along an axis.

    >>> jnp.argmax(jnp.array([1, 3, 2]))
    Array(1, dtype=int32)
    """
    refuse_out("argmax", out)
    return _arg_extreme("argmax", ops.argmax, a, axis, keepdims)


def argmin(a: Any, axis: Any = None, out: None = None, keepdims: Any = None) -> Any:
    """The index of the first smallest element (or first nan), flat or along an axis.

    >>> jnp.argmin(jnp.array([3, 1, 2]))
    Array(1, dtype=int32)
    """
    refuse_out("argmin", out)
    return _arg_extreme("argmin", ops.argmin, a, axis, keepdims)


# --- running ---


def cumulative(name: str, primitive: Any, a: Any, axis: Any, dtype: Any) -> Any:
    """A running sum or product along an axis, or of all elements in order."""
    x = as_array(name, a)
    if dtype is not None:
        found = dtypes.requested(dtype, _x64(), name)
    else:
        is_bool = dtypes.is_bool(x.dtype)
        found = dtypes.python_scalar_dtype(int, _x64()) if is_bool else x.dtype
    if dtypes.is_bool(found):
        found = dtypes.python_scalar_dtype(int, _x64())
    x = convert(x, found)
    if axis is None:
        x, axis = ops.reshape(x, new_sizes=(x.size,)), 0
    return primitive(x, axis=normalized_axis(axis, x.ndim))


def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
    """Sums of the elements up to each, along an axis or flat.

    >>> jnp.cumsum(jnp.arange(4))
    Array([0, 1, 3, 6], dtype=int32)
    """
    refuse_out("cumsum", out)
    return cumulative("cumsum", ops.cumsum, a, axis, dtype)


def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
    """Products of the elements up to each, along an axis or flat.

    >>> jnp.cumprod(jnp.array([1, 2, 3]))
    Array([1, 2, 6], dtype=int32)
    """
    refuse_out("cumprod", out)
    return cumulative("cumprod", ops.cumprod, a, axis, dtype)


def _with_initial(name: str, x: Any, axis: Any, dtype: Any, include: bool, first: int) -> Any:
    x = as_array(name, x)
    if x.ndim == 0:
        raise ValueError(
            f"The input must be non-scalar to take {name}, however a scalar was given."
        )
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"The input array has rank {x.ndim}, however axis was not set.")
        axis = 0
    d = normalized_axis(axis, x.ndim)
    found = _summed_dtype(name, x, dtype, True)
    primitive = ops.cumsum if first == 0 else ops.cumprod
    out = primitive(convert(x, found), axis=d)
    if not include:
        return out
    shape = tuple(1 if k == d else n for k, n in enumerate(x.shape))
    return ops.concatenate(broadcast_to(found.type(first), shape), out, dimension=d)


def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Running sums along an axis, with a leading 0 if include_initial.

    >>> jnp.cumulative_sum(jnp.array([1, 2, 3]), include_initial=True)
    Array([0, 1, 3, 6], dtype=int32)
    """
    return _with_initial("cumulative_sum", x, axis, dtype, include_initial, 0)


def cumulative_prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Running products along an axis, with a leading 1 if include_initial.

    >>> jnp.cumulative_prod(jnp.array([1, 2, 3]), include_initial=True)
    Array([1, 1, 2, 6], dtype=int32)
    """
    return _with_initial("cumulative_prod", x, axis, dtype, include_initial, 1)
