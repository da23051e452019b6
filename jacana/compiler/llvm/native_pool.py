"""The memory pool and the type of buffers, as LLVM IR.

Free blocks of each size class form a list through their own first words. A buffer is a Python
object of a type that `runtime.buffer` makes: [head, address, nbytes, size class]. A lock, which is
never waited for long, makes all this independent of the GIL.
"""

from jacana.compiler.llvm.native_layout import CLASSES, LARGEST
from jacana.compiler.llvm.native_text import Module, Value, Writer

_SMALLEST = 64


def define(module: Module, object_head: int, free: str) -> None:
    """Write the pool into a module; `free` is the C function that takes a block back."""
    module.data("pool_lock", "i32", "0", align=64)
    module.data("free_blocks", f"[{CLASSES} x ptr]")
    module.shared_data("pool_kept", "i64", "0")
    module.shared_data("pool_reserved", "i64", "0")
    module.shared_data("pool_kept_limit", "i64", "0")
    module.shared_data("buffer_type", "ptr", "null")
    module.shared_data("pool_refill", "ptr", "null")
    module.external(free, "void", "ptr")
    module.external("PyNumber_AsSsize_t", "i64", "ptr, ptr")
    module.external("PyObject_Malloc", "ptr", "i64")
    module.external("PyObject_Free", "void", "ptr")
    module.external("PyObject_Init", "ptr", "ptr, ptr")
    module.external("PyErr_NoMemory", "ptr", "")
    module.raw("declare i64 @llvm.ctlz.i64(i64, i1)")
    _define_lock(module)
    _define_classes(module)
    _define_trim(module, free)
    _define_take_and_give(module)
    _define_buffer(module, object_head)
    _define_allocate(module)


def _define_lock(module: Module) -> None:
    with module.function("lock_pool", "void", inside=True) as (f, _):
        with f.forever() as loop:
            loop.leave_if(f.symbol("pool_lock").compare_and_swap(f.i32(0), f.i32(1)))
            f.call("void", "pause")
        f.ret()
    with module.function("unlock_pool", "void", inside=True) as (f, _):
        f.symbol("pool_lock").atomic_store(f.i32(0), "release")
        f.ret()


def _define_classes(module: Module) -> None:
    """Four classes of multiples of 64, then four to each doubling: 5, 6, 7, 8 times 2 ** k."""
    with module.function("class_of", "i64", "i64", inside=True) as (f, (nbytes,)):
        with f.when(nbytes <= 4 * _SMALLEST):
            small = (nbytes + (_SMALLEST - 1)) >> 6
            f.ret((small.eq(0)).choose(f.i64(0), small - 1))
        last = nbytes - 1
        zeros = f.emit(f"call i64 @llvm.ctlz.i64(i64 {last.text}, i1 true)", "i64")
        bits = f.i64(64) - zeros
        f.ret((bits - 9) * 4 + (last >> (bits - 3)))
    with module.function("class_size", "i64", "i64") as (f, (number,)):
        with f.when(number < 4):
            f.ret((number + 1) * _SMALLEST)
        above = number - 4
        f.ret(((above & 3) + 5) << ((above >> 2) + 6))


def _define_trim(module: Module, free: str) -> None:
    """Give free blocks back to the system, largest first, until `target` bytes are kept."""
    with module.function("trim_locked", "void", "i64", inside=True) as (f, (target,)):
        kept, reserved = f.symbol("pool_kept"), f.symbol("pool_reserved")
        with f.count(0, CLASSES) as i:
            number = f.i64(CLASSES - 1) - i
            head = f.symbol("free_blocks").item("ptr", number)
            with f.forever() as loop:
                block = head.load("ptr")
                loop.leave_if(block.eq(0) | (kept.load("i64") <= target))
                size = f.call("i64", "class_size", number)
                head.store(block.load("ptr"))
                kept.store(kept.load("i64") - size)
                reserved.store(reserved.load("i64") - size)
                f.call("void", free, block)
        f.ret()
    with module.function("trim_pool", "i64", "i64") as (f, (target,)):
        f.call("void", "lock_pool")
        f.call("void", "trim_locked", target)
        f.call("void", "unlock_pool")
        f.ret(0)
    with module.function("reserve", "i64", "i64") as (f, (nbytes,)):
        f.call("void", "lock_pool")
        total = f.symbol("pool_reserved").load("i64") + nbytes
        f.symbol("pool_reserved").store(total)
        f.call("void", "unlock_pool")
        f.ret(total)


def _define_take_and_give(module: Module) -> None:
    """A free block of a class, or null; and its return."""
    with module.function("take_block", "ptr", "i64") as (f, (number,)):
        head, kept = f.symbol("free_blocks").item("ptr", number), f.symbol("pool_kept")
        size = f.call("i64", "class_size", number)
        f.call("void", "lock_pool")
        block = head.load("ptr")
        with f.when(block.ne(0)):
            head.store(block.load("ptr"))
            kept.store(kept.load("i64") - size)
        f.call("void", "unlock_pool")
        f.ret(block)
    with module.function("give_block", "void", "ptr", "i64") as (f, (block, number)):
        head, kept = f.symbol("free_blocks").item("ptr", number), f.symbol("pool_kept")
        size = f.call("i64", "class_size", number)
        f.call("void", "lock_pool")
        block.store(head.load("ptr"))
        head.store(block)
        total = kept.load("i64") + size
        kept.store(total)
        limit = f.symbol("pool_kept_limit").load("i64")
        with f.when(total > limit):
            # Half, so that a program at the limit does not pay for a trim at every call.
            f.call("void", "trim_locked", limit >> 1)
        f.call("void", "unlock_pool")
        f.ret()


def _fields(this: Value, object_head: int) -> tuple[Value, Value, Value]:
    """Where a buffer has its address, its number of bytes and its size class."""
    first, second, third = (this.item("i8", object_head + 8 * i) for i in range(3))
    return first, second, third


def _define_buffer(module: Module, object_head: int) -> None:
    with module.function("make_buffer", "ptr", "ptr", "i64", "i64") as (f, p):
        block, nbytes, number = p
        this = f.call("ptr", "PyObject_Malloc", f.i64(object_head + 24))
        with f.when(this.eq(0)):
            f.call("void", "give_block", block, number)
            f.ret(f.call("ptr", "PyErr_NoMemory"))
        f.call("ptr", "PyObject_Init", this, f.symbol("buffer_type").load("ptr"))
        for place, value in zip(_fields(this, object_head), (block, nbytes, number)):
            place.store(value)
        f.ret(this)
    with module.function("drop_buffer", "void", "ptr") as (f, (this,)):
        address, _, number = _fields(this, object_head)
        kind = this.item("i8", object_head - 8).load("ptr")
        f.call("void", "give_block", address.load("ptr"), number.load("i64"))
        f.call("void", "PyObject_Free", this)
        f.call("void", "Py_DecRef", kind)
        f.ret()


def _refill(f: Writer, argument: Value) -> Value:
    """A block from the system by the Python function for it; leaves `allocate` if it raises."""
    refill, null = f.symbol("pool_refill").load("ptr"), f.value(0, "ptr")
    call = (refill, argument, null)
    number = f.call("ptr", "PyObject_CallFunctionObjArgs", *call, signature="ptr (ptr, ...)")
    with f.when(number.eq(0)):
        f.ret(0, "ptr")
    block = f.call("ptr", "PyLong_AsVoidPtr", number)
    f.call("void", "Py_DecRef", number)
    with f.when(block.eq(0)):
        f.ret(f.call("ptr", "PyErr_NoMemory"))
    return block


def _define_allocate(module: Module) -> None:
    """A Python function of one argument, the number of bytes: a buffer."""
    with module.function("allocate", "ptr", "ptr", "ptr") as (f, (_, argument)):
        nbytes = f.call("i64", "PyNumber_AsSsize_t", argument, f.value(0, "ptr"))
        with f.when((nbytes < 0) | (nbytes > LARGEST)):
            with f.when(f.call("ptr", "PyErr_Occurred").eq(0)):
                _refill(f, argument)
                f.ret(f.call("ptr", "PyErr_NoMemory"))
            f.ret(0, "ptr")
        number = f.call("i64", "class_of", nbytes)
        block = f.variable("ptr", f.call("ptr", "take_block", number))
        with f.when(block.value.eq(0)):
            block.set(_refill(f, argument))
        f.ret(f.call("ptr", "make_buffer", block.value, nbytes, number))
