"""Choosing among elements: permutations, choices, categories."""

import math
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.values import aval_of
from jacana.numpy import elementwise as jnp
from jacana.numpy.creation import zeros
from jacana.numpy.manipulation import expand_dims, moveaxis, reshape
from jacana.numpy.promotion import as_array, check_operands, convert, normalized_axis
from jacana.numpy.ranges import arange
from jacana.numpy.reductions import argmax, cumsum
from jacana.numpy.sorting import searchsorted
from jacana.numpy.take import take
from jacana.random.continuous import gumbel_mode, gumbel_of
from jacana.random.integers import integers_between
from jacana.random.keys import bits_of, check_key, pair_of
from jacana.random.program import (
    Shape,
    broadcast_shapes,
    canonical_shape,
    float_dtype,
    int_dtype,
    program,
)
from jacana.random.uniform import unit_uniform


def permutation(
    key: Any, x: Any, axis: int = 0, independent: bool = False, *, out_sharding: Any = None
) -> Any:
    """The elements of x (or of arange(x), for an integer) along an axis, in random order.

    Slices are moved as wholes, unless `independent`: then each line along the axis is shuffled on
    its own. TypeError if x is neither an integer nor an array with an axis.

    >>> from jacana.random import key
    >>> sorted(permutation(key(0), 5).tolist())
    [0, 1, 2, 3, 4]
    """
    check_key(key, "permutation")
    check_operands("permutation", x)
    if np.ndim(x) == 0:
        if not dtypes.is_integer(aval_of(x).dtype):
            raise TypeError("x must be an integer or at least 1-dimensional")
        return _shuffle(key, arange(int(x)), axis=0)
    axis = normalized_axis(axis, np.ndim(x))
    if np.ndim(x) == 1 or independent:
        return _shuffle(key, as_array("permutation", x), axis=axis)
    return _permutation(key, as_array("permutation", x), axis=axis)


@program
def _shuffle(key: Any, x: Any, *, axis: int) -> Any:
    return shuffled(key, x, axis)


@program
def _permutation(key: Any, x: Any, *, axis: int) -> Any:
    order = shuffled(key, arange(x.shape[axis]), 0)
    return take(x, order, axis, mode="clip", unique_indices=True)


def shuffled(key: Any, x: Any, axis: int) -> Any:
    """x with each line along the axis in random order: sorted by random words.

    Words may be equal, which favours the order before. Enough rounds of sorting make the chance
    that this happens in all of them less than 1 / size.
    """
    for _ in range(shuffle_rounds(x.size)):
        key, used = pair_of(key)
        _, x = ops.sort(bits_of(used, 32, x.shape), x, dimension=axis, is_stable=True, num_keys=1)
    return x


def shuffle_rounds(size: int) -> int:
    return math.ceil(3 * math.log(max(1, size)) / math.log(2**32 - 1))


def choice(
    key: Any,
    a: Any,
    shape: Any = (),
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    mode: str | None = None,
) -> Any:
    """Elements of `a` along an axis (of arange(a), for an integer), drawn at random.

    `shape`, how many are drawn, takes the axis' place in the result. Without `replace`, no element
    is drawn twice. The vector `p` holds the elements' probabilities, which are equal without it.
    `mode` is that of `gumbel`, which draws by `p` without replacement.

    ValueError if there is nothing to draw from, or too little, or p has another length.

    >>> from jacana.random import key
    >>> choice(key(0), 10, (3,)).shape
    (3,)
    """
    check_key(key, "choice")
    check_operands("choice", a, *([] if p is None else [p]))
    a, shape = as_array("choice", a), canonical_shape(shape)
    axis = normalized_axis(axis, a.ndim) if a.ndim else 0
    n, draws = (a.shape[axis] if a.ndim else int(a)), math.prod(shape)
    if draws == 0:
        return zeros(shape, a.dtype)
    if n <= 0:
        raise ValueError("a must be greater than 0 unless no samples are taken")
    if not replace and draws > n:
        raise ValueError(
            f"Cannot take a larger sample (size {draws}) than population (size {n}) when "
            f"'replace=False'"
        )
    if p is None:
        indices = _choose(key, n=n, shape=shape, replace=replace)
    else:
        weights, mode = probabilities(p, n), gumbel_mode(mode)
        indices = _weighted(key, weights, shape=shape, replace=replace, mode=mode)
    if a.ndim == 0:
        return indices
    return take(a, indices, axis, mode="clip")


def probabilities(p: Any, n: int) -> Any:
    """p as a floating-point vector of n elements."""
    if np.shape(p) != (n,):
        raise ValueError(
            f"p must be None or a 1D vector with the same size as a.shape[axis]. p has shape "
            f"{np.shape(p)} and a.shape[axis] is {n}."
        )
    p = as_array("choice", p)
    if dtypes.is_float(p.dtype):
        return p
    return ops.convert_element_type(p, new_dtype=float_dtype(None, "choice"), weak_type=False)


@program
def _choose(key: Any, *, n: int, shape: Shape, replace: bool) -> Any:
    dtype = int_dtype(None, "choice")
    if replace:
        return integers_between(key, shape, dtype, dtype.type(0), dtype.type(n))
    order = shuffled(key, arange(n), 0)
    return reshape(order[: math.prod(shape)], shape)


@program
def _weighted(key: Any, p: Any, *, shape: Shape, replace: bool, mode: str) -> Any:
    if replace:
        sums = cumsum(p)
        rest = ops.sub(np.asarray(1).astype(p.dtype)[()], unit_uniform(key, shape, p.dtype))
        found = searchsorted(sums, jnp.multiply(sums[-1], rest))
        return convert(found, int_dtype(None, "choice"))
    scores = ops.add(gumbel_of(key, p.shape, p.dtype, mode), ops.log(p))
    _, indices = ops.top_k(scores, k=math.prod(shape), axis=0)
    return convert(reshape(indices, shape), int_dtype(None, "choice"))


def categorical(
    key: Any,
    logits: Any,
    axis: int = -1,
    shape: Any = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Indices along an axis of `logits`, each with a probability proportional to exp(logit).

    The other axes of `logits` are a batch. `shape` is the result's: any leading axes followed by
    the batch (the default). Without `replace`, draws along the leading axes differ from each other.
    `mode` is that of `gumbel`.

    ValueError for a shape that does not end with the batch, and for more draws than categories
    without replacement.

    >>> from jacana.random import key
    >>> import jacana.numpy as jnp
    >>> categorical(key(0), jnp.log(jnp.array([[0.5, 0.5], [0.0, 1.0]])), shape=(5, 2)).shape
    (5, 2)
    """
    check_key(key, "categorical")
    check_operands("categorical", logits)
    logits = as_array("categorical", logits)
    dtype = float_dtype(logits.dtype, "gumbel")
    axis = normalized_axis(axis, logits.ndim)
    batch = logits.shape[:axis] + logits.shape[axis + 1 :]
    shape = batch if shape is None else canonical_shape(shape)
    lead = len(shape) - len(batch)
    if lead < 0 or broadcast_shapes(shape, batch) != shape or shape[lead:] != batch:
        raise ValueError(
            f"Incompatible shapes for broadcasting: shapes={[shape, batch]}. categorical's shape "
            f"must end with that of logits without its axis {axis}."
        )
    if not replace and math.prod(shape[:lead]) > logits.shape[axis]:
        raise ValueError(
            f"Number of samples without replacement ({math.prod(shape[:lead])}) cannot exceed "
            f"number of categories ({logits.shape[axis]})."
        )
    return _categorical(
        key, logits, axis=axis, prefix=shape[:lead], replace=replace, mode=gumbel_mode(mode),
        dtype=dtype,
    )  # fmt: skip


@program
def _categorical(
    key: Any, logits: Any, *, axis: int, prefix: Shape, replace: bool, mode: str, dtype: Any
) -> Any:
    if replace:
        scores = gumbel_of(key, (*prefix, *logits.shape), dtype, mode)
        spread_logits = expand_dims(logits, tuple(range(len(prefix)))) if prefix else logits
        return argmax(jnp.add(scores, spread_logits), axis + len(prefix))
    scores = ops.add(logits, gumbel_of(key, logits.shape, dtype, mode))
    _, indices = ops.top_k(scores, k=math.prod(prefix), axis=axis)
    indices = moveaxis(indices, axis, 0)
    return reshape(indices, (*prefix, *indices.shape[1:]))
