"""jax.scipy.sparse.linalg: conjugate gradients and other Krylov methods.

After Hestenes and Stiefel (1952), van der Vorst (1992), and Saad and Schultz (1986), in the form of
Saad, Iterative Methods for Sparse Linear Systems. Derivatives solve a further system each.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import jacana.numpy as jnp
from jacana import lax
from jacana.core import dtypes, tree
from jacana.core.values import aval_of, is_array_like
from jacana.flatten_util import ravel_pytree
from jacana.lax.linear_solve import custom_linear_solve

Operator = Callable[[Any], Any]
# (operator, b, x0, preconditioner, tolerance of the residual's square, limit) -> x, all vectors
Method = Callable[[Operator, Any, Any, Operator, Any, int], Any]


def cg(A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0,
       maxiter: int | None = None, M: Any = None) -> tuple[Any, None]:  # fmt: skip
    """(x, None) with A x = b by conjugate gradients, for a positive definite Hermitian A.

    A, and the preconditioner M that is near its inverse, are functions of arrays like b (which may
    be a pytree), or matrices. It stops where norm(b - A x) <= max(tol * norm(b), atol), or after
    maxiter steps, ten times the size of b by default.

    >>> x, _ = cg(np.float32([[2, 0], [0, 4]]), np.float32([2, 8]))
    >>> x.tolist()
    [1.0, 2.0]
    """
    return solved(conjugate_gradients, True, A, b, x0, tol, atol, maxiter, M), None


def bicgstab(A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0,
             maxiter: int | None = None, M: Any = None) -> tuple[Any, None]:  # fmt: skip
    """(x, None) with A x = b by stabilised biconjugate gradients, for any A; arguments as in cg.

    >>> x, _ = bicgstab(np.float32([[2, 1], [0, 4]]), np.float32([4, 8]))
    >>> np.round(x, 3).tolist()
    [1.0, 2.0]
    """
    return solved(biconjugate_gradients, False, A, b, x0, tol, atol, maxiter, M), None


def gmres(A: Any, b: Any, x0: Any = None, *, tol: float = 1e-5, atol: float = 0.0,
          restart: int = 20, maxiter: int | None = None, M: Any = None,
          solve_method: str = "batched") -> tuple[Any, Any]:  # fmt: skip
    """(x, info) with A x = b by generalised minimal residuals, for any A; info is -1 if x has nan.

    It starts anew after `restart` steps, which is how many vectors like b it keeps, and maxiter
    times. With solve_method="incremental" a round ends as soon as its residual is small enough.

    >>> x, _ = gmres(np.float32([[2, 1], [0, 4]]), np.float32([4, 8]))
    >>> np.round(x, 3).tolist()
    [1.0, 2.0]
    """
    if solve_method not in ("incremental", "batched"):
        raise ValueError(
            f"invalid solve_method {solve_method}, must be either 'incremental' or 'batched'"
        )
    steps = min(restart, sum(math.prod(aval_of(x).shape) for x in tree.leaves(b)))
    method = functools.partial(minimal_residuals, steps, solve_method == "incremental")
    x = solved(method, False, A, b, x0, tol, atol, maxiter, M)
    failed = functools.reduce(jnp.logical_or, [jnp.isnan(leaf).any() for leaf in tree.leaves(x)])
    return x, jnp.where(failed, -1, 0)


def operator(given: Any) -> Operator:
    """A matrix, or the function that is given, as a function."""
    if callable(given):
        return given  # type: ignore[no-any-return]
    if not is_array_like(given) or not np.ndim(given):
        raise TypeError(f"linear operator must be either a function or ndarray: {given}")
    if np.ndim(given) != 2 or np.shape(given)[0] != np.shape(given)[1]:
        raise ValueError(
            f"linear operator must be a square matrix, but has shape: {np.shape(given)}"
        )
    return lambda x: jnp.dot(given, x, precision="highest")


def solved(
    method: Method, hermitian: bool, A: Any, b: Any, x0: Any, tol: float, atol: float,
    maxiter: int | None, M: Any,
) -> Any:  # fmt: skip
    """The solution by a method, as vectors on the inside."""
    b = tree.map(inexact, b)
    x0 = tree.map(jnp.zeros_like, b) if x0 is None else tree.map(inexact, x0)
    check_start(x0, b)
    rhs, unravel = ravel_pytree(b)
    start = ravel_pytree(x0)[0].astype(rhs.dtype)
    limit = 10 * rhs.shape[0] if maxiter is None else maxiter

    def flat(function: Operator) -> Operator:
        return lambda x: ravel_pytree(function(unravel(x)))[0].astype(x.dtype)

    precondition = (lambda x: x) if M is None else flat(operator(M))

    def solve(matvec: Operator, rhs: Any) -> Any:
        allowed = jnp.maximum(tol**2 * squared_norm(rhs), atol**2)
        x = method(matvec, rhs, start, precondition, allowed, limit)
        # No residual compares with nan, which would leave x where it began.
        return jnp.where(jnp.isnan(allowed), jnp.nan, x)

    x = custom_linear_solve(
        flat(operator(A)), rhs, solve, transpose_solve=solve,
        symmetric=hermitian and not dtypes.is_complex(rhs.dtype),
    )  # fmt: skip
    return unravel(x)


def inexact(x: Any) -> Any:
    x = jnp.asarray(x)
    return x.astype(jnp.result_type(x.dtype, float))


def check_start(x0: Any, b: Any) -> None:
    if tree.structure(x0) != tree.structure(b):
        raise ValueError(
            f"x0 and b must have matching tree structure: {tree.structure(x0)} vs "
            f"{tree.structure(b)}"
        )
    found, wanted = ([np.shape(x) for x in tree.leaves(t)] for t in (x0, b))
    if found != wanted:
        raise ValueError(f"arrays in x0 and b must have matching shapes: {found} vs {wanted}")


def inner(x: Any, y: Any) -> Any:
    return jnp.vdot(x, y, precision="highest")


def squared_norm(x: Any) -> Any:
    return jnp.real(inner(x, x))


# --- methods ---


def conjugate_gradients(A: Operator, b: Any, x0: Any, M: Operator, allowed: Any, limit: int) -> Any:
    def goes_on(state: Any) -> Any:
        _, r, _, _, count = state
        return (squared_norm(r) > allowed) & (count < limit)

    def step(state: Any) -> Any:
        x, r, gamma, p, count = state
        image = A(p)
        alpha = gamma / inner(p, image)
        x, r = x + alpha * p, r - alpha * image
        z = M(r)
        gamma_after = inner(r, z)
        return x, r, gamma_after, z + gamma_after / gamma * p, count + 1

    r = b - A(x0)
    z = M(r)
    x, *_ = lax.while_loop(goes_on, step, (x0, r, inner(r, z), z, 0))
    return x


def biconjugate_gradients(
    A: Operator, b: Any, x0: Any, M: Operator, allowed: Any, limit: int
) -> Any:
    r = b - A(x0)
    shadow, one = r, jnp.ones((), b.dtype)

    def goes_on(state: Any) -> Any:
        _, r, _, _, _, _, _, count = state
        # A count below zero says that the method broke down.
        return (squared_norm(r) > allowed) & (count < limit) & (count >= 0)

    def step(state: Any) -> Any:
        x, r, rho, alpha, omega, p, image, count = state
        rho_after = inner(shadow, r)
        beta = rho_after / rho * alpha / omega
        p = r + beta * (p - omega * image)
        direction = M(p)
        image = A(direction)
        alpha = rho_after / inner(shadow, image)
        half = r - alpha * image
        second = M(half)
        change = A(second)
        # Where the half step is the solution, there is nothing left to minimise.
        is_there = squared_norm(half) <= allowed
        weight = squared_norm(change)
        omega = jnp.where(weight == 0, 0, inner(change, half) / jnp.where(weight == 0, 1, weight))
        omega = jnp.where(is_there, jnp.zeros_like(omega), omega)
        x = x + alpha * direction + omega * second
        r = half - omega * change
        broken = (rho_after == 0) | ((omega == 0) & ~is_there)
        return x, r, rho_after, alpha, omega, p, image, jnp.where(broken, -1, count + 1)

    zero = jnp.zeros_like(r)
    x, *_ = lax.while_loop(goes_on, step, (x0, r, one, one, one, zero, zero, 0))
    return x


class Round(NamedTuple):
    """An Arnoldi process after `count` steps: A V = V H, with H made triangular by rotations.

    `rotated` is the first residual in the coordinates of V's columns, rotated alike; `rotations`
    holds cosine and sine of each.
    """

    count: Any
    basis: Any
    triangle: Any
    rotated: Any
    rotations: Any
    residual: Any


def minimal_residuals(
    steps: int, early: bool, A: Operator, b: Any, x0: Any, M: Operator, allowed: Any, limit: int
) -> Any:
    # Residuals are those of the system that M is applied to from the left.
    image = M(b)
    scale = squared_norm(image) / jnp.where(squared_norm(b) == 0, 1, squared_norm(b))
    bound = jnp.sqrt(allowed * scale)

    def goes_on(state: Any) -> Any:
        _, r, count = state
        return (jnp.sqrt(squared_norm(r)) > bound) & (count < limit)

    def again(state: Any) -> Any:
        x, r, count = state
        x = x + arnoldi(lambda v: M(A(v)), r, steps, bound if early else jnp.zeros_like(bound))
        return x, M(b - A(x)), count + 1

    x, *_ = lax.while_loop(goes_on, again, (x0, M(b - A(x0)), 0))
    return x


def arnoldi(A: Operator, r: Any, steps: int, bound: Any) -> Any:
    """The change of x, within the Krylov space of r, that leaves the least residual r - A x."""
    size = jnp.sqrt(squared_norm(r))
    dtype = r.dtype
    tiny = size * float(dtypes.finfo(dtypes.real_dtype(dtype)).eps)

    def goes_on(at: Round) -> Any:
        return (at.count < steps) & (at.residual > jnp.maximum(bound, tiny))

    def step(at: Round) -> Round:
        k = at.count
        v = A(at.basis[k])
        # Twice, so that rounding leaves the basis orthogonal.
        first = jnp.conj(at.basis) @ v
        v = v - first @ at.basis
        second = jnp.conj(at.basis) @ v
        v = v - second @ at.basis
        length = jnp.sqrt(squared_norm(v))
        column = (first + second).at[k + 1].set(length.astype(dtype))
        v = v / jnp.where(length == 0, 1, length)
        column = lax.fori_loop(0, k, lambda i, c: rotated(c, i, at.rotations[i]), column)
        rotation = rotation_of(column[k], column[k + 1])
        column = rotated(column, k, rotation)
        rhs = rotated(at.rotated, k, rotation)
        return Round(
            k + 1, at.basis.at[k + 1].set(v), at.triangle.at[:, k].set(column[:steps]), rhs,
            at.rotations.at[k].set(rotation), jnp.abs(rhs[k + 1]),
        )  # fmt: skip

    first = r / jnp.where(size == 0, 1, size)
    basis = jnp.zeros((steps + 1, r.shape[0]), dtype).at[0].set(first)
    rhs = jnp.zeros(steps + 1, dtype).at[0].set(size.astype(dtype))
    start = Round(0, basis, jnp.eye(steps, dtype=dtype), rhs, jnp.zeros((steps, 2), dtype), size)
    end = lax.while_loop(goes_on, step, start)
    within = jnp.where(jnp.arange(steps) < end.count, end.rotated[:steps], 0)
    weights = jnp.linalg.solve(jnp.triu(end.triangle), within)
    return weights @ end.basis[:steps]


def rotation_of(a: Any, b: Any) -> Any:
    """Cosine and sine of the rotation that takes b, below a, to zero."""
    length = jnp.sqrt(jnp.abs(a) ** 2 + jnp.abs(b) ** 2)
    safe = jnp.where(length == 0, 1, length)
    return jnp.stack([jnp.where(length == 0, 1, a / safe), b / safe])


def rotated(x: Any, k: Any, rotation: Any) -> Any:
    """The vector with its elements k and k + 1 rotated."""
    c, s = rotation
    a, b = x[k], x[k + 1]
    return x.at[k].set(jnp.conj(c) * a + jnp.conj(s) * b).at[k + 1].set(c * b - s * a)
