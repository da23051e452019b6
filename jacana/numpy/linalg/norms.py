"""Norms of vectors and matrices, and what is measured by them."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from jacana import ops
from jacana.api.jit import jit
from jacana.core import dtypes
from jacana.core.values import aval_of
from jacana.numpy import conditions, elementwise, reductions
from jacana.numpy.linalg.decompositions import svd
from jacana.numpy.linalg.operands import epsilon, inexact, matrix
from jacana.numpy.linalg.systems import inv
from jacana.numpy.manipulation import moveaxis, ravel, reshape
from jacana.numpy.promotion import normalized_axes

Axes = tuple[int, ...]


@functools.partial(jit, static_argnames=("ord", "axis", "keepdims"))
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of a vector or matrix: along one axis of vectors, along two of matrices.

    ord for vectors: 2 (default), any number p for sum(abs(x)**p)**(1/p), inf, -inf, 0 for the
    number of nonzeros. For matrices: "fro" (default), "nuc", 2, -2 (singular values), 1, -1
    (columns), inf, -inf (rows). Without ord and axis, the 2-norm of all elements. At zero, where
    there is no derivative, it counts as zero.

    >>> norm(jnp.array([3.0, 4.0]))
    Array(5., dtype=float32)
    """
    (x,) = inexact("norm", x)
    rank = x.ndim
    if axis is None and ord is None:
        total = _euclidean(ravel(x), (0,), False)
        return reshape(total, (1,) * rank) if keepdims else total
    axes = tuple(range(rank)) if axis is None else normalized_axes(axis, rank)
    if len(axes) == 1:
        return _vector(x, ord, axes, keepdims)
    if len(axes) == 2:
        return _matrix(x, ord, axes, keepdims)
    raise ValueError(
        f"Improper number of axes for norm: axis={axes}. Pass one axis to compute a vector-norm, "
        f"or two axes to compute a matrix-norm."
    )


def _root(total: Any, root: Callable[[Any], Any]) -> Any:
    """The root of what is not negative; 0 with derivative 0 at 0."""
    positive = total != 0
    return conditions.where(positive, root(conditions.where(positive, total, 1)), total)


def _euclidean(x: Any, axes: Axes, keepdims: bool) -> Any:
    if dtypes.is_complex(aval_of(x).dtype):
        re, im = ops.real(x), ops.imag(x)
        squares = re * re + im * im
    else:
        squares = x * x
    return _root(reductions.sum(squares, axes, keepdims=keepdims), elementwise.sqrt)


def _vector(x: Any, ord: Any, axes: Axes, keepdims: bool) -> Any:
    if ord is None or (isinstance(ord, int | float) and ord == 2):
        return _euclidean(x, axes, keepdims)
    if isinstance(ord, str):
        if ord in ("inf", "-inf"):
            ord = float(ord)
        else:
            raise ValueError(f"Invalid order '{ord}' for vector norm.")
    size = elementwise.abs(x)
    if ord == np.inf:
        return reductions.max(size, axes, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return reductions.min(size, axes, keepdims=keepdims, initial=np.inf)
    if ord == 0:
        return reductions.sum(x != 0, axes, dtype=aval_of(size).dtype, keepdims=keepdims)
    if ord == 1:
        return reductions.sum(size, axes, keepdims=keepdims)
    total = reductions.sum(elementwise.power(size, ord), axes, keepdims=keepdims)
    return _root(total, lambda t: elementwise.power(t, 1 / ord))


def _matrix(x: Any, ord: Any, axes: Axes, keepdims: bool) -> Any:
    row, column = axes
    if ord is None or ord in ("f", "fro"):
        return _euclidean(x, axes, keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        along, across = (row, column) if ord in (1, -1) else (column, row)
        sums = reductions.sum(elementwise.abs(x), along, keepdims=True)
        extreme = reductions.max if ord > 0 else reductions.min
        made = extreme(sums, across, keepdims=True)
    elif ord in (2, -2, "nuc"):
        s = svd(moveaxis(x, axes, (-2, -1)), compute_uv=False)
        if ord == "nuc":
            made = reductions.sum(s, -1)
        else:
            made = reductions.max(s, -1) if ord == 2 else reductions.min(s, -1)
        made = reshape(made, tuple(1 if i in axes else n for i, n in enumerate(x.shape)))
    else:
        raise ValueError(f"Invalid order '{ord}' for matrix norm.")
    return made if keepdims else ops.squeeze(made, dimensions=tuple(sorted(axes)))


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norm of matrices along the last two axes; see norm.

    >>> matrix_norm(jnp.ones((2, 2)))
    Array(2., dtype=float32)
    """
    return norm(x, ord=ord, axis=(-2, -1), keepdims=keepdims)


@functools.partial(jit, static_argnames=("axis", "keepdims", "ord"))
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """The norm of vectors along one axis or several; of all elements without axis. See norm.

    >>> vector_norm(jnp.ones((2, 2)), ord=1)
    Array(4., dtype=float32)
    """
    (x,) = inexact("vector_norm", x)
    axes = tuple(range(x.ndim)) if axis is None else normalized_axes(axis, x.ndim)
    return _vector(x, ord, axes, keepdims)


@functools.partial(jit, static_argnames=("p",))
def cond(x: Any, p: Any = None) -> Any:
    """The condition numbers of matrices: norm(x) norm(inv(x)) in the norm p, 2 by default.

    >>> cond(jnp.array([[4.0, 0.0], [0.0, 2.0]]))
    Array(2., dtype=float32)
    """
    x = matrix("cond", x)
    if p in (None, 2, -2):
        s = svd(x, compute_uv=False)
        greatest, least = s[..., 0], s[..., -1]
        made = least / greatest if p == -2 else greatest / least
    else:
        if x.shape[-1] != x.shape[-2]:
            raise ValueError(f"cond with p={p} needs square matrices, got {x.shape}.")
        made = norm(x, ord=p, axis=(-2, -1)) * norm(inv(x), ord=p, axis=(-2, -1))
    unknown = reductions.any(x != x, (-2, -1))
    return conditions.where((made != made) & ~unknown, np.inf, made)


@functools.partial(jit, static_argnames=("hermitian",))
def matrix_rank(M: Any, rtol: Any = None, *, hermitian: bool = False, tol: Any = None) -> Any:
    """How many singular values exceed rtol, by default max(m, n) epsilon times the greatest.

    >>> matrix_rank(jnp.array([[1.0, 1.0], [1.0, 1.0]]))
    Array(1, dtype=int32)
    """
    (x,) = inexact("matrix_rank", M)
    if x.ndim < 2:
        return reductions.sum(reductions.any(x != 0))
    s = svd(x, compute_uv=False, hermitian=hermitian)
    cutoff = rtol if rtol is not None else tol
    if cutoff is None:
        roundoff = s.dtype.type(max(x.shape[-2:]) * epsilon(x.dtype))
        cutoff = reductions.max(s, -1, keepdims=True, initial=0) * roundoff
    else:
        cutoff = reshape(cutoff, (*np.shape(cutoff), 1))
    return reductions.sum(s > cutoff, -1)
