"""Native functions that move elements: copy, fill, and planes for what calls them, as LLVM IR."""

from jacana.compiler.llvm.native_layout import SIZES
from jacana.compiler.llvm.native_text import Module, Value, Writer

# Elements along each side of the squares that a transposition works through in cache.
_SIDE = 32


def define(module: Module) -> None:
    """Write copy and fill_<size> into a module."""
    module.external("memcpy", "ptr", "ptr, ptr, i64")
    _define_copy(module)
    for size in SIZES:
        _define_fill(module, size)


def _define_copy(module: Module) -> None:
    """bufs [from, to]; no params; the range is in bytes."""
    with module.function("copy", "i64", "ptr", "ptr", "i64", "i64") as (f, p):
        bufs, _, begin, end = p
        source = bufs.load("ptr", 0).item("i8", begin)
        target = bufs.load("ptr", 1).item("i8", begin)
        f.call("ptr", "memcpy", target, source, end - begin)
        f.ret(0)


def _define_fill(module: Module, size: int) -> None:
    """bufs [to]; params: the element's bits, in two words if it has 16 bytes; range of elements."""
    type_ = f"i{8 * min(size, 8)}"
    with module.function(f"fill_{size}", "i64", "ptr", "ptr", "i64", "i64") as (f, p):
        bufs, params, begin, end = p
        target = bufs.load("ptr")
        words = [params.load(type_), params.load(type_, 1)] if size == 16 else [params.load(type_)]
        with f.count(begin, end) as i:
            for part, word in enumerate(words):
                target.store(word, i * len(words) + part)
        f.ret(0)


def define_plane(module: Module, size: int) -> None:
    """Write plane_<size>: a copy of two axes, in squares so that both sides stay in cache."""
    type_ = f"i{8 * size}"
    kinds = ("ptr", "ptr", *["i64"] * 6)
    with module.function(f"plane_{size}", "void", *kinds, inside=True) as (f, p):
        source, target, rows, columns, source_row, source_column, target_row, target_column = p
        with f.when(source_column.eq(1) & target_column.eq(1)):
            with f.count(0, rows) as i:
                to, start = target.item(type_, i * target_row), source.item(type_, i * source_row)
                f.call("ptr", "memcpy", to, start, columns * size)
            f.ret()
        with f.count(0, rows, _SIDE) as top, f.count(0, columns, _SIDE) as left:
            bottom, right = f.smaller(rows, top + _SIDE), f.smaller(columns, left + _SIDE)
            with f.count(top, bottom) as i:
                from_row = source.item(type_, i * source_row)
                to_row = target.item(type_, i * target_row)
                with f.either(target_column.eq(1)) as otherwise:
                    _copy_line(f, type_, from_row, to_row, left, right, source_column, f.i64(1))
                    otherwise.begin()
                    steps = (source_column, target_column)
                    _copy_line(f, type_, from_row, to_row, left, right, *steps)
        f.ret()


def _copy_line(
    f: Writer,
    type_: str,
    source: Value,
    target: Value,
    begin: Value,
    end: Value,
    source_step: Value,
    target_step: Value,
) -> None:
    with f.count(begin, end) as j:
        element = source.item(type_, j * source_step)
        value = f.emit(f"load {type_}, ptr {element.text}, align {_align(type_)}", type_)
        place = target.item(type_, j * target_step)
        f.line(f"store {type_} {value.text}, ptr {place.text}, align {_align(type_)}")


def _align(type_: str) -> int:
    """Alignment of an element; complex128 has that of a double."""
    return min(int(type_[1:]) // 8, 8)
