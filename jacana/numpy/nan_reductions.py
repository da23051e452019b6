"""Reductions that ignore nan."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.numpy import reductions
from jacana.numpy.elementwise import (
    sqrt,
)
from jacana.numpy.floats import isnan
from jacana.numpy.promotion import (
    as_array,
    broadcast_to,
    convert,
    inexact_dtype,
    literal,
    refuse_out,
)
from jacana.numpy.selection import as_condition, where as choose


def _without_nan(x: Any, fill: Any) -> Any:
    """x with nan replaced; x itself if it cannot hold nan."""
    if not dtypes.is_differentiable(x.dtype):
        return x
    return choose(isnan(x), literal(fill, x), x)


def nansum(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False,
    initial: Any = None, where: Any = None,
) -> Any:  # fmt: skip
    """The sum of the elements that are not nan, over axes.

    >>> jnp.nansum(jnp.array([2.0, jnp.nan, 3.0]))
    Array(5., dtype=float32)
    """
    refuse_out("nansum", out)
    x = _without_nan(as_array("nansum", a), 0)
    return reductions.sum(x, axis, dtype, None, keepdims, initial, where)


def nanprod(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False,
    initial: Any = None, where: Any = None,
) -> Any:  # fmt: skip
    """The product of the elements that are not nan, over axes.

    >>> jnp.nanprod(jnp.array([2.0, jnp.nan, 3.0]))
    Array(6., dtype=float32)
    """
    refuse_out("nanprod", out)
    x = _without_nan(as_array("nanprod", a), 1)
    return reductions.prod(x, axis, dtype, None, keepdims, initial, where)


def _nan_extreme(
    name: str, a: Any, axis: Any, keepdims: bool, initial: Any, where: Any, worst: float
) -> Any:
    x = as_array(name, a)
    function = reductions.max if worst < 0 else reductions.min
    if not dtypes.is_differentiable(x.dtype):
        return function(x, axis, None, keepdims, initial, where)
    out = function(_without_nan(x, worst), axis, None, keepdims, initial, where)
    if initial is not None:
        return out
    nothing = reductions.all(isnan(x), axis, None, keepdims)
    return choose(nothing, literal(np.nan, out), out)


def nanmax(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
    where: Any = None,
) -> Any:  # fmt: skip
    """The largest element that is not nan, over axes; nan where there is none.

    >>> jnp.nanmax(jnp.array([2.0, jnp.nan, 3.0]))
    Array(3., dtype=float32)
    """
    refuse_out("nanmax", out)
    return _nan_extreme("nanmax", a, axis, keepdims, initial, where, -np.inf)


def nanmin(
    a: Any, axis: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
    where: Any = None,
) -> Any:  # fmt: skip
    """The smallest element that is not nan, over axes; nan where there is none.

    >>> jnp.nanmin(jnp.array([2.0, jnp.nan, 3.0]))
    Array(2., dtype=float32)
    """
    refuse_out("nanmin", out)
    return _nan_extreme("nanmin", a, axis, keepdims, initial, where, np.inf)


def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, keepdims: bool = False,
    where: Any = None,
) -> Any:  # fmt: skip
    """The mean of the elements that are not nan, over axes; nan where there are none.

    >>> jnp.nanmean(jnp.array([2.0, jnp.nan, 4.0]))
    Array(3., dtype=float32)
    """
    refuse_out("nanmean", out)
    x = as_array("nanmean", a)
    if not dtypes.is_differentiable(x.dtype):
        return reductions.mean(x, axis, dtype, None, keepdims, where=where)
    return reductions.mean(x, axis, dtype, None, keepdims, where=_numbers(x, where))


def _numbers(x: Any, where: Any) -> Any:
    """Where x is not nan and the mask holds."""
    mask = ops.not_(isnan(x))
    if where is None:
        return mask
    given = as_condition(as_array("where", where))
    shape = np.broadcast_shapes(mask.shape, np.shape(given))
    return ops.and_(broadcast_to(mask, shape), broadcast_to(given, shape))


def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: int = 0,
    keepdims: bool = False, where: Any = None, mean: Any = None,
) -> Any:  # fmt: skip
    """The variance of the elements that are not nan, over axes.

    >>> jnp.nanvar(jnp.array([1.0, jnp.nan, 3.0]))
    Array(1., dtype=float32)
    """
    refuse_out("nanvar", out)
    x = as_array("nanvar", a)
    x = convert(x, inexact_dtype(x.dtype))
    mask = _numbers(x, where)
    # A nan would reach the derivative though it counts for nothing.
    x = _without_nan(x, 0.0)
    return reductions.var(x, axis, dtype, None, ddof, keepdims, where=mask, mean=mean)


def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, out: None = None, ddof: int = 0,
    keepdims: bool = False, where: Any = None, mean: Any = None,
) -> Any:  # fmt: skip
    """The square root of nanvar.

    >>> jnp.nanstd(jnp.array([1.0, jnp.nan, 3.0]))
    Array(1., dtype=float32)
    """
    refuse_out("nanstd", out)
    return sqrt(nanvar(a, axis, dtype, None, ddof, keepdims, where, mean))


def _nan_position(name: str, a: Any, axis: Any, keepdims: Any, worst: float) -> Any:
    x = as_array(name, a)
    function = reductions.argmax if worst < 0 else reductions.argmin
    if not dtypes.is_differentiable(x.dtype):
        return function(x, axis, None, keepdims)
    position = function(_without_nan(x, worst), axis, None, keepdims)
    nothing = reductions.all(isnan(x), axis, None, bool(keepdims))
    return choose(nothing, literal(-1, position), position)


def nanargmax(a: Any, axis: Any = None, out: None = None, keepdims: Any = None) -> Any:
    """The index of the first largest element that is not nan; -1 where there is none.

    >>> jnp.nanargmax(jnp.array([1.0, jnp.nan, 3.0]))
    Array(2, dtype=int32)
    """
    refuse_out("nanargmax", out)
    return _nan_position("nanargmax", a, axis, keepdims, -np.inf)


def nanargmin(a: Any, axis: Any = None, out: None = None, keepdims: Any = None) -> Any:
    """The index of the first smallest element that is not nan; -1 where there is none.

    >>> jnp.nanargmin(jnp.array([1.0, jnp.nan, 3.0]))
    Array(0, dtype=int32)
    """
    refuse_out("nanargmin", out)
    return _nan_position("nanargmin", a, axis, keepdims, np.inf)


def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
    """Running sums with nan counted as 0.

    >>> jnp.nancumsum(jnp.array([2.0, jnp.nan, 3.0]))
    Array([2., 2., 5.], dtype=float32)
    """
    refuse_out("nancumsum", out)
    return reductions.cumsum(_without_nan(as_array("nancumsum", a), 0), axis, dtype)


def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: None = None) -> Any:
    """Running products with nan counted as 1.

    >>> jnp.nancumprod(jnp.array([2.0, jnp.nan, 3.0]))
    Array([2., 2., 6.], dtype=float32)
    """
    refuse_out("nancumprod", out)
    return reductions.cumprod(_without_nan(as_array("nancumprod", a), 1), axis, dtype)
