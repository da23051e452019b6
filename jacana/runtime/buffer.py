"""Memory of arrays: 64-byte-aligned blocks in size classes, kept for reuse when they are freed.

Fresh pages from the operating system cost more than most kernels, so free blocks stay in the pool,
bounded as a whole. `list.append` and `list.pop` are atomic, so the common paths take no lock.
"""

import ctypes
import os
import sys
import threading
from collections.abc import Callable

from jacana.runtime import limits

ALIGNMENT = 64
_SMALL = 1 << 16
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


class _FreeBlocks(list[int]):
    """Addresses of the free blocks of one size class."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size


def class_size(nbytes: int) -> int:
    """The size of the block that holds `nbytes`: at most a quarter more, beyond 256 bytes."""
    if nbytes <= 4 * ALIGNMENT:
        return max(1, (nbytes + ALIGNMENT - 1) // ALIGNMENT) * ALIGNMENT
    shift = (nbytes - 1).bit_length() - 3
    return (((nbytes - 1) >> shift) + 1) << shift


class Pool:
    """All blocks that were got from the system and not given back.

    `kept`, the bytes of free blocks, may be a little wrong while threads race; it is counted anew
    before anything is decided by it.
    """

    def __init__(self) -> None:
        self.kept = 0
        self.reserved = 0
        self.limit = limits.memory()
        self.kept_limit = self.limit // 4
        self.classes: dict[int, _FreeBlocks] = {}
        # Entry i holds the class of sizes up to 64 * i.
        self.small = [
            self.free_blocks(class_size(ALIGNMENT * i)) for i in range(_SMALL // ALIGNMENT + 1)
        ]
        self.lock = threading.RLock()

    def free_blocks(self, size: int) -> _FreeBlocks:
        """The free blocks of exactly this class size."""
        return self.classes.get(size) or self.classes.setdefault(size, _FreeBlocks(size))

    def obtain(self, nbytes: int, size: int) -> int:
        """The address of a new block from the system."""
        with self.lock:
            self._make_room(nbytes, size)
            address = _system_allocate(size)
            if not address:
                self.trim(0)
                address = _system_allocate(size)
            if not address:
                raise OutOfMemoryError(nbytes, self.reserved, self.limit)
            self.reserved += size
            return address

    def _make_room(self, nbytes: int, size: int) -> None:
        """Give free blocks back if the request does not fit otherwise; raise if it never does."""
        if self.reserved + size > self.limit:
            self.trim(0)
            if self.reserved + size > self.limit:
                raise OutOfMemoryError(nbytes, self.reserved, self.limit)
        if size >= _CHECKED and size > limits.available_memory():
            self.trim(0)
            if size > limits.available_memory():
                raise OutOfMemoryError(nbytes, self.reserved, self.limit)

    def trim(self, target: int) -> None:
        """Give free blocks back to the system, largest first, until `target` bytes are kept."""
        if not self.lock.acquire(blocking=False):
            return  # a thread that is getting or giving back memory sees to it
        try:
            kept = sum(len(blocks) * size for size, blocks in list(self.classes.items()))
            for size in sorted(self.classes, reverse=True):
                blocks = self.classes[size]
                while kept > target and blocks:
                    try:
                        address = blocks.pop()
                    except IndexError:
                        break
                    _system_free(address)
                    kept -= size
                    self.reserved -= size
            self.kept = kept
        finally:
            self.lock.release()


_pool = Pool()


class Buffer:
    """Memory of an array; it returns to the pool when the last reference to it goes."""

    __slots__ = ("__weakref__", "_blocks", "address", "nbytes")

    address: int
    nbytes: int

    def __init__(self, address: int, nbytes: int, blocks: _FreeBlocks) -> None:
        self.address = address
        self.nbytes = nbytes
        self._blocks = blocks

    def __del__(self, pool: Pool = _pool) -> None:
        blocks = self._blocks
        blocks.append(self.address)
        pool.kept += blocks.size
        if pool.kept > pool.kept_limit:
            # Half, so that a program at the limit does not pay for a trim at every call.
            pool.trim(pool.kept_limit // 2)


def allocate(nbytes: int) -> Buffer:
    """Uninitialised memory of at least `nbytes` bytes, aligned to 64."""
    if nbytes <= _SMALL:
        if nbytes < 0:
            raise ValueError(f"a buffer cannot have {nbytes} bytes")
        blocks = _pool.small[(nbytes + 63) >> 6]
    else:
        blocks = _pool.free_blocks(class_size(nbytes))
    try:
        address = blocks.pop()
    except IndexError:
        return Buffer(_pool.obtain(nbytes, blocks.size), nbytes, blocks)
    _pool.kept -= blocks.size
    return Buffer(address, nbytes, blocks)


def release_unused() -> None:
    """Give all free blocks back to the system."""
    _pool.trim(0)


def live_bytes() -> int:
    """Bytes in blocks that are in use."""
    free = sum(len(blocks) * size for size, blocks in list(_pool.classes.items()))
    return _pool.reserved - free


if sys.platform == "win32":
    _aligned_malloc = ctypes.cdll.msvcrt._aligned_malloc
    _aligned_malloc.restype = ctypes.c_void_p
    _aligned_malloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
    _system_free = ctypes.cdll.msvcrt._aligned_free
    _system_free.restype = None
    _system_free.argtypes = [ctypes.c_void_p]

    def _system_allocate(size: int) -> int:
        return _aligned_malloc(size, ALIGNMENT) or 0
else:
    _process = ctypes.CDLL(None)
    _system_free: Callable[[int], None] = _process.free
    _process.free.restype = None
    _process.free.argtypes = [ctypes.c_void_p]
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


def _renew_lock() -> None:
    # In a forked child no other thread lives that could release the lock.
    _pool.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
