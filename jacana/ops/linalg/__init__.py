"""Linear algebra: primitives on matrices along the last two axes, by LAPACK.

Derivatives are finite wherever the function is differentiable.
"""

from jacana.ops.linalg.cholesky import cholesky as cholesky
from jacana.ops.linalg.determinant import cofactors as cofactors, det as det
from jacana.ops.linalg.eig import eig as eig, schur as schur
from jacana.ops.linalg.eigh import eigh as eigh
from jacana.ops.linalg.lu import (
    lu as lu,
    lu_factors as lu_factors,
    lu_pivots_to_permutation as lu_pivots_to_permutation,
    lu_solve as lu_solve,
)
from jacana.ops.linalg.pseudo_inverse import pinv as pinv
from jacana.ops.linalg.qr import (
    hessenberg as hessenberg,
    householder_product as householder_product,
    qr as qr,
    tridiagonal as tridiagonal,
)
from jacana.ops.linalg.svd import svd as svd
from jacana.ops.linalg.triangular import (
    triangular_solve as triangular_solve,
    tridiagonal_solve as tridiagonal_solve,
)
