"""Keeps a linear algebra library to one thread while our functions are inside it, as LLVM IR.

Its results depend on how many threads it uses; ours do not. Work is split over our own pool. The
library's setting comes back when the last of our calls has left, for whoever else uses it.
"""

from jacana.compiler.llvm.native_text import Module


def define(module: Module) -> None:
    """Write enter_library, leave_library and forget_library_calls into a module."""
    # The library's own functions: int get(void) and void set(int); null if it has none.
    module.shared_data("library_get_threads", "ptr", "null")
    module.shared_data("library_set_threads", "ptr", "null")
    module.data("library_lock", "i32")
    module.data("library_calls", "i32")
    module.data("library_threads", "i32", "1")
    with module.function("lock_library", "void", inside=True) as (f, _):
        with f.forever() as loop:
            loop.leave_if(f.symbol("library_lock").compare_and_swap(f.i32(0), f.i32(1)))
            f.call("void", "pause")
        f.ret()
    with module.function("unlock_library", "void", inside=True) as (f, _):
        f.symbol("library_lock").atomic_store(f.i32(0), "release")
        f.ret()
    with module.function("restore_library", "void", inside=True) as (f, _):
        saved, one = f.symbol("library_threads").load("i32"), f.i32(1)
        with f.when(saved.ne(one)):
            f.call("void", f.symbol("library_set_threads").load("ptr"), saved)
            f.symbol("library_threads").store(one)
        f.ret()
    _define_enter(module)
    with module.function("leave_library", "void") as (f, _):
        f.call("void", "lock_library")
        calls = f.symbol("library_calls").load("i32") - 1
        f.symbol("library_calls").store(calls)
        with f.when(calls.eq(0)):
            f.call("void", "restore_library")
        f.call("void", "unlock_library")
        f.ret()
    with module.function("forget_library_calls", "void", inside=True) as (f, _):
        # In a forked child: the threads that were inside the library are not here.
        f.symbol("library_lock").store(f.i32(0))
        f.symbol("library_calls").store(f.i32(0))
        f.call("void", "restore_library")
        f.ret()


def _define_enter(module: Module) -> None:
    with module.function("enter_library", "void") as (f, _):
        f.call("void", "lock_library")
        calls = f.symbol("library_calls").load("i32")
        get = f.symbol("library_get_threads").load("ptr")
        with f.when(calls.eq(0) & get.ne(0)):
            threads = f.call("i32", get)
            with f.when(threads.ne(1)):
                f.symbol("library_threads").store(threads)
                f.call("void", f.symbol("library_set_threads").load("ptr"), f.i32(1))
        f.symbol("library_calls").store(calls + 1)
        f.call("void", "unlock_library")
        f.ret()
