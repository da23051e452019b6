"""Decompositions of matrices: Cholesky, QR, singular values, eigenvalues."""

import functools
from typing import Any, NamedTuple

from jacana import ops
from jacana.api.jit import jit
from jacana.core import dtypes
from jacana.lax import linalg as lax_linalg
from jacana.numpy.linalg.operands import matrix, square
from jacana.ops.linalg.matrices import (
    adjoint,
    chosen,
    conjugate,
    scaled_columns,
    taken_rows,
    transposed,
)
from jacana.ops.sorting import take_along


class EigResult(NamedTuple):
    """What eig returns."""

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """What eigh returns."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """What qr returns."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """What svd returns."""

    U: Any
    S: Any
    Vh: Any


@functools.partial(jit, static_argnames=("upper", "symmetrize_input"))
def cholesky(a: Any, *, upper: bool = False, symmetrize_input: bool = True) -> Any:
    """The lower triangle l with l l^H = a, or its adjoint if `upper`, of [..., n, n] matrices.

    nan where a is not positive definite (nothing is raised).

    >>> cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
    Array([[2., 0.],
           [1., 2.]], dtype=float32)
    """
    a = square("cholesky", a)
    a = adjoint(a) if upper and not symmetrize_input else a
    l = lax_linalg.cholesky(a, symmetrize_input=symmetrize_input)
    return adjoint(l) if upper else l


def qr(a: Any, mode: str = "reduced") -> Any:
    """Q, R of [..., m, n] matrices: a = Q R, Q with orthonormal columns, R upper triangular.

    mode "reduced": Q has min(m, n) columns; "complete": m; "r": R of "reduced" alone.

    >>> qr(jnp.eye(3)[:, :2], mode='r').shape
    (2, 2)
    """
    a = matrix("qr", a)
    if mode not in ("reduced", "r", "full", "complete"):
        raise ValueError(
            f'Unsupported QR decomposition mode {mode!r}: give "reduced", "complete" or "r".'
        )
    q, r = ops.qr(a, full_matrices=mode in ("full", "complete"))
    return r if mode == "r" else QRResult(q, r)


def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Any:  # fmt: skip
    """U, S, Vh of [..., m, n] matrices: a = U diag(S) Vh, S real and falling; S alone if asked.

    U and Vh are square and unitary, or have min(m, n) columns and rows without full_matrices. Where
    singular values coincide, derivatives leave out what would set them apart.

    >>> svd(jnp.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False)
    Array([4., 3.], dtype=float32)
    """
    if hermitian:
        return _hermitian_svd(square("svd", a), compute_uv)
    made = lax_linalg.svd(
        matrix("svd", a), full_matrices=full_matrices, compute_uv=compute_uv,
        subset_by_index=subset_by_index,
    )  # fmt: skip
    return SVDResult(*made) if compute_uv else made


def _hermitian_svd(a: Any, compute_uv: bool) -> Any:
    v, w = lax_linalg.eigh(a)
    axis = w.ndim - 1
    position = ops.iota(dtype=dtypes.int32, shape=w.shape, dimension=axis)
    falling, order = ops.sort(
        ops.neg(ops.abs(w)), position, dimension=axis, is_stable=True, num_keys=1
    )
    s = ops.neg(falling)
    if not compute_uv:
        return s
    rows = taken_rows(transposed(v), order)
    ordered = take_along(w, order, axis)
    sign = chosen(ops.lt(ordered, w.dtype.type(0)), w.dtype.type(-1), w.dtype.type(1))
    return SVDResult(scaled_columns(transposed(rows), sign), s, conjugate(rows))


def svdvals(x: Any, /) -> Any:
    """The singular values of [..., m, n] matrices, falling.

    >>> svdvals(jnp.array([[3.0, 0.0], [0.0, 4.0]]))
    Array([4., 3.], dtype=float32)
    """
    return svd(x, compute_uv=False)


def eig(a: Any) -> EigResult:
    """Complex eigenvalues, and eigenvectors as columns, of [..., n, n] matrices.

    Vectors have length 1 and a real greatest component; derivatives need distinct eigenvalues.

    >>> eig(jnp.array([[2.0, 0.0], [0.0, 3.0]])).eigenvalues
    Array([2.+0.j, 3.+0.j], dtype=complex64)
    """
    w, v = lax_linalg.eig(square("eig", a), compute_left_eigenvectors=False)
    return EigResult(w, v)


def eigvals(a: Any) -> Any:
    """The complex eigenvalues of [..., n, n] matrices.

    >>> eigvals(jnp.array([[0.0, 1.0], [-1.0, 0.0]]))
    Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    (w,) = lax_linalg.eig(
        square("eigvals", a), compute_left_eigenvectors=False, compute_right_eigenvectors=False
    )
    return w


def eigh(a: Any, UPLO: str | None = None, symmetrize_input: bool = True) -> EighResult:
    """Real ascending eigenvalues, and orthonormal eigenvectors as columns, of Hermitian matrices.

    Without symmetrize_input only the triangle UPLO ("L", the default, or "U") is read. Where
    eigenvalues coincide, derivatives leave out what would set them apart.

    >>> eigh(jnp.array([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    Array([1., 2.], dtype=float32)
    """
    lower = _is_lower(UPLO)
    v, w = lax_linalg.eigh(square("eigh", a), lower=lower, symmetrize_input=symmetrize_input)
    return EighResult(w, v)


def eigvalsh(a: Any, UPLO: str | None = "L", *, symmetrize_input: bool = True) -> Any:
    """The real ascending eigenvalues of Hermitian matrices [..., n, n].

    >>> eigvalsh(jnp.array([[2.0, 0.0], [0.0, 1.0]]))
    Array([1., 2.], dtype=float32)
    """
    lower = _is_lower(UPLO)
    a = square("eigvalsh", a)
    if symmetrize_input:
        a = ops.mul(ops.add(a, adjoint(a)), a.dtype.type(0.5))
    (w,) = ops.eigh(a, lower=lower, compute_eigenvectors=False)
    return w


def _is_lower(triangle: str | None) -> bool:
    if triangle not in (None, "L", "U"):
        raise ValueError(f"UPLO must be one of None, 'L', or 'U', got {triangle}")
    return triangle != "U"
