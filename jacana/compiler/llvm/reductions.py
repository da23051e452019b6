"""Reduce as LLVM text, in four forms of one meaning.

Over lanes: the partial results of a chunk are the lanes of one vector. Over rows: the same for each
lane of a vector loop whose rows lie in memory one after the other. In memory: partial results are
an array of vectors (or scalars). Few: every step is written out.
"""

from collections.abc import Sequence

from jacana.compiler.llvm.analysis import body_size, calls_size, can_vectorise
from jacana.compiler.llvm.code import EmitError, Emitter, Value
from jacana.compiler.llvm.folds import (
    chunk_end,
    chunk_lanes,
    combine,
    element,
    fold_lanes,
    get_state,
    initial,
    put_state,
    slots_of,
    typed,
)
from jacana.compiler.llvm.repeat import repeat
from jacana.compiler.llvm.rows import over_rows, reads_along, reads_rows
from jacana.kernel import ir

# Steps of at most this many statements are written out for each of the partial results.
UNROLLED_STEP = 8
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
    elif not _over_lanes_is_possible(s):
        texts = _in_memory(e, s, extent.text)
    elif e.width == 1 and (not e.in_tail or reads_along(e, s)):
        texts = _over_lanes(e, s, extent.text)
    elif e.width == ir.LANES and reads_rows(e, s):
        texts = over_rows(e, s, extent.text)
    else:
        texts = _in_memory(e, s, extent.text)
    for var, text in zip(s.results, texts, strict=True):
        e.env[var.id] = Value(var.type, text, 0 if e.width == 1 else None)


def _over_lanes_is_possible(s: ir.Reduce) -> bool:
    lanes = {s.var.id, *(v.id for v in (*s.left, *s.right))}
    return can_vectorise((*s.body, *s.combine_body), lanes)


# --- over lanes -----------------------------------------------------------------------------------


def _over_lanes(e: Emitter, s: ir.Reduce, extent: str) -> list[str]:
    def chunk(start: str, carried: Sequence[str]) -> Sequence[str]:
        (lanes,) = chunk_lanes(e, s, start, chunk_end(e, start, extent), [e.env])
        return combine(e, s, carried, fold_lanes(e, s, lanes))

    return repeat(e, "0", extent, ir.CHUNK, typed(e, s, initial(e, s)), chunk)


# --- in memory ------------------------------------------------------------------------------------


def _in_memory(e: Emitter, s: ir.Reduce, extent: str) -> list[str]:
    slots = slots_of(e, s)

    def chunk(start: str, carried: Sequence[str]) -> Sequence[str]:
        end = chunk_end(e, start, extent)
        lanes, rest = [initial(e, s)] * ir.LANES, start
        if is_small(s) and not e.in_tail:
            rest = e.let(f"and i64 {end}, {-ir.LANES}")
            lanes = _in_registers(e, s, start, rest, lanes)
        for lane, state in enumerate(lanes):
            put_state(e, s, slots, str(lane), state)
        repeat(e, rest, end, 1, (), one)
        return combine(e, s, carried, _fold_memory(e, s, slots))

    def one(index: str, carried: Sequence[str]) -> Sequence[str]:
        lane = e.let(f"and i64 {index}, {ir.LANES - 1}")
        elements = element(e, s, Value("index", index))
        combined = combine(e, s, get_state(e, s, slots, lane), elements)
        put_state(e, s, slots, lane, combined)
        return ()

    return repeat(e, "0", extent, ir.CHUNK, typed(e, s, initial(e, s)), chunk)


def is_small(s: ir.Reduce) -> bool:
    """Whether a step may be written out for each partial result, which registers then hold."""
    step = (*s.body, *s.combine_body)
    return len(s.left) == 1 and body_size(step) + calls_size(step) <= UNROLLED_STEP


def _in_registers(
    e: Emitter, s: ir.Reduce, start: str, end: str, lanes: Sequence[list[str]]
) -> list[list[str]]:
    """The partial results after whole rounds over them; a state is one value."""

    def round(index: str, carried: Sequence[str]) -> Sequence[str]:
        made: list[str] = []
        for lane, text in enumerate(carried):
            at = e.let(f"add i64 {index}, {lane}") if lane else index
            made += combine(e, s, [text], element(e, s, Value("index", at)))
        return made

    first = [pair for state in lanes for pair in typed(e, s, state)]
    return [[text] for text in repeat(e, start, end, ir.LANES, first, round)]


def _fold_memory(e: Emitter, s: ir.Reduce, slots: Sequence[str]) -> list[str]:
    if is_small(s) and not e.in_tail:
        lanes = [get_state(e, s, slots, str(lane)) for lane in range(ir.LANES)]
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = [combine(e, s, lanes[j], lanes[j + half]) for j in range(half)]
        return lanes[0]
    half = ir.LANES // 2
    while half > 1:
        count = str(half)

        def pair(lane: str, carried: Sequence[str], count: str = count) -> Sequence[str]:
            other = e.let(f"add i64 {lane}, {count}")
            left, right = get_state(e, s, slots, lane), get_state(e, s, slots, other)
            put_state(e, s, slots, lane, combine(e, s, left, right))
            return ()

        repeat(e, "0", count, 1, (), pair)
        half //= 2
    return combine(e, s, get_state(e, s, slots, "0"), get_state(e, s, slots, "1"))


# --- few ------------------------------------------------------------------------------------------


def _few(e: Emitter, s: ir.Reduce, extent: int) -> list[str]:
    """All steps of a reduction of at most 8 elements."""
    first = initial(e, s)
    if extent <= 0:
        return first
    neutral = _is_neutral(s)
    lanes: list[list[str] | None] = [None] * ir.LANES  # None: still the initial state
    for k in range(extent):
        lanes[k] = combine(e, s, first, element(e, s, Value("index", str(k))))
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
            lanes[j] = combine(e, s, left or untouched or first, right or untouched or first)
        if not neutral:
            untouched = combine(e, s, untouched or first, untouched or first)
        half //= 2
    total = lanes[0]
    assert total is not None
    return total if neutral else combine(e, s, first, total)


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
