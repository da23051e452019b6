"""Statistics of order: median, quantile, percentile, and those that ignore nan."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.numpy.creation import ones_like, zeros_like
from jacana.numpy.elementwise import (
    multiply,
    true_divide,
)
from jacana.numpy.floats import isnan
from jacana.numpy.logic import (
    greater,
    greater_equal,
    less_equal,
    logical_and,
)
from jacana.numpy.manipulation import expand_dims, moveaxis, reshape
from jacana.numpy.promotion import (
    as_array,
    broadcast_to,
    convert,
    inexact_dtype,
    literal,
    promote_dtypes,
    refuse_out,
)
from jacana.numpy.reductions import (
    any as any_of,
    argmax,
    axes_of,
    computation_dtype,
    sum as sum_of,
)
from jacana.numpy.selection import where
from jacana.numpy.sorting import sort

# With weights there is one method.
WEIGHTED = "inverted_cdf"
METHODS = ("linear", "lower", "higher", "nearest", "midpoint", "hazen", "weibull",
           "median_unbiased", "normal_unbiased", "interpolated_inverted_cdf", WEIGHTED)  # fmt: skip

# Where the quantile q of n sorted values stands, counted from 0: q (n + a + b) - b in terms of the
# plotting positions of Hyndman and Fan.
_PLOTTING = {
    "hazen": (0.5, 0.5), "weibull": (0.0, 0.0), "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8), "interpolated_inverted_cdf": (0.0, 1.0),
}  # fmt: skip


def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """The value below which the fraction q (0 to 1) of the elements lies, over axes.

    An array of q gives a leading axis. Between two elements, `method` decides (linear, lower,
    higher, nearest, midpoint, hazen, weibull, ...). nan if there is one.

    >>> jnp.quantile(jnp.array([1.0, 2.0, 4.0]), 0.5)
    Array(2., dtype=float32)
    """
    refuse_out("quantile", out)
    return _quantile("quantile", a, q, axis, method, keepdims, weights, ignore_nan=False)


def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """quantile of the elements that are not nan; nan where there are none.

    >>> jnp.nanquantile(jnp.array([1.0, jnp.nan, 3.0]), 0.5)
    Array(2., dtype=float32)
    """
    refuse_out("nanquantile", out)
    return _quantile("nanquantile", a, q, axis, method, keepdims, weights, ignore_nan=True)


def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
    out_sharding: Any = None,
) -> Any:
    """quantile with q in percent.

    >>> jnp.percentile(jnp.array([1.0, 2.0, 4.0]), 50)
    Array(2., dtype=float32)
    """
    refuse_out("percentile", out)
    part = true_divide(q, 100)
    return _quantile("percentile", a, part, axis, method, keepdims, weights, ignore_nan=False)


def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: Any = None,
) -> Any:
    """nanquantile with q in percent.

    >>> jnp.nanpercentile(jnp.array([1.0, jnp.nan, 3.0]), 50)
    Array(2., dtype=float32)
    """
    refuse_out("nanpercentile", out)
    part = true_divide(q, 100)
    return _quantile("nanpercentile", a, part, axis, method, keepdims, weights, ignore_nan=True)


def median(
    a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """The middle element over axes, or the mean of the middle two; nan if there is one.

    >>> jnp.median(jnp.array([3.0, 1.0, 2.0]))
    Array(2., dtype=float32)
    """
    refuse_out("median", out)
    return _quantile("median", a, 0.5, axis, "midpoint", keepdims, None, ignore_nan=False)


def nanmedian(
    a: Any, axis: Any = None, out: None = None, overwrite_input: bool = False,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """The median of the elements that are not nan.

    >>> jnp.nanmedian(jnp.array([1.0, jnp.nan, 3.0]))
    Array(2., dtype=float32)
    """
    refuse_out("nanmedian", out)
    return _quantile("nanmedian", a, 0.5, axis, "midpoint", keepdims, None, ignore_nan=True)


def _quantile(
    name: str, a: Any, q: Any, axis: Any, method: str, keepdims: bool, weights: Any,
    ignore_nan: bool,
) -> Any:  # fmt: skip
    if method not in METHODS:
        raise ValueError(f"method can only be one of {', '.join(METHODS)}, got {method!r}.")
    x = as_array(name, a)
    if weights is not None:
        if method != WEIGHTED:
            raise NotImplementedError(
                f"jnp.{name} takes weights with method={WEIGHTED!r} only, got method={method!r}."
            )
        weights = _broadcast_weights(name, as_array(name, weights), x.shape, axis)
    found = inexact_dtype(x.dtype)
    x, parts = promote_dtypes(convert(x, found), q)
    if dtypes.is_complex(found):
        raise ValueError(
            f"{name} does not support complex input, as the operation is poorly defined."
        )
    x, parts = convert(x, computation_dtype(found)), as_array(name, parts)
    parts = convert(parts, x.dtype)
    if parts.ndim > 1:
        raise ValueError(f"q must be have rank <= 1, got shape {parts.shape}")
    axes = axes_of(axis, x.ndim)
    rank = x.ndim
    kept = [x.shape[d] for d in range(rank) if d not in axes]

    def reduced_last(v: Any) -> Any:
        """The axes to reduce become one, the last."""
        return reshape(moveaxis(v, axes, tuple(range(rank - len(axes), rank))), (*kept, -1))

    x = reduced_last(x)
    if x.shape[-1] == 0:
        nan = literal(np.nan, x)
        out = broadcast_to(nan, (*parts.shape, *kept))
    elif method == WEIGHTED:
        shares = ones_like(x) if weights is None else convert(reduced_last(weights), x.dtype)
        out = _of_weighted_axis(x, shares, parts, ignore_nan)
    else:
        out = _of_last_axis(x, parts, method, ignore_nan)
    if keepdims:
        lead = parts.ndim
        out = expand_dims(out, tuple(d + lead for d in axes)) if axes else out
    return convert(out, found)


def _of_last_axis(x: Any, parts: Any, method: str, ignore_nan: bool) -> Any:
    n = x.shape[-1]
    kept = x.shape[:-1]
    if ignore_nan:
        numbers = ops.not_(isnan(x))
        count = convert(sum_of(numbers, -1), x.dtype)
    else:
        poisoned = any_of(isnan(x), -1, keepdims=True)
        x = where(poisoned, literal(np.nan, x), x)
        count = broadcast_to(literal(n, x), kept)
    ordered = sort(x, -1)
    rows = (*parts.shape, *kept)
    lead = tuple(range(parts.ndim))
    q = ops.broadcast_in_dim(parts, shape=rows, broadcast_dimensions=lead)
    count = broadcast_to(count, rows)
    place = _place(q, count, method)
    top = ops.sub(count, literal(1, count))
    zero = broadcast_to(literal(0, count), rows)
    place = ops.max(ops.min(place, top), zero)
    low, high = ops.floor(place), ops.ceil(place)
    below, above = (_at(ordered, v, parts.ndim) for v in (low, high))
    out = _between(below, above, ops.sub(place, low), method)
    valid = ops.and_(ops.ge(q, literal(0, q)), ops.le(q, literal(1, q)))
    return where(valid, out, literal(np.nan, out))


def _broadcast_weights(name: str, weights: Any, shape: tuple[int, ...], axis: Any) -> Any:
    """Weights of the shape of what they weigh: given so, or as a vector along the one axis."""
    if weights.shape == shape:
        return weights
    if axis is None:
        raise ValueError(
            f"jnp.{name}: weights of shape {weights.shape} must have the shape of a, {shape}, "
            f"where axis is None."
        )
    along = axes_of(axis, len(shape))
    if weights.ndim != len(along) or any(
        n != shape[d] for n, d in zip(weights.shape, along, strict=True)
    ):
        raise ValueError(
            f"jnp.{name}: weights of shape {weights.shape} must have the shape of a, {shape}, or "
            f"that of its axes {along}."
        )
    return ops.broadcast_in_dim(weights, shape=shape, broadcast_dimensions=along)


def _of_weighted_axis(x: Any, weights: Any, parts: Any, ignore_nan: bool) -> Any:
    """The first sorted element up to which there is at least the fraction of the weight."""
    missing = isnan(x)
    weights = where(missing, zeros_like(weights), weights)
    bad = any_of(ops.lt(weights, zeros_like(weights)), -1)
    if not ignore_nan:
        bad = ops.or_(bad, any_of(missing, -1))
    ordered, weights = ops.sort(x, weights, dimension=x.ndim - 1, is_stable=True, num_keys=1)
    reached = ops.cumsum(weights, axis=x.ndim - 1, reverse=False)
    total = reached[..., -1:]
    lead = parts.ndim
    q = ops.broadcast_in_dim(
        parts, shape=(*parts.shape, *total.shape), broadcast_dimensions=tuple(range(lead))
    )
    # Elements before the first weight are none of the distribution.
    enough = logical_and(greater_equal(reached, multiply(q, total)), greater(reached, 0))
    out = _at(ordered, argmax(enough, -1), lead)
    valid = logical_and(logical_and(greater_equal(q, 0), less_equal(q, 1)), greater(total, 0))
    usable = logical_and(valid[..., 0], ops.not_(bad))
    return where(usable, out, literal(np.nan, out))


def _place(q: Any, count: Any, method: str) -> Any:
    """Where among the sorted elements a quantile stands."""
    one = literal(1, count)
    if method not in _PLOTTING:
        return ops.mul(q, ops.sub(count, one))
    alpha, beta = _PLOTTING[method]
    scaled = ops.mul(q, ops.add(count, literal(1 - alpha - beta, count)))
    return ops.add(scaled, literal(alpha - 1, count))


def _between(below: Any, above: Any, part: Any, method: str) -> Any:
    half = literal(0.5, part)
    if method == "lower":
        return below
    if method == "higher":
        return above
    if method == "nearest":
        return where(ops.gt(part, half), above, below)
    if method == "midpoint":
        return where(ops.eq(part, literal(0, part)), below, _middle(below, above))
    rest = ops.sub(literal(1, part), part)
    # Equal neighbours (infinite ones too) need no weighing.
    weighed = ops.add(multiply(below, rest), multiply(above, part))
    return where(ops.eq(below, above), below, weighed)


def _middle(x: Any, y: Any) -> Any:
    half = literal(0.5, x)
    return ops.add(ops.mul(x, half), ops.mul(y, half))


def _at(ordered: Any, place: Any, lead: int) -> Any:
    """The elements at positions along the last axis; `place` has `lead` more leading axes."""
    kept = ordered.ndim - 1
    index = ops.convert_element_type(place, new_dtype=dtypes.int32, weak_type=False)
    index = ops.reshape(index, new_sizes=(*index.shape, 1))
    numbers = ops.GatherDimensionNumbers(
        offset_dims=(), collapsed_slice_dims=(kept,), start_index_map=(kept,),
        operand_batching_dims=tuple(range(kept)),
        start_indices_batching_dims=tuple(range(lead, lead + kept)),
    )  # fmt: skip
    return ops.gather(
        ordered, index, dimension_numbers=numbers, slice_sizes=(1,) * ordered.ndim,
        mode=ops.GatherScatterMode.CLIP,
    )  # fmt: skip
