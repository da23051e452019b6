"""The type of arrays, as LLVM IR: how they are made, dropped, and what is read of them.

An Array is [head, aval, address, owner, weak references, previous, next]. Arrays that are alive
form a list; memory of dropped ones is kept for the next. All this runs with the GIL held.
"""

from jacana.compiler.llvm.native_layout import (
    ARRAY_ADDRESS,
    ARRAY_AVAL,
    ARRAY_NEXT,
    ARRAY_OWNER,
    ARRAY_PREVIOUS,
    ARRAY_SIZE,
    ARRAY_WEAK,
)
from jacana.compiler.llvm.native_text import Module, Value, Writer

# How many dropped arrays' memory is kept, 64 bytes each.
_MAX_KEPT = 1024


def define(module: Module, object_head: int) -> None:
    """Write the functions of the type into a module."""
    module.shared_data("array_type", "ptr", "null")
    module.data("first_array", "ptr", "null")
    module.data("kept_arrays", "ptr", "null")
    module.data("kept_arrays_count", "i64", "0")
    module.external("PyErr_Clear", "void", "")
    module.external("PyErr_SetObject", "void", "ptr, ptr")
    module.external("PyList_Append", "i32", "ptr, ptr")
    module.external("PyList_New", "ptr", "i64")
    module.external("PyObject_ClearWeakRefs", "void", "ptr")
    module.external("PyObject_GetAttr", "ptr", "ptr, ptr")
    module.external("PyTuple_GetItem", "ptr", "ptr, i64")
    module.external("PyTuple_Size", "i64", "ptr")
    for text in ("array_usage", "not_an_array"):
        module.shared_data(text, "ptr", "null")
    module.shared_data("python_type_error", "ptr", "null")
    module.shared_data("name_address", "ptr", "null")
    fields = Fields(object_head)
    _define_make(module, fields)
    _define_drop(module, fields)
    _define_buffer_of(module, fields)
    _define_delete(module, fields)
    _define_constructor(module, fields)
    _define_properties(module, fields)


class Fields:
    """Where the words of objects are."""

    def __init__(self, object_head: int) -> None:
        self.head = object_head

    def word(self, this: Value, number: int) -> Value:
        """The address of a word of an object."""
        return this.item("i8", self.head + 8 * number)

    def type(self, this: Value) -> Value:
        return this.item("i8", self.head - 8).load("ptr")

    def is_array(self, f: Writer, this: Value) -> Value:
        return self.type(this).eq(f.symbol("array_type").load("ptr"))


def slot(f: Writer, this: Value, name: str) -> Value:
    """The address of a slot of an object of a Python class, which `tape_slots` were told of."""
    return this.item("i8", f.symbol(f"slot_{name}").load("i64"))


def raise_type_error(f: Writer, text: str) -> None:
    """Return null with a TypeError set, in a function that gives an object."""
    error, message = f.symbol("python_type_error").load("ptr"), f.symbol(text).load("ptr")
    f.call("void", "PyErr_SetObject", error, message)
    f.ret(0, "ptr")


def _define_make(module: Module, fields: Fields) -> None:
    """An Array; the reference that `owner` is becomes its own. Null if memory is out."""
    with module.function("make_array", "ptr", "ptr", "ptr", "ptr", inside=True) as (f, p):
        aval, address, owner = p
        kept, count = f.symbol("kept_arrays"), f.symbol("kept_arrays_count")
        memory = f.variable("ptr", kept.load("ptr"))
        with f.either(memory.value.ne(0)) as otherwise:
            kept.store(memory.value.load("ptr"))
            count.store(count.load("i64") - 1)
            otherwise.begin()
            memory.set(f.call("ptr", "PyObject_Malloc", f.i64(fields.head + 8 * ARRAY_SIZE)))
            with f.when(memory.value.eq(0)):
                f.ret(f.call("ptr", "PyErr_NoMemory"))
        this = memory.value
        f.call("ptr", "PyObject_Init", this, f.symbol("array_type").load("ptr"))
        f.call("void", "Py_IncRef", aval)
        null = f.value(0, "ptr")
        first = f.symbol("first_array")
        following = first.load("ptr")
        for number, value in (
            (ARRAY_AVAL, aval), (ARRAY_ADDRESS, address), (ARRAY_OWNER, owner),
            (ARRAY_WEAK, null), (ARRAY_PREVIOUS, null), (ARRAY_NEXT, following),
        ):  # fmt: skip
            fields.word(this, number).store(value)
        with f.when(following.ne(0)):
            fields.word(following, ARRAY_PREVIOUS).store(this)
        first.store(this)
        f.ret(this)


def _define_drop(module: Module, fields: Fields) -> None:
    """Give the memory of an Array's data back; the Array does not point to it any more."""
    with module.function("drop_owner", "void", "ptr", inside=True) as (f, (this,)):
        place = fields.word(this, ARRAY_OWNER)
        owner, tag = place.load("ptr"), place.load("i64")
        address = fields.word(this, ARRAY_ADDRESS)
        block = address.load("ptr")
        null = f.value(0, "ptr")
        place.store(null)
        address.store(null)
        with f.either((tag & 1).ne(0)) as otherwise:
            f.call("void", "give_block", block, tag >> 1)
            otherwise.begin()
            f.call("void", "Py_DecRef", owner)
        f.ret()
    with module.function("drop_array", "void", "ptr") as (f, (this,)):
        kind = fields.type(this)
        with f.when(fields.word(this, ARRAY_WEAK).load("ptr").ne(0)):
            f.call("void", "PyObject_ClearWeakRefs", this)
        previous = fields.word(this, ARRAY_PREVIOUS).load("ptr")
        following = fields.word(this, ARRAY_NEXT).load("ptr")
        with f.either(previous.ne(0)) as otherwise:
            fields.word(previous, ARRAY_NEXT).store(following)
            otherwise.begin()
            f.symbol("first_array").store(following)
        with f.when(following.ne(0)):
            fields.word(following, ARRAY_PREVIOUS).store(previous)
        f.call("void", "drop_owner", this)
        f.call("void", "Py_DecRef", fields.word(this, ARRAY_AVAL).load("ptr"))
        kept, count = f.symbol("kept_arrays"), f.symbol("kept_arrays_count")
        number = count.load("i64")
        with f.either(number < _MAX_KEPT) as otherwise:
            this.store(kept.load("ptr"))
            kept.store(this)
            count.store(number + 1)
            otherwise.begin()
            f.call("void", "PyObject_Free", this)
        f.call("void", "Py_DecRef", kind)
        f.ret()


def _define_buffer_of(module: Module, fields: Fields) -> None:
    """A reference to an Array's buffer, which owns the memory from then on; None if deleted."""
    with module.function("own_buffer", "ptr", "ptr", inside=True) as (f, (this,)):
        place = fields.word(this, ARRAY_OWNER)
        tag = place.load("i64")
        with f.when((tag & 1).ne(0)):
            number, block = tag >> 1, fields.word(this, ARRAY_ADDRESS).load("ptr")
            # The block is taken from the Array first: a buffer that fails gives it back.
            place.store(f.value(0, "ptr"))
            size = f.call("i64", "class_size", number)
            buffer = f.call("ptr", "make_buffer", block, size, number)
            with f.when(buffer.eq(0)):
                fields.word(this, ARRAY_ADDRESS).store(f.value(0, "ptr"))
                f.ret(0, "ptr")
            place.store(buffer)
        owner = f.variable("ptr", place.load("ptr"))
        with f.when(owner.value.eq(0)):
            owner.set(f.symbol("python_none").load("ptr"))
        f.call("void", "Py_IncRef", owner.value)
        f.ret(owner.value)
    with module.function("buffer_of", "ptr", "ptr", "ptr") as (f, (_, this)):
        with f.when(fields.is_array(f, this)):
            f.ret(f.call("ptr", "own_buffer", this))
        raise_type_error(f, "not_an_array")


def _define_delete(module: Module, fields: Fields) -> None:
    """Python functions: one gives an Array's memory back, one gives it a buffer, one lists all."""
    with module.function("delete_array", "ptr", "ptr", "ptr") as (f, (_, this)):
        with f.when(fields.is_array(f, this)):
            f.call("void", "drop_owner", this)
            none = f.symbol("python_none").load("ptr")
            f.call("void", "Py_IncRef", none)
            f.ret(none)
        raise_type_error(f, "not_an_array")
    with module.function("give_memory", "ptr", "ptr", "ptr") as (f, (_, pair)):
        this = f.call("ptr", "PyTuple_GetItem", pair, f.i64(0))
        buffer = f.call("ptr", "PyTuple_GetItem", pair, f.i64(1))
        f.call("void", "drop_owner", this)
        f.call("void", "Py_IncRef", buffer)
        fields.word(this, ARRAY_OWNER).store(buffer)
        fields.word(this, ARRAY_ADDRESS).store(fields.word(buffer, 0).load("ptr"))
        none = f.symbol("python_none").load("ptr")
        f.call("void", "Py_IncRef", none)
        f.ret(none)
    with module.function("list_arrays", "ptr", "ptr", "ptr") as (f, (_, _)):
        found = f.call("ptr", "PyList_New", f.i64(0))
        with f.when(found.eq(0)):
            f.ret(0, "ptr")
        at = f.variable("ptr", f.symbol("first_array").load("ptr"))
        with f.forever() as loop:
            loop.leave_if(at.value.eq(0))
            this = at.value
            with f.when(f.call("i32", "PyList_Append", found, this).ne(0)):
                f.call("void", "Py_DecRef", found)
                f.ret(0, "ptr")
            at.set(fields.word(this, ARRAY_NEXT).load("ptr"))
        f.ret(found)


def _define_constructor(module: Module, fields: Fields) -> None:
    """Array(aval, buffer), as the type's `tp_new`."""
    with module.function("construct_array", "ptr", "ptr", "ptr", "ptr") as (f, (_, args, _)):
        with f.when(f.call("i64", "PyTuple_Size", args).ne(2)):
            raise_type_error(f, "array_usage")
        aval = f.call("ptr", "PyTuple_GetItem", args, f.i64(0))
        buffer = f.call("ptr", "PyTuple_GetItem", args, f.i64(1))
        address = f.variable("ptr", 0)
        with f.either(fields.type(buffer).eq(f.symbol("buffer_type").load("ptr"))) as otherwise:
            address.set(fields.word(buffer, 0).load("ptr"))
            otherwise.begin()
            name = f.symbol("name_address").load("ptr")
            number = f.call("ptr", "PyObject_GetAttr", buffer, name)
            with f.when(number.eq(0)):
                f.ret(0, "ptr")
            address.set(f.call("ptr", "PyLong_AsVoidPtr", number))
            f.call("void", "Py_DecRef", number)
            with f.when(address.value.eq(0)), f.when(f.call("ptr", "PyErr_Occurred").ne(0)):
                f.ret(0, "ptr")
        f.call("void", "Py_IncRef", buffer)
        made = f.call("ptr", "make_array", aval, address.value, buffer)
        with f.when(made.eq(0)):
            f.call("void", "Py_DecRef", buffer)
        f.ret(made)


def _define_properties(module: Module, fields: Fields) -> None:
    """A getter of properties that are the aval's; its closure is the name of the attribute."""
    with module.function("get_of_aval", "ptr", "ptr", "ptr") as (f, (this, name)):
        aval = fields.word(this, ARRAY_AVAL).load("ptr")
        f.ret(f.call("ptr", "PyObject_GetAttr", aval, name))
