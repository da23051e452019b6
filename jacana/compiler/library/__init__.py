"""Functions that are not generated per kernel: bound libraries and native copies."""

from jacana.compiler.library import blas, copies, lapack, sort
from jacana.compiler.library.launch import Launch as Launch


def library_function(name: str, dtype: str, params: tuple[int, ...]) -> tuple[int, Launch]:
    """The address of a LibraryCommand's function, and how it is launched.

    "copy" has params (bytes,); "gemm" (m, n, k, transpose_a, transpose_b, batch); the
    factorisations (batch, sizes and flags ...); sorting (rows, keys a row, ...).
    """
    if name == "copy":
        return copies.copy(), copies.copy_launch(*params)
    if name == "gemm":
        m, n, k, transpose_a, transpose_b, batch = params
        launch = blas.gemm_launch(
            m, n, k, transpose_a=bool(transpose_a), transpose_b=bool(transpose_b), batch=batch
        )
        return blas.gemm(dtype), launch
    if name in sort.NAMES:
        return sort.address(name, dtype), sort.launch(*params)
    if name in lapack.NAMES:
        return lapack.address(name, dtype), lapack.launch(name, *params)
    raise NotImplementedError(f"the library function {name} for {dtype} is not there yet")
