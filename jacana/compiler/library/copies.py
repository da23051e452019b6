"""Copies by native functions: what they are called with."""

from jacana.compiler.library.launch import Launch
from jacana.compiler.llvm import native

# Bytes that are worth a chunk of their own in another thread: about 0.1 ms.
_CHUNK = 1 << 20


def copy() -> int:
    """The address of a plain copy: buffers [from, to], no params, a range of bytes."""
    return native.runtime.address("copy")


def copy_launch(nbytes: int) -> Launch:
    """How `copy` moves `nbytes` bytes."""
    return Launch((), nbytes, _CHUNK)


def fill(itemsize: int) -> int:
    """The address of a fill: buffers [to], params the element's bits, a range of elements."""
    return native.runtime.address(f"fill_{itemsize}")


def fill_launch(bits: bytes, count: int) -> Launch:
    """How `fill(len(bits))` writes `count` elements of these bytes."""
    words = [bits[:8], bits[8:]] if len(bits) == 16 else [bits]
    params = tuple(int.from_bytes(word, "little") for word in words)
    return Launch(params, count, max(1, _CHUNK // len(bits)))
