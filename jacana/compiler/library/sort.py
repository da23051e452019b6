"""Sorting by native functions: rows of unsigned keys, and how they are split between threads.

Buffers and params of each are stated in `compiler.llvm.native_sort`.
"""

from jacana.compiler.library.launch import Launch
from jacana.compiler.llvm import native

NAMES = ("sort_values", "sort_order", "top_order")
# Keys that are worth a chunk of their own in another thread: about 0.1 ms.
_CHUNK = 1 << 14


def address(name: str, dtype: str) -> int:
    """The address of the function of this name for keys of uint32 or uint64."""
    return native.sorting.address(f"{name}_{dtype.removeprefix('uint')}")


def launch(rows: int, n: int, *params: int) -> Launch:
    """How `rows` rows of n keys are sorted."""
    return Launch((n, *params), rows, max(1, _CHUNK // max(1, n)))
