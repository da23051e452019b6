"""Reductions of rows: each lane of a vector loop folds a row that lies in memory whole.

The rows are folded one after the other, over the lanes of vectors along the row; then all rows'
partial results are combined together, in the order that one row's have.
"""

from collections.abc import Callable, Iterable, Sequence

from jacana.compiler.llvm.analysis import body_size, calls_size
from jacana.compiler.llvm.code import Emitter, Value, llvm_type
from jacana.compiler.llvm.folds import (
    Names,
    chunk_end,
    chunk_lanes,
    combine,
    get_state,
    initial,
    put_state,
    slots_of,
    typed,
)
from jacana.compiler.llvm.repeat import repeat
from jacana.kernel import ir
from jacana.kernel.structure import bound, defined, operands, walk

# Rows that are folded at once, if a step is short: they share what they read in common, and hide
# each other's latency.
ROWS, ROWS_SIZE = 4, 24

# How fast an index grows with the iteration of the reduction, and with the lane; None: unknown.
Growth = tuple[int | None, int | None]
CONSTANT: Growth = (0, 0)


def reads_along(e: Emitter, s: ir.Reduce) -> bool:
    """Whether the reduction reads neighbours in consecutive iterations, and nothing else."""
    found = _loads(e, s)
    return any(k == 1 for k, _ in found) and all(k in (0, 1) for k, _ in found)


def reads_rows(e: Emitter, s: ir.Reduce) -> bool:
    """Whether folding row by row saves gathers, and rows differ by what they read alone."""
    found = _loads(e, s)
    by_rows = sum(k not in (-1, 0, 1) for k, _ in found)
    by_lanes = sum(lane not in (-1, 0, 1) for _, lane in found)
    if by_rows >= by_lanes or not e.is_uniform([e.value(a) for a in s.init]):
        return False
    return not _varying(e, s.combine_body, s.combined, (*s.left, *s.right))


def folds_columns(body: Sequence[ir.Statement], var: ir.Var) -> bool:
    """Whether lanes of a loop over `var` fold neighbours of each row, and none a row of its own."""
    folds = [s for s in body if isinstance(s, ir.Reduce) and not isinstance(s.extent, ir.Const)]
    known: dict[int, Growth] = {var.id: (0, 1), **{s.var.id: (1, 0) for s in folds}}
    found = _loads_of(body, known, lambda _: CONSTANT)
    return any(k not in (0, 1) and lane == 1 for k, lane in found) and not any(
        k == 1 and lane not in (0, 1) for k, lane in found
    )


def _loads(e: Emitter, s: ir.Reduce) -> list[Growth]:
    """The growth of the index of each load."""

    def outside(var: ir.Var) -> Growth:
        stride = e.env[var.id].stride
        return 0, stride if isinstance(stride, int) else None

    return _loads_of(s.body, {s.var.id: (1, 0)}, outside)


def _loads_of(
    body: Sequence[ir.Statement], known: dict[int, Growth], outside: Callable[[ir.Var], Growth]
) -> list[Growth]:
    """The growth of the index of each load in the body, by that of the variables."""

    def growth(atom: ir.Atom) -> Growth:
        if type(atom) is not ir.Var:
            return CONSTANT
        return known[atom.id] if atom.id in known else outside(atom)

    found = []
    for site in walk(body):
        inner = site.statement
        if isinstance(inner, ir.Load):
            found.append(growth(inner.index))
        known |= {v.id: CONSTANT for v in bound(inner) if v.id not in known}
        if isinstance(inner, ir.Let):
            known[inner.var.id] = _grown(inner, [growth(a) for a in inner.args])
        elif isinstance(inner, ir.While | ir.Reduce):
            known |= {v.id: (None, None) for v in inner.results}
        else:
            varies = _either([growth(a) for a in operands(inner)])
            known |= {v.id: varies for v in defined(inner)}
    return found


def _either(args: Sequence[Growth]) -> Growth:
    """The growth of what depends on the arguments in an unknown way."""
    k = 0 if all(g[0] == 0 for g in args) else None
    return k, 0 if all(g[1] == 0 for g in args) else None


def _grown(s: ir.Let, args: Sequence[Growth]) -> Growth:
    if s.operation not in ("add", "sub") or s.var.type != "index":
        return _either(args)
    sign = 1 if s.operation == "add" else -1
    (k, lane), (more_k, more_lane) = args
    return (
        None if k is None or more_k is None else k + sign * more_k,
        None if lane is None or more_lane is None else lane + sign * more_lane,
    )


def _varying(
    e: Emitter, body: Iterable[ir.Statement], results: Iterable[ir.Atom], inside: Iterable[ir.Var]
) -> list[tuple[int, Value]]:
    """The values from outside that a body and its results read and lanes differ in.

    `inside` are the variables that the body is a function of.
    """
    sites = [site.statement for site in walk(body)]
    own = {v.id for s in sites for v in (*bound(s), *defined(s))} | {v.id for v in inside}
    atoms = [a for s in sites for a in (*operands(s), *_yields(s))]
    read = {a.id for a in (*atoms, *results) if type(a) is ir.Var} - own
    return [(i, e.env[i]) for i in sorted(read) if e.env[i].stride != 0]


def _yields(s: ir.Statement) -> Iterable[ir.Atom]:
    """What the bodies of a statement give to it."""
    match s:
        case ir.While():
            return (s.cond, *s.next)
        case ir.Reduce():
            return (*s.values, *s.combined)
    return ()


def over_rows(e: Emitter, s: ir.Reduce, extent: str) -> list[str]:
    varying = _varying(e, s.body, s.values, (s.var,))
    slots = slots_of(e, s)
    at_once = ROWS if body_size(s.body) + calls_size(s.body) <= ROWS_SIZE else 1
    # The mask of a loop over vectors always names the first lanes.
    count = str(ir.LANES)
    if e.mask is not None:
        bits = e.let(f"bitcast <{ir.LANES} x i1> {e.mask} to i{ir.LANES}")
        bits = e.let(f"call i{ir.LANES} @llvm.ctpop.i{ir.LANES}(i{ir.LANES} {bits})")
        count = e.let(f"zext i{ir.LANES} {bits} to i64")

    def chunk(start: str, carried: Sequence[str]) -> Sequence[str]:
        end = chunk_end(e, start, extent)

        def some_rows(first: str, carried: Sequence[str]) -> Sequence[str]:
            with e.at_width(1):
                rows = [_row(e, varying, first, k, count) for k in range(at_once)]
                lanes = chunk_lanes(e, s, start, end, [names for _, names in rows])
            for (row, _), state in zip(rows, lanes, strict=True):
                put_state(e, s, slots, row, state)
            return ()

        repeat(e, "0", count, at_once, (), some_rows)
        return combine(e, s, carried, _fold_rows(e, s, slots))

    return repeat(e, "0", extent, ir.CHUNK, typed(e, s, initial(e, s)), chunk)


def _row(
    e: Emitter, varying: Sequence[tuple[int, Value]], first: str, k: int, count: str
) -> tuple[str, Names]:
    """Row first + k (the last one stands for those behind it), and the variables' values in it."""
    row = e.let(f"add i64 {first}, {k}") if k else first
    if not count.isdigit() and k:
        last = e.let(f"sub i64 {count}, 1")
        row = e.let(f"call i64 @llvm.smin.i64(i64 {row}, i64 {last})")
    scalars = {i: Value(v.type, _lane(e, v, row)) for i, v in varying}
    return row, {**e.env, **scalars}


def _lane(e: Emitter, value: Value, lane: str) -> str:
    """One lane of a value that differs between them."""
    if value.stride is None:
        return e.let(f"extractelement {llvm_type(value.type, ir.LANES)} {value.text}, i64 {lane}")
    offset = lane if value.stride == 1 else e.let(f"mul i64 {lane}, {value.stride}")
    return e.let(f"add i64 {value.text}, {offset}")


def _fold_rows(e: Emitter, s: ir.Reduce, slots: Sequence[str]) -> list[str]:
    """Each row's partial results combined: lane r of what is left belongs to row r.

    A step combines the halves of what a vector holds of each row, for two vectors at a time.
    """
    vectors = [get_state(e, s, slots, str(row)) for row in range(ir.LANES)]
    held = ir.LANES  # partial results of one row in a vector
    while held > 1:
        half = held // 2
        # Rows one after the other in a vector, each with `held` partial results.
        blocks = range(0, 2 * ir.LANES, held)
        left = [b + k for b in blocks for k in range(half)]
        right = [i + half for i in left]
        pairs = zip(vectors[0::2], vectors[1::2], strict=True)
        vectors = [
            combine(e, s, _picked(e, s, a, b, left), _picked(e, s, a, b, right)) for a, b in pairs
        ]
        held = half
    return vectors[0]


def _picked(
    e: Emitter, s: ir.Reduce, a: Sequence[str], b: Sequence[str], lanes: Sequence[int]
) -> list[str]:
    listed = ", ".join(f"i32 {k}" for k in lanes)
    made = []
    for v, x, y in zip(s.left, a, b, strict=True):
        vector = llvm_type(v.type, ir.LANES)
        made.append(
            e.let(f"shufflevector {vector} {x}, {vector} {y}, <{ir.LANES} x i32> <{listed}>")
        )
    return made
