"""Reduce as LLVM text, in three forms of one meaning.

Over lanes: the partial results of a chunk are the lanes of one vector. In memory: they are an array
of vectors (or scalars). Few: every step is written out.
"""

from collections.abc import Sequence

from jacana.compiler.llvm.analysis import can_vectorise
from jacana.compiler.llvm.code import (
    BYTES,
    EmitError,
    Emitter,
    Value,
    llvm_type,
    memory_register,
    vector_type,
)
from jacana.compiler.llvm.memory import from_memory, to_memory
from jacana.compiler.llvm.repeat import first_lanes, once, prefers_mask, repeat
from jacana.kernel import ir

# Operation -> a value that changes nothing that it has been combined with before.
NEUTRAL = {
    "add": (0,), "mul": (1,), "max": (float("-inf"),), "min": (float("inf"),), "or": (0,),
    "xor": (0,),
}  # fmt: skip


def reduce(e: Emitter, s: ir.Reduce) -> None:
    extent = e.value(s.extent)
    if not e.is_uniform((extent,)):
        raise EmitError("the extent of a reduction differs between the lanes of a vector loop")
    if isinstance(s.extent, ir.Const):
        texts = _few(e, s, int(s.extent.value))
    elif e.width == 1 and not e.in_tail and _over_lanes_is_possible(s):
        texts = _over_lanes(e, s, extent.text)
    else:
        texts = _in_memory(e, s, extent.text)
    for var, text in zip(s.results, texts, strict=True):
        e.env[var.id] = Value(var.type, text, 0 if e.width == 1 else None)


def _over_lanes_is_possible(s: ir.Reduce) -> bool:
    lanes = {s.var.id, *(v.id for v in (*s.left, *s.right))}
    return can_vectorise((*s.body, *s.combine_body), lanes)


def _element(e: Emitter, s: ir.Reduce, index: Value) -> list[Value]:
    """The values that iteration `index` folds in."""
    e.env[s.var.id] = index
    e.statements(s.body)
    return [e.value(v) for v in s.values]


def _combine(
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


def _init(e: Emitter, s: ir.Reduce) -> list[str]:
    return [e.vector(e.value(a)) for a in s.init]


def _carried(e: Emitter, s: ir.Reduce, texts: Sequence[str]) -> list[tuple[str, str]]:
    return [(llvm_type(v.type, e.width), t) for v, t in zip(s.left, texts, strict=True)]


def _chunk_end(e: Emitter, start: str, extent: str) -> str:
    after = e.let(f"add i64 {start}, {ir.CHUNK}")
    return e.let(f"call i64 @llvm.smin.i64(i64 {after}, i64 {extent})")


# --- over lanes -----------------------------------------------------------------------------------


def _over_lanes(e: Emitter, s: ir.Reduce, extent: str) -> list[str]:
    def chunk(start: str, carried: Sequence[str]) -> Sequence[str]:
        end = _chunk_end(e, start, extent)
        return _combine(e, s, carried, _fold_lanes(e, s, _chunk_lanes(e, s, start, end)))

    return repeat(e, "0", extent, ir.CHUNK, _carried(e, s, _init(e, s)), chunk)


def _chunk_lanes(e: Emitter, s: ir.Reduce, start: str, end: str) -> list[str]:
    """The lanes after all iterations of a chunk; `start` is a multiple of their number."""

    def whole(index: str, lanes: Sequence[str]) -> Sequence[str]:
        return _combine(e, s, lanes, _element(e, s, Value("index", index, 1)))

    def some(index: str, lanes: Sequence[str]) -> Sequence[str]:
        mask = first_lanes(e, index, end, ir.LANES)
        with e.at_width(ir.LANES, mask):
            made = whole(index, lanes)
        return [
            e.let(f"select <{ir.LANES} x i1> {mask}, {type} {new}, {type} {old}")
            for (type, old), new in zip(_carried(e, s, lanes), made, strict=True)
        ]

    with e.at_width(ir.LANES):
        first = _carried(e, s, _init(e, s))
        if prefers_mask(e, s.body):
            return repeat(e, start, end, ir.LANES, first, some)
        middle = e.let(f"and i64 {end}, {-ir.LANES}")
        lanes = repeat(e, start, middle, ir.LANES, first, whole)
        if e.facts.masks:
            return once(e, middle, end, _carried(e, s, lanes), some)
    return _rest_of_lanes(e, s, middle, end, lanes)


def _rest_of_lanes(
    e: Emitter, s: ir.Reduce, start: str, end: str, lanes: Sequence[str]
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
        elements = _element(e, s, Value("index", index))
        left = [_get(e, v.type, slot, lane, 1) for v, slot in zip(s.left, slots, strict=True)]
        for v, slot, text in zip(s.left, slots, _combine(e, s, left, elements), strict=True):
            _put(e, v.type, slot, lane, text, 1)
        return ()

    repeat(e, start, end, 1, (), one)
    changed = [_get(e, v.type, slot, "0", ir.LANES) for v, slot in zip(s.left, slots, strict=True)]
    last = e.block
    e.jump(after)
    e.start(after)
    return [
        e.phi(llvm_type(v.type, ir.LANES), (old, before), (new, last))
        for v, old, new in zip(s.left, lanes, changed, strict=True)
    ]


def _fold_lanes(e: Emitter, s: ir.Reduce, lanes: Sequence[str]) -> list[str]:
    """The tree: lanes j and j + 8, then j and j + 4, j + 2, j + 1."""
    half = ir.LANES // 2
    while half:
        left, right = (
            [_part(e, v.type, text, 2 * half, first, half)
             for v, text in zip(s.left, lanes, strict=True)]
            for first in (0, half)
        )  # fmt: skip
        with e.region(), e.at_width(half):
            lanes = _combine(e, s, left, right)
        half //= 2
    return list(lanes)


def _part(e: Emitter, type: str, text: str, width: int, first: int, count: int) -> str:
    vector = llvm_type(type, width)
    if count == 1:
        return e.let(f"extractelement {vector} {text}, i64 {first}")
    picked = ", ".join(f"i32 {k}" for k in range(first, first + count))
    return e.let(f"shufflevector {vector} {text}, {vector} poison, <{count} x i32> <{picked}>")


# --- in memory ------------------------------------------------------------------------------------


def _in_memory(e: Emitter, s: ir.Reduce, extent: str) -> list[str]:
    slots = [e.stack(vector_type(memory_register(v.type), e.width), ir.LANES) for v in s.left]

    def chunk(start: str, carried: Sequence[str]) -> Sequence[str]:
        end = _chunk_end(e, start, extent)
        first = _init(e, s)
        for lane in range(ir.LANES):
            _put_state(e, s, slots, str(lane), first)
        repeat(e, start, end, 1, (), one)
        return _combine(e, s, carried, _fold_memory(e, s, slots))

    def one(index: str, carried: Sequence[str]) -> Sequence[str]:
        lane = e.let(f"and i64 {index}, {ir.LANES - 1}")
        elements = _element(e, s, Value("index", index))
        combined = _combine(e, s, _get_state(e, s, slots, lane), elements)
        _put_state(e, s, slots, lane, combined)
        return ()

    return repeat(e, "0", extent, ir.CHUNK, _carried(e, s, _init(e, s)), chunk)


def _fold_memory(e: Emitter, s: ir.Reduce, slots: Sequence[str]) -> list[str]:
    half = ir.LANES // 2
    while half > 1:
        count = str(half)

        def pair(lane: str, carried: Sequence[str], count: str = count) -> Sequence[str]:
            other = e.let(f"add i64 {lane}, {count}")
            left, right = _get_state(e, s, slots, lane), _get_state(e, s, slots, other)
            _put_state(e, s, slots, lane, _combine(e, s, left, right))
            return ()

        repeat(e, "0", count, 1, (), pair)
        half //= 2
    return _combine(e, s, _get_state(e, s, slots, "0"), _get_state(e, s, slots, "1"))


def _get_state(e: Emitter, s: ir.Reduce, slots: Sequence[str], lane: str) -> list[str]:
    return [_get(e, v.type, p, lane, e.width, True) for v, p in zip(s.left, slots, strict=True)]


def _put_state(
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


# --- few ------------------------------------------------------------------------------------------


def _few(e: Emitter, s: ir.Reduce, extent: int) -> list[str]:
    """All steps of a reduction of at most 8 elements."""
    first = _init(e, s)
    if extent <= 0:
        return first
    neutral = _is_neutral(s)
    lanes: list[list[str] | None] = [None] * ir.LANES  # None: still the initial state
    for k in range(extent):
        lanes[k] = _combine(e, s, first, _element(e, s, Value("index", str(k))))
    untouched: list[str] | None = None
    half = ir.LANES // 2
    while half:
        for j in range(half):
            left, right = lanes[j], lanes[j + half]
            if right is None and neutral:
                continue
            if left is None and right is None:
                untouched = untouched or first
                lanes[j] = None
                continue
            lanes[j] = _combine(e, s, left or untouched or first, right or untouched or first)
        if not neutral:
            untouched = _combine(e, s, untouched or first, untouched or first)
        half //= 2
    total = lanes[0]
    assert total is not None
    return total if neutral else _combine(e, s, first, total)


def _is_neutral(s: ir.Reduce) -> bool:
    """Whether combining with the initial state leaves whatever has been combined before as it is.

    (0.0 + x is x unless x is -0.0, which 0.0 + anything never is.)
    """
    if len(s.combine_body) != 1 or len(s.init) != 1:
        return False
    made, init = s.combine_body[0], s.init[0]
    if not isinstance(made, ir.Let) or not isinstance(init, ir.Const):
        return False
    plain = made.args == (*s.left, *s.right) and s.combined == (made.var,)
    return plain and init.value in NEUTRAL.get(made.operation, ())
