"""Images: relocated machine code that is mapped into memory and called, without a linker or LLVM.

`link` turns an ELF object into an image once; `load` maps one in tens of microseconds. Code finds
its own data by relative addresses and outside functions through a table that `load` fills.
"""

import ctypes
import mmap
import platform
import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jacana.compiler.llvm import native_relocation as relocation

MAGIC = b"jacana image 1\n"
_ALLOCATED, _WRITABLE, _NO_BITS, _RELA, _SYMBOLS = 2, 1, 8, 4, 2
_CODE_ALIGN = 64
Resolve = Callable[[str], int]


class UnsupportedObject(Exception):
    """An object holds something that an image cannot: the caller must load it another way."""


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int


@dataclass(frozen=True, slots=True)
class _Symbol:
    name: str
    section: int
    value: int
    is_local: bool


class _Object:
    """The parts of a relocatable ELF file that matter here."""

    def __init__(self, data: bytes) -> None:
        if data[:6] != b"\x7fELF\x02\x01":
            raise UnsupportedObject("only little-endian 64-bit ELF objects can be linked")
        self.data = data
        (self.machine,) = struct.unpack_from("<H", data, 18)
        (table,) = struct.unpack_from("<Q", data, 40)
        size, count, names = struct.unpack_from("<HHH", data, 58)
        raw = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * size) for i in range(count)]
        strings = raw[names][4]
        self.sections = [
            _Section(self._string(strings + r[0]), r[1], r[2], r[4], r[5], r[6], r[7], r[8] or 1)
            for r in raw
        ]
        self.symbols = self._symbols()

    def _string(self, offset: int) -> str:
        return self.data[offset : self.data.index(b"\0", offset)].decode()

    def _symbols(self) -> list[_Symbol]:
        found = []
        for section in self.sections:
            if section.type != _SYMBOLS:
                continue
            strings = self.sections[section.link].offset
            for at in range(section.offset, section.offset + section.size, 24):
                name, info, _, index, value, _ = struct.unpack_from("<IBBHQQ", self.data, at)
                found.append(_Symbol(self._string(strings + name), index, value, info >> 4 == 0))
        return found

    def loaded(self, writable: bool) -> list[int]:
        """Numbers of the sections that are part of the running code, or of its data."""
        return [
            i
            for i, s in enumerate(self.sections)
            if s.flags & _ALLOCATED and bool(s.flags & _WRITABLE) == writable and s.size
            if s.name != ".eh_frame"
        ]


def _align(offset: int, align: int) -> int:
    return (offset + align - 1) // align * align


class _Layout:
    """Where each section, stub and slot of an image lies, relative to the image's start."""

    def __init__(self, obj: _Object) -> None:
        self.obj = obj
        self.start: dict[int, int] = {}
        end = self._place(obj.loaded(writable=False), 0)
        undefined = sorted({s.name for s in obj.symbols if s.section == 0 and s.name})
        self.stubs = {}
        end = _align(end, 16)
        for name in undefined:
            self.stubs[name] = end
            end += 16
        self.code_size = _align(end, mmap.PAGESIZE)
        self.slots = {name: self.code_size + 8 * i for i, name in enumerate(undefined)}
        self.local_slots: dict[tuple[int, int], int] = {}
        self.data_start = self.code_size + 8 * len(undefined)
        for _, _, kind, symbol, _ in _relocations(obj):
            if relocation.needs_slot(obj.machine, kind) and symbol.section != 0:
                key = (symbol.section, symbol.value)
                if key not in self.local_slots:
                    self.local_slots[key] = self.data_start
                    self.data_start += 8
        self.size = self._place(obj.loaded(writable=True), self.data_start)

    def _place(self, sections: list[int], end: int) -> int:
        for i in sections:
            end = _align(end, max(self.obj.sections[i].align, _CODE_ALIGN))
            self.start[i] = end
            end += self.obj.sections[i].size
        return end

    def address(self, symbol: _Symbol) -> int:
        """Where a symbol is; calls to an outside function go to its stub."""
        if symbol.section == 0:
            return self.stubs[symbol.name]
        if symbol.section not in self.start:
            raise UnsupportedObject(f"symbol {symbol.name!r} is in a section that is not loaded")
        return self.start[symbol.section] + symbol.value

    def slot(self, symbol: _Symbol) -> int:
        """Where the absolute address of a symbol is kept."""
        if symbol.section == 0:
            return self.slots[symbol.name]
        return self.local_slots[(symbol.section, symbol.value)]


def _relocations(obj: _Object) -> list[tuple[int, int, int, _Symbol, int]]:
    """(section, offset in it, kind, symbol, addend) of each place to fill in."""
    found = []
    for section in obj.sections:
        if section.type != _RELA or not obj.sections[section.info].flags & _ALLOCATED:
            continue
        if obj.sections[section.info].name == ".eh_frame":
            continue
        for at in range(section.offset, section.offset + section.size, 24):
            offset, info, addend = struct.unpack_from("<QQq", obj.data, at)
            symbol = obj.symbols[info >> 32]
            found.append((section.info, offset, info & 0xFFFFFFFF, symbol, addend))
    return found


def link(data: bytes) -> bytes:
    """The image of an ELF object."""
    obj = _Object(data)
    layout = _Layout(obj)
    memory = bytearray(layout.size)
    for i, start in layout.start.items():
        section = obj.sections[i]
        if section.type != _NO_BITS:
            memory[start : start + section.size] = data[
                section.offset : section.offset + section.size
            ]
    lines = [f"size {layout.code_size} {layout.size}"]
    for name, stub in layout.stubs.items():
        slot = layout.slots[name]
        memory[stub : stub + 16] = relocation.stub(obj.machine, stub, slot)
        lines.append(f"import {name} {slot}")
    for key, slot in layout.local_slots.items():
        lines.append(f"fix {slot} {layout.start[key[0]] + key[1]}")
    for section_number, offset, kind, symbol, addend in _relocations(obj):
        place = layout.start[section_number] + offset
        if relocation.is_absolute(obj.machine, kind):
            lines.append(f"fix {place} {layout.address(symbol) + addend}")
            continue
        wants_slot = relocation.needs_slot(obj.machine, kind)
        target = layout.slot(symbol) if wants_slot else layout.address(symbol)
        try:
            relocation.apply(obj.machine, kind, memory, place, target + addend)
        except ValueError as error:
            raise UnsupportedObject(str(error)) from None
    for symbol in obj.symbols:
        if symbol.section in layout.start and symbol.name and not symbol.is_local:
            lines.append(f"export {symbol.name} {layout.address(symbol)}")
    header = "\n".join(lines).encode() + b"\n\n"
    return MAGIC + header + bytes(memory).rstrip(b"\0")


def find_symbol(name: str) -> int:
    """The address of a function of Python, the C library or the mathematics library."""
    for library in _libraries():
        try:
            address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        except AttributeError:
            continue
        if address:
            return address
    raise OSError(f"the function {name} was not found in this process")


def _libraries() -> list[ctypes.CDLL]:
    if sys.platform == "win32":
        return [ctypes.pythonapi, ctypes.cdll.msvcrt, ctypes.CDLL("ucrtbase")]
    return [ctypes.pythonapi, _PROCESS]


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
