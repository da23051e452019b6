"""Decompositions with SciPy's signatures.

`overwrite_*`, `check_finite`, `lapack_driver` and the like are there for SciPy's programs and do
nothing.
"""

from typing import Any

from jacana import ops
from jacana.core import dtypes
from jacana.lax import linalg as lax_linalg
from jacana.numpy import linalg
from jacana.numpy.linalg.operands import inexact, matrix, square, strong
from jacana.ops.linalg.eig import complex_dtype
from jacana.ops.linalg.matrices import (
    adjoint,
    block,
    diagonal_matrix,
    hermitian_of,
    identity,
    in_dtype,
    lower_part,
    matmul,
    scaled_columns,
    taken_rows,
    transposed,
    upper_part,
)


def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """The upper triangle u with u^H u = a, or the lower l with l l^H = a; nan where there is none.

    >>> cholesky(4 * jnp.eye(2)).tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    return linalg.cholesky(a, upper=not lower, symmetrize_input=False)


def lu(
    a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, ...]:
    """p, l, u of [..., m, n] matrices: a = p l u with a permutation p; p l and u if permute_l.

    >>> p, l, u = lu(jnp.array([[0.0, 2.0], [1.0, 3.0]]))
    >>> p.tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    a = matrix("lu", a)
    packed, _, permutation = ops.lu(a)
    m, n = a.shape[-2:]
    k = min(m, n)
    l = lower_part(block(packed, slice(0, m), slice(0, k)), -1)
    l = ops.add(l, identity(l.shape, a.dtype))
    u = upper_part(block(packed, slice(0, k), slice(0, n)))
    real = dtypes.real_dtype(a.dtype)
    rows = taken_rows(identity((*a.shape[:-2], m, m), real), permutation)
    p = transposed(rows)
    return (matmul(in_dtype(p, a.dtype), l), u) if permute_l else (p, l, u)


def qr(
    a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full",
    pivoting: bool = False, check_finite: bool = True,
) -> tuple[Any, ...]:  # fmt: skip
    """q, r of [..., m, n] matrices: a = q r. mode: "full", "economic" or "r" (r alone).

    With pivoting also the order p of columns with a[:, p] = q r.

    >>> q, r = qr(jnp.eye(3)[:, :2], mode='economic')
    >>> q.shape, r.shape
    ((3, 2), (2, 2))
    """
    if mode not in ("full", "economic", "r"):
        raise ValueError(f'qr mode is "full", "economic" or "r", got {mode!r}.')
    a = matrix("qr", a)
    made = lax_linalg.qr(a, full_matrices=mode != "economic", pivoting=pivoting)
    return made[1:] if mode == "r" else made


def qr_multiply(
    a: Any, c: Any, mode: str = "right", pivoting: bool = False, conjugate: bool = False,
    overwrite_a: bool = False, overwrite_c: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """c q (mode "right") or q c ("left"), and r, for a = q r in economic form; see qr.

    >>> qr_multiply(jnp.eye(2), jnp.eye(2))[1].shape
    (2, 2)
    """
    if mode not in ("right", "left"):
        raise ValueError(f'qr_multiply mode is "right" or "left", got {mode!r}.')
    a, c = inexact("qr_multiply", a, c)
    q, *rest = lax_linalg.qr(matrix("qr_multiply", a), full_matrices=False, pivoting=pivoting)
    q = ops.conj(q, input_dtype=q.dtype) if conjugate and dtypes.is_complex(q.dtype) else q
    c = strong(c)
    is_vector = c.ndim == 1
    if is_vector:
        c = ops.reshape(c, new_sizes=(1, c.shape[0]) if mode == "right" else (c.shape[0], 1))
    made = matmul(c, q) if mode == "right" else matmul(q, c)
    if is_vector:
        made = ops.reshape(made, new_sizes=(made.size,))
    return made, *rest


def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False,
    check_finite: bool = True, lapack_driver: str = "gesdd",
) -> Any:  # fmt: skip
    """u, s, vh of [..., m, n] matrices: a = u diag(s) vh; s alone if asked. See jnp.linalg.svd.

    >>> svd(jnp.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False).tolist()
    [4.0, 3.0]
    """
    made = linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
    return tuple(made) if compute_uv else made


def eigh(
    a: Any, b: Any = None, lower: bool = True, eigvals_only: bool = False,
    overwrite_a: bool = False, overwrite_b: bool = False, turbo: bool = True, eigvals: Any = None,
    type: Any = 1, check_finite: bool = True,
) -> Any:  # fmt: skip
    """Ascending eigenvalues and eigenvectors of Hermitian matrices; the former alone if asked.

    With a positive definite b, of a v = b v diag(w), where v^H b v = 1.

    >>> eigh(jnp.array([[2.0, 0.0], [0.0, 1.0]]), eigvals_only=True).tolist()
    [1.0, 2.0]
    """
    if eigvals is not None or type != 1:
        raise NotImplementedError("eigh has type=1 only, and gives all eigenvalues.")
    triangle = "L" if lower else "U"
    if b is None:
        if eigvals_only:
            return linalg.eigvalsh(a, triangle)
        return tuple(linalg.eigh(a, triangle))
    a, b = inexact("eigh", a, b)
    a, b = (hermitian_of(square("eigh", x), lower) for x in (a, b))
    # With b = l l^H, of l^-1 a l^-H.
    l = ops.cholesky(b)
    adjoint_of_l = {"lower": True, "transpose_a": True, "conjugate_a": True}
    x = ops.triangular_solve(l, a, left_side=True, lower=True)
    x = ops.triangular_solve(l, x, left_side=False, **adjoint_of_l)
    if eigvals_only:
        return linalg.eigvalsh(x)
    w, v = linalg.eigh(x)
    return w, ops.triangular_solve(l, v, left_side=True, **adjoint_of_l)


def eigh_tridiagonal(
    d: Any, e: Any, *, eigvals_only: bool = False, select: str = "a",
    select_range: tuple[float, float] | None = None, tol: float | None = None, key: Any = None,
) -> Any:  # fmt: skip
    """Ascending eigenvalues (and vectors) of matrices with diagonal d [n] and off-diagonal e [n-1].

    select "a": all; "i": those with index select_range[0] to select_range[1], inclusive.

    >>> eigh_tridiagonal(jnp.ones(2), jnp.ones(1), eigvals_only=True).round(4).tolist()
    [0.0, 2.0]
    """
    d, e = inexact("eigh_tridiagonal", d, e)
    d, e = strong(d), strong(e)
    n = d.shape[-1]
    if e.shape[-1] != n - 1:
        raise ValueError(f"eigh_tridiagonal needs d of n and e of n - 1, got {d.shape}, {e.shape}.")
    below = ops.pad(
        diagonal_matrix(e), e.dtype.type(0),
        padding_config=(*[(0, 0, 0)] * (e.ndim - 1), (1, 0, 0), (0, 1, 0)),
    )  # fmt: skip
    a = ops.add(in_dtype(diagonal_matrix(d), e.dtype), ops.add(below, adjoint(below)))
    w, v = linalg.eigh(a)
    if select not in ("a", "i"):
        raise NotImplementedError(f'eigh_tridiagonal has select="a" and "i", got {select!r}.')
    if select == "i":
        if select_range is None:
            raise ValueError("for select='i', select_range must be specified.")
        first, last = (int(i) for i in select_range)
        w, v = w[..., first : last + 1], v[..., first : last + 1]
    return w if eigvals_only else (w, v)


def hessenberg(
    a: Any, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """The upper Hessenberg form h of square matrices; with calc_q also q with a = q h q^H.

    >>> hessenberg(jnp.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    a = square("hessenberg", a)
    n = a.shape[-1]
    packed, taus = ops.hessenberg(a)
    h = upper_part(packed, -1)
    if not calc_q:
        return h
    if n < 2:
        return h, identity(a.shape, a.dtype)
    rest = ops.householder_product(block(packed, slice(1, n), slice(0, n - 1)), taus)
    config = (*[(0, 0, 0)] * (a.ndim - 2), (1, 0, 0), (1, 0, 0))
    q = ops.pad(rest, a.dtype.type(0), padding_config=config)
    one = block(identity(a.shape, a.dtype), slice(0, 1), slice(0, 1))
    config = (*[(0, 0, 0)] * (a.ndim - 2), (0, n - 1, 0), (0, n - 1, 0))
    return h, ops.add(q, ops.pad(one, a.dtype.type(0), padding_config=config))


def schur(a: Any, output: str = "real") -> tuple[Any, Any]:
    """t and the unitary z with a = z t z^H, t upper triangular; no derivative.

    With output "real", t of a real matrix is real, with blocks of two for complex eigenvalues.

    >>> schur(jnp.array([[1.0, 2.0], [0.0, 3.0]]))[0].tolist()
    [[1.0, 2.0], [0.0, 3.0]]
    """
    if output not in ("real", "complex"):
        raise ValueError(
            f"Expected 'output' to be either 'real' or 'complex', got output={output}."
        )
    a = square("schur", a)
    if output == "complex":
        a = in_dtype(a, complex_dtype(a.dtype))
    form, vectors = ops.schur(a)
    return form, vectors


def rsf2csf(T: Any, Z: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """The complex Schur form and vectors of what has the real form T and vectors Z; no derivative.

    >>> t, z = rsf2csf(jnp.eye(2), jnp.eye(2))
    >>> t.dtype.name
    'complex64'
    """
    T, Z = inexact("rsf2csf", T, Z)
    form, vectors = schur(square("rsf2csf", T), output="complex")
    return form, matmul(in_dtype(strong(Z), vectors.dtype), vectors)


def polar(
    a: Any, side: str = "right", *, method: str = "qdwh", eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """u, p of the polar decomposition a = u p (side "left": a = p u), p positive semidefinite.

    u has orthonormal columns (or rows). It is computed from the singular values by both methods.

    >>> u, p = polar(2 * jnp.eye(2))
    >>> abs(p.round(4)).tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    if side not in ("right", "left"):
        raise ValueError(f"The argument `side` must be either 'right' or 'left', got {side!r}.")
    if method not in ("qdwh", "svd"):
        raise ValueError(f'polar has the methods "qdwh" and "svd", got {method!r}.')
    s, u, vh = ops.svd(matrix("polar", a), full_matrices=False)
    if side == "right":
        p = matmul(scaled_columns(adjoint(vh), s), vh)
    else:
        p = matmul(scaled_columns(u, s), adjoint(u))
    return matmul(u, vh), p
