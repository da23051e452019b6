"""Systems of equations: solutions, inverses, determinants, least squares."""

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from jacana import ops
from jacana.api.custom import custom_jvp
from jacana.api.jit import jit
from jacana.core import dtypes
from jacana.numpy import conditions, reductions
from jacana.numpy.linalg.operands import epsilon, inexact, matrix, square, strong
from jacana.numpy.manipulation import moveaxis, reshape
from jacana.numpy.products import matmul
from jacana.numpy.promotion import as_array, broadcast_shape, broadcast_to
from jacana.ops.linalg.matrices import diagonal, identity, in_dtype


class SlogdetResult(NamedTuple):
    """What slogdet returns."""

    sign: Any
    logabsdet: Any


def det(a: Any) -> Any:
    """The determinants of [..., n, n] matrices; 1 for n = 0. The derivative is that of singular
    matrices too.

    >>> det(jnp.array([[1.0, 2.0], [3.0, 4.0]]))
    Array(-2., dtype=float32)
    """
    return ops.det(square("det", a))


@functools.partial(jit, static_argnames=("method",))
def slogdet(a: Any, *, method: str | None = None) -> SlogdetResult:
    """The sign (of complex matrices, the phase) and log(abs(det(a))) of [..., n, n] matrices.

    0 and -inf for singular matrices, where there is no derivative. `method` is "lu" or "qr".

    >>> slogdet(jnp.array([[0.0, 2.0], [2.0, 0.0]])).sign
    Array(-1., dtype=float32)
    """
    if method not in (None, "lu", "qr"):
        raise ValueError(f"Unrecognized method='{method}'. Options are 'lu' or 'qr'.")
    return SlogdetResult(*_sign_and_log(square("slogdet", a)))


@custom_jvp
def _sign_and_log(a: Any) -> Any:
    lu, pivots, _ = ops.lu_factors(a)
    d = diagonal(lu)
    axis = d.ndim - 1
    rows = ops.iota(dtype=dtypes.int32, shape=d.shape, dimension=axis)
    exchanges = ops.reduce_sum(in_dtype(ops.ne(pivots, rows), dtypes.int32), axes=(axis,))
    odd = ops.eq(ops.and_(exchanges, np.int32(1)), np.int32(1))
    sign = ops.reduce_prod(ops.sign(d), axes=(axis,))
    log = ops.reduce_sum(ops.log(ops.abs(d)), axes=(axis,))
    return ops.select_n(odd, sign, ops.neg(sign)), log


@_sign_and_log.defjvp
def _sign_and_log_jvp(primals: Any, tangents: Any) -> Any:
    """log(det(a)) grows by the trace of a^-1 da, of which the imaginary part turns the sign."""
    (a,), (da,) = primals, tangents
    sign, log = _sign_and_log(a)
    grown = reductions.sum(diagonal(solve_promoted(a, da)), axis=-1)
    if not dtypes.is_complex(a.dtype):
        return (sign, log), (sign * 0, grown)
    turned = sign * ops.complex(ops.real(grown) * 0, ops.imag(grown))
    return (sign, log), (turned, ops.real(grown))


@jit
def solve(a: Any, b: Any) -> Any:
    """x with a x = b, for a [..., n, n] and b a vector [n] or matrices [..., n, k].

    Axes before the matrices broadcast. Infinite or nan where a is singular (nothing is raised).

    >>> solve(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 4.0]))
    Array([1., 1.], dtype=float32)
    """
    a, b = inexact("solve", a, b)
    return solve_promoted(square("solve", a), strong(b))


def solve_promoted(a: Any, b: Any, transpose: int = 0) -> Any:
    """The same, for operands of one dtype; transpose 1 and 2 solve a^T x = b and a^H x = b."""
    n = a.shape[-1]
    is_vector = b.ndim == 1
    if b.ndim == 0 or b.shape[0 if is_vector else -2] != n:
        raise ValueError(
            f"solve needs a right side of shape [{n}] or [..., {n}, k] for matrices of shape "
            f"{a.shape}, got {b.shape}."
        )
    if is_vector:
        b = reshape(b, (n, 1))
    factors, _, permutation = ops.lu_factors(a)
    if a.ndim == 2 and b.ndim > 2:
        # One matrix for all: their right sides stand side by side.
        columns = moveaxis(b, -2, 0)
        flat = reshape(columns, (n, math.prod(columns.shape[1:])))
        x = ops.lu_solve(a, factors, permutation, flat, transpose=transpose)
        return moveaxis(reshape(x, columns.shape), 0, -2)
    lead = broadcast_shape("solve", a.shape[:-2], b.shape[:-2])
    operands = [
        broadcast_to(x, (*lead, *x.shape[len(x.shape) - rank :]))
        for x, rank in ((a, 2), (factors, 2), (permutation, 1), (b, 2))
    ]
    x = ops.lu_solve(*operands, transpose=transpose)
    return ops.squeeze(x, dimensions=(x.ndim - 1,)) if is_vector else x


@jit
def inv(a: Any) -> Any:
    """The inverses of [..., n, n] matrices; infinite or nan where there is none.

    >>> inv(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
    Array([[0.5 , 0.  ],
           [0.  , 0.25]], dtype=float32)
    """
    a = square("inv", a)
    return solve_promoted(a, identity(a.shape, a.dtype))


def pinv(a: Any, rtol: Any = None, hermitian: bool = False, *, rcond: Any = None) -> Any:
    """The pseudo-inverses of [..., m, n] matrices, of shape [..., n, m].

    Singular values up to rtol (10 max(m, n) epsilon) times the greatest count as zero. The
    derivative is that among matrices of the same rank.

    >>> pinv(jnp.array([[1.0], [1.0]])).round(3)
    Array([[0.5, 0.5]], dtype=float32)
    """
    a = matrix("pinv", a)
    tolerance = rtol if rtol is not None else rcond
    if tolerance is None:
        tolerance = 10 * max(a.shape[-2:]) * epsilon(a.dtype)
    real = dtypes.real_dtype(a.dtype)
    tolerance = in_dtype(as_array("pinv", tolerance), real)
    return ops.pinv(a, broadcast_to(tolerance, a.shape[:-2]), hermitian=hermitian)


def lstsq(
    a: Any, b: Any, rcond: float | None = None, *, numpy_resid: bool = False
) -> tuple[Any, Any, Any, Any]:
    """x of least norm(b - a x), the squared norms of b - a x, the rank of a, its singular values.

    a is [m, n], b [m] or [m, k]. Singular values below rcond (max(m, n) epsilon) times the greatest
    count as zero. With numpy_resid, the residuals are empty where the rank is not n or m <= n.

    >>> x, _, rank, _ = lstsq(jnp.array([[1.0], [1.0]]), jnp.array([1.0, 3.0]))
    >>> x.round(4).tolist(), int(rank)
    ([2.0], 1)
    """
    a, b = inexact("lstsq", a, b)
    a, b = strong(a), strong(b)
    if a.ndim != 2 or b.ndim not in (1, 2) or a.shape[0] != b.shape[0]:
        raise ValueError(
            f"lstsq needs a of shape [m, n] and b of shape [m] or [m, k], got {a.shape} and "
            f"{b.shape}."
        )
    m, n = a.shape
    columns = b if b.ndim == 2 else reshape(b, (m, 1))
    roundoff = epsilon(a.dtype) * max(m, n)
    if rcond is None:
        rcond = roundoff
    real = dtypes.real_dtype(a.dtype)
    tolerance = conditions.where(as_array("lstsq", rcond) < 0, epsilon(a.dtype), rcond)
    tolerance = in_dtype(tolerance, real)
    (s,) = ops.svd(a, full_matrices=False, compute_uv=False)
    greatest = reductions.max(s, initial=0)
    rank = reductions.sum(s > tolerance * greatest)
    x = matmul(ops.pinv(a, tolerance, hermitian=False), columns)
    rest = columns - matmul(a, x)
    if numpy_resid and (m <= n or not _is_rank(rank, n)):
        squares = as_array("lstsq", np.zeros((0,), real))
    else:
        squares = (
            reductions.sum(ops.real(rest * ops.conj(rest, input_dtype=rest.dtype)), 0)
            if (dtypes.is_complex(rest.dtype))
            else reductions.sum(rest * rest, 0)
        )
    return (x if b.ndim == 2 else reshape(x, (n,))), squares, rank, s


def _is_rank(rank: Any, n: int) -> bool:
    return int(rank) == n


def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of a as a map from its last axes to its first `ind` axes.

    >>> tensorinv(jnp.eye(4).reshape(2, 2, 4), ind=2).shape
    (4, 2, 2)
    """
    (a,) = inexact("tensorinv", a)
    if ind <= 0:
        raise ValueError(f"ind must be a positive integer; got ind={ind}")
    first, last = a.shape[:ind], a.shape[ind:]
    if math.prod(first) != math.prod(last):
        raise ValueError(
            f"tensorinv is only possible when the product of the first `ind` dimensions equals "
            f"that of the remaining dimensions. got arr.shape={a.shape} with ind={ind}."
        )
    n = math.prod(first)
    return reshape(inv(reshape(a, (n, n))), (*last, *first))


def tensorsolve(a: Any, b: Any, axes: tuple[int, ...] | None = None) -> Any:
    """x with tensordot(a, x, x.ndim) == b; `axes` of a are moved to its end first.

    >>> tensorsolve(jnp.eye(4).reshape(2, 2, 4), jnp.ones((2, 2))).shape
    (4,)
    """
    a, b = inexact("tensorsolve", a, b)
    if axes is not None:
        rest = [i for i in range(a.ndim) if i not in {axis % a.ndim for axis in axes}]
        a = ops.transpose(a, permutation=(*rest, *[axis % a.ndim for axis in axes]))
    shape = a.shape[b.ndim :]
    n = math.prod(shape)
    if n * n != math.prod(a.shape) or a.shape[: b.ndim] != b.shape:
        raise ValueError(
            f"Input arrays must have prod(a.shape[:b.ndim]) == prod(a.shape[b.ndim:]); got "
            f"a.shape={a.shape}, b.ndim={b.ndim}."
        )
    return reshape(solve(reshape(a, (n, n)), reshape(b, (n,))), shape)
