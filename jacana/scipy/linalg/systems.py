"""Systems of equations: solutions by a matrix or by its factors, inverses, determinants.

`overwrite_*`, `check_finite` and `debug` are there for SciPy's programs and do nothing.
"""

from typing import Any

from jacana import ops
from jacana.lax import linalg as lax_linalg
from jacana.numpy import linalg
from jacana.numpy.linalg.operands import inexact, square, strong
from jacana.numpy.linalg.systems import solve_promoted
from jacana.numpy.manipulation import reshape
from jacana.numpy.promotion import as_array, broadcast_shape, broadcast_to
from jacana.ops.linalg.matrices import adjoint, inverse_permutation, taken_rows


def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """The Cholesky factor of positive definite matrices [..., n, n], and whether it is the lower.

    Only one triangle of a is read, and zeros stand in the other one of the result.

    >>> cho_factor(4 * jnp.eye(2))[0].tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    a = square("cho_factor", a)
    factor = lax_linalg.cholesky(a if lower else adjoint(a), symmetrize_input=False)
    return (factor if lower else adjoint(factor)), lower


def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """x with a x = b, from what cho_factor makes of a; b is [n] or [..., n, k].

    >>> cho_solve(cho_factor(4 * jnp.eye(2)), jnp.array([4.0, 8.0])).tolist()
    [1.0, 2.0]
    """
    c, lower = c_and_lower
    c, b = _system("cho_solve", c, b)
    matrix, rhs, restore = _aligned(c, b)
    first = {"transpose_a": not lower, "conjugate_a": not lower}
    x = ops.triangular_solve(matrix, rhs, left_side=True, lower=lower, **first)
    second = {"transpose_a": lower, "conjugate_a": lower}
    return restore(ops.triangular_solve(matrix, x, left_side=True, lower=lower, **second))


def _system(function: str, a: Any, b: Any) -> tuple[Any, Any]:
    a, b = inexact(function, a, b)
    a, b = square(function, a), strong(b)
    n = a.shape[-1]
    if b.ndim == 0 or b.shape[0 if b.ndim == 1 else -2] != n:
        raise ValueError(
            f"{function} needs a right side of shape [{n}] or [..., {n}, k] for matrices of shape "
            f"{a.shape}, got {b.shape}."
        )
    return a, b


def _aligned(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Matrices and right sides with the same leading axes, and what undoes it in the solution."""
    is_vector = b.ndim == 1
    b = reshape(b, (b.shape[0], 1)) if is_vector else b
    lead = broadcast_shape("solve", a.shape[:-2], b.shape[:-2])
    a, b = broadcast_to(a, (*lead, *a.shape[-2:])), broadcast_to(b, (*lead, *b.shape[-2:]))
    return a, b, lambda x: ops.squeeze(x, dimensions=(x.ndim - 1,)) if is_vector else x


def lu_factor(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> tuple[Any, Any]:
    """lu and pivots of square matrices: row i was exchanged with row pivots[i].

    >>> lu_factor(jnp.array([[1.0, 2.0], [3.0, 4.0]]))[1].tolist()
    [1, 1]
    """
    lu, pivots, _ = ops.lu(square("lu_factor", a))
    return lu, pivots


def lu_solve(
    lu_and_piv: tuple[Any, Any], b: Any, trans: int = 0, overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    """x with a x = b (trans 1: a^T x = b; 2: a^H x = b), from what lu_factor makes of a.

    >>> lu_solve(lu_factor(2 * jnp.eye(2)), jnp.array([2.0, 4.0])).tolist()
    [1.0, 2.0]
    """
    if trans not in (0, 1, 2):
        raise ValueError(f"'trans' value must be 0, 1, or 2, got {trans}")
    lu, pivots = lu_and_piv
    lu, b = _system("lu_solve", lu, b)
    permutation = lax_linalg.lu_pivots_to_permutation(as_array("lu_solve", pivots), lu.shape[-1])
    matrix, rhs, restore = _aligned(lu, b)
    permutation = broadcast_to(permutation, matrix.shape[:-1])
    lower = {"left_side": True, "lower": True, "unit_diagonal": True}
    if trans == 0:
        x = ops.triangular_solve(matrix, taken_rows(rhs, permutation), **lower)
        return restore(ops.triangular_solve(matrix, x, left_side=True))
    op = {"transpose_a": True, "conjugate_a": trans == 2}
    x = ops.triangular_solve(matrix, rhs, left_side=True, **op)
    x = ops.triangular_solve(matrix, x, **lower, **op)
    return restore(taken_rows(x, inverse_permutation(permutation)))


def solve(
    a: Any, b: Any, lower: bool = False, overwrite_a: bool = False, overwrite_b: bool = False,
    debug: bool = False, check_finite: bool = True, assume_a: str = "gen",
) -> Any:  # fmt: skip
    """x with a x = b, for a [..., n, n] and b [n] or [..., n, k].

    assume_a: "gen"; "sym" or "her" (taken as "gen"); "pos" reads one triangle of a positive
    definite a only, the lower one if `lower`.

    >>> solve(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 4.0])).tolist()
    [1.0, 1.0]
    """
    if assume_a not in ("gen", "sym", "her", "pos"):
        raise ValueError(
            f"Expected assume_a to be one of ['gen', 'sym', 'her', 'pos'], got {assume_a}"
        )
    if assume_a == "pos":
        return cho_solve(cho_factor(a, lower=lower), b)
    return solve_promoted(*_system("solve", a, b))


def solve_triangular(
    a: Any, b: Any, trans: int | str = 0, lower: bool = False, unit_diagonal: bool = False,
    overwrite_b: bool = False, debug: Any = None, check_finite: bool = True,
) -> Any:  # fmt: skip
    """x with a x = b for triangular a, of which the other triangle is not read.

    trans: 0 or "N"; 1 or "T" solves a^T x = b; 2 or "C" a^H x = b. b is [n] or [..., n, k].

    >>> solve_triangular(jnp.array([[2.0, 1.0], [9.0, 1.0]]), jnp.array([3.0, 1.0])).tolist()
    [1.0, 1.0]
    """
    names: dict[Any, int] = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}
    if trans not in names:
        raise ValueError(f"Invalid 'trans' value {trans}: give 0, 1, 2, 'N', 'T' or 'C'.")
    op = names[trans]
    matrix, rhs, restore = _aligned(*_system("solve_triangular", a, b))
    x = ops.triangular_solve(
        matrix, rhs, left_side=True, lower=lower, transpose_a=op > 0, conjugate_a=op == 2,
        unit_diagonal=unit_diagonal,
    )  # fmt: skip
    return restore(x)


def inv(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The inverses of [..., n, n] matrices; see jnp.linalg.inv."""
    return linalg.inv(a)


def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The determinants of [..., n, n] matrices; see jnp.linalg.det."""
    return linalg.det(a)
