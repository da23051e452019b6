"""Fronts, as LLVM IR: callables that find the call for their arguments, or hand them to Python.

A front keeps calls in a list, the last used first. One is taken if each argument is what it must
be, the thread's current trace is the base trace, and its Config is the one of the call.
"""

from jacana.compiler.llvm.native_array import Fields
from jacana.compiler.llvm.native_calls import REFUSED, Parts
from jacana.compiler.llvm.native_layout import (
    CALL_ARGS,
    CALL_CONFIG,
    CALL_GIVEN,
    CALL_KEYWORDS,
    CALL_NEXT,
    CALL_PATTERN,
    FRONT_FIRST,
    FRONT_LEAVES,
    FRONT_OWNER,
    FRONT_SLOW,
    FRONT_TAPED,
)
from jacana.compiler.llvm.native_text import Module, Value, Writer

# The flag of a vectorcall's number of arguments.
_MANY = (1 << 63) - 1


def define(module: Module, object_head: int) -> None:
    """Write the functions of fronts into a module."""
    module.external("PyContextVar_Get", "i32", "ptr, ptr, ptr")
    module.external("PyDict_GetItem", "ptr", "ptr, ptr")
    module.external("PyMethod_New", "ptr", "ptr, ptr")
    module.external("PyObject_Vectorcall", "ptr", "ptr, ptr, i64, ptr")
    for name in (
        "trace_state", "trace_name", "base_trace", "config_variable", "config_module",
        "config_name", "call_refused",
    ):  # fmt: skip
        module.shared_data(name, "ptr", "null")
    fields = Fields(object_head)
    _define_matches(module)
    _define_trees_match(module)
    _define_is_ambient(module)
    _define_find(module)
    _define_dispatch(module)
    _define_hand_over(module)
    _define_entries(module, fields)
    _define_refuse(module)
    _define_run_arrays(module, fields)


def refused(f: Writer) -> Value:
    """What `perform` gives where an argument is not what it must be."""
    return f.emit(f"inttoptr i64 {REFUSED} to ptr", "ptr")


def _define_matches(module: Module) -> None:
    """Whether each positional argument is what a call says that it must be."""
    kinds = ("ptr", "ptr", "i64", "ptr")
    with module.function("matches", "i64", *kinds, inside=True) as (f, (call, args, count, names)):
        with f.when(call.load("i64", CALL_GIVEN).ne(count)):
            f.ret(0)
        with f.when(names.ne(0)), f.when(f.call("i64", "PyTuple_Size", names).ne(0)):
            f.ret(0)
        due = Parts(call).args
        with f.count(0, count) as i:
            given, wanted = args.load("ptr", i), due.load("i64", i)
            with f.when(f.call("i64", "suits", given, wanted).eq(0)):
                f.ret(0)
        f.ret(1)


def _define_trees_match(module: Module) -> None:
    """Whether arguments are the trees that a call takes; then a table has references to leaves."""
    kinds = ("ptr", "ptr", "i64", "ptr", "ptr", "i64")
    with module.function("trees_match", "i64", *kinds, inside=True) as (f, p):
        call, args, count, names, table, room = p
        # A call that was added since the table was made may have more leaves.
        unfit = call.load("i64", CALL_GIVEN).ne(count) | (call.load("i64", CALL_ARGS) > room)
        with f.when(unfit):
            f.ret(0)
        named = f.variable("i64", 0)
        with f.when(names.ne(0)):
            named.set(f.call("i64", "PyTuple_Size", names))
        with f.when(call.load("i64", CALL_KEYWORDS).ne(named.value)):
            f.ret(0)
        pattern = f.variable("ptr", call.load("ptr", CALL_PATTERN))
        end = f.variable("ptr", table)
        pairs = Parts(call).keywords
        with f.count(0, count + named.value) as i:
            place = f.variable("i64", i)
            with f.when(i >= count):
                pair = pairs.item("i64", (i - count) * 2)
                place.set(pair.load("i64", 1))
                name = f.call("ptr", "PyTuple_GetItem", names, place.value)
                with f.when(name.ne(pair.load("ptr"))):
                    f.call("void", "drop_between", table, end.value)
                    f.ret(0)
                place.set(place.value + count)
            given = args.load("ptr", place.value)
            found = f.call("i64", "match_tree", pattern.slot, given, end.slot)
            with f.when(found.eq(0)):
                f.call("void", "drop_between", table, end.value)
                f.ret(0)
        f.ret(1)


def _define_is_ambient(module: Module) -> None:
    """Whether this thread runs operations at once, under the Config that is given."""
    with module.function("current_trace", "ptr", inside=True) as (f, _):
        state, name = f.symbol("trace_state").load("ptr"), f.symbol("trace_name").load("ptr")
        trace = f.call("ptr", "PyObject_GetAttr", state, name)
        with f.when(trace.eq(0)):
            f.call("void", "PyErr_Clear")
        f.ret(trace)
    with module.function("is_config", "i64", "ptr", inside=True) as (f, (config,)):
        found = f.variable("ptr", 0)
        variable = f.symbol("config_variable").load("ptr")
        wrong = f.call("i32", "PyContextVar_Get", variable, f.value(0, "ptr"), found.slot)
        with f.when(wrong.ne(0)):
            f.call("void", "PyErr_Clear")
            f.ret(0)
        f.call("void", "Py_DecRef", found.value)
        with f.when(found.value.ne(f.symbol("python_none").load("ptr"))):
            f.ret(0)
        names = f.symbol("config_module").load("ptr")
        now = f.call("ptr", "PyDict_GetItem", names, f.symbol("config_name").load("ptr"))
        f.ret(now.eq(config).cast("i64"))
    with module.function("is_ambient", "i64", "ptr", inside=True) as (f, (config,)):
        trace = f.call("ptr", "current_trace")
        with f.when(trace.eq(0)):
            f.ret(0)
        f.call("void", "Py_DecRef", trace)
        with f.when(trace.ne(f.symbol("base_trace").load("ptr"))):
            f.ret(0)
        f.ret(f.call("i64", "is_config", config))


def _define_find(module: Module) -> None:
    """The call for these arguments, moved to the front of the list; null if there is none."""
    kinds = ("ptr", "ptr", "i64", "ptr", "ptr", "i64")
    with module.function("find_call", "ptr", *kinds, inside=True) as (f, p):
        state, args, n, names, table, room = p
        owner = state.load("ptr", FRONT_OWNER)
        previous = f.variable("ptr", 0)
        at = f.variable("ptr", state.load("ptr", FRONT_FIRST))
        with f.forever() as loop:
            call = at.value
            with f.when(call.eq(0)):
                f.ret(0, "ptr")
            following = call.load("ptr", CALL_NEXT)
            with f.either(call.load("ptr", CALL_PATTERN).ne(0)) as otherwise:
                found = f.call("i64", "trees_match", call, args, n, names, table, room)
                loop.leave_if(found.ne(0))
                otherwise.begin()
                loop.leave_if(f.call("i64", "matches", call, args, n, names).ne(0))
            previous.set(call)
            at.set(following)
        call = at.value
        # Comparing values may have run Python code, which may have begun another list.
        unchanged = state.load("ptr", FRONT_OWNER).eq(owner)
        unchanged &= previous.value.ne(0)
        with f.when(unchanged), f.when(previous.value.load("ptr", CALL_NEXT).eq(call)):
            previous.value.store(call.load("ptr", CALL_NEXT), CALL_NEXT)
            call.store(state.load("ptr", FRONT_FIRST), CALL_NEXT)
            state.store(call, FRONT_FIRST)
        f.ret(call)


def _define_dispatch(module: Module) -> None:
    """The result of the front whose state this is, null with an exception set, or REFUSED."""
    kinds = ("ptr", "ptr", "i64", "ptr")
    with module.function("dispatch", "ptr", *kinds, inside=True) as (f, (state, args, n, names)):
        owner = state.load("ptr", FRONT_OWNER)
        result = f.variable("ptr", refused(f))
        f.call("void", "Py_IncRef", owner)
        room = state.load("i64", FRONT_LEAVES)
        table = f.emit(f"alloca ptr, i64 {room.text}, align 16", "ptr")
        call = f.call("ptr", "find_call", state, args, n, names, table, room)
        with f.when(call.ne(0)):
            is_flat = call.load("ptr", CALL_PATTERN).eq(0)
            leaves = is_flat.choose(args, table)
            config = call.load("ptr", CALL_CONFIG)
            with f.when(f.call("i64", "is_ambient", config).ne(0)):
                result.set(f.call("ptr", "perform", call, leaves))
            with f.when(is_flat.eq(0)):
                f.call("void", "drop_all", table, call.load("i64", CALL_ARGS))
        f.call("void", "Py_DecRef", owner)
        f.ret(result.value)


def _define_hand_over(module: Module) -> None:
    """Call a Python function with an object before the arguments of a vectorcall."""
    kinds = ("ptr", "ptr", "ptr", "i64", "ptr")
    with module.function("hand_over", "ptr", *kinds, inside=True) as (f, p):
        function, this, args, count, names = p
        more = f.variable("i64", count)
        with f.when(names.ne(0)):
            more.set(count + f.call("i64", "PyTuple_Size", names))
        stack = f.emit(f"alloca ptr, i64 {(more.value + 1).text}, align 16", "ptr")
        stack.store(this)
        rest = stack.item("ptr", 1)
        with f.count(0, more.value) as i:
            rest.store(args.load("ptr", i), i)
        f.ret(f.call("ptr", "PyObject_Vectorcall", function, stack, count + 1, names))


def _count(f: Writer, flagged: Value) -> Value:
    return flagged & _MANY


def _define_entries(module: Module, fields: Fields) -> None:
    """The vectorcalls of fronts, and of operations, whose function does not take the front."""
    kinds = ("ptr", "ptr", "i64", "ptr")
    with module.function("call_front", "ptr", *kinds) as (f, (this, args, flagged, names)):
        count, state = _count(f, flagged), fields.word(this, 1).load("ptr")
        result = f.call("ptr", "dispatch", state, args, count, names)
        with f.when(result.ne(refused(f))):
            f.ret(result)
        slow = state.load("ptr", FRONT_SLOW)
        f.ret(f.call("ptr", "hand_over", slow, this, args, count, names))
    with module.function("call_operation", "ptr", *kinds) as (f, (this, args, flagged, names)):
        count, state = _count(f, flagged), fields.word(this, 1).load("ptr")
        result = f.call("ptr", "dispatch", state, args, count, names)
        with f.when(result.ne(refused(f))):
            f.ret(result)
        with f.when(state.load("ptr", FRONT_TAPED).ne(0)):
            result = f.call("ptr", "dispatch_traced", state, args, count, names)
            with f.when(result.ne(refused(f))):
                f.ret(result)
        slow = state.load("ptr", FRONT_SLOW)
        f.ret(f.call("ptr", "PyObject_Vectorcall", slow, args, count, names))
    with module.function("bind_method", "ptr", "ptr", "ptr", "ptr") as (f, (this, instance, _)):
        with f.when(instance.eq(0)):
            f.call("void", "Py_IncRef", this)
            f.ret(this)
        f.ret(f.call("ptr", "PyMethod_New", this, instance))


def _define_run_arrays(module: Module, fields: Fields) -> None:
    """A Python method of a list of arrays; self is the bytearray of a call."""
    with module.function("run_arrays", "ptr", "ptr", "ptr") as (f, (this, argument)):
        call = f.call("ptr", "PyByteArray_AsString", this)
        with f.when(fields.type(argument).ne(f.symbol("python_list").load("ptr"))):
            f.ret(f.call("ptr", "refuse", this, argument))
        count = f.call("i64", "PyList_Size", argument)
        with f.when(count.ne(call.load("i64", CALL_ARGS))):
            f.ret(f.call("ptr", "refuse", this, argument))
        args = f.emit(f"alloca ptr, i64 {count.text}, align 16", "ptr")
        with f.count(0, count) as i:
            given = f.call("ptr", "PyList_GetItem", argument, i)
            with f.when(fields.is_array(f, given).eq(0)):
                f.ret(f.call("ptr", "refuse", this, argument))
            args.store(given, i)
        # The list may change while the program runs; its arrays stay.
        with f.count(0, count) as i:
            f.call("void", "Py_IncRef", args.load("ptr", i))
        result = f.variable("ptr", f.call("ptr", "perform", call, args))
        f.call("void", "drop_all", args, count)
        with f.when(result.value.eq(refused(f))):
            f.ret(f.call("ptr", "refuse", this, argument))
        f.ret(result.value)


def _define_refuse(module: Module) -> None:
    """Have Python mend, or raise, what is wrong with the arrays of a call, and run it again."""
    with module.function("refuse", "ptr", "ptr", "ptr", inside=True) as (f, (this, argument)):
        call = (f.symbol("call_refused").load("ptr"), argument, f.value(0, "ptr"))
        signature = "ptr (ptr, ...)"
        answer = f.call("ptr", "PyObject_CallFunctionObjArgs", *call, signature=signature)
        with f.when(answer.eq(0)):
            f.ret(0, "ptr")
        f.call("void", "Py_DecRef", answer)
        f.ret(f.call("ptr", "run_arrays", this, argument))
