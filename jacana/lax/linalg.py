"""jax.lax.linalg: factorisations of matrices along the last two axes, without promotion."""

import enum
from collections.abc import Callable
from typing import Any

import numpy as np

from jacana import ops
from jacana.core.values import aval_of
from jacana.lax.operands import as_array
from jacana.ops import linalg as primitives
from jacana.ops.linalg.matrices import (
    adjoint,
    block,
    chosen,
    diagonal,
    matmul,
    scaled_columns,
    scaled_rows,
    transposed,
)
from jacana.ops.shape import reshape_to

cholesky_p = primitives.cholesky
eig_p = primitives.eig
eigh_p = primitives.eigh
hessenberg_p = primitives.hessenberg
householder_product_p = primitives.householder_product
lu_p = primitives.lu
lu_pivots_to_permutation_p = primitives.lu_pivots_to_permutation
qr_p = primitives.qr
schur_p = primitives.schur
svd_p = primitives.svd
triangular_solve_p = primitives.triangular_solve
tridiagonal_p = primitives.tridiagonal
tridiagonal_solve_p = primitives.tridiagonal_solve


class EigImplementation(enum.Enum):
    """How eig computes; here always by LAPACK."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


class EighImplementation(enum.Enum):
    """How eigh computes; here always by LAPACK."""

    QR = "QR"
    JACOBI = "Jacobi"
    QDWH = "QDWH"


class SvdAlgorithm(enum.Enum):
    """How svd computes; here always by LAPACK."""

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"


def _symmetrized(x: Any) -> Any:
    half = ops.add(x, adjoint(x))
    return ops.mul(half, aval_of(x).dtype.type(0.5))


def _square(function: str, x: Any) -> Any:
    x = as_array(f"linalg.{function}", x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"Argument to {function} must have shape [..., n, n], got {x.shape}.")
    return x


def cholesky(x: Any, *, symmetrize_input: bool = True) -> Any:
    """The lower triangle l with l l^H = x, for positive definite x [..., n, n]; nan for others.

    Without symmetrize_input only the lower triangle of x is read, and differentiated in.

    >>> cholesky(np.float32([[4, 2], [2, 5]])).tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    """
    x = _square("cholesky", x)
    return ops.cholesky(_symmetrized(x) if symmetrize_input else x)


def cholesky_update(r_matrix: Any, w_vector: Any) -> Any:
    """The upper triangle R with R^T R = r^T r + w w^T, for an upper triangle r [n, n] and w [n].

    >>> cholesky_update(np.eye(2, dtype='float32'), np.float32([0, 0])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    r, w = _square("cholesky_update", r_matrix), as_array("linalg.cholesky_update", w_vector, 1)
    if r.ndim != 2 or w.shape != r.shape[:1]:
        raise ValueError(
            f"cholesky_update needs arguments of shapes [n, n] and [n], got {r.shape}, {w.shape}."
        )
    rows = ops.concatenate(r, reshape_to(w, (1, w.shape[0])), dimension=0)
    _, made = ops.qr(rows, full_matrices=False)
    negative = ops.lt(diagonal(made), made.dtype.type(0))
    sign = chosen(negative, made.dtype.type(-1), made.dtype.type(1))
    return scaled_rows(made, sign)


def eig(
    x: Any, *, compute_left_eigenvectors: bool = True, compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False, implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Any]:  # fmt: skip
    """[w, left, right] of square matrices: x right = right diag(w), left^H x = diag(w) left^H.

    All are complex; vectors are columns of length 1 whose greatest component is real, and are
    left out where not asked for. Derivatives are those of vectors so normalised, and need distinct
    eigenvalues.

    >>> [w] = eig(
    ...     np.float32([[2, 1], [0, 3]]), compute_left_eigenvectors=False,
    ...     compute_right_eigenvectors=False)
    >>> w.tolist()
    [(2+0j), (3+0j)]
    """
    made = ops.eig(
        _square("eig", x), compute_left_eigenvectors=compute_left_eigenvectors,
        compute_right_eigenvectors=compute_right_eigenvectors,
        enable_eigvec_derivs=enable_eigvec_derivs, implementation=implementation,
    )  # fmt: skip
    return list(made)


def eigh(
    x: Any, *, lower: bool = True, symmetrize_input: bool = True, sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """v, w of Hermitian matrices: x v = v diag(w), w real and ascending, v unitary.

    Without symmetrize_input only the triangle named by `lower` is read. subset_by_index=(i, j)
    keeps eigenvalues i to j - 1. Where eigenvalues coincide, derivatives leave out what would set
    them apart.

    >>> v, w = eigh(np.float32([[2, 0], [0, 1]]))
    >>> w.tolist()
    [1.0, 2.0]
    """
    x = _square("eigh", x)
    v, w = ops.eigh(
        _symmetrized(x) if symmetrize_input else x, lower=lower, sort_eigenvalues=sort_eigenvalues
    )
    if subset_by_index is not None:
        i, j = _subset("eigh", subset_by_index, x.shape[-1])
        v = block(v, slice(0, x.shape[-1]), slice(i, j))
        w = ops.slice(
            w, start_indices=(*[0] * (w.ndim - 1), i), limit_indices=(*w.shape[:-1], j),
            strides=None,
        )  # fmt: skip
    return v, w


def _subset(function: str, subset: tuple[int, int], n: int) -> tuple[int, int]:
    i, j = subset
    if not 0 <= i < j <= n:
        raise ValueError(
            f"{function} needs subset_by_index=(i, j) with 0 <= i < j <= {n}, got {subset}."
        )
    return i, j


def hessenberg(a: Any) -> tuple[Any, Any]:
    """The upper Hessenberg form above the reflectors that make it, and their factors [..., n - 1].

    >>> hessenberg(np.eye(3, dtype='float32'))[1].tolist()
    [0.0, 0.0]
    """
    packed, taus = ops.hessenberg(_square("hessenberg", a))
    return packed, taus


def householder_product(a: Any, taus: Any) -> Any:
    """The first n columns of a product of reflections, packed as LAPACK's geqrf leaves them.

    a [..., m, n] holds the vectors below its diagonal, taus [..., k] their factors; m >= n >= k.
    """
    a, taus = (
        as_array("linalg.householder_product", a),
        as_array("linalg.householder_product", taus, 1),
    )
    return ops.householder_product(a, taus)


def lu(x: Any) -> tuple[Any, Any, Any]:
    """lu, pivots, permutation of [..., m, n] matrices, with x[permutation] = l u.

    lu holds u and, below its diagonal, l without its ones. Row i was exchanged with row pivots[i].

    >>> lu_matrix, pivots, permutation = lu(np.float32([[1, 2], [3, 4]]))
    >>> permutation.tolist()
    [1, 0]
    """
    made = ops.lu(as_array("linalg.lu", x))
    return made[0], made[1], made[2]


def lu_pivots_to_permutation(pivots: Any, permutation_size: int) -> Any:
    """The permutation of `permutation_size` rows that exchanging row i with row pivots[i] makes.

    >>> lu_pivots_to_permutation(np.int32([2, 2]), 3).tolist()
    [2, 0, 1]
    """
    pivots = as_array("linalg.lu_pivots_to_permutation", pivots)
    return ops.lu_pivots_to_permutation(pivots, permutation_size=int(permutation_size))


def ormqr(a: Any, taus: Any, c: Any, *, left: bool = True, transpose: bool = False) -> Any:
    """q c (or c q, q^H c, c q^H), for the square q that a and taus hold as geqrf leaves them."""
    a = as_array("linalg.ormqr", a)
    taus, c = as_array("linalg.ormqr", taus, 1), as_array("linalg.ormqr", c, 2)
    m, n = a.shape[-2:]
    if n < m:
        config = [(0, 0, 0)] * (a.ndim - 1) + [(0, m - n, 0)]
        a = ops.pad(a, a.dtype.type(0), padding_config=tuple(config))
    q = ops.householder_product(block(a, slice(0, m), slice(0, m)), taus)
    q = adjoint(q) if transpose else q
    return matmul(q, c) if left else matmul(c, q)


def qdwh(
    x: Any, *, is_hermitian: bool = False, max_iterations: int | None = None,
    eps: float | None = None, dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """u, h of the polar decomposition x = u h for [m, n] with m >= n, then 0 and True.

    It is computed from the singular values, without the iterations that the last two report on.
    """
    x = as_array("linalg.qdwh", x)
    if x.ndim != 2 or x.shape[0] < x.shape[1]:
        raise ValueError(f"qdwh needs a matrix [m, n] with m >= n, got {x.shape}.")
    s, u, vh = ops.svd(x, full_matrices=False)
    h = matmul(scaled_columns(adjoint(vh), s), vh)
    return matmul(u, vh), h, np.int32(0), np.bool_(True)


def qr(
    x: Any, *, pivoting: bool = False, full_matrices: bool = True, use_magma: bool | None = None
) -> tuple[Any, ...]:
    """q, r of [..., m, n] matrices: x = q r, q with orthonormal columns, r upper triangular.

    q has m columns, or min(m, n) without full_matrices. With pivoting, also the order p of columns
    with x[:, p] = q r and falling abs(r[i, i]).

    >>> q, r = qr(np.float32([[3, 0], [4, 5]]))
    >>> abs(np.asarray(r)).round(3).tolist()
    [[5.0, 4.0], [0.0, 3.0]]
    """
    x = as_array("linalg.qr", x)
    made = ops.qr(x, pivoting=pivoting, full_matrices=full_matrices, use_magma=use_magma)
    return tuple(made)


def schur(
    x: Any, *, compute_schur_vectors: bool = True, sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> Any:  # fmt: skip
    """t and the unitary z with x = z t z^H, for square matrices; t alone without vectors.

    t is upper triangular, for real x with blocks of two for pairs of complex eigenvalues.
    """
    made = ops.schur(
        _square("schur", x), compute_schur_vectors=compute_schur_vectors,
        sort_eig_vals=sort_eig_vals, select_callable=select_callable,
    )  # fmt: skip
    return tuple(made) if compute_schur_vectors else made[0]


def svd(
    x: Any, *, full_matrices: bool = True, compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None, algorithm: SvdAlgorithm | None = None,
) -> Any:  # fmt: skip
    """u, s, vh of [..., m, n] matrices: x = u diag(s) vh, s real and falling; s alone if asked.

    u and vh are square and unitary, or have min(m, n) columns and rows without full_matrices.
    subset_by_index=(i, j) keeps singular values i to j - 1. Where singular values coincide,
    derivatives leave out what would set them apart.

    >>> svd(np.float32([[3, 0], [0, 4]]), compute_uv=False).tolist()
    [4.0, 3.0]
    """
    x = as_array("linalg.svd", x)
    made = ops.svd(x, full_matrices=full_matrices, compute_uv=compute_uv)
    if subset_by_index is None:
        return (made[1], made[0], made[2]) if compute_uv else made[0]
    m, n = x.shape[-2:]
    i, j = _subset("svd", subset_by_index, min(m, n))
    if full_matrices and (i, j) != (0, min(m, n)):
        raise ValueError("full_matrices and subset_by_index cannot both be set.")
    s = ops.slice(
        made[0], start_indices=(*[0] * (x.ndim - 2), i), limit_indices=(*x.shape[:-2], j),
        strides=None,
    )  # fmt: skip
    if not compute_uv:
        return s
    return block(made[1], slice(0, m), slice(i, j)), s, block(made[2], slice(i, j), slice(0, n))


def symmetric_product(
    a_matrix: Any, c_matrix: Any, *, alpha: float = 1.0, beta: float = 0.0,
    symmetrize_output: bool = False,
) -> Any:  # fmt: skip
    """alpha a a^T + beta c, for a [..., n, k] and symmetric c [..., n, n].

    >>> symmetric_product(np.ones((1, 2), 'float32'), np.zeros((1, 1), 'float32')).tolist()
    [[2.0]]
    """
    a = as_array("linalg.symmetric_product", a_matrix)
    c = as_array("linalg.symmetric_product", c_matrix, 1)
    product = ops.mul(matmul(a, transposed(a)), a.dtype.type(alpha))
    return ops.add(product, ops.mul(c, a.dtype.type(beta))) if beta else product


def triangular_solve(
    a: Any, b: Any, *, left_side: bool = False, lower: bool = False, transpose_a: bool = False,
    conjugate_a: bool = False, unit_diagonal: bool = False,
) -> Any:  # fmt: skip
    """x with x op(a) = b, or op(a) x = b with left_side, for a triangular [..., n, n].

    Only the triangle named by `lower` is read; op transposes and conjugates as asked. b is
    [..., m, n] ([..., n, m] with left_side), or a vector [n] where a is one matrix.

    >>> triangular_solve(np.float32([[2, 0], [1, 1]]), np.float32([[2], [3]]), left_side=True,
    ...     lower=True).tolist()
    [[1.0], [2.0]]
    """
    a, b = as_array("linalg.triangular_solve", a), as_array("linalg.triangular_solve", b, 1)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(
            f"The first input to triangular_solve must be a square matrix. Got shape {a.shape}."
        )
    is_vector = b.ndim == a.ndim - 1
    if is_vector:
        dims = (*range(b.ndim - 1), b.ndim - (0 if not left_side else 1))
        shape = (*b.shape, 1) if left_side else (*b.shape[:-1], 1, b.shape[-1])
        b = ops.broadcast_in_dim(b, shape=shape, broadcast_dimensions=dims)
    x = ops.triangular_solve(
        a, b, left_side=left_side, lower=lower, transpose_a=transpose_a, conjugate_a=conjugate_a,
        unit_diagonal=unit_diagonal,
    )  # fmt: skip
    return ops.squeeze(x, dimensions=(x.ndim - (1 if left_side else 2),)) if is_vector else x


def tridiagonal(a: Any, *, lower: bool = True) -> tuple[Any, Any, Any, Any]:
    """packed, d, e, taus: the tridiagonal form of Hermitian matrices, with diagonals d and e."""
    packed, d, e, taus = ops.tridiagonal(_square("tridiagonal", a), lower=lower)
    return packed, d, e, taus


def tridiagonal_solve(dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Any:
    """x with a x = b, where a has the diagonals dl, d and du [..., n]; dl[0], du[-1] are not read.

    b is [..., n, k]. nan where elimination with row exchanges meets a zero pivot.

    >>> one = np.ones(2, 'float32')
    >>> tridiagonal_solve(one, 2 * one, one, np.float32([[3], [3]])).round(3).tolist()
    [[1.0], [1.0]]
    """
    operands = [as_array("linalg.tridiagonal_solve", v, i) for i, v in enumerate((dl, d, du, b))]
    return ops.tridiagonal_solve(*operands, perturb_singular=perturb_singular)
