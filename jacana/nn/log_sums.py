"""Sums of exponentials without overflow: logsumexp, logmeanexp, softmax, log_softmax."""

import math
from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana import ops
from jacana.core import dtypes
from jacana.lax import stop_gradient
from jacana.nn.programs import Program, given, static_axes
from jacana.numpy.promotion import (
    as_array,
    as_arrays,
    literal,
    normalized_axes,
    promote_args_inexact,
)

Axes = tuple[int, ...]


def axes_of(axis: Any, rank: int) -> Axes:
    return tuple(range(rank)) if axis is None else normalized_axes(axis, rank)


def masked(x: Any, where: Any, fill: float) -> Any:
    """x with `fill` where the mask is false."""
    return x if where is None else jnp.where(where, x, literal(fill, x))


def shift_of(x: Any, axes: Axes) -> Any:
    """The largest real part along axes, of extent 1; 0 where that is infinite or nothing is."""
    largest = jnp.max(jnp.real(x), axes, keepdims=True, initial=-np.inf)
    return stop_gradient(jnp.where(jnp.isfinite(largest), largest, 0))


def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """log(sum(b * exp(a))) over axes, without overflow.

    Args:
      a: floats, integers (which become floats) or complex numbers.
      axis: axes summed over; all of them by default.
      b: factors, broadcast against a; where one is 0, a does not matter.
      keepdims: leave the axes, with extent 1.
      return_sign: give (log(abs(sum)), sign(sum)); otherwise a negative sum gives nan.
      where: the elements that count, broadcast against a.

    A sum of nothing is -inf, with derivative 0. Elements left out have derivative 0.

    >>> logsumexp(np.float32([1000, 1000]))
    Array(1000.6932, dtype=float32)
    """
    return _logsumexp(
        *given(a, b, where),
        axis=static_axes(axis), keepdims=bool(keepdims), return_sign=bool(return_sign),
    )  # fmt: skip


@Program
def _logsumexp(
    a: Any,
    b: Any = None,
    where: Any = None,
    *,
    axis: Any,
    keepdims: bool,
    return_sign: bool,
) -> Any:
    if b is None:
        (a,) = as_arrays("logsumexp", *promote_args_inexact("logsumexp", a))
    else:
        a, b = as_arrays("logsumexp", *promote_args_inexact("logsumexp", a, b))
        a = masked(a, jnp.not_equal(b, 0), -np.inf)
    a = masked(a, where, -np.inf)
    axes = axes_of(axis, a.ndim)
    shift = shift_of(a, axes)
    terms = jnp.exp(a - shift)
    total = jnp.sum(terms if b is None else b * terms, axes, keepdims=True, where=where)
    sign = jnp.sign(total)
    if return_sign or not dtypes.is_complex(a.dtype):
        total = jnp.abs(total)
    # The derivative of the logarithm at 0 would be infinite.
    nothing = jnp.equal(total, 0)
    out = jnp.where(nothing, -np.inf, jnp.log(jnp.where(nothing, 1, total)) + shift)
    if not keepdims:
        out, sign = jnp.squeeze(out, axes), jnp.squeeze(sign, axes)
    if return_sign:
        return out, sign
    if b is not None and not dtypes.is_complex(a.dtype):
        out = jnp.where(sign < 0, np.nan, out)
    return out


def logmeanexp(x: Any, axis: Any = None, where: Any = None, keepdims: bool = False) -> Any:
    """log(mean(exp(x))) over axes, without overflow; arguments as logsumexp's.

    >>> logmeanexp(np.float32([1000, 1000]))
    Array(1000., dtype=float32)
    """
    total = logsumexp(x, axis, keepdims=keepdims, where=where)
    shape = np.shape(x)
    if where is None:
        count = math.prod([shape[d] for d in axes_of(static_axes(axis), len(shape))])
        return total - (math.log(count) if count else -math.inf)
    chosen = jnp.broadcast_to(where, jnp.broadcast_shapes(np.shape(where), shape))
    return total - jnp.log(jnp.sum(chosen, axis, keepdims=keepdims).astype(total.dtype))


def softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """exp(x) / sum(exp(x)) along an axis or several, without overflow.

    where: the elements that count; the others are 0, with derivative 0.

    >>> softmax(np.float32([0, 0, -1000]))
    Array([0.5, 0.5, 0. ], dtype=float32)
    """
    return _softmax(*given(x, where), axis=static_axes(axis))


@Program
def _softmax(x: Any, where: Any = None, *, axis: Any) -> Any:
    x, axes = masked_logits("softmax", x, where, axis)
    largest = stop_gradient(jnp.max(x, axes, keepdims=True, initial=-np.inf))
    if where is not None:
        # A row without elements has no largest one.
        largest = jnp.where(jnp.equal(largest, -np.inf), 0, largest)
    powers = jnp.exp(x - largest)
    total = jnp.sum(powers, axes, keepdims=True)
    if where is not None:
        total = jnp.where(jnp.equal(total, 0), 1, total)
    return powers / total


def masked_logits(function: str, x: Any, where: Any, axis: Any) -> tuple[Any, Axes]:
    """Logits in floating point, -inf where the mask is false, and the axes."""
    x = as_array(function, promote_args_inexact(function, x)[0])
    x = masked(x, where, -np.inf)
    return x, axes_of(axis, x.ndim)


def log_softmax(x: Any, axis: Any = -1, where: Any = None) -> Any:
    """x - logsumexp(x) along an axis or several: the logarithm of softmax.

    where: the elements that count; the others are -inf, with derivative 0.

    >>> log_softmax(np.float32([0, 1000]))
    Array([-1000.,     0.], dtype=float32)
    """
    return _log_softmax(*given(x, where), axis=static_axes(axis))


@Program
def _log_softmax(x: Any, where: Any = None, *, axis: Any) -> Any:
    x, axes = masked_logits("log_softmax", x, where, axis)
    largest = stop_gradient(jnp.max(x, axes, keepdims=True, initial=-np.inf))
    if where is not None:
        largest = jnp.where(jnp.equal(largest, -np.inf), 0, largest)
    shifted = x - largest
    total = jnp.sum(ops.exp(shifted), axes, keepdims=True)
    if where is not None:
        total = jnp.where(jnp.equal(total, 0), 1, total)
    return shifted - jnp.log(total)
