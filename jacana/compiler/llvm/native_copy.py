"""Native functions that move bytes: copy, fill, strided copy, as LLVM IR."""

from jacana.compiler.llvm.native_text import Module


def define(module: Module) -> None:
    """Write the functions into a module."""
    module.external("memcpy", "ptr", "ptr, ptr, i64")
    _define_copy(module)


def _define_copy(module: Module) -> None:
    """bufs [from, to]; params []; the range is in bytes."""
    with module.function("copy", "i64", "ptr", "ptr", "i64", "i64") as (f, p):
        bufs, _, begin, end = p
        source = bufs.load("ptr", 0).item("i8", begin)
        target = bufs.load("ptr", 1).item("i8", begin)
        f.call("ptr", "memcpy", target, source, end - begin)
        f.ret(0)
