"""jax.numpy.linalg: decompositions, systems of equations, norms, with NumPy's names."""

from jacana.numpy.linalg.decompositions import (
    EighResult as EighResult,
    EigResult as EigResult,
    QRResult as QRResult,
    SVDResult as SVDResult,
    cholesky as cholesky,
    eig as eig,
    eigh as eigh,
    eigvals as eigvals,
    eigvalsh as eigvalsh,
    qr as qr,
    svd as svd,
    svdvals as svdvals,
)
from jacana.numpy.linalg.norms import (
    cond as cond,
    matrix_norm as matrix_norm,
    matrix_rank as matrix_rank,
    norm as norm,
    vector_norm as vector_norm,
)
from jacana.numpy.linalg.products import (
    cross as cross,
    diagonal as diagonal,
    matrix_power as matrix_power,
    matrix_transpose as matrix_transpose,
    multi_dot as multi_dot,
    outer as outer,
    trace as trace,
)
from jacana.numpy.linalg.systems import (
    SlogdetResult as SlogdetResult,
    det as det,
    inv as inv,
    lstsq as lstsq,
    pinv as pinv,
    slogdet as slogdet,
    solve as solve,
    tensorinv as tensorinv,
    tensorsolve as tensorsolve,
)
from jacana.numpy.products import (
    matmul as matmul,
    tensordot as tensordot,
    vecdot as vecdot,
)
