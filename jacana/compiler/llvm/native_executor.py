"""The executor: runs a program, which is a flat array of command records, as LLVM IR.

A record is [function, buffers, params, extent, grain, slot of each buffer ..., each param ...], all
64-bit. Each function is `i64 f(ptr bufs, ptr params, i64 begin, i64 end)` and covers [begin, end)
of the command's extent; it returns 0 unless it failed.
"""

from jacana.compiler.llvm.native_layout import (
    HEAD_COUNT,
    HEAD_FAIL,
    HEAD_FIXED,
    HEAD_GIVEN,
    HEAD_RELATIVE,
    HEAD_RELEASE,
    HEAD_SIZE,
    RECORD_HEAD,
    WRONG_FRAME,
)
from jacana.compiler.llvm.native_text import Module, Value, Writer


def define(module: Module, object_head: int) -> None:
    """Write the executor into a module; an object's type pointer ends its `object_head` bytes."""
    module.external("PyByteArray_AsString", "ptr", "ptr")
    module.external("PyList_Size", "i64", "ptr")
    module.external("PyList_GetItem", "ptr", "ptr, i64")
    module.external("PySequence_List", "ptr", "ptr")
    module.external("PyLong_AsVoidPtr", "ptr", "ptr")
    module.external("PyLong_FromLongLong", "ptr", "i64")
    module.external("PyErr_Occurred", "ptr", "")
    module.external("Py_IncRef", "void", "ptr")
    module.external("Py_DecRef", "void", "ptr")
    module.external("PyObject_CallFunctionObjArgs", "ptr", "ptr, ...")
    module.external("PyEval_SaveThread", "ptr", "")
    module.external("PyEval_RestoreThread", "void", "ptr")
    module.raw("declare ptr @llvm.stacksave.p0()\ndeclare void @llvm.stackrestore.p0(ptr)")
    module.shared_data("python_list", "ptr", "null")
    module.shared_data("python_none", "ptr", "null")
    _define_run(module)
    _define_fill_frame(module)
    _define_finish_frame(module)
    _define_fail(module)
    _define_run_list(module)
    _define_run_program(module, object_head)


def _define_run(module: Module) -> None:
    """0, or 1 + the number of the command that failed."""
    with module.function("run", "i64", "ptr", "ptr", "i64") as (f, (frame, program, count)):
        record = f.variable("ptr", program)
        with f.count(0, count) as number:
            at = record.value
            buffers, params = at.load("i64", 1), at.load("i64", 2)
            slots = at.item("i64", RECORD_HEAD)
            values = slots.item("i64", buffers)
            saved = f.call("ptr", "llvm.stacksave.p0")
            table = f.emit(f"alloca ptr, i64 {buffers.text}, align 16", "ptr")
            with f.count(0, buffers) as i:
                table.store(frame.load("ptr", slots.load("i64", i)), i)
            status = _run_command(f, at, table, values)
            f.call("void", "llvm.stackrestore.p0", saved)
            with f.when(status.ne(0)):
                f.ret(number + 1)
            record.set(values.item("i64", params))
        f.ret(0)


def _run_command(f: Writer, record: Value, table: Value, params: Value) -> Value:
    function, extent, grain = record.load("ptr"), record.load("i64", 3), record.load("i64", 4)
    status = f.variable("i64", 0)
    zero = f.i64(0)
    with f.when(extent > 0), f.either((grain > 0) & (extent >= grain + grain)) as otherwise:
        call = (function, table, params, zero, extent, grain)
        status.set(f.call("i64", "parallel_for", *call))
        otherwise.begin()
        status.set(f.call("i64", function, table, params, zero, extent))
    return status.value


def _define_fill_frame(module: Module) -> None:
    """frame = given addresses, the last of them + offsets, fixed addresses; 0 if all is well."""
    with module.function("fill_frame", "i64", "ptr", "ptr", "ptr", inside=True) as (f, p):
        words, addresses, frame = p
        given = words.load("i64", HEAD_GIVEN)
        with f.when(f.call("i64", "PyList_Size", addresses).ne(given)):
            f.ret(WRONG_FRAME)
        with f.count(0, given) as i:
            item = f.call("ptr", "PyList_GetItem", addresses, i)
            address = f.call("ptr", "PyLong_AsVoidPtr", item)
            with f.when(address.eq(0)), f.when(f.call("ptr", "PyErr_Occurred").ne(0)):
                f.ret(WRONG_FRAME)
            frame.store(address, i)
        f.call("void", "finish_frame", words, frame.item("ptr", given))
        f.ret(0)


def _define_finish_frame(module: Module) -> None:
    """Write what follows the given addresses in a frame."""
    with module.function("finish_frame", "void", "ptr", "ptr", inside=True) as (f, (words, start)):
        relative, fixed = words.load("i64", HEAD_RELATIVE), words.load("i64", HEAD_FIXED)
        rest, source = start, words.item("i64", HEAD_SIZE)
        with f.when(relative > 0):
            arena = rest.load("ptr", -1)
            with f.count(0, relative) as i:
                rest.store(arena.item("i8", source.load("i64", i)), i)
        rest, source = rest.item("ptr", relative), source.item("i64", relative)
        with f.count(0, fixed) as i:
            rest.store(source.load("ptr", i), i)
        f.ret()


def _define_fail(module: Module) -> None:
    """Have the program's `fail` raise the exception that belongs to a status."""
    with module.function("fail", "ptr", "ptr", "i64", inside=True) as (f, (words, status)):
        with f.when(f.call("ptr", "PyErr_Occurred").ne(0)):
            f.ret(0, "ptr")
        number = f.call("ptr", "PyLong_FromLongLong", status)
        with f.when(number.eq(0)):
            f.ret(0, "ptr")
        raiser = words.load("ptr", HEAD_FAIL)
        null = f.value(0, "ptr")
        result = f.call(
            "ptr", "PyObject_CallFunctionObjArgs", raiser, number, null, signature="ptr (ptr, ...)"
        )
        f.call("void", "Py_DecRef", number)
        f.ret(result)


def _define_run_list(module: Module) -> None:
    """Run the program whose words are given on a list of addresses; None or an exception."""
    with module.function("run_list", "ptr", "ptr", "ptr", inside=True) as (f, (words, addresses)):
        parts = [words.load("i64", i) for i in (HEAD_GIVEN, HEAD_RELATIVE, HEAD_FIXED)]
        size = parts[0] + parts[1] + parts[2]
        frame = f.emit(f"alloca ptr, i64 {size.text}, align 16", "ptr")
        wrong = f.call("i64", "fill_frame", words, addresses, frame)
        with f.when(wrong.ne(0)):
            f.ret(f.call("ptr", "fail", words, wrong))
        records = words.item("i64", parts[1] + parts[2] + HEAD_SIZE)
        count = words.load("i64", HEAD_COUNT)
        status = f.variable("i64", 0)
        with f.either(words.load("i64", HEAD_RELEASE).ne(0)) as otherwise:
            thread = f.call("ptr", "PyEval_SaveThread")
            status.set(f.call("i64", "run", frame, records, count))
            f.call("void", "PyEval_RestoreThread", thread)
            otherwise.begin()
            status.set(f.call("i64", "run", frame, records, count))
        with f.when(status.value.ne(0)):
            f.ret(f.call("ptr", "fail", words, status.value))
        none = f.symbol("python_none").load("ptr")
        f.call("void", "Py_IncRef", none)
        f.ret(none)


def _define_run_program(module: Module, object_head: int) -> None:
    """A Python method of one argument: self is the bytearray of a program, the argument a list."""
    with module.function("run_program", "ptr", "ptr", "ptr") as (f, (this, argument)):
        words = f.call("ptr", "PyByteArray_AsString", this)
        kind = argument.item("i8", object_head - 8).load("ptr")
        with f.when(kind.eq(f.symbol("python_list").load("ptr"))):
            f.ret(f.call("ptr", "run_list", words, argument))
        listed = f.call("ptr", "PySequence_List", argument)
        with f.when(listed.eq(0)):
            f.ret(0, "ptr")
        result = f.call("ptr", "run_list", words, listed)
        f.call("void", "Py_DecRef", listed)
        f.ret(result)
