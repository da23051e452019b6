"""jax.scipy.linalg: decompositions, systems of equations, functions of matrices, patterns."""

from jacana.scipy.linalg.decompositions import (
    cholesky as cholesky,
    eigh as eigh,
    eigh_tridiagonal as eigh_tridiagonal,
    hessenberg as hessenberg,
    lu as lu,
    polar as polar,
    qr as qr,
    qr_multiply as qr_multiply,
    rsf2csf as rsf2csf,
    schur as schur,
    svd as svd,
)
from jacana.scipy.linalg.functions import (
    expm as expm,
    expm_frechet as expm_frechet,
    funm as funm,
    solve_sylvester as solve_sylvester,
    sqrtm as sqrtm,
)
from jacana.scipy.linalg.patterns import (
    block_diag as block_diag,
    circulant as circulant,
    companion as companion,
    convolution_matrix as convolution_matrix,
    dft as dft,
    fiedler as fiedler,
    fiedler_companion as fiedler_companion,
    hadamard as hadamard,
    hankel as hankel,
    helmert as helmert,
    hilbert as hilbert,
    invhilbert as invhilbert,
    invpascal as invpascal,
    leslie as leslie,
    pascal as pascal,
    toeplitz as toeplitz,
)
from jacana.scipy.linalg.systems import (
    cho_factor as cho_factor,
    cho_solve as cho_solve,
    det as det,
    inv as inv,
    lu_factor as lu_factor,
    lu_solve as lu_solve,
    solve as solve,
    solve_triangular as solve_triangular,
)
