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
# Multiply-adds that are worth a chunk of their own in another thread, at LAPACK's pace.
_CHUNK = 1 << 19


@functools.cache
def address(name: str, dtype: str) -> int:
    """The address of the function of this name for float32, float64, complex64 or complex128."""
    return native.Library(f"{name} {dtype}", resolve).address(f"{name}_{dtype}")


def launch(batch: int, *params: int) -> Launch:
    """`params`, whose first two are sizes (one, for square matrices), for a batch of matrices."""
    size = max(params[:2], default=1)
    return Launch(params, batch, max(1, _CHUNK // max(1, size**3)))
