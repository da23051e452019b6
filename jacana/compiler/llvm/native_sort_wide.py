"""Long rows of 64-bit keys: by the upper 32 bits of their distance from the least, then the rest.

The distance begins with the highest bit that it has anywhere, so most numbers differ there; ties
are short runs, put in order one by one, or else sorted as rows of their own.
"""

from jacana.compiler.llvm.native_text import Module, Value, Writer

# Ties up to this length are put in order by insertion.
SHORT_TIES = 32


def declare(module: Module) -> None:
    module.external("llvm.ctlz.i64", "i64", "i64, i1")


def below(f: Writer, left: Value, right: Value) -> Value:
    """left < right, unsigned."""
    return f.emit(f"icmp ult {left.type} {left.text}, {right.text}", "i1")


def bounds(f: Writer, keys: Value, n: Value) -> tuple[Value, Value]:
    """The least key, and how far above it the greatest one is."""
    least, greatest = f.variable("i64", -1), f.variable("i64", 0)
    with f.count(0, n) as i:
        key = keys.load("i64", i)
        least.set(below(f, key, least.value).choose(key, least.value))
        greatest.set(below(f, greatest.value, key).choose(key, greatest.value))
    return least.value, greatest.value - least.value


def leading_zeros(f: Writer, bits: Value) -> Value:
    return f.emit(f"call i64 @llvm.ctlz.i64(i64 {bits.text}, i1 false)", "i64")


def shifted_left(f: Writer, value: Value, by: Value) -> Value:
    return f.emit(f"shl i64 {value.text}, {by.text}", "i64")


def shifted_right(f: Writer, value: Value, by: Value) -> Value:
    return f.emit(f"lshr i64 {value.text}, {by.text}", "i64")


def end_of_ties(f: Writer, entries: Value, start: Value, n: Value) -> Value:
    """The position after the entries that share their high half with the one at `start`."""
    high = entries.load("i64", start) >> 32
    end = f.variable("i64", start + 1)
    with f.forever() as loop:
        at = end.value
        loop.leave_if(at >= n)
        loop.leave_if((entries.load("i64", at) >> 32).ne(high))
        end.set(at + 1)
    return end.value


def define_values(module: Module) -> None:
    """wide_values(a, b, n): sort n keys in a; where they are then."""
    with module.function("wide_values", "ptr", "ptr", "ptr", "i64", inside=True) as (f, p):
        source, other, n = p
        least, span = bounds(f, source, n)
        with f.when(span.eq(0)):
            f.ret(source)
        shift = leading_zeros(f, span)
        with f.count(0, n) as i:
            source.store(shifted_left(f, source.load("i64", i) - least, shift), i)
        found = f.call("ptr", "radix11_32_32", source, other, n)
        unused = found.eq(source).choose(other, source)
        start = f.variable("i64", 0)
        with f.forever() as runs:
            first = start.value
            runs.leave_if(first >= n)
            end = end_of_ties(f, found, first, n)
            count = end - first
            with f.either(count <= SHORT_TIES) as otherwise:
                _insert_keys(f, found, first, end)
                otherwise.begin()
                place = found.item("i64", first)
                sorted_ = f.call(
                    "ptr", "by_pieces_64_0", place, unused.item("i64", first), count
                )  # fmt: skip
                with f.when(sorted_.ne(place)):
                    f.call("ptr", "memcpy", place, sorted_, count * 8)
            start.set(end)
        with f.count(0, n) as i:
            found.store(shifted_right(f, found.load("i64", i), shift) + least, i)
        f.ret(found)


def _insert_keys(f: Writer, keys: Value, start: Value, end: Value) -> None:
    with f.count(start + 1, end) as i:
        moving = keys.load("i64", i)
        place = f.variable("i64", i)
        with f.forever() as loop:
            at = place.value
            loop.leave_if(at <= start)
            before = keys.load("i64", at - 1)
            loop.leave_if(below(f, moving, before).eq(0))
            keys.store(before, at)
            place.set(at - 1)
        keys.store(moving, place.value)


def define_order(module: Module) -> None:
    """wide_order(keys, order, a, b, n): order of n keys; a and b hold n entries of 16 bytes.

    0 if ties are too many for the memory there is: then nothing is done.
    """
    kinds = ("ptr", "ptr", "ptr", "ptr", "i64")
    with module.function("wide_order", "i64", *kinds, inside=True) as (f, p):
        keys, order, a, b, n = p
        least, span = bounds(f, keys, n)
        shift = span.eq(0).choose(f.i64(0), leading_zeros(f, span))
        with f.count(0, n) as i:
            high = shifted_left(f, keys.load("i64", i) - least, shift) >> 32
            a.store((high << 32) | i, i)
        found = f.call("ptr", "radix11_32_32", a, b, n)
        with f.count(0, n) as i:
            order.store(found.load("i64", i).cast("i32"), i)
        with f.when(shift >= 32):
            f.ret(1)
        unused = found.eq(a).choose(b, a)
        rest = found.item("i64", n)
        start = f.variable("i64", 0)
        with f.forever() as runs:
            first = start.value
            runs.leave_if(first >= n)
            end = end_of_ties(f, found, first, n)
            count = end - first
            with f.either(count <= SHORT_TIES) as otherwise:
                _insert_positions(f, keys, order, first, end)
                otherwise.begin()
                with f.when((count + count + 2) > n):
                    f.ret(0)
                aligned = f.emit(f"ptrtoint ptr {rest.text} to i64", "i64") + 15
                space = f.emit(f"inttoptr i64 {(aligned & -16).text} to ptr", "ptr")
                _sort_ties(f, (keys, order), (space, unused), first, count)
            start.set(end)
        f.ret(1)


def _insert_positions(f: Writer, keys: Value, order: Value, start: Value, end: Value) -> None:
    """Positions start .. end of the order by their keys; equal ones are in order already."""
    with f.count(start + 1, end) as i:
        moving = order.load("i32", i)
        key = keys.load("i64", moving.cast("i64"))
        place = f.variable("i64", i)
        with f.forever() as loop:
            at = place.value
            loop.leave_if(at <= start)
            before = order.load("i32", at - 1)
            loop.leave_if(below(f, key, keys.load("i64", before.cast("i64"))).eq(0))
            order.store(before, at)
            place.set(at - 1)
        order.store(moving, place.value)


def _sort_ties(
    f: Writer, given: tuple[Value, Value], scratch: tuple[Value, Value], first: Value, count: Value
) -> None:
    """The same for many ties, through entries of 16 bytes."""
    (keys, order), (a, b) = given, scratch
    with f.count(0, count) as i:
        position = order.load("i32", first + i).cast("i64")
        key = keys.load("i64", position)
        wide = f.emit(f"zext i64 {key.text} to i128", "i128")
        low = f.emit(f"zext i64 {position.text} to i128", "i128")
        a.store((wide << 32) | low, i)
    found = f.call("ptr", "by_pieces_64_32", a, b, count)
    with f.count(0, count) as i:
        order.store(found.load("i128", i).cast("i32"), first + i)
