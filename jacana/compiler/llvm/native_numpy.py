"""Arrays and NumPy, as LLVM IR: the buffer protocol of Arrays, and Arrays from NumPy's.

What is in memory is described once for each aval (`native_layout`), in bytes that its slot `memory`
holds. The fields of NumPy's arrays are read where its binary interface has them.
"""

from jacana.compiler.llvm.native_array import Fields, slot
from jacana.compiler.llvm.native_layout import (
    ARRAY_ADDRESS,
    ARRAY_AVAL,
    FROM_NUMPY,
    FROM_WIDER,
    MEMORY_BYTES,
    MEMORY_CLASS,
    MEMORY_COUNT,
    MEMORY_DTYPE,
    MEMORY_FORMAT,
    MEMORY_ITEM,
    MEMORY_KIND,
    MEMORY_RANK,
    MEMORY_SHAPE,
    MEMORY_WIDE,
    NARROW_FLOAT,
)
from jacana.compiler.llvm.native_text import Module, Value, Writer

# Words of a Py_buffer; the third half-word pair is `readonly` and `ndim`.
_BUF, _OBJ, _LEN, _ITEMSIZE, _FLAGS, _FORMAT, _SHAPE, _STRIDES, _SUBOFFSETS, _INTERNAL = range(10)
_READ_ONLY = 1
_WRITABLE, _WITH_FORMAT, _WITH_SHAPE, _WITH_STRIDES, _FORTRAN = 0x1, 0x4, 0x8, 0x10, 0x40
# Words of a NumPy array after its head, and the flags of one in row-major order.
NUMPY_DATA, NUMPY_RANK, NUMPY_SHAPE, NUMPY_DTYPE, NUMPY_FLAGS = 0, 1, 2, 5, 6
NUMPY_PLAIN = 0x101


def define(module: Module, object_head: int) -> None:
    """Write `get_buffer` and `array_from_numpy` into a module."""
    module.external("PyBytes_AsString", "ptr", "ptr")
    for name in ("python_buffer_error", "buffer_refused", "describe_memory", "numpy_array"):
        module.shared_data(name, "ptr", "null")
    module.shared_data("slot_memory", "i64", "0")
    module.raw("declare float @llvm.fabs.f32(float)")
    module.raw("declare double @llvm.fabs.f64(double)")
    fields = Fields(object_head)
    _define_memory(module)
    _define_get_buffer(module, fields)
    _define_narrow(module)
    _define_from_numpy(module, fields)


def _define_memory(module: Module) -> None:
    """The words that describe an aval, null if there are none yet."""
    with module.function("memory_of", "ptr", "ptr", inside=True) as (f, (aval,)):
        held = slot(f, aval, "memory").load("ptr")
        with f.when(held.eq(f.symbol("python_none").load("ptr"))):
            f.ret(0, "ptr")
        f.ret(f.call("ptr", "PyBytes_AsString", held))


def _define_get_buffer(module: Module, fields: Fields) -> None:
    """Lend an Array's memory to be read; its buffer owns it from then on."""
    with module.function("get_buffer", "i32", "ptr", "ptr", "i32") as (f, (this, view, flags)):
        null = f.value(0, "ptr")
        view.store(null, _OBJ)
        aval = fields.word(this, ARRAY_AVAL).load("ptr")
        words = f.variable("ptr", f.call("ptr", "memory_of", aval))
        address = fields.word(this, ARRAY_ADDRESS)
        with f.when(words.value.eq(0) | address.load("ptr").eq(0)):
            call, signature = (
                (f.symbol("describe_memory").load("ptr"), this, null),
                "ptr (ptr, ...)",
            )
            made = f.call("ptr", "PyObject_CallFunctionObjArgs", *call, signature=signature)
            with f.when(made.eq(0)):
                f.ret(-1, "i32")
            f.call("void", "Py_DecRef", made)
            words.set(f.call("ptr", "memory_of", aval))
        found = words.value
        rank, wanted = found.load("i64", MEMORY_RANK), flags.cast("i64")
        is_turned = (wanted & _FORTRAN).ne(0) & (rank > 1)
        with f.when(
            found.load("i64", MEMORY_FORMAT).eq(0) | is_turned | (wanted & _WRITABLE).ne(0)
        ):
            error, text = f.symbol("python_buffer_error"), f.symbol("buffer_refused")
            f.call("void", "PyErr_SetObject", error.load("ptr"), text.load("ptr"))
            f.ret(-1, "i32")
        owner = f.call("ptr", "own_buffer", this)
        with f.when(owner.eq(0)):
            f.ret(-1, "i32")
        shape = found.item("i64", MEMORY_SHAPE)
        view.store(address.load("ptr"), _BUF)
        view.store(owner, _OBJ)
        view.store(found.load("i64", MEMORY_BYTES), _LEN)
        view.store(found.load("i64", MEMORY_ITEM), _ITEMSIZE)
        view.store((rank << 32) | _READ_ONLY, _FLAGS)
        view.store(null, _SUBOFFSETS)
        view.store(null, _INTERNAL)
        for flag, place, value in (
            (_WITH_FORMAT, _FORMAT, found.item("i64", MEMORY_FORMAT)),
            (_WITH_SHAPE, _SHAPE, shape),
            (_WITH_STRIDES, _STRIDES, shape.item("i64", rank)),
        ):
            view.store((wanted & flag).ne(0).choose(value, null), place)
        f.ret(0, "i32")


def _define_narrow(module: Module) -> None:
    """Write numbers of 64 bits in 32; 0 where a number becomes an infinity that was none."""
    kinds = ("ptr", "ptr", "i64", "i64")
    with module.function("narrow", "i64", *kinds, inside=True) as (
        f,
        (source, target, count, kind),
    ):
        with f.when(kind.eq(NARROW_FLOAT)):
            with f.count(0, count) as i:
                number = source.load("double", i)
                made = f.emit(f"fptrunc double {number.text} to float", "float")
                target.store(made, i)
                with f.when(_is_infinite(f, made)), f.when(_is_finite(f, number)):
                    f.ret(0)
            f.ret(1)
        with f.count(0, count) as i:
            target.store(source.load("i64", i).cast("i32"), i)
        f.ret(1)


def _is_infinite(f: Writer, x: Value) -> Value:
    size = f.call("float", "llvm.fabs.f32", x)
    return f.emit(f"fcmp oeq float {size.text}, 0x7FF0000000000000", "i1")


def _is_finite(f: Writer, x: Value) -> Value:
    size = f.call("double", "llvm.fabs.f64", x)
    return f.emit(f"fcmp olt double {size.text}, 0x7FF0000000000000", "i1")


def _define_from_numpy(module: Module, fields: Fields) -> None:
    """An Array with the contents of a NumPy array, if that is as due; else null, without error."""
    with module.function("is_numpy_of", "i64", "ptr", "ptr", "i64", inside=True) as (f, p):
        given, words, dtype = p
        with f.when(fields.word(given, NUMPY_DTYPE).load("i64").ne(dtype) | dtype.eq(0)):
            f.ret(0)
        flags = fields.word(given, NUMPY_FLAGS).load("i32").cast("i64")
        rank = words.load("i64", MEMORY_RANK)
        same = (flags & NUMPY_PLAIN).eq(NUMPY_PLAIN)
        same &= fields.word(given, NUMPY_RANK).load("i32").cast("i64").eq(rank)
        with f.when(same.eq(0)):
            f.ret(0)
        sizes, wanted = fields.word(given, NUMPY_SHAPE).load("ptr"), words.item("i64", MEMORY_SHAPE)
        with f.count(0, rank) as i, f.when(sizes.load("i64", i).ne(wanted.load("i64", i))):
            f.ret(0)
        f.ret(1)
    with module.function("array_from_numpy", "ptr", "ptr", "i64", inside=True) as (f, (given, due)):
        mark = due & 15
        is_wide = mark.eq(FROM_WIDER)
        with f.when(is_wide.eq(0) & mark.ne(FROM_NUMPY)):
            f.ret(0, "ptr")
        aval = f.emit(f"inttoptr i64 {(due - mark).text} to ptr", "ptr")
        words = f.call("ptr", "memory_of", aval)
        with f.when(words.eq(0)):
            f.ret(0, "ptr")
        dtype = is_wide.choose(words.load("i64", MEMORY_WIDE), words.load("i64", MEMORY_DTYPE))
        with f.when(f.call("i64", "is_numpy_of", given, words, dtype).eq(0)):
            f.ret(0, "ptr")
        nbytes, number = words.load("i64", MEMORY_BYTES), words.load("i64", MEMORY_CLASS)
        block = f.call("ptr", "obtain_block", nbytes, number)
        with f.when(block.eq(0)):
            f.call("void", "PyErr_Clear")
            f.ret(0, "ptr")
        data, written = fields.word(given, NUMPY_DATA).load("ptr"), f.variable("i64", 1)
        with f.either(is_wide) as otherwise:
            count, kind = words.load("i64", MEMORY_COUNT), words.load("i64", MEMORY_KIND)
            written.set(f.call("i64", "narrow", data, block, count, kind))
            otherwise.begin()
            f.call("ptr", "memcpy", block, data, nbytes)
        made = f.variable("ptr", 0)
        with f.when(written.value.ne(0)):
            owner = f.emit(f"inttoptr i64 {(number * 2 + 1).text} to ptr", "ptr")
            made.set(f.call("ptr", "make_array", aval, block, owner))
        with f.when(made.value.eq(0)):
            f.call("void", "give_block", block, number)
            f.call("void", "PyErr_Clear")
        f.ret(made.value)
