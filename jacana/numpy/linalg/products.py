"""Products and parts of matrices, under the names and signatures that numpy.linalg gives them."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana.numpy import products
from jacana.numpy.einsum import einsum
from jacana.numpy.linalg.operands import square
from jacana.numpy.linalg.systems import inv
from jacana.numpy.manipulation import matrix_transpose as matrix_transpose
from jacana.numpy.products import matmul
from jacana.numpy.promotion import as_array, as_arrays
from jacana.ops.linalg.matrices import identity


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross products of vectors of three components along an axis.

    >>> cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)
    """
    x1, x2 = as_arrays("jnp.linalg.cross", x1, x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            f"Both input arrays must be (arrays of) 3-dimensional vectors, but they have "
            f"x1.shape[axis]={x1.shape[axis]} and x2.shape[axis]={x2.shape[axis]}"
        )
    return products.cross(x1, x2, axis=axis)


def outer(x1: Any, x2: Any, /) -> Any:
    """The products of each element of a vector with each of another.

    >>> outer(jnp.array([1, 2]), jnp.array([3, 4])).tolist()
    [[3, 4], [6, 8]]
    """
    x1, x2 = as_arrays("jnp.linalg.outer", x1, x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(
            f"Input arrays must be one-dimensional, but they are {x1.ndim=} {x2.ndim=}"
        )
    return products.outer(x1, x2)


def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonals of matrices along the last two axes.

    >>> diagonal(jnp.arange(4).reshape(2, 2)).tolist()
    [0, 3]
    """
    return products.diagonal(x, offset=offset, axis1=-2, axis2=-1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sums of the diagonals of matrices along the last two axes.

    >>> int(trace(jnp.arange(4).reshape(2, 2)))
    3
    """
    return products.trace(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)


def matrix_power(a: Any, n: int) -> Any:
    """Square matrices times themselves, n factors; for negative n, factors of the inverse.

    >>> matrix_power(jnp.array([[1, 1], [0, 1]]), 3).tolist()
    [[1, 3], [0, 1]]
    """
    x = as_array("jnp.linalg.matrix_power", a)
    try:
        n = operator.index(n)
    except TypeError:
        raise TypeError(f"exponent must be an integer, got {n}") from None
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise TypeError(f"Last 2 dimensions of the array must be square, got shape {x.shape}.")
    if n == 0:
        return identity(x.shape, x.dtype)
    if n < 0:
        x, n = inv(square("matrix_power", x)), -n
    # Squares of x for each binary digit of n.
    made = None
    while True:
        if n & 1:
            made = x if made is None else matmul(made, x)
        n >>= 1
        if not n:
            return made
        x = matmul(x, x)


def multi_dot(arrays: Sequence[Any], *, precision: Any = None) -> Any:
    """The product of matrices in the order that takes the fewest multiplications.

    The first and the last may be vectors.

    >>> multi_dot([jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.ones(4)]).tolist()
    [12.0, 12.0]
    """
    xs = as_arrays("jnp.linalg.multi_dot", *arrays)
    if len(xs) < 2:
        raise ValueError(f"multi_dot needs at least two arrays, got {len(xs)}.")
    ranks = [x.ndim for x in xs]
    if any(r != 2 for r in ranks[1:-1]) or {ranks[0], ranks[-1]} - {1, 2}:
        raise ValueError(
            f"multi_dot needs matrices, apart from a first or last vector, got "
            f"{', '.join(str(np.shape(x)) for x in xs)}."
        )
    operands: list[Any] = []
    label = 0
    first = ranks[0] == 1
    for i, x in enumerate(xs):
        if x.ndim == 1:
            operands += [x, [label if i else 1]]
            label = label if i else 1
        else:
            operands += [x, [label, label + 1]]
            label += 1
    out = ([] if first else [0]) + ([] if ranks[-1] == 1 else [label])
    return einsum(*operands, out, optimize="optimal", precision=precision)
