"""Native sorting of rows of unsigned integers, as LLVM IR: by values, by order, the first k.

An entry is a key, or a key with its position in the low 32 bits, which makes entries distinct and
every order of them stable. Many short rows are sorted together (native_sort_lanes), few are merged;
long ones are sorted by digits, lowest first.
"""

from jacana.compiler.llvm import native_sort_lanes, native_sort_wide
from jacana.compiler.llvm.native_sort_wide import below
from jacana.compiler.llvm.native_text import Module, Value, Writer

# Entries that are put in order one by one before runs are merged.
RUN = 16
# Rows up to SHORT are merged, those up to LONG sorted by digits of 8 bits, longer ones of 11 bits;
# for keys of 64 bits see native_sort_wide, whose ties may be merged from pieces of LONG entries.
SHORT, LONG = 192, 1 << 14
# Bits of an entry that hold its position.
POSITION = 32


def define(module: Module) -> None:
    """Write sort_values_<bits>, sort_order_<bits> and top_order_<bits> for 32 and 64 bits."""
    module.external("memcpy", "ptr", "ptr, ptr, i64")
    native_sort_lanes.define(module)
    native_sort_wide.declare(module)
    native_sort_wide.define_values(module)
    native_sort_wide.define_order(module)
    for bits in (32, 64, 96):
        _define_merge(module, bits)
    for bits in (32, 64):
        _define_sorter(module, bits, 0)
        _define_values(module, bits)
        _define_sorter(module, bits, POSITION)
        _define_order(module, bits)
        _define_top(module, bits)


def _entry(bits: int) -> str:
    """The integer type that holds so many bits."""
    return "i128" if bits > 64 else f"i{bits}"


def widened(f: Writer, value: Value, type_: str) -> Value:
    """The unsigned integer in a type at least as wide."""
    if value.type == type_:
        return value
    return f.emit(f"zext {value.type} {value.text} to {type_}", type_)


def digit(f: Writer, entry: Value, shift: int, bits: int) -> Value:
    """`bits` bits of an entry from `shift` on, as an index."""
    moved = entry >> shift if shift else entry
    return widened(f, (moved.cast("i32")) & ((1 << bits) - 1), "i64")


# --- sorting entries ---


def _define_sorter(module: Module, bits: int, first: int) -> None:
    """sorted_<bits>_<first>(a, b, n): sort n entries, in a; where they are then, a or b.

    Entries are keys of so many bits, which begin at bit `first`.
    """
    key = f"{bits}_{first}"
    kinds = ("ptr", "ptr", "i64")
    _define_radix(module, bits, first, 8)
    if bits == 32:
        _define_radix(module, bits, first, 11)
    else:
        with module.function(f"by_pieces_{key}", "ptr", *kinds, inside=True) as (f, p):
            _sort_short(f, bits, first, p)
            _sort_pieces(f, key, _entry(bits + first), p)
            f.ret(f.call("ptr", f"join_{bits + first}", *p, f.i64(LONG)))
    with module.function(f"sorted_{key}", "ptr", *kinds, inside=True) as (f, p):
        _sort_short(f, bits, first, p)
        long = {"64_0": "wide_values", "64_32": "by_pieces_64_32"}.get(key, f"radix11_{key}")
        f.ret(f.call("ptr", long, *p))


def _sort_short(f: Writer, bits: int, first: int, p: tuple[Value, ...]) -> None:
    """Sort up to LONG entries, and return where they are."""
    with f.when(p[2] <= SHORT):
        f.ret(f.call("ptr", f"merge_{bits + first}", *p))
    with f.when(p[2] <= LONG):
        f.ret(f.call("ptr", f"radix8_{bits}_{first}", *p))


def _sort_pieces(f: Writer, key: str, type_: str, p: tuple[Value, ...]) -> None:
    """Sort pieces of LONG entries, which stay in cache, each in its place in the first buffer."""
    source, other, n = p
    with f.count(0, n, LONG) as start:
        count = f.smaller(n - start, LONG)
        here, there = source.item(type_, start), other.item(type_, start)
        found = f.call("ptr", f"radix8_{key}", here, there, count)
        with f.when(found.ne(here)):
            f.call("ptr", "memcpy", here, found, count * (int(type_[1:]) // 8))


def _define_merge(module: Module, bits: int) -> None:
    """merge_<bits>(a, b, n) sorts short rows; join_<bits>(a, b, n, width) joins sorted runs."""
    type_ = _entry(bits)
    kinds = ("ptr", "ptr", "i64", "i64")
    with module.function(f"join_{bits}", "ptr", *kinds, inside=True) as (f, p):
        source, other, n, first = p
        here, there = f.variable("ptr", source), f.variable("ptr", other)
        width = f.variable("i64", first)
        with f.forever() as passes:
            step = width.value
            passes.leave_if(step >= n)
            a, b = here.value, there.value
            start = f.variable("i64", 0)
            with f.forever() as pairs:
                left = start.value
                pairs.leave_if(left >= n)
                middle = f.smaller(left + step, n)
                end = f.smaller(middle + step, n)
                with f.either((end - middle).eq(step)) as otherwise:
                    _merge_from_both_ends(f, type_, (a, b), left, step)
                    otherwise.begin()
                    _merge_runs(f, type_, (a, b), left, middle, end)
                start.set(end)
            here.set(b)
            there.set(a)
            width.set(step + step)
        f.ret(here.value)
    with module.function(f"merge_{bits}", "ptr", "ptr", "ptr", "i64", inside=True) as (f, p):
        source, other, n = p
        with f.count(0, n, RUN) as run:
            _insert(f, type_, source, run, f.smaller(run + RUN, n))
        f.ret(f.call("ptr", f"join_{bits}", source, other, n, f.i64(RUN)))


def _insert(f: Writer, type_: str, source: Value, start: Value, end: Value) -> None:
    """Sort entries start .. end in place by insertion."""
    with f.count(start + 1, end) as i:
        moving = source.load(type_, i)
        place = f.variable("i64", i)
        with f.forever() as loop:
            at = place.value
            loop.leave_if(at <= start)
            before = source.load(type_, at - 1)
            loop.leave_if(below(f, moving, before).eq(0))
            source.store(before, at)
            place.set(at - 1)
        source.store(moving, place.value)


def _merge_runs(
    f: Writer, type_: str, buffers: tuple[Value, Value], start: Value, middle: Value, end: Value
) -> None:
    source, target = buffers
    i, j = f.variable("i64", start), f.variable("i64", middle)
    k = f.variable("i64", start)
    with f.forever() as loop:
        left, right = i.value, j.value
        loop.leave_if((left >= middle) | (right >= end))
        x, y = source.load(type_, left), source.load(type_, right)
        takes_right = below(f, y, x)
        target.store(takes_right.choose(y, x), k.value)
        step = widened(f, takes_right, "i64")
        j.set(right + step)
        i.set(left + 1 - step)
        k.set(k.value + 1)
    size = int(type_[1:]) // 8
    for rest, stop in ((i, middle), (j, end)):
        at, count = rest.value, stop - rest.value
        f.call("ptr", "memcpy", target.item(type_, k.value), source.item(type_, at), count * size)
        k.set(k.value + count)


def _merge_from_both_ends(
    f: Writer, type_: str, buffers: tuple[Value, Value], start: Value, half: Value
) -> None:
    """Merge two runs of equal length, so that two independent chains of steps overlap."""
    source, target = buffers
    middle = start + half
    i, j = f.variable("i64", start), f.variable("i64", middle)
    low, high = f.variable("i64", middle - 1), f.variable("i64", middle + half - 1)
    with f.count(0, half) as k:
        left, right = i.value, j.value
        x, y = source.load(type_, left), source.load(type_, right)
        takes_right = below(f, y, x)
        target.store(takes_right.choose(y, x), start + k)
        step = widened(f, takes_right, "i64")
        j.set(right + step)
        i.set(left + 1 - step)
        left, right = low.value, high.value
        x, y = source.load(type_, left), source.load(type_, right)
        takes_left = below(f, y, x)
        target.store(takes_left.choose(x, y), middle + half - 1 - k)
        step = widened(f, takes_left, "i64")
        low.set(left - step)
        high.set(right - 1 + step)


def _define_radix(module: Module, bits: int, first: int, width: int) -> None:
    """Sort by digits of `width` bits, lowest first; digits that are all equal are skipped."""
    type_, buckets = _entry(first + bits), 1 << width
    shifts = list(range(first, first + bits, width))
    name = f"radix{width}_{bits}_{first}"
    with module.function(name, "ptr", "ptr", "ptr", "i64", inside=True) as (f, p):
        source, other, n = p
        counts = f.array("i32", buckets * len(shifts))
        with f.count(0, buckets * len(shifts)) as i:
            counts.store(f.i32(0), i)
        with f.count(0, n) as i:
            entry = source.load(type_, i)
            for number, shift in enumerate(shifts):
                place = digit(f, entry, shift, width) + number * buckets
                counts.store(counts.load("i32", place) + 1, place)
        here, there = f.variable("ptr", source), f.variable("ptr", other)
        for number, shift in enumerate(shifts):
            table = counts.item("i32", number * buckets)
            a, b = here.value, there.value
            first_digit = digit(f, a.load(type_), shift, width)
            with f.when(widened(f, table.load("i32", first_digit), "i64").ne(n)):
                _scatter(f, type_, (a, b), n, table, (shift, width))
                here.set(b)
                there.set(a)
        f.ret(here.value)


def _scatter(
    f: Writer, type_: str, buffers: tuple[Value, Value], n: Value, table: Value,
    which: tuple[int, int],
) -> None:  # fmt: skip
    """Entries from one buffer to the other in the order of one digit; `table` has its counts."""
    source, target = buffers
    shift, width = which
    total = f.variable("i32", 0)
    with f.count(0, 1 << width) as i:
        count = table.load("i32", i)
        table.store(total.value, i)
        total.set(total.value + count)
    with f.count(0, n) as i:
        entry = source.load(type_, i)
        place = digit(f, entry, shift, width)
        at = table.load("i32", place)
        table.store(at + 1, place)
        target.store(entry, widened(f, at, "i64"))


# --- rows ---


def _define_values(module: Module, bits: int) -> None:
    """bufs [keys, out, scratch]; params [n, zero]; a range of rows of n keys: out is sorted.

    Keys `zero` and `zero + 1` count as equal, so they keep their order; -1 if there are none such.
    """
    type_ = _entry(bits)
    with module.function(f"sort_values_{bits}", "i64", "ptr", "ptr", "i64", "i64") as (f, p):
        bufs, params, begin, end = p
        n, zero = params.load("i64", 0), params.load("i64", 1)
        scratch = bufs.load("ptr", 2).item(type_, begin * n)
        all_keys, all_out = bufs.load("ptr", 0), bufs.load("ptr", 1)
        rest = native_sort_lanes.sort_groups(
            f, type_, n, begin, end,
            lambda row, i: all_keys.load(type_, row * n + i), scratch,
            lambda row, i, key: all_out.store(key, row * n + i),
        )  # fmt: skip
        size = n * (bits // 8)
        with f.count(rest, end) as row:
            keys, out = all_keys.item(type_, row * n), all_out.item(type_, row * n)
            f.call("ptr", "memcpy", out, keys, size)
            found = f.call("ptr", f"sorted_{bits}_0", out, scratch, n)
            with f.when(found.ne(out)):
                f.call("ptr", "memcpy", out, found, size)
        with f.when(zero.ne(-1)), f.count(begin, end) as row:
            keys, out = all_keys.item(type_, row * n), all_out.item(type_, row * n)
            _restore_zeros(f, keys, out, n, zero.cast(type_) if bits < 64 else zero)
        f.ret(0)


def _restore_zeros(f: Writer, keys: Value, out: Value, n: Value, zero: Value) -> None:
    """Zeros of both signs back in the order in which the keys have them."""
    first = _position(f, out, n, zero)
    last = _position(f, out, n, zero + 2)
    with f.when((last - first) > 1), f.when(out.load(zero.type, first).ne(zero + 1)):
        place = f.variable("i64", first)
        with f.count(0, n) as i:
            key = keys.load(zero.type, i)
            with f.when(below(f, key - zero, f.value(2, zero.type))):
                out.store(key, place.value)
                place.set(place.value + 1)


def _position(f: Writer, out: Value, n: Value, key: Value) -> Value:
    """The position of the first of the sorted keys that is not below `key`."""
    low, high = f.variable("i64", 0), f.variable("i64", n)
    with f.forever() as loop:
        a, b = low.value, high.value
        loop.leave_if(a >= b)
        middle = (a + b) >> 1
        with f.either(below(f, out.load(key.type, middle), key)) as otherwise:
            low.set(middle + 1)
            otherwise.begin()
            high.set(middle)
    return low.value


def entry_of(f: Writer, key: Value, position: Value, type_: str) -> Value:
    return (widened(f, key, type_) << POSITION) | widened(f, position, type_)


def _write_order(f: Writer, type_: str, entries: Value, out: Value, n: Value) -> None:
    with f.count(0, n) as i:
        out.store(entries.load(type_, i).cast("i32"), i)


def _define_order(module: Module, bits: int) -> None:
    """bufs [keys, order, scratch, scratch]; params [n]; a range of rows: positions in order."""
    key_type = _entry(bits)
    type_ = _entry(bits + POSITION)
    with module.function(f"order_{bits}", "void", *["ptr"] * 4, "i64", inside=True) as (f, p):
        keys, order, a, b, n = p
        if bits == 64:
            with f.when(n > LONG), f.when(f.call("i64", "wide_order", *p).ne(0)):
                f.ret()
        with f.count(0, n) as i:
            a.store(entry_of(f, keys.load(key_type, i), i, type_), i)
        found = f.call("ptr", f"sorted_{bits}_{POSITION}", a, b, n)
        _write_order(f, type_, found, order, n)
    with module.function(f"sort_order_{bits}", "i64", "ptr", "ptr", "i64", "i64") as (f, p):
        bufs, params, begin, end = p
        n = params.load("i64")
        scratch = [bufs.load("ptr", k).item(type_, begin * n) for k in (2, 3)]
        all_keys, all_order = bufs.load("ptr", 0), bufs.load("ptr", 1)
        rest = begin
        if bits == 32:
            rest = native_sort_lanes.sort_groups(
                f, type_, n, begin, end,
                lambda row, i: entry_of(f, all_keys.load(key_type, row * n + i), i, type_),
                scratch[0],
                lambda row, i, entry: all_order.store(entry.cast("i32"), row * n + i),
            )  # fmt: skip
        with f.count(rest, end) as row:
            keys, order = all_keys.item(key_type, row * n), all_order.item("i32", row * n)
            f.call("void", f"order_{bits}", keys, order, *scratch, n)
        f.ret(0)


def _define_top(module: Module, bits: int) -> None:
    """bufs [keys, order, scratch, scratch]; params [n, k]; rows: positions of the k least keys.

    The least so far are a heap whose root is the greatest of them.
    """
    key_type, type_ = _entry(bits), _entry(bits + POSITION)
    with module.function(f"top_order_{bits}", "i64", "ptr", "ptr", "i64", "i64") as (f, p):
        bufs, params, begin, end = p
        n, k = params.load("i64", 0), params.load("i64", 1)
        heap = bufs.load("ptr", 2).item(type_, begin * k)
        other = bufs.load("ptr", 3).item(type_, begin * k)
        with f.count(begin, end) as row:
            keys = bufs.load("ptr", 0).item(key_type, row * n)
            with f.count(0, k) as i:
                heap.store(f.value(-1, type_), i)
            with f.count(0, n) as i:
                entry = entry_of(f, keys.load(key_type, i), i, type_)
                with f.when(below(f, entry, heap.load(type_))):
                    _sift(f, type_, heap, k, entry)
            # By digits of keys alone, entries out of order of position would stay so.
            found = f.call("ptr", f"merge_{bits + POSITION}", heap, other, k)
            _write_order(f, type_, found, bufs.load("ptr", 1).item("i32", row * k), k)
        f.ret(0)


def _sift(f: Writer, type_: str, heap: Value, k: Value, entry: Value) -> None:
    """Replace the root of the heap by an entry that is less."""
    place = f.variable("i64", 0)
    with f.forever() as loop:
        at = place.value
        left = at + at + 1
        loop.leave_if(left >= k)
        right = f.smaller(left + 1, k - 1)
        x, y = heap.load(type_, left), heap.load(type_, right)
        goes_right = below(f, x, y)
        greater = goes_right.choose(y, x)
        loop.leave_if(below(f, entry, greater).eq(0))
        heap.store(greater, at)
        place.set(goes_right.choose(right, left))
    heap.store(entry, place.value)
