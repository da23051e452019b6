"""Distributions of counts that are drawn by rejection: Poisson, binomial, multinomial."""

from collections.abc import Callable
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.values import aval_of
from jacana.lax import cond
from jacana.numpy import elementwise as jnp, logic
from jacana.numpy.creation import zeros_like
from jacana.numpy.floats import isinf, isnan
from jacana.numpy.joining import stack
from jacana.numpy.promotion import (
    broadcast_to,
    check_operands,
    convert,
    inexact_dtype,
    result_type_of,
)
from jacana.numpy.reductions import any as any_of, cumsum, max as max_of
from jacana.numpy.selection import clip, where
from jacana.random.keys import check_key, split_of
from jacana.random.program import (
    Shape,
    broadcast_shapes,
    float_dtype,
    int_dtype,
    joint_shape,
    literal,
    parameter,
    program,
)


def poisson(
    key: Any, lam: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None
) -> Any:
    """Poisson numbers of mean lam (which is rounded to float32) as integers.

    -1 where lam is nan, the dtype's largest number where it is infinite. `lam` broadcasts to
    `shape` (its own shape by default). ValueError for dtypes that are not integers.

    >>> from jacana.random import key
    >>> poisson(key(0), 3.0, (5,)).dtype
    dtype('int32')
    """
    check_key(key, "poisson")
    dtype = int_dtype(dtype, "poisson")
    lam = parameter(lam, dtypes.float32, "poisson")
    return _poisson(key, lam, shape=joint_shape(shape, lam), dtype=dtype)


@program
def _poisson(key: Any, lam: Any, *, shape: Shape, dtype: Any) -> Any:
    lam = broadcast_to(lam, shape)
    endless = ops.eq(lam, np.float32(np.inf))
    lam = where(endless, np.float32(0), lam)
    is_small = logic.logical_or(isnan(lam), ops.lt(lam, np.float32(10)))
    small = ops.random_poisson_by_products(key, where(is_small, lam, np.float32(0)))
    large_lam = where(is_small, np.float32(1e5), lam)

    def by_rejection(lam: Any) -> Any:
        # Every element goes through the rounds until all have accepted once.
        rounds = max_of(ops.random_poisson_rounds(key, lam))
        return ops.random_poisson(key, lam, rounds)

    large = drawn_if_any(ops.not_(is_small), by_rejection, large_lam)
    drawn = convert(where(is_small, small, large), dtype)
    drawn = where(ops.eq(lam, np.float32(0)), dtype.type(0), drawn)
    return where(endless, dtype.type(dtypes.iinfo(dtype).max), drawn)


def drawn_if_any(wanted: Any, draw: Callable[..., Any], *parameters: Any) -> Any:
    """draw(*parameters) if any element is wanted, else zeros."""
    like = parameters[0]
    if not like.size:
        return like
    return cond(any_of(wanted), draw, lambda *xs: zeros_like(xs[0]), *parameters)


def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Any:
    """How many of n trials succeed, each with probability p, as floats.

    Computed in the dtype that n and p promote to; `dtype` is the result's. nan where n or p is nan
    or n is negative; inf where n is. ValueError for dtypes that are not floating point.

    >>> from jacana.random import key
    >>> binomial(key(0), 10.0, 0.5, (4,)).dtype
    dtype('float32')
    """
    check_key(key, "binomial")
    dtype = float_dtype(dtype, "binomial")
    given = promoted("binomial", n, p)
    return _binomial(key, *given, shape=joint_shape(shape, *given), dtype=dtype)


def promoted(function: str, *parameters: Any) -> list[Any]:
    """Parameters in their common floating-point dtype."""
    check_operands(function, *parameters)
    dtype = inexact_dtype(result_type_of([aval_of(v) for v in parameters])[0])
    return [parameter(v, dtype, function) for v in parameters]


@program
def _binomial(key: Any, n: Any, p: Any, *, shape: Shape, dtype: Any) -> Any:
    return convert(binomial_of(key, broadcast_to(n, shape), broadcast_to(p, shape)), dtype)


def binomial_of(key: Any, n: Any, p: Any) -> Any:
    """Binomial numbers from a typed key, for parameters of one shape."""

    def number(value: float) -> Any:
        return literal(value, n.dtype)

    is_less = ops.lt(p, number(0.5))
    q = where(is_less, p, jnp.subtract(number(1), p))
    bad_n = logic.logical_or(isnan(n), ops.lt(n, number(0)))
    bad_q = logic.logical_or(isnan(q), ops.lt(q, number(0)))
    endless = isinf(n)
    q = where(bad_q, number(0.01), q)
    is_small = logic.logical_or(bad_n, ops.le(ops.mul(n, q), number(10)))
    whole = ops.floor(n)
    small = ops.random_binomial_by_gaps(key, where(is_small, whole, number(0)), q)
    large_n, large_q = where(is_small, number(1e4), whole), where(is_small, number(0.5), q)

    def by_rejection(n: Any, q: Any) -> Any:
        rounds = max_of(ops.random_binomial_rounds(key, n, q))
        return ops.random_binomial(key, n, q, rounds)

    large = drawn_if_any(ops.not_(is_small), by_rejection, large_n, large_q)
    invalid = logic.logical_or(bad_n, bad_q)
    drawn = where(invalid, number(np.nan), where(is_small, small, large))
    drawn = where(logic.logical_and(endless, ops.not_(invalid)), number(np.inf), drawn)
    stays = logic.logical_or(logic.logical_or(is_less, invalid), endless)
    return where(stays, drawn, ops.sub(whole, drawn))


def multinomial(
    key: Any, n: Any, p: Any, *, shape: Any = None, dtype: Any = None, unroll: Any = 1
) -> Any:
    """How many of n trials have each outcome, of the probabilities along p's last axis.

    `n` and the other axes of `p` broadcast; `shape` is the result's, with the axis of outcomes.
    """
    check_key(key, "multinomial")
    dtype = float_dtype(dtype, "multinomial")
    n, p = promoted("multinomial", n, p)
    if np.ndim(p) < 1:
        raise ValueError("multinomial needs p with an axis of outcomes, got a scalar")
    own = (*broadcast_shapes(np.shape(n), p.shape[:-1]), p.shape[-1])
    if shape is not None:
        shape = joint_shape(shape, p)
        if broadcast_shapes(shape, own) != shape:
            raise ValueError(f"n of shape {np.shape(n)} does not broadcast to {shape[:-1]}")
    return _multinomial(key, n, p, shape=own if shape is None else shape, dtype=dtype)


@program
def _multinomial(key: Any, n: Any, p: Any, *, shape: Shape, dtype: Any) -> Any:
    rest, p = broadcast_to(n, shape[:-1]), broadcast_to(p, shape)
    # What is left for an outcome and those after it.
    remaining = cumsum(p[..., ::-1], -1)[..., ::-1]
    one, zero = literal(1, p.dtype), literal(0, p.dtype)
    ratios = jnp.true_divide(p, where(ops.eq(remaining, zero), one, remaining))
    keys, found = split_of(key, shape[-1:]), []
    for i in range(shape[-1]):
        drawn = binomial_of(keys[i], rest, clip(ratios[..., i], zero, one))
        found.append(drawn)
        rest = ops.sub(rest, drawn)
    return convert(stack(found, -1), dtype)
