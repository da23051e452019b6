"""Relocations of x86-64 and AArch64 ELF objects: how an address is written into an instruction."""

import struct

X86_64, AARCH64 = 62, 183

_X86_ABSOLUTE = 1
_X86_RELATIVE_32 = (2, 4)  # R_X86_64_PC32, PLT32
_X86_SLOT = (9, 41, 42)  # GOTPCREL, GOTPCRELX, REX_GOTPCRELX
_X86_RELATIVE_64 = 24

_ARM_ABSOLUTE = 257
_ARM_RELATIVE_64, _ARM_RELATIVE_32 = 260, 261
_ARM_PAGE = (275, 311)  # ADR_PREL_PG_HI21, ADR_GOT_PAGE
_ARM_LOW = {277: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4, 312: 3}  # kind -> scale of the offset
_ARM_BRANCH_26 = (282, 283)
_ARM_BRANCH_19, _ARM_BRANCH_14 = 280, 279
_ARM_SLOT = (311, 312)


def is_absolute(machine: int, kind: int) -> bool:
    """Whether the place holds an address, known only when the code is loaded."""
    return (machine, kind) in ((X86_64, _X86_ABSOLUTE), (AARCH64, _ARM_ABSOLUTE))


def needs_slot(machine: int, kind: int) -> bool:
    """Whether the instruction loads the address from a slot of the image."""
    return kind in (_X86_SLOT if machine == X86_64 else _ARM_SLOT)


def stub(machine: int, place: int, slot: int) -> bytes:
    """16 bytes of code at `place` that jump to the address kept in `slot`."""
    if machine == X86_64:
        return (b"\xff\x25" + struct.pack("<i", slot - place - 6)).ljust(16, b"\xcc")
    code = bytearray(struct.pack("<IIII", 0x90000010, 0xF9400210, 0xD61F0200, 0xD503201F))
    page = (slot >> 12) - (place >> 12)
    _set_page(code, 0, page)
    _set_bits(code, 4, (slot & 0xFFF) >> 3, 10, 12)
    return bytes(code)


def apply(machine: int, kind: int, memory: bytearray, place: int, target: int) -> None:
    """Write `target` (symbol + addend, an offset in `memory`) into the place."""
    if machine == X86_64:
        _apply_x86(kind, memory, place, target)
    elif machine == AARCH64:
        _apply_arm(kind, memory, place, target)
    else:
        raise ValueError(f"machine number {machine} has no image format")


def _apply_x86(kind: int, memory: bytearray, place: int, target: int) -> None:
    if kind in _X86_RELATIVE_32 or kind in _X86_SLOT:
        struct.pack_into("<i", memory, place, target - place)
    elif kind == _X86_RELATIVE_64:
        struct.pack_into("<q", memory, place, target - place)
    else:
        raise ValueError(f"relocation {kind} of x86-64 is not supported")


def _apply_arm(kind: int, memory: bytearray, place: int, target: int) -> None:
    if kind in _ARM_PAGE:
        _set_page(memory, place, (target >> 12) - (place >> 12))
    elif kind in _ARM_LOW:
        _set_bits(memory, place, (target & 0xFFF) >> _ARM_LOW[kind], 10, 12)
    elif kind in _ARM_BRANCH_26:
        _set_bits(memory, place, (target - place) >> 2, 0, 26)
    elif kind == _ARM_BRANCH_19:
        _set_bits(memory, place, (target - place) >> 2, 5, 19)
    elif kind == _ARM_BRANCH_14:
        _set_bits(memory, place, (target - place) >> 2, 5, 14)
    elif kind == _ARM_RELATIVE_32:
        struct.pack_into("<i", memory, place, target - place)
    elif kind == _ARM_RELATIVE_64:
        struct.pack_into("<q", memory, place, target - place)
    else:
        raise ValueError(f"relocation {kind} of AArch64 is not supported")


def _set_bits(memory: bytearray, place: int, value: int, shift: int, width: int) -> None:
    mask = (1 << width) - 1
    (word,) = struct.unpack_from("<I", memory, place)
    struct.pack_into("<I", memory, place, word & ~(mask << shift) | (value & mask) << shift)


def _set_page(memory: bytearray, place: int, page: int) -> None:
    """An adrp instruction: the distance in pages, its low two bits apart from the others."""
    _set_bits(memory, place, page, 29, 2)
    _set_bits(memory, place, page >> 2, 5, 19)
