"""Images: relocated machine code that is mapped into memory and called, without a linker or LLVM.

`native_link` makes an image of an ELF object; `load` maps it in tens of microseconds. Code finds
its own data by relative addresses, and outside functions through a table that `load` fills.
"""

import ctypes
import mmap
import platform
import sys
from collections.abc import Callable, Iterator, Mapping

MAGIC = b"jacana image 1\n"
Resolve = Callable[[str], int]


def find_symbol(name: str) -> int:
    """The address of a function of Python, the C library or the compiler's own library."""
    for library in _libraries():
        try:
            address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        except AttributeError:
            continue
        if address:
            return address
    raise OSError(f"the function {name} was not found in this process")


def _libraries() -> Iterator[ctypes.CDLL]:
    yield ctypes.pythonapi
    if sys.platform == "win32":
        yield from (ctypes.cdll.msvcrt, ctypes.CDLL("ucrtbase"))
        return
    yield _PROCESS
    # Conversions of float16 where the processor has no instruction for them, and the like.
    for name in ("libgcc_s.so.1", "libcompiler_rt.so"):
        try:
            yield ctypes.CDLL(name)
        except OSError:
            continue


def load(image: bytes, resolve: Resolve = find_symbol) -> Mapping[str, int]:
    """Map an image for good; the addresses of what it exports."""
    if not image.startswith(MAGIC):
        raise ValueError("not an image")
    end = image.index(b"\n\n", len(MAGIC))
    lines = [line.split(" ") for line in image[len(MAGIC) : end].decode().split("\n")]
    payload = image[end + 2 :]
    code_size, size = int(lines[0][1]), int(lines[0][2])
    if not 0 <= code_size <= size or len(payload) > size:
        raise ValueError("an image with sizes that do not fit")
    base = _map(size)
    ctypes.memmove(base, payload, len(payload))
    exports = {}
    for line in lines[1:]:
        if line[0] == "export":
            exports[line[1]] = base + int(line[2])
        elif line[0] == "import":
            ctypes.c_uint64.from_address(base + int(line[2])).value = resolve(line[1])
        else:
            ctypes.c_uint64.from_address(base + int(line[1])).value = base + int(line[2])
    _make_executable(base, code_size)
    return exports


if sys.platform == "win32":
    _KERNEL32 = ctypes.WinDLL("kernel32", use_last_error=True)
    _KERNEL32.VirtualAlloc.restype = ctypes.c_void_p

    def _map(size: int) -> int:
        commit_and_reserve, read_write = 0x3000, 0x04
        base = _KERNEL32.VirtualAlloc(None, ctypes.c_size_t(size), commit_and_reserve, read_write)
        if not base:
            raise MemoryError(f"no memory for {size} bytes of machine code")
        return int(base)

    def _make_executable(base: int, size: int) -> None:
        old = ctypes.c_ulong()
        execute_read = 0x20
        if size and not _KERNEL32.VirtualProtect(
            ctypes.c_void_p(base), ctypes.c_size_t(size), execute_read, ctypes.byref(old)
        ):
            raise OSError("the system does not let this process run generated machine code")
else:
    _PROCESS = ctypes.CDLL(None, use_errno=True)
    _mmap = _PROCESS.mmap
    _mmap.restype = ctypes.c_void_p
    _mmap.argtypes = [
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long,
    ]  # fmt: skip
    _mprotect = _PROCESS.mprotect
    _mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

    def _map(size: int) -> int:
        # Never unmapped: code may still be called while the interpreter is torn down.
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        base = _mmap(None, max(size, 1), mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
        if base is None or base == ctypes.c_void_p(-1).value:
            raise MemoryError(f"no memory for {size} bytes of machine code")
        return int(base)

    def _make_executable(base: int, size: int) -> None:
        if platform.machine() in ("arm64", "aarch64"):
            _flush_instructions(base, size)
        if size and _mprotect(base, size, mmap.PROT_READ | mmap.PROT_EXEC) != 0:
            raise OSError("the system does not let this process run generated machine code")

    def _flush_instructions(base: int, size: int) -> None:
        start, length = ctypes.c_void_p(base), ctypes.c_size_t(size)
        if sys.platform == "darwin":
            _PROCESS.sys_icache_invalidate(start, length)
        else:
            clear = getattr(ctypes.CDLL("libgcc_s.so.1"), "__clear_cache")
            clear(start, ctypes.c_void_p(base + size))
