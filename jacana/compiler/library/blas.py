"""Matrix products by BLAS, as native functions with their params and how they are split."""

import functools

from jacana.compiler.library.launch import Launch
from jacana.compiler.library.scipy_functions import resolve
from jacana.compiler.llvm import native

# Multiply-adds that are worth a chunk of their own in another thread: about 0.1 ms.
_CHUNK = 1 << 23
# Products from here on are cut into panels, which threads may share.
_PANELLED = 1 << 25
_ROWS, _COLUMNS = 512, 1024
# Elements of the matrix that are worth a chunk in a product with a vector, which waits for memory.
_VECTOR_CHUNK = 1 << 18


@functools.cache
def gemm(dtype: str) -> int:
    """The address of the product for float32, float64, complex64 or complex128.

    Buffers: a, b, c. c = op(a) op(b), each row-major, for each of a batch; `gemm_launch` has the
    rest.
    """
    return native.Library(f"gemm {dtype}", resolve).address(f"gemm_{dtype}")


def gemm_launch(
    m: int,
    n: int,
    k: int,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    lda: int = 0,
    ldb: int = 0,
    ldc: int = 0,
    batch: int = 1,
    stride_a: int = -1,
    stride_b: int = -1,
    stride_c: int = -1,
) -> Launch:
    """Params, extent and grain of a batch of m x k by k x n products.

    An operand that is transposed is stored k x m, or n x k. Leading dimensions and strides are in
    elements; 0 and -1 stand for those of dense operands. A stride of 0 uses one operand throughout.
    """
    lda = lda or (m if transpose_a else k) or 1
    ldb = ldb or (k if transpose_b else n) or 1
    ldc = ldc or n or 1
    stride_a = stride_a if stride_a >= 0 else m * k
    stride_b = stride_b if stride_b >= 0 else k * n
    stride_c = stride_c if stride_c >= 0 else m * n
    rows, columns = panel_shape(m, n, k)
    params = (
        m, n, k, lda, ldb, ldc, int(transpose_a), int(transpose_b), stride_a, stride_b, stride_c,
        rows, columns,
    )  # fmt: skip
    extent = batch * -(-m // rows) * -(-n // columns)
    work = max(1, min(m, rows) * min(n, columns) * k)
    chunk = _VECTOR_CHUNK if m == 1 or n == 1 else _CHUNK
    return Launch(params, extent, max(1, chunk // work))


def panel_shape(m: int, n: int, k: int) -> tuple[int, int]:
    """Rows and columns of the panels of a product: a function of its shape alone."""
    rows, columns = max(1, m), max(1, n)
    if (m == 1 or n == 1) and m * n * k >= 2 * _VECTOR_CHUNK:
        length = max(64, _VECTOR_CHUNK // k // 64 * 64)
        return min(rows, length), min(columns, length)
    if m * n * k < _PANELLED:
        return rows, columns
    if m >= 256:
        rows = _even_parts(m, _ROWS)
    elif n >= 512:
        columns = _even_parts(n, _COLUMNS)
    return rows, min(columns, _COLUMNS)


def _even_parts(size: int, largest: int) -> int:
    """The length of an even number of equal parts, none of them larger than `largest`."""
    count = 2 * -(-size // (2 * largest))
    return -(-size // (16 * count)) * 16
