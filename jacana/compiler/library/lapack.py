"""Matrix factorisations by LAPACK, as native functions over a batch of dense row-major matrices.

Buffers and params of each are stated in `compiler.llvm.native_factorizations` and
`native_spectral`.
"""

import functools

from jacana.compiler.library.launch import Launch
from jacana.compiler.library.scipy_functions import resolve
from jacana.compiler.llvm import native

NAMES = (
    "cholesky", "lu", "triangular_solve", "qr", "householder_product", "tridiagonal_solve",
    "pivoted_qr", "hessenberg", "tridiagonal", "eigh", "svd", "eig", "schur",
)  # fmt: skip
# Multiply-adds that are worth a chunk of their own in another thread, at LAPACK's pace, and those
# that a call takes the time of, however small the matrix.
_CHUNK, _CALL = 1 << 19, 1 << 12
# About as many right sides are solved for at once where they are many and the matrix is large.
_PANEL, _PANELLED = 96, 1 << 21


@functools.cache
def address(name: str, dtype: str) -> int:
    """The address of the function of this name for float32, float64, complex64 or complex128."""
    return native.Library(f"{name} {dtype}", resolve).address(f"{name}_{dtype}")


def launch(name: str, batch: int, *params: int) -> Launch:
    """`params`, whose first two are sizes (one, for square matrices), for a batch of matrices."""
    if name == "triangular_solve":
        return _solve_launch(batch, *params)
    size = max(params[:2], default=1)
    return Launch(params, batch, max(1, _CHUNK // max(_CALL, size**3)))


def _solve_launch(batch: int, m: int, n: int, left: int, *others: int) -> Launch:
    """Right sides beside each other are cut into panels, by the shape alone."""
    panels = max(1, n // _PANEL) if left and m * m * n >= _PANELLED else 1
    width = -(-n // (16 * panels)) * 16 if panels > 1 else max(1, n)
    work = max(_CALL, m * m * width if left else m * n * n)
    extent = batch * -(-max(1, n) // width)
    return Launch((m, n, left, *others, width), extent, max(1, _CHUNK // work))
