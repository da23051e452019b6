"""Cases of factorisations, and of systems of equations solved by them.

Tangents of bases (of eigenvectors, of an orthogonal complement) depend on LAPACK's choice of them:
where that choice is not continuous, tests/ops/test_linalg.py checks what does not depend on it.
"""

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.testing.cases import exactly, normal, uniform
from tests.ops.cases import case

REAL, COMPLEX = "float64", "complex128"
DTYPES = ("float32", "complex64", REAL, COMPLEX)
ULPS = 2e4  # of the small results of a sum; about 1e-12 of the size of a matrix of order one


def dominant(*shape, dtype=REAL):
    """Matrices far from singular, with pivots on their diagonal."""

    def make(rng):
        x = normal(*shape, dtype=dtype)(rng)
        return (x + 6 * np.eye(*shape[-2:])).astype(dtype)

    return make


def positive(*shape, dtype=REAL):
    """Positive definite Hermitian matrices."""

    def make(rng):
        x = normal(*shape, dtype=dtype)(rng)
        return (x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1])).astype(dtype)

    return make


def hermitian(*shape, dtype=REAL):
    def make(rng):
        x = normal(*shape, dtype=dtype)(rng)
        return (x + np.conj(np.swapaxes(x, -1, -2))).astype(dtype)

    return make


# --- cholesky ------------------------------------------------------------------------------------

for dtype in DTYPES:
    case(ops.cholesky, positive(4, 4, dtype=dtype)).within(ULPS, ULPS)
case(ops.cholesky, positive(2, 3, 3)).within(ULPS, ULPS)
case(ops.cholesky, exactly(np.array([[1.0, 2.0], [2.0, 1.0]]))).without("jvp")
case(ops.cholesky, normal(0, 0)).without("jvp")

# --- lu ------------------------------------------------------------------------------------------

for dtype in DTYPES:
    for shape in ((4, 4), (5, 3), (3, 5)):
        case(ops.lu, dominant(*shape, dtype=dtype)).within(ULPS, ULPS)
case(ops.lu, normal(2, 3, 3)).within(ULPS, ULPS)
case(ops.lu, dominant(2, 6, 6)).within(ULPS, ULPS)
case(ops.lu, normal(0, 3))
case(ops.lu, normal(3, 0))
# The last pivot is zero.
case(ops.lu, exactly([[4.0, 2.0], [2.0, 1.0]]))
for dtype in DTYPES:
    case(ops.lu_factors, normal(4, 4, dtype=dtype)).within(ULPS, ULPS)


def pivots(*shape, dtype="int32"):
    def make(rng):
        k = shape[-1]
        return (np.arange(k) + rng.integers(0, 5 - np.arange(k), shape)).astype(dtype)

    return make


case(ops.lu_pivots_to_permutation, pivots(4), permutation_size=5)
case(ops.lu_pivots_to_permutation, pivots(2, 3), permutation_size=5)
case(ops.lu_pivots_to_permutation, pivots(0), permutation_size=3)


def factored(matrix):
    """A matrix and the factors that lu_factors makes of it."""

    def part(k):
        def make(rng):
            a = matrix(np.random.default_rng(7))
            return a if k < 0 else ops.lu_factors.reference(a)[k]

        return make

    return part(-1), part(0), part(2)


for dtype in DTYPES:
    for transpose in (0, 1, 2):
        operands = *factored(dominant(4, 4, dtype=dtype)), normal(4, 2, dtype=dtype)
        made = case(ops.lu_solve, *operands, transpose=transpose).within(ULPS, ULPS)
        made.smooth(3)
        made.without("batch")
        if dtype in (REAL, COMPLEX):
            made.linear((3,))
for transpose in (0, 1):
    operands = *factored(dominant(6, 6)), normal(6, 2)
    case(ops.lu_solve, *operands, transpose=transpose).within(ULPS, ULPS).smooth(3).linear((3,))
operands = *factored(dominant(2, 3, 3)), normal(2, 3, 2)
case(ops.lu_solve, *operands, transpose=0).within(ULPS, ULPS).smooth(3).linear((3,))

# --- triangular and tridiagonal systems ----------------------------------------------------------

for dtype in (REAL, COMPLEX):
    for left in (True, False):
        for flags in range(16):
            names = ("lower", "transpose_a", "conjugate_a", "unit_diagonal")
            params = {name: bool(flags >> i & 1) for i, name in enumerate(names)}
            if params["conjugate_a"] and dtype == REAL:
                continue
            operands = dominant(3, 3, dtype=dtype), normal(3, 2, dtype=dtype)
            if not left:
                operands = operands[0], normal(2, 3, dtype=dtype)
            made = case(ops.triangular_solve, *operands, left_side=left, **params)
            made.within(ULPS, ULPS).linear((1,))
params = {
    "left_side": True, "lower": True, "transpose_a": False, "conjugate_a": False,
    "unit_diagonal": False,
}  # fmt: skip
for dtype in ("float32", "complex64"):
    operands = dominant(4, 4, dtype=dtype), normal(4, 3, dtype=dtype)
    case(ops.triangular_solve, *operands, **params).within(ULPS, ULPS)
case(ops.triangular_solve, dominant(2, 3, 3), normal(2, 3, 2), **params).within(ULPS, ULPS).linear(
    (1,)
)
case(ops.triangular_solve, normal(0, 0), normal(0, 2), **params)
for dtype in DTYPES:
    operands = normal(4, dtype=dtype), uniform(4, 6, 4, dtype=dtype), normal(4, dtype=dtype)
    made = case(
        ops.tridiagonal_solve, *operands, normal(4, 2, dtype=dtype), perturb_singular=False
    ).within(ULPS, ULPS)
    if dtype in (REAL, COMPLEX):
        made.linear((3,))

# --- qr and forms made by reflections ------------------------------------------------------------

for dtype in DTYPES:
    for shape in ((4, 4), (5, 3), (3, 5)):
        for full in (True, False):
            for pivoting in (True, False):
                made = case(
                    ops.qr, normal(*shape, dtype=dtype), pivoting=pivoting, full_matrices=full,
                    use_magma=None,
                )  # fmt: skip
                made.within(ULPS, ULPS)
                if dtype in (REAL, COMPLEX):
                    made.smooth(tolerance=1e-5)
for shape in ((2, 3, 3), (0, 3), (3, 0)):
    for pivoting in (True, False):
        case(ops.qr, normal(*shape), pivoting=pivoting, full_matrices=True, use_magma=None).within(
            ULPS, ULPS
        )


def reflections(m, n, part):
    """What LAPACK packs q and r into: the reflectors, or their factors."""

    def make(rng):
        import scipy.linalg

        matrix = np.random.default_rng(5).normal(size=(m, n))
        (packed, taus), _ = scipy.linalg.qr(matrix, mode="raw")
        return (np.asarray(packed), taus)[part]

    return make


for m, n in ((4, 4), (5, 3)):
    operands = reflections(m, n, 0), reflections(m, n, 1)
    case(ops.householder_product, *operands).within(ULPS, ULPS)
for dtype in DTYPES:
    case(ops.hessenberg, normal(4, 4, dtype=dtype)).within(ULPS, ULPS)
    for lower in (True, False):
        made = case(ops.tridiagonal, hermitian(4, 4, dtype=dtype), lower=lower)
        made.within(ULPS, ULPS)
case(ops.hessenberg, normal(1, 1))
case(ops.hessenberg, normal(0, 0))

# --- eigenvalues, singular values -----------------------------------------------------------------

params = {"sort_eigenvalues": True, "subset_by_index": None, "algorithm": None}
for dtype in DTYPES:
    for lower in (True, False):
        for vectors in (True, False):
            made = case(
                ops.eigh, hermitian(4, 4, dtype=dtype), lower=lower,
                compute_eigenvectors=vectors, **params,
            ).within(ULPS, ULPS)  # fmt: skip
            if vectors and dtype == COMPLEX:
                made.without("jvp")
case(ops.eigh, normal(0, 0), lower=True, compute_eigenvectors=True, **params)
case(
    ops.eigh, exactly([[np.nan, 1.0], [1.0, 2.0]]), lower=True, compute_eigenvectors=True, **params
).without("jvp")

params = {"subset_by_index": None, "algorithm": None}
for dtype in DTYPES:
    for shape in ((4, 4), (5, 3), (3, 5)):
        for full, vectors in ((True, True), (False, True), (False, False)):
            made = case(
                ops.svd, normal(*shape, dtype=dtype), full_matrices=full, compute_uv=vectors,
                **params,
            ).within(ULPS, ULPS)  # fmt: skip
            if vectors and (dtype == COMPLEX or full and shape[0] != shape[1]):
                made.without("jvp")
for shape in ((2, 3, 3), (0, 3), (3, 0)):
    case(ops.svd, normal(*shape), full_matrices=True, compute_uv=True, **params).within(ULPS, ULPS)

params = {"enable_eigvec_derivs": True, "implementation": None}
for dtype in DTYPES:
    for left, right in ((True, True), (False, True), (True, False), (False, False)):
        case(
            ops.eig, normal(4, 4, dtype=dtype), compute_left_eigenvectors=left,
            compute_right_eigenvectors=right, **params,
        ).within(ULPS, ULPS).smooth(tolerance=1e-4)  # fmt: skip
    case(
        ops.schur, normal(4, 4, dtype=dtype), compute_schur_vectors=True, sort_eig_vals=False,
        select_callable=None,
    ).within(ULPS, ULPS)  # fmt: skip

# --- determinants and pseudo-inverses -------------------------------------------------------------

LOW_RANK = np.outer([1.0, 2.0, 3.0, 4.0], [1.0, 0.5, -1.0, 2.0])
SINGULAR = (
    np.diag([0.0, 2.0, 3.0, 4.0]), np.diag([0.0, 0.0, 3.0, 4.0]), np.zeros((4, 4)), LOW_RANK,
    LOW_RANK + np.diag([0.0, 1.0, 2.0, 0.0]), np.eye(4),
)  # fmt: skip
for dtype in DTYPES:
    case(ops.det, normal(4, 4, dtype=dtype)).within(ULPS, ULPS)
    case(ops.cofactors, normal(4, 4, dtype=dtype)).within(ULPS, ULPS)
    for hermitian_ in (False, True):
        shape = (3, 3) if hermitian_ else (4, 3)
        a = positive(*shape, dtype=dtype) if hermitian_ else normal(*shape, dtype=dtype)
        rtol = exactly(1e-6, dtypes.real_dtype(np.dtype(dtype)))
        made = case(ops.pinv, a, rtol, hermitian=hermitian_).within(ULPS, ULPS)
        made.smooth(0) if not hermitian_ else made.without("jvp")
case(ops.pinv, normal(3, 4), exactly(1e-6), hermitian=False).within(ULPS, ULPS).smooth(0)
case(ops.pinv, normal(0, 4), exactly(1e-6), hermitian=False).without("jvp")
for dtype in DTYPES:
    for shape in ((2, 2), (2, 3, 3)):
        case(ops.det, normal(*shape, dtype=dtype)).within(ULPS, ULPS)
        case(ops.cofactors, normal(*shape, dtype=dtype)).within(ULPS, ULPS)
case(ops.det, normal(0, 0))
case(ops.det, normal(1, 1))
for matrix in SINGULAR:
    case(ops.det, exactly(matrix)).without("compiled")
    case(ops.cofactors, exactly(matrix)).without("compiled")
case(ops.det, normal(2, 5, 5)).within(ULPS, ULPS)
case(ops.cofactors, normal(2, 5, 5)).within(ULPS, ULPS)
case(ops.cofactors, normal(1, 1)).within(1)
