"""Native sorting of many short rows: a vector's lanes each hold an element of a row of their own.

The rows of a group lie across vectors in scratch memory, and are sorted by the same exchanges, each
the minimum and maximum of two vectors: no branch depends on the keys. The exchanges are those of
Batcher's merge exchange sort, for rows of any length (Knuth, The Art of Computer Programming,
volume 3, section 5.2.2, algorithm M): n (log n)^2 / 4 of them.
"""

from collections.abc import Callable

from jacana.compiler.llvm.native_text import Module, Value, Writer

# Bytes of a vector: a row's element is 4 or 8 of them.
WIDTH = 64
# Rows up to this many elements of 4 and of 8 bytes are sorted so.
LONGEST = {"i32": 512, "i64": 256}


def lanes(type_: str) -> int:
    """How many rows are sorted together."""
    return 8 * WIDTH // int(type_[1:])


def define(module: Module) -> None:
    """Write sort_lanes_i32 and sort_lanes_i64: (vectors, n) sorts n vectors by lanes."""
    for type_ in LONGEST:
        with module.function(f"sort_lanes_{type_}", "void", "ptr", "i64", inside=True) as (f, p):
            _exchanges(f, f"<{lanes(type_)} x {type_}>", *p)
            f.ret()


def _exchanges(f: Writer, vector: str, rows: Value, n: Value) -> None:
    """Batcher's exchanges: of elements i and i + d for each i with (i & p) == r."""
    top = f.variable("i64", 1)
    with f.forever() as loop:
        loop.leave_if(top.value + top.value >= n)
        top.set(top.value + top.value)
    p = f.variable("i64", top.value)
    with f.forever() as merges:
        merges.leave_if(p.value.eq(0))
        q, r = f.variable("i64", top.value), f.variable("i64", 0)
        d = f.variable("i64", p.value)
        with f.forever() as passes:
            _exchange_runs(f, vector, rows, n - d.value, (p.value, r.value, d.value))
            passes.leave_if(q.value.eq(p.value))
            d.set(q.value - p.value)
            q.set(q.value >> 1)
            r.set(p.value)
        p.set(p.value >> 1)


def _exchange_runs(
    f: Writer, vector: str, rows: Value, stop: Value, which: tuple[Value, Value, Value]
) -> None:
    """One pass: runs of p elements, every other one from r on, up to `stop`."""
    p, r, d = which
    start = f.variable("i64", r)
    with f.forever() as runs:
        first = start.value
        runs.leave_if(first >= stop)
        with f.count(first, f.smaller(first + p, stop)) as i:
            low, high = rows.item(vector, i), rows.item(vector, i + d)
            x, y = (f.emit(f"load {vector}, ptr {a.text}, align 4", vector) for a in (low, high))
            ordered = f.emit(f"icmp ult {vector} {x.text}, {y.text}", "mask")
            flags = f"<{vector[1:].split()[0]} x i1> {ordered.text}"
            for place, (a, b) in ((low, (x, y)), (high, (y, x))):
                chosen = f"select {flags}, {vector} {a.text}, {vector} {b.text}"
                kept = f.emit(chosen, vector)
                f.line(f"store {vector} {kept.text}, ptr {place.text}, align 4")
        start.set(first + p + p)


def sort_groups(
    f: Writer, type_: str, n: Value, begin: Value, end: Value,
    read: Callable[[Value, Value], Value], scratch: Value,
    write: Callable[[Value, Value, Value], None],
) -> Value:  # fmt: skip
    """Sort whole groups of rows if they are short enough; the first row that is left.

    `read` gives an entry of a row and position, `write` takes one for a row and position.
    """
    count = lanes(type_)
    row = f.variable("i64", begin)
    with f.when(n <= LONGEST[type_]), f.forever() as groups:
        first = row.value
        groups.leave_if(first + count > end)
        with f.count(0, n) as i:
            for lane in range(count):
                scratch.store(read(first + lane, i), i * count + lane)
        f.call("void", f"sort_lanes_{type_}", scratch, n)
        with f.count(0, n) as i:
            for lane in range(count):
                write(first + lane, i, scratch.load(type_, i * count + lane))
        row.set(first + count)
    return row.value
