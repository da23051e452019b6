"""Trees of arguments and of results, as LLVM IR: both follow a pattern (`native_layout`).

A pattern is read from a cursor, which moves on behind what was matched or built. Matching looks at
exact types only, and runs no Python code unless a key or a static value brings some.
"""

from jacana.compiler.llvm.native_array import Fields, slot
from jacana.compiler.llvm.native_layout import (
    ANY_ARRAY,
    ARRAY_AVAL,
    BOOL_TO_8,
    FLOAT_TO_64,
    IN_PROGRAM,
    INT_TO_64,
    ON_TAPE,
    TREE_EQUAL,
    TREE_LEAF,
    TREE_LIST,
    TREE_NONE,
    TREE_SAME,
    TREE_TUPLE,
)
from jacana.compiler.llvm.native_text import Module, Value, Writer

_EQUAL = 2
_SEQUENCES = ((TREE_TUPLE, "tuple", "PyTuple"), (TREE_LIST, "list", "PyList"))


def define(module: Module, object_head: int) -> None:
    """Write `suits`, `match_tree` and `build_tree` into a module."""
    module.external("PyDict_GetItem", "ptr", "ptr, ptr")
    module.external("PyDict_New", "ptr", "")
    module.external("PyDict_SetItem", "i32", "ptr, ptr, ptr")
    module.external("PyDict_Size", "i64", "ptr")
    module.external("PyObject_RichCompareBool", "i32", "ptr, ptr, i32")
    for kind in ("tuple", "dict"):
        module.shared_data(f"python_{kind}", "ptr", "null")
    fields = Fields(object_head)
    _define_suits(module, fields)
    _define_drop_between(module)
    _define_match(module, fields)
    _define_build(module)


def _define_suits(module: Module, fields: Fields) -> None:
    """Whether an argument is an Array or a tracer of the aval, or a scalar of the kind, due."""
    with module.function("suits", "i64", "ptr", "i64", inside=True) as (f, (given, due)):
        with f.when(fields.is_array(f, given)):
            aval = fields.word(given, ARRAY_AVAL).load("i64")
            f.ret((aval.eq(due) | due.eq(ANY_ARRAY)).cast("i64"))
        kind = fields.type(given)
        is_float = kind.eq(f.symbol("python_float").load("ptr"))
        is_int = kind.eq(f.symbol("python_int").load("ptr"))
        is_bool = kind.eq(f.symbol("python_bool").load("ptr"))
        as_float = is_float & (due > ANY_ARRAY) & (due <= FLOAT_TO_64)
        as_int = is_int & (due > FLOAT_TO_64) & (due <= INT_TO_64)
        for name, mark in (("taped_tracer", ON_TAPE), ("staged_tracer", IN_PROGRAM)):
            with f.when(kind.eq(f.symbol(name).load("ptr"))):
                aval = slot(f, given, "aval").load("i64")
                f.ret((aval + mark).eq(due).cast("i64"))
        f.ret((as_float | as_int | (is_bool & due.eq(BOOL_TO_8))).cast("i64"))


def _define_drop_between(module: Module) -> None:
    """Take references back: those of a table up to an address."""
    with module.function("drop_between", "void", "ptr", "ptr", inside=True) as (f, (start, end)):
        at = f.variable("ptr", start)
        with f.forever() as loop:
            loop.leave_if(at.value.eq(end))
            f.call("void", "Py_DecRef", at.value.load("ptr"))
            at.set(at.value.item("ptr", 1))
        f.ret()


def _define_match(module: Module, fields: Fields) -> None:
    """Whether an object is the tree of a pattern; a reference to each leaf goes to a table.

    NumPy's arrays are leaves by an Array with their contents.
    """
    with module.function("match_tree", "i64", "ptr", "ptr", "ptr", inside=True) as (f, p):
        cursor, given, table = p
        pattern = cursor.load("ptr")
        kind, more = pattern.load("i64"), pattern.load("ptr", 1)
        with f.when(kind.eq(TREE_LEAF)):
            cursor.store(pattern.item("i64", 2))
            due = pattern.load("i64", 1)
            with f.when(fields.type(given).eq(f.symbol("numpy_array").load("ptr"))):
                copied = f.call("ptr", "array_from_numpy", given, due)
                with f.when(copied.eq(0)):
                    f.ret(0)
                place = table.load("ptr")
                place.store(copied)
                table.store(place.item("ptr", 1))
                f.ret(1)
            with f.when(f.call("i64", "suits", given, due).eq(0)):
                f.ret(0)
            f.call("void", "Py_IncRef", given)
            place = table.load("ptr")
            place.store(given)
            table.store(place.item("ptr", 1))
            f.ret(1)
        with f.when(kind.eq(TREE_NONE)):
            cursor.store(pattern.item("i64", 1))
            f.ret(given.eq(f.symbol("python_none").load("ptr")).cast("i64"))
        with f.when(kind.eq(TREE_SAME) | kind.eq(TREE_EQUAL)):
            cursor.store(pattern.item("i64", 2))
            with f.when(given.eq(more)):
                f.ret(1)
            with f.when(kind.eq(TREE_SAME) | fields.type(given).ne(fields.type(more))):
                f.ret(0)
            equal = f.call("i32", "PyObject_RichCompareBool", given, more, f.i32(_EQUAL))
            with f.when(equal < 0):
                f.call("void", "PyErr_Clear")
            f.ret((equal > 0).cast("i64"))
        cursor.store(pattern.item("i64", 2))
        count = pattern.load("i64", 1)
        for number, name, prefix in _SEQUENCES:
            with f.when(kind.eq(number)):
                _require(f, fields, given, name, f"{prefix}_Size", count)
                with f.count(0, count) as i:
                    item = f.call("ptr", f"{prefix}_GetItem", given, i)
                    with f.when(f.call("i64", "match_tree", cursor, item, table).eq(0)):
                        f.ret(0)
                f.ret(1)
        _require(f, fields, given, "dict", "PyDict_Size", count)
        with f.count(0, count):
            place = cursor.load("ptr")
            cursor.store(place.item("i64", 1))
            item = f.call("ptr", "PyDict_GetItem", given, place.load("ptr"))
            with f.when(item.eq(0)):
                f.ret(0)
            with f.when(f.call("i64", "match_tree", cursor, item, table).eq(0)):
                f.ret(0)
        f.ret(1)


def _require(
    f: Writer, fields: Fields, given: Value, name: str, measure: str, count: Value
) -> None:
    """Return 0 unless an object is of the type and has `count` items."""
    with f.when(fields.type(given).ne(f.symbol(f"python_{name}").load("ptr"))):
        f.ret(0)
    with f.when(f.call("i64", measure, given).ne(count)):
        f.ret(0)


def _define_build(module: Module) -> None:
    """The tree of a pattern, with results of a call as leaves; null with an exception set."""
    kinds = ("ptr", "ptr", "ptr", "ptr")
    with module.function("build_tree", "ptr", *kinds, inside=True) as (f, p):
        cursor, call, args, outputs = p
        pattern = cursor.load("ptr")
        kind = pattern.load("i64")
        with f.when(kind.eq(TREE_NONE)):
            cursor.store(pattern.item("i64", 1))
            none = f.symbol("python_none").load("ptr")
            f.call("void", "Py_IncRef", none)
            f.ret(none)
        cursor.store(pattern.item("i64", 2))
        count = pattern.load("i64", 1)
        with f.when(kind.eq(TREE_LEAF)):
            f.ret(f.call("ptr", "pick", call, args, outputs, count))
        for number, _, prefix in _SEQUENCES:
            with f.when(kind.eq(number)):
                made = f.call("ptr", f"{prefix}_New", count)
                _leave_if_null(f, made)
                with f.count(0, count) as i:
                    item = f.call("ptr", "build_tree", cursor, call, args, outputs)
                    _leave_if_null(f, item, made)
                    f.call("i32", f"{prefix}_SetItem", made, i, item)
                f.ret(made)
        made = f.call("ptr", "PyDict_New")
        _leave_if_null(f, made)
        with f.count(0, count):
            place = cursor.load("ptr")
            cursor.store(place.item("i64", 1))
            item = f.call("ptr", "build_tree", cursor, call, args, outputs)
            _leave_if_null(f, item, made)
            wrong = f.call("i32", "PyDict_SetItem", made, place.load("ptr"), item)
            f.call("void", "Py_DecRef", item)
            with f.when(wrong.ne(0)):
                f.call("void", "Py_DecRef", made)
                f.ret(0, "ptr")
        f.ret(made)


def _leave_if_null(f: Writer, this: Value, *others: Value) -> None:
    """Return null if an object could not be made, and take references to others back."""
    with f.when(this.eq(0)):
        for other in others:
            f.call("void", "Py_DecRef", other)
        f.ret(0, "ptr")
