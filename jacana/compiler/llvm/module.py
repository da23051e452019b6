"""Kernel -> LLVM text -> object code -> the address of a function.

A kernel is `i64 kernel(ptr bufs, ptr params, i64 begin, i64 end)`: pointers by Buffer.id, 8-byte
slots by Param.index, and the range of the grid loop. It returns 0. `bufs` is never null, even if
there are no buffers. Buffers may overlap where an iteration loads an element before it stores it.
"""

from typing import Any

from jacana.compiler.llvm import native_image, native_link, target
from jacana.compiler.llvm.analysis import calls_size, needs_mask
from jacana.compiler.llvm.code import Emitter, Module, Value, llvm_type
from jacana.compiler.llvm.control import result_type
from jacana.compiler.llvm.loops import HANDLERS
from jacana.kernel import ir

SYMBOL = "kernel"
# Statements that calls may add to a kernel before functions are compiled apart.
INLINE_LIMIT = 320
# With more parameters than this each is read where it is used: registers would not hold them.
PARAMS_AT_START = 24


def compile_kernel(kernel: ir.Kernel) -> bytes:
    """The image of the kernel's code, which defines the one symbol "kernel"."""
    return native_link.link(bytes(target.machine().emit_object(_parse(kernel))))


def assembly(kernel: ir.Kernel) -> str:
    """The kernel in the machine's assembly language."""
    return str(target.machine().emit_assembly(_parse(kernel)))


def load(image: bytes) -> int:
    """The address of the function in an image; it stays loaded until the process ends."""
    return native_image.load(image)[SYMBOL]


def target_key() -> str:
    """What object code depends on besides the kernel: processor, features and versions."""
    return target.target_key()


def _parse(kernel: ir.Kernel) -> Any:
    return target.binding().parse_assembly(emit(kernel))


def emit(kernel: ir.Kernel) -> str:
    """The kernel as the text of an LLVM module."""
    module = Module(
        target.facts(),
        inline=calls_size(kernel.body) <= INLINE_LIMIT,
        params_at_start=len(kernel.params) <= PARAMS_AT_START,
    )
    e = Emitter(module, HANDLERS)
    e.statements(kernel.body)
    e.emit("ret i64 0")
    head = f"define i64 @{SYMBOL}(ptr %bufs, ptr %params, i64 %begin, i64 %end) #0 {{"
    functions = _text(head, e)
    while module.pending:
        functions += _function(module, *module.pending.pop())
    return "\n".join(
        [*module.tables, *functions, f"attributes #0 = {{ {target.attributes()} }}", "!0 = !{}", ""]
    )


def _function(module: Module, name: str, function: ir.Function, width: int) -> list[str]:
    """A function of the kernel language for vectors of one width, called from elsewhere."""
    e = Emitter(module, HANDLERS)
    e.width, e.is_kernel = width, False
    params = []
    for i, p in enumerate(function.params):
        params.append(f"{llvm_type(p.type, width)} %a{i}")
        e.env[p.id] = Value(p.type, f"%a{i}", 0 if width == 1 else None)
    if width > 1 and needs_mask(function):
        params.append(f"<{width} x i1> %mask")
        e.mask = "%mask"
    e.statements(function.body)
    texts = [e.vector(e.value(r)) for r in function.results]
    returned = result_type(function, width)
    if len(texts) > 1:
        made = "poison"
        for i, (r, text) in enumerate(zip(function.results, texts, strict=True)):
            made = e.let(f"insertvalue {returned} {made}, {llvm_type(r.type, width)} {text}, {i}")
        texts = [made]
    e.emit(f"ret {returned} {texts[0]}")
    head = f"define internal fastcc {returned} {name}({', '.join(params)}) noinline #0 {{"
    return _text(head, e)


def _text(head: str, e: Emitter) -> list[str]:
    return [head, "entry:", *e.entry, *e.lines, "}"]
