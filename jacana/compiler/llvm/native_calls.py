"""Calls of programs with arrays, as LLVM IR: outputs from the pool, the commands, the results.

A call (`native_layout`) is what a program needs to know of its caller. `perform` gives a result,
null with an exception set, or REFUSED: an argument was not what it must be, and nothing was done.
"""

from jacana.compiler.llvm.native_array import Fields
from jacana.compiler.llvm.native_layout import (
    ARRAY_ADDRESS,
    ARRAY_AVAL,
    BOOL_TO_8,
    CALL_ARENA,
    CALL_ARENA_CLASS,
    CALL_ARGS,
    CALL_CONSTS,
    CALL_DONATED,
    CALL_FINISH,
    CALL_FORM,
    CALL_FRAME,
    CALL_HOLD,
    CALL_KEYWORDS,
    CALL_OUTPUTS,
    CALL_PROGRAM,
    CALL_RESULTS,
    CALL_SIZE,
    FLOAT_TO_32,
    FLOAT_TO_64,
    FORM_FINISHED,
    FORM_SINGLE,
    FORM_TREE,
    HEAD_COUNT,
    HEAD_FIXED,
    HEAD_RELATIVE,
    HEAD_RELEASE,
    HEAD_SIZE,
    INT_TO_32,
    INT_TO_64,
)
from jacana.compiler.llvm.native_text import Module, Value, Writer

# Not an address of an object.
REFUSED = 1


def define(module: Module, object_head: int) -> None:
    """Write `perform` and what it consists of into a module."""
    module.external("PyFloat_AsDouble", "double", "ptr")
    module.external("PyLong_AsLongLong", "i64", "ptr")
    module.external("PyList_SetItem", "i32", "ptr, i64, ptr")
    module.external("PyLong_FromSsize_t", "ptr", "i64")
    module.external("PyTuple_New", "ptr", "i64")
    module.external("PyTuple_SetItem", "i32", "ptr, i64, ptr")
    for kind in ("float", "int", "bool", "true"):
        module.shared_data(f"python_{kind}", "ptr", "null")
    fields = Fields(object_head)
    _define_parts(module)
    _define_scalar(module, fields)
    _define_gather(module, fields)
    _define_outputs(module, fields)
    _define_write_outputs(module, fields)
    _define_hold(module, fields)
    _define_start(module)
    _define_results(module, fields)
    _define_drop_donated(module, fields)
    _define_perform(module)


class Parts:
    """Where the variable parts of a call begin."""

    def __init__(self, call: Value) -> None:
        self.consts = call.item("i64", CALL_SIZE)
        self.args = self.consts.item("i64", call.load("i64", CALL_CONSTS))
        self.keywords = self.args.item("i64", call.load("i64", CALL_ARGS))
        self.outputs = self.keywords.item("i64", call.load("i64", CALL_KEYWORDS) * 2)
        self.results = self.outputs.item("i64", call.load("i64", CALL_OUTPUTS) * 3)


def _define_parts(module: Module) -> None:
    """Take references back: the first `count` objects of a table."""
    with module.function("drop_all", "void", "ptr", "i64", inside=True) as (f, (table, count)):
        with f.count(0, count) as i:
            f.call("void", "Py_DecRef", table.load("ptr", i))
        f.ret()


def _define_scalar(module: Module, fields: Fields) -> None:
    """Write a Python scalar to memory in the dtype that is due; 0 if it does not fit."""
    with module.function("write_scalar", "i64", "ptr", "i64", "ptr", inside=True) as (f, p):
        scalar, due, place = p
        kind = fields.type(scalar)
        with f.when(kind.eq(f.symbol("python_float").load("ptr"))):
            value = f.call("double", "PyFloat_AsDouble", scalar)
            with f.when(due.eq(FLOAT_TO_32)):
                place.store(f.emit(f"fptrunc double {value.text} to float", "float"))
                f.ret(1)
            with f.when(due.eq(FLOAT_TO_64)):
                place.store(value)
                f.ret(1)
            f.ret(0)
        with f.when(kind.eq(f.symbol("python_int").load("ptr"))):
            with f.when(due.ne(INT_TO_32) & due.ne(INT_TO_64)):
                f.ret(0)
            number = f.call("i64", "PyLong_AsLongLong", scalar)
            with f.when(number.eq(-1)), f.when(f.call("ptr", "PyErr_Occurred").ne(0)):
                f.call("void", "PyErr_Clear")
                f.ret(0)
            narrow = number.cast("i32")
            with f.when(due.eq(INT_TO_64)):
                place.store(number)
                f.ret(1)
            place.store(narrow)
            f.ret(narrow.cast("i64").eq(number).cast("i64"))
        is_bool = kind.eq(f.symbol("python_bool").load("ptr"))
        place.store(scalar.eq(f.symbol("python_true").load("ptr")).cast("i8"))
        f.ret((is_bool & due.eq(BOOL_TO_8)).cast("i64"))


def _define_gather(module: Module, fields: Fields) -> None:
    """Write the addresses of captured arrays and arguments to a frame; 0 if one is not as due."""
    with module.function("gather", "i64", "ptr", "ptr", "ptr", "ptr", inside=True) as (f, p):
        call, args, frame, scalars = p
        parts = Parts(call)
        consts = call.load("i64", CALL_CONSTS)
        with f.count(0, consts) as i:
            address = fields.word(parts.consts.load("ptr", i), ARRAY_ADDRESS).load("ptr")
            with f.when(address.eq(0)):
                f.ret(0)
            frame.store(address, i)
        rest = frame.item("ptr", consts)
        with f.count(0, call.load("i64", CALL_ARGS)) as i:
            given = args.load("ptr", i)
            with f.either(fields.is_array(f, given)) as otherwise:
                address = fields.word(given, ARRAY_ADDRESS).load("ptr")
                with f.when(address.eq(0)):
                    f.ret(0)
                rest.store(address, i)
                otherwise.begin()
                due, place = parts.args.load("i64", i), scalars.item("i64", i)
                with f.when(f.call("i64", "write_scalar", given, due, place).eq(0)):
                    f.ret(0)
                rest.store(place, i)
        f.ret(1)


def _block(f: Writer, nbytes: Value, number: Value) -> Value:
    """The variable of a block of a class: from the pool, else the system; null with an error."""
    block = f.variable("ptr", f.call("ptr", "take_block", number))
    with f.when(block.value.eq(0)):
        size = f.call("ptr", "PyLong_FromSsize_t", nbytes)
        with f.when(size.ne(0)):
            refill = f.symbol("pool_refill").load("ptr")
            call = (refill, size, f.value(0, "ptr"))
            signature = "ptr (ptr, ...)"
            found = f.call("ptr", "PyObject_CallFunctionObjArgs", *call, signature=signature)
            f.call("void", "Py_DecRef", size)
            with f.when(found.ne(0)):
                block.set(f.call("ptr", "PyLong_AsVoidPtr", found))
                f.call("void", "Py_DecRef", found)
    return block.value


def _define_outputs(module: Module, fields: Fields) -> None:
    """Fill a table with Arrays for the outputs; how many could be made."""
    with module.function("obtain_block", "ptr", "i64", "i64", inside=True) as (f, p):
        f.ret(_block(f, *p))
    with module.function("make_outputs", "i64", "ptr", "ptr", inside=True) as (f, (call, table)):
        place = f.variable("ptr", Parts(call).outputs)
        count = call.load("i64", CALL_OUTPUTS)
        with f.count(0, count) as i:
            output = place.value
            aval, nbytes, number = output.load("ptr"), output.load("i64", 1), output.load("i64", 2)
            block = f.call("ptr", "obtain_block", nbytes, number)
            with f.when(block.eq(0)):
                f.ret(i)
            owner = f.emit(f"inttoptr i64 {(number * 2 + 1).text} to ptr", "ptr")
            made = f.call("ptr", "make_array", aval, block, owner)
            with f.when(made.eq(0)):
                f.call("void", "give_block", block, number)
                f.ret(i)
            table.store(made, i)
            place.set(output.item("i64", 3))
        f.ret(count)


def _define_write_outputs(module: Module, fields: Fields) -> None:
    """Write the addresses of outputs to a frame; the place behind them."""
    with module.function("write_outputs", "ptr", "ptr", "ptr", "i64", inside=True) as (f, p):
        frame, table, count = p
        with f.count(0, count) as i:
            frame.store(fields.word(table.load("ptr", i), ARRAY_ADDRESS).load("ptr"), i)
        f.ret(frame.item("ptr", count))


def _define_hold(module: Module, fields: Fields) -> None:
    """Fill a table with references to the buffers of what is read; how many could be got.

    Nobody can then give memory back while other Python code may run.
    """
    with module.function("hold_inputs", "i64", "ptr", "ptr", "ptr", inside=True) as (f, p):
        call, args, table = p
        consts, captured = call.load("i64", CALL_CONSTS), Parts(call).consts
        with f.count(0, consts + call.load("i64", CALL_ARGS)) as i:
            given = f.variable("ptr", 0)
            with f.either(i < consts) as otherwise:
                given.set(captured.load("ptr", i))
                otherwise.begin()
                given.set(args.load("ptr", i - consts))
            held = f.variable("ptr", f.symbol("python_none").load("ptr"))
            with f.either(fields.is_array(f, given.value)) as otherwise:
                held.set(f.call("ptr", "own_buffer", given.value))
                otherwise.begin()
                f.call("void", "Py_IncRef", held.value)
            with f.when(held.value.eq(0)):
                f.ret(i)
            table.store(held.value, i)
        f.ret(consts + call.load("i64", CALL_ARGS))


def _define_start(module: Module) -> None:
    """Run the program of a call on its frame; 0, or a status."""
    with module.function("start", "i64", "ptr", "ptr", "i64", inside=True) as (f, p):
        words, frame, given = p
        f.call("void", "finish_frame", words, frame.item("ptr", given))
        rest = words.load("i64", HEAD_RELATIVE) + words.load("i64", HEAD_FIXED)
        records = words.item("i64", rest + HEAD_SIZE)
        count = words.load("i64", HEAD_COUNT)
        status = f.variable("i64", 0)
        with f.either(words.load("i64", HEAD_RELEASE).ne(0)) as otherwise:
            thread = f.call("ptr", "PyEval_SaveThread")
            status.set(f.call("i64", "run", frame, records, count))
            f.call("void", "PyEval_RestoreThread", thread)
            otherwise.begin()
            status.set(f.call("i64", "run", frame, records, count))
        f.ret(status.value)


def _define_results(module: Module, fields: Fields) -> None:
    """What the caller gets, of a table of the arguments and one of the outputs.

    A negative number, -1 - n, stands for an Array of its own over the memory of n.
    """
    with module.function("pick", "ptr", "ptr", "ptr", "ptr", "i64", inside=True) as (f, p):
        call, args, outputs, number = p
        with f.when(number < 0):
            like = f.call("ptr", "pick", call, args, outputs, f.i64(-1) - number)
            buffer = f.call("ptr", "own_buffer", like)
            apart = f.variable("ptr", 0)
            with f.when(buffer.ne(0)):
                aval, address = (
                    fields.word(like, w).load("ptr") for w in (ARRAY_AVAL, ARRAY_ADDRESS)
                )
                apart.set(f.call("ptr", "make_array", aval, address, buffer))
                with f.when(apart.value.eq(0)):
                    f.call("void", "Py_DecRef", buffer)
            f.call("void", "Py_DecRef", like)
            f.ret(apart.value)
        found = f.variable("ptr", 0)
        consts, given = call.load("i64", CALL_CONSTS), call.load("i64", CALL_ARGS)
        with f.either(number >= consts + given) as otherwise:
            found.set(outputs.load("ptr", number - consts - given))
            otherwise.begin()
            with f.either(number >= consts) as beyond:
                found.set(args.load("ptr", number - consts))
                beyond.begin()
                found.set(Parts(call).consts.load("ptr", number))
        f.call("void", "Py_IncRef", found.value)
        f.ret(found.value)
    with module.function("give_results", "ptr", "ptr", "ptr", "ptr", inside=True) as (f, p):
        call, args, outputs = p
        numbers, count = Parts(call).results, call.load("i64", CALL_RESULTS)
        form = call.load("i64", CALL_FORM)
        with f.when(form.eq(FORM_SINGLE)):
            f.ret(f.call("ptr", "pick", call, args, outputs, numbers.load("i64")))
        finish, null = call.load("ptr", CALL_FINISH), f.value(0, "ptr")
        with f.when(form.eq(FORM_TREE)):
            pattern = f.variable("ptr", finish)
            f.ret(f.call("ptr", "build_tree", pattern.slot, call, args, outputs))
        made = f.call("ptr", "PyList_New", count)
        with f.when(made.eq(0)):
            f.ret(0, "ptr")
        with f.count(0, count) as i:
            item = f.call("ptr", "pick", call, args, outputs, numbers.load("i64", i))
            f.call("i32", "PyList_SetItem", made, i, item)
        with f.when(form.ne(FORM_FINISHED)):
            f.ret(made)
        arguments, signature = (finish, made, null), "ptr (ptr, ...)"
        done = f.call("ptr", "PyObject_CallFunctionObjArgs", *arguments, signature=signature)
        f.call("void", "Py_DecRef", made)
        f.ret(done)


def _define_drop_donated(module: Module, fields: Fields) -> None:
    """Delete the Arrays that a call was given for good."""
    with module.function("drop_donated", "void", "ptr", "ptr", inside=True) as (f, (places, args)):
        with f.count(0, places.load("i64")) as i:
            given = args.load("ptr", places.load("i64", i + 1))
            with f.when(fields.is_array(f, given)):
                f.call("void", "drop_owner", given)
        f.ret()


def _define_perform(module: Module) -> None:
    with module.function("perform", "ptr", "ptr", "ptr", inside=True) as (f, (call, args)):
        count = call.load("i64", CALL_OUTPUTS)
        outputs = f.emit(f"alloca ptr, i64 {count.text}, align 16", "ptr")
        made = f.call("i64", "make_outputs", call, outputs)
        with f.when(made < count):
            f.call("void", "drop_all", outputs, made)
            f.ret(0, "ptr")
        arena = f.variable("ptr", 0)
        size, number = call.load("i64", CALL_ARENA), call.load("i64", CALL_ARENA_CLASS)
        with f.when(size.ne(0)):
            arena.set(f.call("ptr", "obtain_block", size, number))
            with f.when(arena.value.eq(0)):
                f.call("void", "drop_all", outputs, count)
                f.ret(0, "ptr")
        found = f.call("ptr", "run_call", call, args, outputs, arena.value)
        with f.when(size.ne(0)):
            f.call("void", "give_block", arena.value, number)
        result = f.variable("ptr", found)
        with f.when(found.eq(0)), f.when(f.call("ptr", "PyErr_Occurred").eq(0)):
            result.set(f.emit(f"inttoptr i64 {REFUSED} to ptr", "ptr"))
        f.call("void", "drop_all", outputs, count)
        donated = call.load("ptr", CALL_DONATED)
        with f.when(donated.ne(0)), f.when(found.ne(0)):
            f.call("void", "drop_donated", donated, args)
        f.ret(result.value)
    _define_run_call(module)


def _define_run_call(module: Module) -> None:
    """The result; null with an exception set, or without one if an argument was refused."""
    kinds = ("ptr", "ptr", "ptr", "ptr")
    with module.function("run_call", "ptr", *kinds, inside=True) as (f, (call, args, outputs, a)):
        consts, given = call.load("i64", CALL_CONSTS), call.load("i64", CALL_ARGS)
        inputs, count = consts + given, call.load("i64", CALL_OUTPUTS)
        held = f.emit(f"alloca ptr, i64 {inputs.text}, align 16", "ptr")
        holding = f.variable("i64", 0)
        with f.when(call.load("i64", CALL_HOLD).ne(0)):
            holding.set(f.call("i64", "hold_inputs", call, args, held))
            with f.when(holding.value < inputs):
                f.call("void", "drop_all", held, holding.value)
                f.ret(0, "ptr")
        frame = f.emit(f"alloca ptr, i64 {call.load('i64', CALL_FRAME).text}, align 16", "ptr")
        scalars = f.emit(f"alloca i64, i64 {given.text}, align 16", "ptr")
        result = f.variable("ptr", 0)
        with f.when(f.call("i64", "gather", call, args, frame, scalars).ne(0)):
            place = frame.item("ptr", inputs)
            head = f.call("ptr", "write_outputs", place, outputs, count)
            head.store(a)
            words = call.load("ptr", CALL_PROGRAM)
            status = f.variable("i64", 0)
            with f.when(words.ne(0)):
                arena = call.load("i64", CALL_ARENA).ne(0).cast("i64")
                status.set(f.call("i64", "start", words, frame, inputs + count + arena))
            with f.either(status.value.eq(0)) as otherwise:
                result.set(f.call("ptr", "give_results", call, args, outputs))
                otherwise.begin()
                f.call("ptr", "fail", words, status.value)
        f.call("void", "drop_all", held, holding.value)
        f.ret(result.value)
