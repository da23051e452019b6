"""Functions of matrices: exponential, square root, and what a function of numbers gives."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jacana import ops
from jacana.api.derivatives import jvp
from jacana.api.jit import jit
from jacana.api.vmap import vmap
from jacana.core import dtypes
from jacana.lax.barriers import stop_gradient
from jacana.lax.control_flow import cond, fori_loop
from jacana.numpy.linalg.decompositions import eig
from jacana.numpy.linalg.norms import norm
from jacana.numpy.linalg.operands import epsilon, inexact, square, strong
from jacana.numpy.linalg.systems import solve_promoted
from jacana.numpy.manipulation import reshape
from jacana.ops.linalg.matrices import (
    adjoint,
    along_columns,
    along_rows,
    chosen,
    diagonal,
    diagonal_matrix,
    identity,
    in_dtype,
    matmul,
)
from jacana.scipy.linalg.decompositions import schur

# Numerators of the diagonal Pade approximants of exp, of order 7 and 13, and the 1-norm up to which
# their backward error is below the roundoff of float32 and float64 (Higham, 2005).
PADE = {
    "float32": (
        (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0),
        3.925724783138660,
    ),
    "float64": (
        (
            64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
            129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0,
            40840800.0, 960960.0, 16380.0, 182.0, 1.0,
        ),
        5.371920351148152,
    ),
}  # fmt: skip


@functools.partial(jit, static_argnames=("upper_triangular", "max_squarings"))
def expm(A: Any, *, upper_triangular: bool = False, max_squarings: int = 16) -> Any:
    """The exponentials of square matrices [..., n, n].

    It squares the exponential of a matrix halved until its 1-norm is small; nan where that takes
    more than max_squarings. With upper_triangular, only the upper triangle is taken to matter.

    >>> expm(jnp.array([[0.0, 1.0], [0.0, 0.0]])).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    a = square("expm", A)

    def one(matrix: Any) -> Any:
        return _exponential(matrix, upper_triangular, int(max_squarings))

    if a.ndim == 2:
        return one(a)
    if 0 in a.shape:
        return a
    flat = reshape(a, (math.prod(a.shape[:-2]), *a.shape[-2:]))
    return reshape(vmap(one)(flat), a.shape)


def _exponential(a: Any, upper_triangular: bool, max_squarings: int) -> Any:
    if a.shape[-1] == 0:
        return a
    real = dtypes.real_dtype(a.dtype)
    coefficients, limit = PADE[real.name]
    size = norm(stop_gradient(a), 1)
    ratio = ops.div(ops.log(ops.div(size, real.type(limit))), real.type(math.log(2)))
    halvings = ops.max(ops.ceil(ratio), real.type(0))
    scaled = ops.mul(a, in_dtype(ops.exp2(ops.neg(halvings)), a.dtype))
    even, odd = _pade(scaled, coefficients)
    above, below = ops.add(even, odd), ops.sub(even, odd)
    if upper_triangular:
        start = ops.triangular_solve(below, above, left_side=True)
    else:
        start = solve_promoted(below, above)
    count = ops.convert_element_type(
        ops.min(halvings, real.type(max_squarings)), new_dtype=dtypes.int32, weak_type=False
    )

    def step(i: Any, x: Any) -> Any:
        more = ops.lt(in_dtype(i, dtypes.int32), count)
        return cond(more, lambda x: matmul(x, x), lambda x: x, x)

    made = fori_loop(0, max_squarings, step, start)
    too_large = ops.gt(halvings, real.type(max_squarings))
    too_large = ops.broadcast_in_dim(too_large, shape=a.shape, broadcast_dimensions=())
    return chosen(too_large, a.dtype.type(np.nan), made)


def _pade(a: Any, coefficients: tuple[float, ...]) -> tuple[Any, Any]:
    """The even and the odd part of the numerator; the denominator is their difference."""
    eye = identity(a.shape, a.dtype)
    square_ = matmul(a, a)
    powers = [eye, square_]
    while 2 * len(powers) < len(coefficients):
        powers.append(matmul(powers[-1], square_))

    def combined(parts: tuple[float, ...]) -> Any:
        total = ops.mul(powers[0], a.dtype.type(parts[0]))
        for power, c in zip(powers[1:], parts[1:]):
            total = ops.add(total, ops.mul(power, a.dtype.type(c)))
        return total

    return combined(coefficients[::2]), matmul(a, combined(coefficients[1::2]))


def expm_frechet(A: Any, E: Any, *, method: str | None = None, compute_expm: bool = True) -> Any:
    """expm(A), and its derivative at A in the direction E; the latter alone without compute_expm.

    >>> expm_frechet(jnp.zeros((2, 2)), jnp.eye(2), compute_expm=False).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    a, e = inexact("expm_frechet", A, E)
    a, e = square("expm_frechet", a), strong(e)
    if a.shape != e.shape:
        raise ValueError(f"expected A and E to be the same shape, got A={a.shape} E={e.shape}")
    value, slope = jvp(expm, (a,), (e,))
    return (value, slope) if compute_expm else slope


def sqrtm(A: Any, blocksize: int = 1) -> Any:
    """The principal square roots of square matrices [n, n], complex; no derivative.

    >>> sqrtm(4 * jnp.eye(2)).real.tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    if blocksize > 1:
        raise NotImplementedError("Blocked version is not implemented yet.")
    a = square("sqrtm", A)
    if a.ndim > 2:
        flat = reshape(a, (math.prod(a.shape[:-2]), *a.shape[-2:]))
        made = vmap(sqrtm)(flat)
        return reshape(made, a.shape)
    form, vectors = schur(a, output="complex")
    root = _triangular_root(form)
    return matmul(matmul(vectors, root), adjoint(vectors))


def _triangular_root(t: Any) -> Any:
    """r with r r = t, both upper triangular.

    Above its diagonal, column j of r solves (r + r[j, j]) x = t[:, j] with the columns before j.
    """
    n = t.shape[-1]
    roots = ops.sqrt(diagonal(t))
    rows = ops.iota(dtype=dtypes.int32, shape=(n, 1), dimension=0)

    def column(j: Any, r: Any) -> Any:
        j = in_dtype(j, dtypes.int32)
        above = ops.lt(rows, j)
        right = ops.dynamic_slice(t, np.int32(0), j, slice_sizes=(n, 1))
        root = ops.dynamic_slice(roots, j, slice_sizes=(1,))
        shift = ops.broadcast_in_dim(root, shape=(n,), broadcast_dimensions=(0,))
        matrix = ops.add(r, diagonal_matrix(shift))
        # Rows from j on are those of the identity: they have nothing to say to the ones above.
        inside = ops.broadcast_in_dim(above, shape=(n, n), broadcast_dimensions=(0, 1))
        matrix = chosen(inside, matrix, identity((n, n), t.dtype))
        x = ops.triangular_solve(matrix, chosen(above, right, t.dtype.type(0)), left_side=True)
        return ops.dynamic_update_slice(r, ops.add(x, _unit(root, rows, j)), np.int32(0), j)

    return fori_loop(0, n, column, ops.mul(t, t.dtype.type(0)))


def _unit(value: Any, rows: Any, j: Any) -> Any:
    """A column with the value in row j."""
    n = rows.shape[0]
    here = ops.eq(rows, j)
    spread = ops.broadcast_in_dim(value, shape=(n, 1), broadcast_dimensions=(1,))
    return chosen(here, spread, value.dtype.type(0))


def funm(A: Any, func: Callable[[Any], Any], disp: bool = True) -> Any:
    """The function of a square matrix [n, n] that has func's values at its eigenvalues; complex.

    It goes by the eigenvectors, so a matrix that lacks some has no result. Without disp, also an
    estimate of the error.

    >>> funm(jnp.array([[1.0, 0.0], [0.0, 4.0]]), jnp.sqrt).real.tolist()
    [[1.0, 0.0], [0.0, 2.0]]
    """
    a = square("funm", A)
    w, v = eig(a)
    values = func(w)
    scaled = ops.mul(v, along_columns(in_dtype(values, v.dtype), v.shape[-2]))
    # scaled v^-1, by the transposed system.
    made = _transposed(solve_promoted(_transposed(v), _transposed(scaled)))
    if disp:
        return made
    residual = norm(ops.sub(matmul(in_dtype(a, v.dtype), v), _scaled(v, w)), 1)
    return made, ops.max(residual, ops.mul(norm(made, 1), residual.dtype.type(epsilon(v.dtype))))


def _transposed(x: Any) -> Any:
    return ops.transpose(x, permutation=(1, 0))


def _scaled(v: Any, w: Any) -> Any:
    return ops.mul(v, along_columns(w, v.shape[-2]))


def solve_sylvester(A: Any, B: Any, C: Any, *, method: str = "schur", tol: float = 1e-8) -> Any:
    """x with A x + x B = C, for A [m, m], B [n, n] and C [m, n].

    It goes by the eigenvectors of A and B; nan where eigenvalues of A and -B come within tol.

    >>> solve_sylvester(jnp.eye(2), jnp.eye(2), 2 * jnp.eye(2)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    if method not in ("schur", "eigen"):
        raise ValueError(f'solve_sylvester has the methods "schur" and "eigen", got {method!r}.')
    a, b, c = inexact("solve_sylvester", A, B, C)
    a, b, c = square("solve_sylvester", a), square("solve_sylvester", b), strong(c)
    if c.shape != (a.shape[0], b.shape[0]) or a.ndim != 2 or b.ndim != 2:
        raise ValueError(
            f"solve_sylvester needs shapes [m, m], [n, n] and [m, n], got {a.shape}, {b.shape} and "
            f"{c.shape}."
        )
    (alpha, u), (beta, v) = eig(a), eig(b)
    inner = solve_promoted(u, matmul(in_dtype(c, u.dtype), v))
    sums = ops.add(along_rows(alpha, b.shape[0]), along_columns(beta, a.shape[0]))
    close = ops.lt(ops.abs(sums), dtypes.real_dtype(u.dtype).type(tol))
    inner = ops.div(inner, chosen(close, u.dtype.type(np.nan), sums))
    made = _transposed(solve_promoted(_transposed(v), _transposed(matmul(u, inner))))
    return made if dtypes.is_complex(c.dtype) else ops.real(made)
