"""The steps that all forms of a reduction are made of: folding in, combining, partial results.

A state is one text for each value that the reduction carries. Scratch memory holds partial results
as elements, or as whole vectors of the current width.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from jacana.compiler.llvm.code import (
    BYTES,
    Emitter,
    Value,
    llvm_type,
    memory_register,
    vector_type,
)
from jacana.compiler.llvm.memory import from_memory, to_memory
from jacana.compiler.llvm.repeat import first_lanes, once, prefers_mask, repeat
from jacana.kernel import ir

Names = dict[int, Value]


def element(e: Emitter, s: ir.Reduce, index: Value) -> list[Value]:
    """The values that iteration `index` folds in."""
    e.env[s.var.id] = index
    e.statements(s.body)
    return [e.value(v) for v in s.values]


def combine(
    e: Emitter, s: ir.Reduce, left: Sequence[str], right: Sequence[str | Value]
) -> list[str]:
    """Two states combined, at the current width."""
    stride = 0 if e.width == 1 else None
    for names, texts in ((s.left, left), (s.right, right)):
        for name, text in zip(names, texts, strict=True):
            known = text if isinstance(text, Value) else Value(name.type, text, stride)
            e.env[name.id] = known
    e.statements(s.combine_body)
    return [e.vector(e.value(a)) for a in s.combined]


def initial(e: Emitter, s: ir.Reduce) -> list[str]:
    """The state that every partial result starts from."""
    return [e.vector(e.value(a)) for a in s.init]


def typed(e: Emitter, s: ir.Reduce, texts: Sequence[str]) -> list[tuple[str, str]]:
    """A state with its types at the current width."""
    return [(llvm_type(v.type, e.width), t) for v, t in zip(s.left, texts, strict=True)]


def chunk_end(e: Emitter, start: str, extent: str) -> str:
    """The end of the chunk that begins at `start`."""
    after = e.let(f"add i64 {start}, {ir.CHUNK}")
    return e.let(f"call i64 @llvm.smin.i64(i64 {after}, i64 {extent})")


@contextmanager
def _known(e: Emitter, names: Names) -> Iterator[None]:
    """With these values of variables."""
    outer, e.env = e.env, names
    yield
    e.env = outer


# --- over lanes -----------------------------------------------------------------------------------


def chunk_lanes(
    e: Emitter, s: ir.Reduce, start: str, end: str, rows: Sequence[Names]
) -> list[list[str]]:
    """The lanes of each row after all iterations of a chunk.

    `start` is a multiple of their number; `rows` are the values of variables for each row.
    """
    width = len(s.left)

    def parts(lanes: Sequence[str]) -> list[Sequence[str]]:
        return [lanes[k * width : (k + 1) * width] for k in range(len(rows))]

    def whole(index: str, lanes: Sequence[str]) -> Sequence[str]:
        made: list[str] = []
        for names, state in zip(rows, parts(lanes), strict=True):
            with _known(e, names):
                made += combine(e, s, state, element(e, s, Value("index", index, 1)))
        return made

    def some(index: str, lanes: Sequence[str]) -> Sequence[str]:
        mask = first_lanes(e, index, end, ir.LANES)
        with e.at_width(ir.LANES, mask):
            made = whole(index, lanes)
        return [
            e.let(f"select <{ir.LANES} x i1> {mask}, {type} {new}, {type} {old}")
            for (type, old), new in zip(_every(e, s, lanes), made, strict=True)
        ]

    with e.at_width(ir.LANES):
        first = _every(e, s, initial(e, s) * len(rows))
        if prefers_mask(e, s.body):
            return list(map(list, parts(repeat(e, start, end, ir.LANES, first, some))))
        middle = e.let(f"and i64 {end}, {-ir.LANES}")
        lanes = repeat(e, start, middle, ir.LANES, first, whole)
        if e.facts.masks:
            return list(map(list, parts(once(e, middle, end, _every(e, s, lanes), some))))
    return [
        _rest_of_lanes(e, s, middle, end, state, names)
        for names, state in zip(rows, parts(lanes), strict=True)
    ]


def _every(e: Emitter, s: ir.Reduce, texts: Sequence[str]) -> list[tuple[str, str]]:
    """The states of several rows with their types."""
    width = len(s.left)
    starts = range(0, len(texts), width)
    return [pair for k in starts for pair in typed(e, s, texts[k : k + width])]


def _rest_of_lanes(
    e: Emitter, s: ir.Reduce, start: str, end: str, lanes: Sequence[str], names: Names
) -> list[str]:
    """The lanes after the elements that fill no vector, through a copy in memory."""
    some, after, before = e.label(), e.label(), e.block
    e.jump_if(e.let(f"icmp slt i64 {start}, {end}"), some, after)
    e.start(some)
    slots = [e.stack(memory_register(v.type), ir.LANES) for v in s.left]
    for v, slot, text in zip(s.left, slots, lanes, strict=True):
        _put(e, v.type, slot, "0", text, ir.LANES)

    def one(index: str, carried: Sequence[str]) -> Sequence[str]:
        lane = e.let(f"and i64 {index}, {ir.LANES - 1}")
        elements = element(e, s, Value("index", index))
        left = [_get(e, v.type, slot, lane, 1) for v, slot in zip(s.left, slots, strict=True)]
        for v, slot, text in zip(s.left, slots, combine(e, s, left, elements), strict=True):
            _put(e, v.type, slot, lane, text, 1)
        return ()

    with _known(e, names):
        repeat(e, start, end, 1, (), one)
    changed = [_get(e, v.type, slot, "0", ir.LANES) for v, slot in zip(s.left, slots, strict=True)]
    last = e.block
    e.jump(after)
    e.start(after)
    return [
        e.phi(llvm_type(v.type, ir.LANES), (old, before), (new, last))
        for v, old, new in zip(s.left, lanes, changed, strict=True)
    ]


def fold_lanes(e: Emitter, s: ir.Reduce, lanes: Sequence[str]) -> list[str]:
    """The tree: lanes j and j + 8, then j and j + 4, j + 2, j + 1."""
    half = ir.LANES // 2
    while half:
        left, right = (
            [_part(e, v.type, text, 2 * half, first, half)
             for v, text in zip(s.left, lanes, strict=True)]
            for first in (0, half)
        )  # fmt: skip
        with e.region(), e.at_width(half):
            lanes = combine(e, s, left, right)
        half //= 2
    return list(lanes)


def _part(e: Emitter, type: str, text: str, width: int, first: int, count: int) -> str:
    vector = llvm_type(type, width)
    if count == 1:
        return e.let(f"extractelement {vector} {text}, i64 {first}")
    picked = ", ".join(f"i32 {k}" for k in range(first, first + count))
    return e.let(f"shufflevector {vector} {text}, {vector} poison, <{count} x i32> <{picked}>")


# --- scratch memory -------------------------------------------------------------------------------


def slots_of(e: Emitter, s: ir.Reduce) -> list[str]:
    """Memory for a state in each of LANES vectors of the current width."""
    return [e.stack(vector_type(memory_register(v.type), e.width), ir.LANES) for v in s.left]


def get_state(e: Emitter, s: ir.Reduce, slots: Sequence[str], lane: str) -> list[str]:
    return [_get(e, v.type, p, lane, e.width, True) for v, p in zip(s.left, slots, strict=True)]


def put_state(
    e: Emitter, s: ir.Reduce, slots: Sequence[str], lane: str, texts: Sequence[str]
) -> None:
    for v, slot, text in zip(s.left, slots, texts, strict=True):
        _put(e, v.type, slot, lane, text, e.width, True)


def _place(e: Emitter, type: str, slot: str, lane: str, width: int) -> str:
    vector = vector_type(memory_register(type), width)
    return e.let(f"getelementptr {vector}, ptr {slot}, i64 {lane}")


def _get(e: Emitter, type: str, slot: str, lane: str, width: int, whole: bool = False) -> str:
    """Lane `lane` of scratch memory; `whole`: each lane is a vector itself."""
    place = _place(e, type, slot, lane, width if whole else 1)
    vector = vector_type(memory_register(type), width)
    align = BYTES[type] * (width if whole else 1)
    return from_memory(e, type, e.let(f"load {vector}, ptr {place}, align {align}"), width)


def _put(
    e: Emitter, type: str, slot: str, lane: str, text: str, width: int, whole: bool = False
) -> None:
    place = _place(e, type, slot, lane, width if whole else 1)
    vector = vector_type(memory_register(type), width)
    align = BYTES[type] * (width if whole else 1)
    e.emit(f"store {vector} {to_memory(e, type, text, width)}, ptr {place}, align {align}")
