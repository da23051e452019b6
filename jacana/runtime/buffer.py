"""Memory of arrays: 64-byte-aligned blocks in size classes, kept for reuse when they are freed.

Fresh pages from the operating system cost more than most kernels, so free blocks stay in the pool,
bounded as a whole. The pool is native (`compiler.llvm.native_pool`); here is what it rarely needs.
"""

import ctypes
import functools
import operator
import sys
from collections.abc import Callable
from typing import Protocol

from jacana.compiler.llvm import native
from jacana.compiler.llvm.native_layout import LARGEST
from jacana.runtime import limits
from jacana.runtime.native_objects import (
    MethodMaker,
    keep_forever,
    make_type,
    read_word,
    write_word,
)

ALIGNMENT = 64
_HUGE_PAGE = 1 << 21
_HUGE = 2 * _HUGE_PAGE
_MADV_HUGEPAGE = 14
# Requests from here on are compared with the memory that is free at that moment.
_CHECKED = 1 << 26


class OutOfMemoryError(MemoryError):
    """An array was asked for that does not fit in the memory this process may use."""

    def __init__(self, nbytes: int, live: int, limit: int) -> None:
        super().__init__(
            f"An array of {nbytes:,} bytes ({_readable(nbytes)}) was asked for. This process may "
            f"use {_readable(limit)}, and {_readable(live)} is in arrays that are alive. Use "
            f"smaller shapes or a smaller dtype, or delete arrays that are no longer needed."
        )


def _readable(nbytes: int) -> str:
    amount, unit = float(nbytes), 0
    while amount >= 1024 and unit < 5:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.1f} {('bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB')[unit]}"


class Buffer(Protocol):
    """Memory of an array; it returns to the pool when the last reference to it goes."""

    @property
    def address(self) -> int:
        """Where it begins, a multiple of 64."""

    @property
    def nbytes(self) -> int:
        """How many bytes were asked for."""


class Promise:
    """Memory that somebody has yet to write; it has no address, as deleted memory has none."""

    __slots__ = ()
    address = 0

    def keep(self) -> None:
        """Give the arrays that own the promise the memory that was promised."""
        raise NotImplementedError


def allocate(nbytes: int) -> Buffer:
    """Uninitialised memory of at least `nbytes` bytes; `allocator()` gives a faster way."""
    return allocator()(nbytes)


@functools.cache
def allocator() -> Callable[[int], Buffer]:
    """`allocate` as a native function, which takes 30 ns."""
    address = native.runtime.address
    buffer_type = make_type(
        "jacana.runtime.buffer.Buffer",
        "Memory of an array.",
        ("address", "nbytes", "_size_class"),
        address("drop_buffer"),
    )
    keep_forever(_obtain)
    write_word(address("buffer_type"), id(buffer_type))
    write_word(address("pool_refill"), id(_obtain))
    write_word(address("pool_kept_limit"), limits.memory() // 4)
    allocate: Callable[[int], Buffer] = MethodMaker("allocate", address("allocate"))(None)
    return allocate


def class_size(nbytes: int) -> int:
    """The size of the block that holds `nbytes`: at most a quarter more, beyond 256 bytes."""
    if nbytes <= 4 * ALIGNMENT:
        return max(1, (nbytes + ALIGNMENT - 1) // ALIGNMENT) * ALIGNMENT
    shift = (nbytes - 1).bit_length() - 3
    return (((nbytes - 1) >> shift) + 1) << shift


def class_number(nbytes: int) -> int:
    """Which size class that block is of, as the native pool counts them."""
    if nbytes <= 4 * ALIGNMENT:
        return class_size(nbytes) // ALIGNMENT - 1
    bits = (nbytes - 1).bit_length()
    return (bits - 9) * 4 + ((nbytes - 1) >> (bits - 3))


def release_unused() -> None:
    """Give all free blocks back to the system."""
    _entry("trim_pool")(0)


def reserved_bytes() -> int:
    """Bytes that were got from the system and not given back."""
    return read_word(native.runtime.address("pool_reserved"))


def live_bytes() -> int:
    """Bytes in blocks that are in use."""
    return reserved_bytes() - read_word(native.runtime.address("pool_kept"))


def _obtain(nbytes: int) -> int:
    """The address of a block from the system, for the native pool, which has none that is free."""
    nbytes = operator.index(nbytes)
    if nbytes < 0:
        raise ValueError(f"a buffer cannot have {nbytes} bytes")
    size = class_size(nbytes)
    if nbytes > LARGEST:
        raise OutOfMemoryError(nbytes, live_bytes(), limits.memory())
    _make_room(nbytes, size)
    address = _system_allocate(size)
    if not address:
        release_unused()
        address = _system_allocate(size)
    if not address:
        raise OutOfMemoryError(nbytes, live_bytes(), limits.memory())
    _entry("reserve")(size)
    return address


def _make_room(nbytes: int, size: int) -> None:
    """Give free blocks back if the request does not fit otherwise; raise if it never does."""
    if size < _CHECKED and reserved_bytes() + size <= _machine_memory():
        return
    for last_try in (False, True):
        limit = limits.memory()
        free = limits.available_memory() if size >= _CHECKED else limit
        if size <= free and reserved_bytes() + size <= limit:
            return
        if last_try:
            raise OutOfMemoryError(nbytes, live_bytes(), limit)
        release_unused()


@functools.cache
def _machine_memory() -> int:
    return limits.memory()


@functools.cache
def _entry(name: str) -> Callable[[int], int]:
    return ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(native.runtime.address(name))


if sys.platform == "win32":
    _aligned_malloc = ctypes.cdll.msvcrt._aligned_malloc
    _aligned_malloc.restype = ctypes.c_void_p
    _aligned_malloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]

    def _system_allocate(size: int) -> int:
        return _aligned_malloc(size, ALIGNMENT) or 0
else:
    _process = ctypes.CDLL(None)
    _posix_memalign = _process.posix_memalign
    _posix_memalign.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t]
    _madvise = _process.madvise
    _madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

    def _system_allocate(size: int) -> int:
        """A new block, or 0; big ones ask for huge pages, whose faults are 512 times fewer."""
        address = ctypes.c_void_p()
        alignment = _HUGE_PAGE if size >= _HUGE else ALIGNMENT
        if _posix_memalign(ctypes.byref(address), alignment, size) or not address.value:
            return 0
        if size >= _HUGE and sys.platform == "linux":
            _madvise(address.value, size, _MADV_HUGEPAGE)
        return address.value
