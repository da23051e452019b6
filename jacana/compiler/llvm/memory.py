"""Loads and stores: one element, a vector of neighbours, of every second one, or a gather.

Nothing outside the elements that lie between the first and the last one is touched, and a store
writes its own elements only.
"""

from jacana.compiler.llvm.analysis import PairedStores
from jacana.compiler.llvm.code import (
    BYTES,
    EmitError,
    Emitter,
    Value,
    memory_register,
    suffix,
    vector_type,
)
from jacana.compiler.llvm.operator import Operator
from jacana.compiler.llvm.scalar import within_byte
from jacana.kernel import ir

# Up to this stride, loading everything in between and shuffling beats a gather.
SHUFFLED_STRIDE = 4
# Elements of a table that is read by permutations.
TABLE = 16


def load(e: Emitter, s: ir.Load) -> None:
    index = e.value(s.index)
    type = s.memory.type
    if e.is_uniform((index,)):
        text = _load(e, s.memory, index.text, 1)
        e.env[s.var.id] = Value(type, from_memory(e, type, text, 1))
        return
    stride = index.stride
    if stride == 1:
        text = _load(e, s.memory, index.text, e.width)
    elif isinstance(s.memory, ir.Table) and _may_permute(e, s.memory):
        text = _permuted(e, s.memory, index)
    elif e.mask is not None or not isinstance(stride, int):
        text = _gather(e, s.memory, index)
    elif stride == -1 or 2 <= abs(stride) <= SHUFFLED_STRIDE:
        text = _strided(e, s.memory, index.text, stride)
    else:
        text = _gather(e, s.memory, index)
    e.env[s.var.id] = Value(type, from_memory(e, type, text, e.width), None)


def store(e: Emitter, s: ir.Store) -> None:
    if e.width > 1 and isinstance(s.memory, ir.Local):
        raise EmitError("a vector loop stores to local memory, which has no place for each lane")
    index, value = e.value(s.index), e.value(s.value)
    type = s.memory.type
    if e.is_uniform((index, value)):
        _store(e, s.memory, index.text, to_memory(e, type, value.text, 1), 1)
        return
    text = to_memory(e, type, e.vector(value), e.width)
    if index.stride == 1:
        _store(e, s.memory, index.text, text, e.width)
    else:
        _scatter(e, s.memory, index, text)


def store_pair(e: Emitter, s: PairedStores) -> None:
    """Neighbours in every lane: interleaved, they are whole vectors."""
    index, memory = e.value(s.first.index), s.first.memory
    if index.stride != 2 or isinstance(memory, ir.Local):
        store(e, s.first)
        store(e, s.second)
        return
    type, width = memory.type, e.width
    texts = [to_memory(e, type, e.vector(e.value(p.value)), width) for p in (s.first, s.second)]
    listed = [k + part * width for k in range(width) for part in (0, 1)]
    text = _interleave(e, vector_type(memory_register(type), width), texts, listed)
    mask = e.mask and _interleave(
        e, f"<{width} x i1>", [e.mask, "poison"], [k // 2 for k in range(2 * width)]
    )
    with e.at_width(2 * width, mask):
        _store(e, memory, index.text, text, 2 * width)


def _interleave(e: Emitter, vector: str, texts: list[str], lanes: list[int]) -> str:
    listed = ", ".join(f"i32 {k}" for k in lanes)
    return e.let(
        f"shufflevector {vector} {texts[0]}, {vector} {texts[1]}, <{len(lanes)} x i32> <{listed}>"
    )


def from_memory(e: Emitter, type: str, text: str, width: int) -> str:
    """Register form of what lies in memory."""
    on = Operator(e, memory_register(type), width)
    if type == "bool":
        return on.compare("ne", text, on.const(0))
    return within_byte(on, type, text)


def to_memory(e: Emitter, type: str, text: str, width: int) -> str:
    """What is stored for a value in register form: of 4 bits, in the low half of a byte."""
    if type == "bool":
        return Operator(e, "i1", width).cast("zext", "i8", text)
    if type in ir.SIGNED and ir.WIDTH[type] < 8:
        on = Operator(e, "i8", width)
        return on.op("and", text, on.const((1 << ir.WIDTH[type]) - 1))
    return text


def pointer(e: Emitter, memory: ir.Memory, index: str) -> str:
    register = memory_register(memory.type)
    return e.let(f"getelementptr {register}, ptr {e.address(memory)}, i64 {index}")


def _load(e: Emitter, memory: ir.Memory, index: str, width: int) -> str:
    vector = vector_type(memory_register(memory.type), width)
    place = pointer(e, memory, index)
    if e.mask is None or width == 1:
        return e.let(f"load {vector}, ptr {place}, align {BYTES[memory.type]}")
    name = suffix(memory_register(memory.type), width)
    return e.let(
        f"call {vector} @llvm.masked.load.{name}.p0({_aligned(e, memory, 'ptr', place)}, "
        f"<{width} x i1> {e.mask}, {vector} zeroinitializer)"
    )


def _store(e: Emitter, memory: ir.Memory, index: str, text: str, width: int) -> None:
    vector = vector_type(memory_register(memory.type), width)
    place = pointer(e, memory, index)
    if e.mask is None or width == 1:
        e.emit(f"store {vector} {text}, ptr {place}, align {BYTES[memory.type]}")
        return
    name = suffix(memory_register(memory.type), width)
    e.emit(
        f"call void @llvm.masked.store.{name}.p0({vector} {text}, "
        f"{_aligned(e, memory, 'ptr', place)}, <{width} x i1> {e.mask})"
    )


def _aligned(e: Emitter, memory: ir.Memory, type: str, place: str) -> str:
    """The operand of a masked load or store that says where, with the alignment of an element."""
    align = BYTES[memory.type]
    if e.facts.align_operand:
        return f"{type} {place}, i32 {align}"
    return f"{type} align {align} {place}"


def _strided(e: Emitter, memory: ir.Memory, index: str, stride: int) -> str:
    """Elements index + lane * stride out of whole vectors between the first and the last one."""
    width = e.width
    if stride < 0:
        first = e.let(f"add i64 {index}, {(width - 1) * stride}")
        plain = stride == -1
        text = _load(e, memory, first, width) if plain else _strided(e, memory, first, -stride)
        return _shuffle(e, memory, text, "poison", range(width)[::-1])
    starts = [part * width for part in range(stride - 1)] + [(width - 1) * (stride - 1)]
    result = "poison"
    done = 0
    for start in starts:
        offset = e.let(f"add i64 {index}, {start}") if start else index
        loaded = _load(e, memory, offset, width)
        inside = [k for k in range(done, width) if k * stride < start + width]
        picked = list(range(done)) + [width + k * stride - start for k in inside]
        picked += [-1] * (width - len(picked))
        result = _shuffle(e, memory, result, loaded, picked)
        done += len(inside)
    return result


def _shuffle(e: Emitter, memory: ir.Memory, a: str, b: str, lanes: "range | list[int]") -> str:
    vector = vector_type(memory_register(memory.type), e.width)
    listed = ", ".join("i32 poison" if k < 0 else f"i32 {k}" for k in lanes)
    return e.let(f"shufflevector {vector} {a}, {vector} {b}, <{e.width} x i32> <{listed}>")


def _may_permute(e: Emitter, table: ir.Table) -> bool:
    """Whether instructions choose lanes of the whole table, which is one or two registers."""
    fits = table.type == "float32" and len(table.values) == TABLE
    return fits and e.facts.permuted > 0 and e.width % e.facts.permuted == 0


def _permuted(e: Emitter, table: ir.Table, index: Value) -> str:
    """The elements of a table of TABLE numbers, without a gather."""
    count, width = e.facts.permuted, e.width
    numbers = e.let(f"trunc <{width} x i64> {e.vector(index)} to <{width} x i32>")
    place = e.address(table)
    parts = []
    for first in range(0, width, count):
        picked = _lanes(e, "i32", numbers, width, first, count)
        chosen = _permute(e, place, picked, count)
        if count < TABLE:
            upper = e.let(f"getelementptr float, ptr {place}, i64 {count}")
            is_upper = e.let(f"icmp uge <{count} x i32> {picked}, splat (i32 {count})")
            other = _permute(e, upper, picked, count)
            chosen = e.let(
                f"select <{count} x i1> {is_upper}, <{count} x float> {other}, "
                f"<{count} x float> {chosen}"
            )
        parts.append(chosen)
    while len(parts) > 1:
        count *= 2
        listed = ", ".join(f"i32 {k}" for k in range(count))
        parts = [
            e.let(
                f"shufflevector <{count // 2} x float> {a}, <{count // 2} x float> {b}, "
                f"<{count} x i32> <{listed}>"
            )
            for a, b in zip(parts[::2], parts[1::2], strict=True)
        ]
    return parts[0]


def _permute(e: Emitter, place: str, numbers: str, count: int) -> str:
    """The lanes `numbers` (modulo their count) of a vector in memory."""
    vector, lanes = f"<{count} x float>", f"<{count} x i32>"
    table = e.let(f"load {vector}, ptr {place}, align {4 * count}")
    name = {16: "avx512.permvar.sf.512", 8: "avx2.permps"}[count]
    return e.let(f"call {vector} @llvm.x86.{name}({vector} {table}, {lanes} {numbers})")


def _lanes(e: Emitter, register: str, text: str, width: int, first: int, count: int) -> str:
    if count == width:
        return text
    vector = vector_type(register, width)
    listed = ", ".join(f"i32 {k}" for k in range(first, first + count))
    return e.let(f"shufflevector {vector} {text}, {vector} poison, <{count} x i32> <{listed}>")


def _pointers(e: Emitter, memory: ir.Memory, index: Value) -> str:
    register = memory_register(memory.type)
    return e.let(
        f"getelementptr {register}, ptr {e.address(memory)}, <{e.width} x i64> {e.vector(index)}"
    )


def _gather(e: Emitter, memory: ir.Memory, index: Value) -> str:
    register, width = memory_register(memory.type), e.width
    vector = vector_type(register, width)
    places = _pointers(e, memory, index)
    mask = e.mask or "splat (i1 true)"
    return e.let(
        f"call {vector} @llvm.masked.gather.{suffix(register, width)}.v{width}p0("
        f"{_aligned(e, memory, f'<{width} x ptr>', places)}, <{width} x i1> {mask}, "
        f"{vector} zeroinitializer)"
    )


def _scatter(e: Emitter, memory: ir.Memory, index: Value, text: str) -> None:
    register, width = memory_register(memory.type), e.width
    vector = vector_type(register, width)
    places = _pointers(e, memory, index)
    e.emit(
        f"call void @llvm.masked.scatter.{suffix(register, width)}.v{width}p0("
        f"{vector} {text}, {_aligned(e, memory, f'<{width} x ptr>', places)}, "
        f"<{width} x i1> {e.mask or 'splat (i1 true)'})"
    )
