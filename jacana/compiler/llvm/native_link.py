"""A linker for `native_image`: relocates an ELF object into one piece, once."""

import mmap
import struct

from jacana.compiler.llvm import native_relocation as relocation
from jacana.compiler.llvm.native_image import MAGIC
from jacana.core.records import record

_ALLOCATED, _WRITABLE, _NO_BITS, _RELA, _SYMBOLS = 2, 1, 8, 4, 2
_CODE_ALIGN = 64


class UnsupportedObject(Exception):
    """An object holds something that an image cannot."""


@record
class _Section:
    name: str
    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    align: int


@record
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
