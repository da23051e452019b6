"""Fronts under traces, as LLVM IR: calls on tracers of un-jitted derivatives and of programs.

In derivatives the program of a call takes the tracers' values. Outputs with tangents become
tracers, which are the tape's next variables; the tape gets an entry, of the residuals and the
operands' numbers. While a function is traced, Python records the equations of the call.
"""

from jacana.compiler.llvm.native_array import Fields, slot
from jacana.compiler.llvm.native_fronts import refused
from jacana.compiler.llvm.native_layout import (
    ARRAY_AVAL,
    CALL_ARGS,
    CALL_CONFIG,
    CALL_FINISH,
    CALL_PATTERN,
    FRONT_LEAVES,
    FRONT_OWNER,
    FRONT_STAGED,
    FRONT_TAPED,
    TAPED_AVALS,
    TAPED_ENTRY,
    TAPED_FINISH,
    TAPED_FLAGS,
    TAPED_OPERANDS,
    TAPED_OUTPUTS,
)
from jacana.compiler.llvm.native_text import Module, Value, Writer

# Attributes of tracers, of their trace (its tape is `parent`) and of tapes.
SLOTS = ("_trace", "aval", "primal", "number", "parent", "entries", "avals")


def define(module: Module, object_head: int) -> None:
    """Write `dispatch_traced` and what it consists of into a module."""
    module.external("PyList_GetSlice", "ptr", "ptr, i64, i64")
    module.external("PyType_GenericAlloc", "ptr", "ptr, i64")
    for name in ("taped_tracer", "taping_trace", "staged_tracer", "staging_trace"):
        module.shared_data(name, "ptr", "null")
    for name in SLOTS:
        module.shared_data(f"slot_{name}", "i64", "0")
    fields = Fields(object_head)
    _define_unwrap(module, fields)
    _define_tracer(module, fields)
    _define_entry(module, fields)
    _define_outputs(module)
    _define_record(module)
    _define_call(module)
    _define_stage(module, fields)
    _define_dispatch(module, fields)


def _define_unwrap(module: Module, fields: Fields) -> None:
    """Fill a table with the values behind leaves; 0 if a tracer is of another trace."""
    kinds = ("ptr", "ptr", "i64", "ptr")
    with module.function("unwrap", "i64", *kinds, inside=True) as (
        f,
        (trace, leaves, count, table),
    ):
        with f.count(0, count) as i:
            given = leaves.load("ptr", i)
            value = f.variable("ptr", given)
            with f.when(_is_tracer(f, fields, given)):
                with f.when(slot(f, given, "_trace").load("ptr").ne(trace)):
                    f.ret(0)
                value.set(slot(f, given, "primal").load("ptr"))
            table.store(value.value, i)
        f.ret(1)


def _is_tracer(f: Writer, fields: Fields, this: Value) -> Value:
    return fields.type(this).eq(f.symbol("taped_tracer").load("ptr"))


def _define_tracer(module: Module, fields: Fields) -> None:
    """A tracer of a trace for an Array, which is the variable of a number; null with an error."""
    with module.function("make_tracer", "ptr", "ptr", "ptr", "i64", inside=True) as (f, p):
        trace, value, number = p
        tracer_type = f.symbol("taped_tracer").load("ptr")
        this = f.call("ptr", "PyType_GenericAlloc", tracer_type, f.i64(0))
        with f.when(this.eq(0)):
            f.ret(0, "ptr")
        named = f.call("ptr", "PyLong_FromSsize_t", number)
        with f.when(named.eq(0)):
            f.call("void", "Py_DecRef", this)
            f.ret(0, "ptr")
        slot(f, this, "number").store(named)
        aval = fields.word(value, ARRAY_AVAL).load("ptr")
        for name, attribute in (("_trace", trace), ("aval", aval), ("primal", value)):
            f.call("void", "Py_IncRef", attribute)
            slot(f, this, name).store(attribute)
        f.ret(this)


def _define_entry(module: Module, fields: Fields) -> None:
    """Add to a tape what a call gave; 0 with an error set, after which the tape is of no use."""
    with module.function("numbers_of", "ptr", "ptr", "i64", "i64", inside=True) as (f, p):
        leaves, count, operands = p
        made = f.call("ptr", "PyTuple_New", operands)
        with f.when(made.eq(0)):
            f.ret(0, "ptr")
        place = f.variable("i64", 0)
        with f.count(0, count) as i:
            given = leaves.load("ptr", i)
            with f.when(_is_tracer(f, fields, given)):
                number = slot(f, given, "number").load("ptr")
                f.call("void", "Py_IncRef", number)
                f.call("i32", "PyTuple_SetItem", made, place.value, number)
                place.set(place.value + 1)
        f.ret(made)
    kinds = ("ptr", "ptr", "ptr", "ptr")
    with module.function("add_entry", "i64", *kinds, inside=True) as (
        f,
        (tape, call, leaves, found),
    ):
        words = call.load("ptr", CALL_FINISH)
        entry = f.call("ptr", "PyTuple_New", f.i64(3))
        with f.when(entry.eq(0)):
            f.ret(0)
        program = words.load("ptr", TAPED_ENTRY)
        f.call("void", "Py_IncRef", program)
        begin, end = words.load("i64", TAPED_OUTPUTS), f.call("i64", "PyList_Size", found)
        residuals = f.call("ptr", "PyList_GetSlice", found, begin, end)
        operands = words.load("i64", TAPED_OPERANDS)
        numbers = f.call("ptr", "numbers_of", leaves, call.load("i64", CALL_ARGS), operands)
        for part, item in enumerate((program, residuals, numbers)):
            f.call("i32", "PyTuple_SetItem", entry, f.i64(part), item)
        status = f.variable("i32", -1)
        with f.when(residuals.ne(0)), f.when(numbers.ne(0)):
            entries = slot(f, tape, "entries").load("ptr")
            status.set(f.call("i32", "PyList_Append", entries, entry))
        f.call("void", "Py_DecRef", entry)
        avals, known = words.load("ptr", TAPED_AVALS), slot(f, tape, "avals").load("ptr")
        with f.count(0, f.call("i64", "PyList_Size", avals)) as i:
            with f.when(status.value.ne(0)):
                f.ret(0)
            status.set(
                f.call("i32", "PyList_Append", known, f.call("ptr", "PyList_GetItem", avals, i))
            )
        f.ret(status.value.eq(0).cast("i64"))


def _define_outputs(module: Module) -> None:
    """What the caller gets: outputs, as variables from a number on where they have tangents."""
    with module.function("wrap_outputs", "ptr", "ptr", "ptr", "ptr", "i64", inside=True) as (f, p):
        trace, words, found, first = p
        count, flags = words.load("i64", TAPED_OUTPUTS), words.item("i64", TAPED_FLAGS)
        results = f.call("ptr", "PyList_GetSlice", found, f.i64(0), count)
        with f.when(results.eq(0)):
            f.ret(0, "ptr")
        number = f.variable("i64", first)
        with f.count(0, count) as i, f.when(flags.load("i64", i).ne(0)):
            value = f.call("ptr", "PyList_GetItem", results, i)
            tracer = f.call("ptr", "make_tracer", trace, value, number.value)
            with f.when(tracer.eq(0)):
                f.call("void", "Py_DecRef", results)
                f.ret(0, "ptr")
            f.call("i32", "PyList_SetItem", results, i, tracer)
            number.set(number.value + 1)
        finish = words.load("ptr", TAPED_FINISH)
        result = f.variable("ptr", 0)
        with f.either(finish.eq(0)) as otherwise:
            only = f.call("ptr", "PyList_GetItem", results, f.i64(0))
            f.call("void", "Py_IncRef", only)
            result.set(only)
            otherwise.begin()
            call, signature = (finish, results, f.value(0, "ptr")), "ptr (ptr, ...)"
            result.set(f.call("ptr", "PyObject_CallFunctionObjArgs", *call, signature=signature))
        f.call("void", "Py_DecRef", results)
        f.ret(result.value)


def _define_record(module: Module) -> None:
    """Outputs of a call, after its entry was added to the tape of a trace; null with an error."""
    kinds = ("ptr", "ptr", "ptr", "ptr")
    with module.function("record_call", "ptr", *kinds, inside=True) as (f, p):
        trace, call, leaves, found = p
        words, tape = call.load("ptr", CALL_FINISH), slot(f, trace, "parent").load("ptr")
        first = f.call("i64", "PyList_Size", slot(f, tape, "avals").load("ptr"))
        variables = f.call("i64", "PyList_Size", words.load("ptr", TAPED_AVALS))
        with (
            f.when(variables.ne(0)),
            f.when(f.call("i64", "add_entry", tape, call, leaves, found).eq(0)),
        ):
            f.ret(0, "ptr")
        f.ret(f.call("ptr", "wrap_outputs", trace, words, found, first))


def _define_call(module: Module) -> None:
    """The result of a call under a trace that tapes, null with an exception set, or REFUSED."""
    kinds = ("ptr", "ptr", "ptr")
    with module.function("call_on_tape", "ptr", *kinds, inside=True) as (f, (trace, call, leaves)):
        result, count = f.variable("ptr", refused(f)), call.load("i64", CALL_ARGS)
        values = f.emit(f"alloca ptr, i64 {count.text}, align 16", "ptr")
        with (
            f.when(f.call("i64", "unwrap", trace, leaves, count, values).ne(0)),
            f.when(f.call("i64", "is_config", call.load("ptr", CALL_CONFIG)).ne(0)),
        ):
            found = f.call("ptr", "perform", call, values)
            result.set(found)
            with f.when(found.ne(0)), f.when(found.ne(refused(f))):
                result.set(f.call("ptr", "record_call", trace, call, leaves, found))
                f.call("void", "Py_DecRef", found)
        f.ret(result.value)


def _define_stage(module: Module, fields: Fields) -> None:
    """The result of a front while a function is traced: what a Python function makes of leaves."""
    with module.function("leaves_of", "ptr", "ptr", "ptr", "i64", inside=True) as (f, p):
        trace, leaves, count = p
        made = f.call("ptr", "PyTuple_New", count)
        with f.when(made.eq(0)):
            f.ret(0, "ptr")
        with f.count(0, count) as i:
            given = leaves.load("ptr", i)
            is_tracer = fields.type(given).eq(f.symbol("staged_tracer").load("ptr"))
            with f.when(is_tracer), f.when(slot(f, given, "_trace").load("ptr").ne(trace)):
                f.call("void", "Py_DecRef", made)
                f.ret(refused(f))
            f.call("void", "Py_IncRef", given)
            f.call("i32", "PyTuple_SetItem", made, i, given)
        f.ret(made)
    kinds = ("ptr", "ptr", "ptr")
    with module.function("call_staged", "ptr", *kinds, inside=True) as (f, (trace, call, leaves)):
        result = f.variable("ptr", refused(f))
        config = call.load("ptr", CALL_CONFIG)
        with f.when(f.call("i64", "is_config", config).eq(0)):
            f.ret(result.value, "ptr")
        result.set(f.call("ptr", "leaves_of", trace, leaves, call.load("i64", CALL_ARGS)))
        given = result.value
        with f.when(given.ne(0)), f.when(given.ne(refused(f))):
            arguments = (call.load("ptr", CALL_FINISH), trace, given, f.value(0, "ptr"))
            found = f.call(
                "ptr", "PyObject_CallFunctionObjArgs", *arguments, signature="ptr (ptr, ...)"
            )
            result.set(found)
            f.call("void", "Py_DecRef", given)
        f.ret(result.value)


def _define_dispatch(module: Module, fields: Fields) -> None:
    """The result of a front under a trace, null with an exception set, or REFUSED."""
    of_calls = ("ptr", "ptr", "ptr", "i64", "ptr", "i64")
    with module.function("call_traced", "ptr", *of_calls, inside=True) as (f, p):
        trace, calls, args, n, names, is_taped = p
        result = f.variable("ptr", refused(f))
        owner = calls.load("ptr", FRONT_OWNER)
        f.call("void", "Py_IncRef", owner)
        room = calls.load("i64", FRONT_LEAVES)
        table = f.emit(f"alloca ptr, i64 {room.text}, align 16", "ptr")
        call = f.call("ptr", "find_call", calls, args, n, names, table, room)
        with f.when(call.ne(0)):
            is_flat = call.load("ptr", CALL_PATTERN).eq(0)
            leaves = is_flat.choose(args, table)
            with f.either(is_taped.ne(0)) as otherwise:
                result.set(f.call("ptr", "call_on_tape", trace, call, leaves))
                otherwise.begin()
                result.set(f.call("ptr", "call_staged", trace, call, leaves))
            with f.when(is_flat.eq(0)):
                f.call("void", "drop_all", table, call.load("i64", CALL_ARGS))
        f.call("void", "Py_DecRef", owner)
        f.ret(result.value)
    kinds = ("ptr", "ptr", "i64", "ptr")
    with module.function("dispatch_traced", "ptr", *kinds, inside=True) as (f, p):
        state, args, n, names = p
        result = f.variable("ptr", refused(f))
        trace = f.call("ptr", "current_trace")
        with f.when(trace.eq(0)):
            f.ret(result.value, "ptr")
        for name, word in (("taping_trace", FRONT_TAPED), ("staging_trace", FRONT_STAGED)):
            with f.when(fields.type(trace).eq(f.symbol(name).load("ptr"))):
                calls, is_taped = state.load("ptr", word), f.i64(int(word == FRONT_TAPED))
                result.set(f.call("ptr", "call_traced", trace, calls, args, n, names, is_taped))
        f.call("void", "Py_DecRef", trace)
        f.ret(result.value)
