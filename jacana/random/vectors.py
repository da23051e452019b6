"""Random vectors and matrices that need a factorization."""

import operator
from typing import Any

import numpy as np

from jacana import ops
from jacana.numpy import elementwise as jnp
from jacana.numpy.manipulation import matrix_transpose
from jacana.numpy.products import diagonal, matmul
from jacana.random.keys import check_key
from jacana.random.normal import normal_of
from jacana.random.program import (
    Shape,
    batch_shape,
    broadcast_shapes,
    canonical_shape,
    float_dtype,
    literal,
    parameter,
    program,
)

METHODS = ("cholesky", "eigh", "svd")


def multivariate_normal(
    key: Any,
    mean: Any,
    cov: Any,
    shape: Any = None,
    dtype: Any = None,
    method: str = "cholesky",
    *,
    out_sharding: Any = None,
) -> Any:
    """Normal vectors with the means [..., n] and covariances [..., n, n].

    `shape` is the result's without the vectors' axis, by default what the batches of mean and cov
    broadcast to. `method` names the factorization of cov: "cholesky" is fast and needs positive
    definite matrices (others give nan), "eigh" and "svd" take semidefinite ones as well.

    ValueError for shapes that do not fit, other methods, and dtypes that are not floating point.

    >>> from jacana.random import key
    >>> multivariate_normal(key(0), np.zeros(2), np.eye(2), (5,)).shape
    (5, 2)
    """
    check_key(key, "multivariate_normal")
    dtype = float_dtype(dtype, "multivariate_normal")
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    mean, cov = (parameter(v, dtype, "multivariate_normal") for v in (mean, cov))
    for name, x, rank in (("mean", mean, 1), ("cov", cov, 2)):
        if np.ndim(x) < rank:
            raise ValueError(
                f"multivariate_normal requires {name}.ndim >= {rank}, got {name}.ndim == "
                f"{np.ndim(x)}"
            )
    n = mean.shape[-1]
    if cov.shape[-2:] != (n, n):
        raise ValueError(
            f"multivariate_normal requires cov.shape == (..., n, n) for n={n}, but got cov.shape "
            f"== {cov.shape}."
        )
    batch = batch_shape(shape, broadcast_shapes(mean.shape[:-1], cov.shape[:-2]))
    return _multivariate_normal(key, mean, cov, batch=batch, method=method)


@program
def _multivariate_normal(key: Any, mean: Any, cov: Any, *, batch: Shape, method: str) -> Any:
    vectors = normal_of(key, (*batch, mean.shape[-1]), mean.dtype)
    root = square_root(cov, method)
    if root.ndim == 2 and vectors.ndim > 1:
        moved = matmul(vectors, matrix_transpose(root))
    else:
        moved = matmul(root, vectors[..., None])[..., 0]
    return jnp.add(mean, moved)


def square_root(cov: Any, method: str) -> Any:
    """A matrix whose product with its transpose is the covariance."""
    if method == "cholesky":
        symmetric = ops.add(cov, matrix_transpose(cov))
        return ops.cholesky(ops.mul(symmetric, literal(0.5, cov.dtype)))
    if method == "eigh":
        vectors, values = ops.eigh(cov)
    else:
        values, vectors, _ = ops.svd(cov)
    return jnp.multiply(vectors, ops.sqrt(values)[..., None, :])


def orthogonal(
    key: Any,
    n: int,
    shape: Any = (),
    dtype: Any = None,
    m: int | None = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Orthogonal n x n matrices (unitary for complex dtypes), all equally likely.

    With m, n x m matrices whose columns (or rows, if there are fewer) are orthonormal. The result's
    shape is `shape` followed by that of the matrices.
    """
    check_key(key, "orthogonal")
    dtype = float_dtype(dtype, "orthogonal", complex_too=True)
    n = operator.index(n)
    m = n if m is None else operator.index(m)
    return _orthogonal(key, shape=canonical_shape(shape), n=n, m=m, dtype=dtype)


@program
def _orthogonal(key: Any, *, shape: Shape, n: int, m: int, dtype: Any) -> Any:
    drawn = normal_of(key, (*shape, max(n, m), min(n, m)), dtype)
    q, r = ops.qr(drawn, full_matrices=False)
    # A factorization has one sign of each column; taking r's away makes all equally likely.
    signs = ops.sign(diagonal(r, 0, -2, -1))
    found = jnp.multiply(q, signs[..., None, :])
    return matrix_transpose(found) if n < m else found
