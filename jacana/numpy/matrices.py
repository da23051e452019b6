"""Matrices by their pattern: eye, triangles, diagonals, Vandermonde."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.api.placing import made_on
from jacana.core import config, dtypes
from jacana.numpy.promotion import as_array, broadcast_to, canonical_shape, literal


def _requested(dtype: Any, function: str) -> Any:
    asked = float if dtype is None else dtype
    return dtypes.requested(asked, config.current().enable_x64, function)


def _compared(shape: tuple[int, int], k: Any, comparison: Any) -> Any:
    """Where row + k compares as asked to the column."""
    row = ops.iota(dtype=dtypes.int32, shape=shape, dimension=0)
    column = ops.iota(dtype=dtypes.int32, shape=shape, dimension=1)
    if isinstance(k, int):
        k = np.int32(k)
    return comparison(ops.add(row, k), column)


def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = None, *, device: Any = None) -> Any:
    """An N by M (N by N) matrix with ones on the k-th diagonal.

    >>> jnp.eye(2, 3, k=1)
    Array([[0., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    found = _requested(dtype, "eye")
    (rows,) = canonical_shape(N)
    (columns,) = canonical_shape(rows if M is None else M)
    ones = _compared((rows, columns), k, ops.eq)
    made = ops.convert_element_type(ones, new_dtype=found, weak_type=False)
    return made_on(made, device)


def identity(n: Any, dtype: Any = None) -> Any:
    """The n by n identity matrix.

    >>> jnp.identity(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = None) -> Any:
    """An N by M matrix with ones at and below the k-th diagonal.

    >>> jnp.tri(2, 3)
    Array([[1., 0., 0.],
           [1., 1., 0.]], dtype=float32)
    """
    found = _requested(dtype, "tri")
    shape = canonical_shape((N, N if M is None else M))
    lower = _compared((shape[0], shape[1]), k, ops.ge)
    return ops.convert_element_type(lower, new_dtype=found, weak_type=False)


def _triangle(function: str, m: Any, k: int, lower: bool) -> Any:
    x = as_array(function, m)
    if x.ndim < 1:
        raise ValueError(f"Argument to jax.numpy.{function} must be at least 1D, got {x.aval}.")
    if x.ndim == 1:
        x = ops.broadcast_in_dim(x, shape=(*x.shape, *x.shape), broadcast_dimensions=(1,))
    shape = (x.shape[-2], x.shape[-1])
    keep = _compared(shape, k, ops.ge) if lower else _compared(shape, k - 1, ops.lt)
    zero = broadcast_to(literal(0, x), x.shape)
    return ops.select_n(broadcast_to(keep, x.shape), zero, x)


def tril(m: Any, k: int = 0) -> Any:
    """m with zeros above the k-th diagonal of its last two axes.

    >>> jnp.tril(jnp.ones((2, 2)))
    Array([[1., 0.],
           [1., 1.]], dtype=float32)
    """
    return _triangle("tril", m, k, lower=True)


def triu(m: Any, k: int = 0) -> Any:
    """m with zeros below the k-th diagonal of its last two axes.

    >>> jnp.triu(jnp.ones((2, 2)))
    Array([[1., 1.],
           [0., 1.]], dtype=float32)
    """
    return _triangle("triu", m, k, lower=False)


def _pairs(rows: np.ndarray, columns: np.ndarray) -> tuple[Any, Any]:
    dtype = dtypes.python_scalar_dtype(int, config.current().enable_x64)
    return as_array("", rows.astype(dtype)), as_array("", columns.astype(dtype))


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The row and column indices of the lower triangle of an n by m matrix.

    >>> jnp.tril_indices(2)
    (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    return _pairs(*np.tril_indices(n, k, m))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Any, Any]:
    """The row and column indices of the upper triangle of an n by m matrix.

    >>> jnp.triu_indices(2)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    return _pairs(*np.triu_indices(n, k, m))


def _check_matrix(arr: Any) -> tuple[int, int]:
    shape = np.shape(arr)
    if len(shape) != 2:
        raise ValueError("Only 2-D inputs are accepted")
    return shape[0], shape[1]


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """The indices of the lower triangle of a matrix of arr's shape.

    >>> jnp.tril_indices_from(jnp.eye(2))
    (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    n, m = _check_matrix(arr)
    return tril_indices(n, k, m)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Any, Any]:
    """The indices of the upper triangle of a matrix of arr's shape.

    >>> jnp.triu_indices_from(jnp.eye(2))
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    n, m = _check_matrix(arr)
    return triu_indices(n, k, m)


def mask_indices(n: int, mask_func: Any, k: int = 0, *, size: int | None = None) -> tuple[Any, Any]:
    """The indices where mask_func(ones, k) keeps elements of an n by n matrix.

    >>> jnp.mask_indices(2, jnp.triu)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    found = np.nonzero(np.asarray(mask_func(as_array("", np.ones((n, n), np.float32)), k)))
    rows: np.ndarray
    columns: np.ndarray
    rows, columns = found
    if size is not None:
        rows, columns = (np.resize(np.append(v, np.zeros(size)), size) for v in (rows, columns))
    return _pairs(rows, columns)


def diag_indices(n: int, ndim: int = 2) -> tuple[Any, ...]:
    """The indices of the main diagonal of an array with `ndim` axes of extent n.

    >>> jnp.diag_indices(2)
    (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    if n < 0:
        raise ValueError(f"n argument to diag_indices must be nonnegative, got {n}")
    if ndim < 0:
        raise ValueError(f"ndim argument to diag_indices must be nonnegative, got {ndim}")
    dtype = dtypes.python_scalar_dtype(int, config.current().enable_x64)
    return (ops.iota(dtype=dtype, shape=(n,), dimension=0),) * ndim


def diag_indices_from(arr: Any) -> tuple[Any, ...]:
    """The indices of the main diagonal of arr, whose axes have one extent.

    >>> jnp.diag_indices_from(jnp.eye(2))
    (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    shape = np.shape(arr)
    if len(shape) < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(shape[0], len(shape))


def diag(v: Any, k: int = 0) -> Any:
    """The k-th diagonal of a matrix, or the matrix with a vector on its k-th diagonal.

    >>> jnp.diag(jnp.array([1.0, 2.0]))
    Array([[1., 0.],
           [0., 2.]], dtype=float32)
    """
    x = as_array("diag", v)
    if x.ndim == 1:
        return _matrix_of_diagonal(x, k)
    if x.ndim == 2:
        return _diagonal(x, k)
    raise ValueError(f"diag input must be 1d or 2d, got {x.aval}.")


def _matrix_of_diagonal(x: Any, k: int) -> Any:
    before, after = max(0, k), max(0, -k)
    n = x.shape[0] + abs(k)
    row = ops.pad(x, literal(0, x), padding_config=((before, after, 0),))
    zero = broadcast_to(literal(0, x), (n, n))
    whole = ops.broadcast_in_dim(row, shape=(n, n), broadcast_dimensions=(1,))
    return ops.select_n(_compared((n, n), k, ops.eq), zero, whole)


def _diagonal(x: Any, k: int) -> Any:
    rows, columns = x.shape
    down, right = max(0, -k), max(0, k)
    n = max(0, min(rows - down, columns - right))
    if n == 0:
        return broadcast_to(literal(0, x), (0,))
    square = ops.slice(
        x, start_indices=(down, right), limit_indices=(down + n, right + n), strides=None
    )
    # Element (i, i) of an n by n matrix is number i (n + 1) of its n * n elements.
    flat = ops.reshape(square, new_sizes=(n * n,))
    return ops.slice(flat, start_indices=(0,), limit_indices=(n * n,), strides=(n + 1,))


def diagflat(v: Any, k: int = 0) -> Any:
    """The matrix with the elements of v, flattened, on its k-th diagonal.

    >>> jnp.diagflat(jnp.array([1, 2]))
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    x = as_array("diagflat", v)
    return _matrix_of_diagonal(ops.reshape(x, new_sizes=(x.size,)), k)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Powers of a vector as columns: x**(N-1), ..., x, 1 (reversed if increasing).

    >>> jnp.vander(jnp.array([2, 3]), 3)
    Array([[4, 2, 1],
           [9, 3, 1]], dtype=int32)
    """
    x = as_array("vander", x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array")
    columns = x.shape[0] if N is None else N
    if columns < 0:
        raise ValueError("N must be nonnegative")
    powers = range(columns) if increasing else range(columns - 1, -1, -1)
    shape = (x.shape[0], 1)
    made = [ops.reshape(ops.integer_pow(x, y=p), new_sizes=shape) for p in powers]
    return (
        ops.concatenate(*made, dimension=1) if made else broadcast_to(literal(0, x), (shape[0], 0))
    )
