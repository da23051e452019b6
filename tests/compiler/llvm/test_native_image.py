"""Images: linking for several machines, imports, data, damage."""

import ctypes
import struct

import pytest

from jacana.compiler.llvm import native_contents, native_image, native_link, native_relocation
from jacana.compiler.llvm.native_text import Module
from jacana.compiler.llvm.native_threads import ThreadSystem
from jacana.compiler.llvm.target import binding

SOURCE = """
@counter = internal global i64 40
@table = internal constant [3 x i64] [i64 7, i64 8, i64 9]
@pointer = internal global ptr @table
declare i64 @labs(i64)
define i64 @count() {
  %old = load i64, ptr @counter
  %next = add i64 %old, 1
  store i64 %next, ptr @counter
  ret i64 %next
}
define i64 @third() {
  %p = load ptr, ptr @pointer
  %q = getelementptr i64, ptr %p, i64 2
  %v = load i64, ptr %q
  ret i64 %v
}
define i64 @distance(i64 %x) {
  %r = call i64 @labs(i64 %x)
  ret i64 %r
}
define ptr @outside() {
  ret ptr @labs
}
define i64 @choose(i64 %x) {
  switch i64 %x, label %other [ i64 0, label %a  i64 1, label %b  i64 2, label %c  i64 3, label %d
    i64 4, label %e ]
a:
  ret i64 11
b:
  ret i64 5
c:
  ret i64 93
d:
  ret i64 -4
e:
  %n = call i64 @count()
  ret i64 %n
other:
  ret i64 0
}
"""
MACHINES = {
    "aarch64-unknown-linux-gnu": ThreadSystem("futex", 98, pause="aarch64"),
    "arm64-apple-darwin-elf": ThreadSystem("condition", set_mask=3, pause="aarch64"),
    "x86_64-apple-darwin-elf": ThreadSystem("condition", set_mask=3, pause="x86"),
    "x86_64-pc-windows-msvc-elf": ThreadSystem("none", pause="x86"),
}


def call(address: int, *args: int) -> int:
    entry = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(args))(address)
    return int(entry(*args))


def test_code_data_and_outside_functions() -> None:
    image = native_link.link(native_contents.compile_object(SOURCE))
    first, second = native_image.load(image), native_image.load(image)
    assert [call(first["count"]) for _ in range(3)] == [41, 42, 43]
    assert call(second["count"]) == 41
    assert call(first["third"]) == 9
    assert call(first["distance"], -5) == 5
    assert [call(first["choose"], i) for i in range(6)] == [11, 5, 93, -4, 44, 0]
    outside = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long)(call(first["outside"]))
    assert outside(-6) == 6


def test_a_missing_function_is_named() -> None:
    body = "define void @f() {\n call void @no_such_function()\n ret void\n}"
    source = f"declare void @no_such_function()\n{body}"
    image = native_link.link(native_contents.compile_object(source))
    with pytest.raises(OSError, match="no_such_function"):
        native_image.load(image)


def test_what_is_no_image_is_refused() -> None:
    with pytest.raises(ValueError, match="not an image"):
        native_image.load(b"\x7fELF")
    with pytest.raises(native_link.UnsupportedObject):
        native_link.link(b"\x7fELF\x01\x01")


def compile_for(triple: str, text: str) -> bytes:
    llvm = binding()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(
        opt=2, reloc="pic", codemodel="small"
    )
    module = llvm.parse_assembly(f'target triple = "{triple}"\n{text}')
    return bytes(machine.emit_object(module))


@pytest.mark.parametrize("triple", MACHINES)
def test_other_machines_objects_can_be_linked(triple: str) -> None:
    module = Module()
    native_contents.define_runtime(module, MACHINES[triple])
    for text in (module.text(), SOURCE):
        image = native_link.link(compile_for(triple, text))
        assert image.startswith(native_image.MAGIC)


def decode_page(word: int, place: int) -> int:
    """The address that an adrp instruction at `place` computes."""
    pages = (word >> 29 & 3) | (word >> 5 & 0x7FFFF) << 2
    pages -= (pages & 1 << 20) << 1
    return (place & ~0xFFF) + (pages << 12)


@pytest.mark.parametrize("place", [0x1000, 0x7FF4, 0x12340])
@pytest.mark.parametrize("target", [0x0, 0x5008, 0x7FF8, 0x123458])
def test_instructions_of_aarch64_reach_their_targets(place: int, target: int) -> None:
    memory = bytearray(place + 16)
    struct.pack_into("<II", memory, place, 0x90000000, 0x91000000)  # adrp x0; add x0, x0
    native_relocation.apply(183, 275, memory, place, target)
    native_relocation.apply(183, 277, memory, place + 4, target)
    page, low = struct.unpack_from("<II", memory, place)
    assert decode_page(page, place) + (low >> 10 & 0xFFF) == target
    struct.pack_into("<II", memory, place, 0xF9400000, 0x94000000)  # ldr x0, [x0]; bl
    native_relocation.apply(183, 286, memory, place, target)
    native_relocation.apply(183, 283, memory, place + 4, target)
    load, branch = struct.unpack_from("<II", memory, place)
    assert (load >> 10 & 0xFFF) * 8 == target & 0xFFF
    offset = (branch & 0x3FFFFFF) - ((branch & 1 << 25) << 1)
    assert place + 4 + offset * 4 == target
    assert branch >> 26 == 0x25
    stub = native_relocation.stub(183, place, target)
    page, low = struct.unpack_from("<II", stub)
    assert decode_page(page, place) + (low >> 10 & 0xFFF) * 8 == target


def test_an_unknown_relocation_is_refused() -> None:
    for machine in (62, 183, 8):
        with pytest.raises(ValueError, match=str(machine) if machine == 8 else "not supported"):
            native_relocation.apply(machine, 250, bytearray(8), 0, 0)
