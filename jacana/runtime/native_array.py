"""The native type of arrays, with the Python methods of the class that it stands for.

Where native types are not possible, the class itself is the type of arrays.
"""

import functools
import gc
from typing import Any

import numpy as np

from jacana.compiler.llvm import native
from jacana.compiler.llvm.native_layout import (
    ARRAY_ADDRESS,
    ARRAY_AVAL,
    ARRAY_SIZE,
    ARRAY_WEAK,
)
from jacana.core.avals import ShapedArray
from jacana.runtime import executor, memory
from jacana.runtime.buffer import allocator
from jacana.runtime.native_objects import (
    BF_GETBUFFER,
    PRESENT_OBJECT,
    TP_DEALLOC,
    TP_NEW,
    WORD,
    Getter,
    Member,
    MethodMaker,
    is_supported,
    keep_forever,
    make_object_type,
    slot_offset,
    write_word,
)

# Properties of an Array that are its aval's.
_OF_AVAL = ("shape", "dtype", "ndim", "size", "weak_type", "nbytes")
# What the native type has of its own, and what only a class statement can mean.
_OWN = {
    *_OF_AVAL, "aval", "address", "_owner", "_receive", "delete", "__slots__", "__init__",
    "__dict__", "__weakref__", "__doc__", "__module__",
}  # fmt: skip


def adopt(kind: Any) -> Any:
    """The native type that has the methods of a class, or the class where there is none."""
    if not is_supported():
        return kind
    prepare()
    address = native.runtime.address
    array_type = make_object_type(
        "jacana.Array",
        kind.__doc__,
        ARRAY_SIZE,
        [
            Member("aval", PRESENT_OBJECT, ARRAY_AVAL),
            Member("address", WORD, ARRAY_ADDRESS),
            Member("__weaklistoffset__", WORD, ARRAY_WEAK),
        ],
        {
            TP_DEALLOC: address("drop_array"),
            TP_NEW: address("construct_array"),
            BF_GETBUFFER: address("get_buffer"),
        },
        [Getter(name, address("get_of_aval"), name) for name in _OF_AVAL],
    )
    write_word(address("array_type"), id(array_type))
    for name, value in vars(kind).items():
        if name not in _OWN:
            setattr(array_type, name, value)
    delete, receive = _method("delete_array"), _method("give_memory")
    array_type._owner = property(_method("buffer_of"))
    array_type._receive = functools.wraps(kind._receive)(
        lambda self, buffer: receive((self, buffer))
    )
    array_type.delete = functools.wraps(kind.delete)(lambda self: delete(self))
    return array_type


def list_arrays(kind: Any) -> list[Any]:
    """The arrays that are alive, of a type that `adopt` gave."""
    if not is_supported():
        return [x for x in gc.get_objects() if type(x) is kind]
    found: list[Any] = _method("list_arrays")(None)
    return found


@functools.cache
def _method(name: str) -> Any:
    return MethodMaker(name, native.runtime.address(name))(None)


@functools.cache
def prepare() -> None:
    """Tell native code of the Python objects that it knows."""
    executor.load()
    allocator()
    objects = {
        "python_float": float,
        "python_int": int,
        "python_bool": bool,
        "python_true": True,
        "python_tuple": tuple,
        "python_dict": dict,
        "python_type_error": TypeError,
        "name_address": "address",
        "array_usage": "Array is made of an aval and a buffer",
        "not_an_array": "the argument is not an Array",
        "python_buffer_error": BufferError,
        "buffer_refused": (
            "an Array lends its memory to be read only, in row-major order, and only where the "
            "buffer protocol has a format for its dtype: use np.asarray"
        ),
        "describe_memory": memory.describe_array,
    }
    keep_forever(*objects.values())
    for name, value in objects.items():
        write_word(native.runtime.address(name), id(value))
    write_word(native.runtime.address("slot_memory"), slot_offset(ShapedArray, "memory"))
    if memory.knows_numpy():
        write_word(native.runtime.address("numpy_array"), id(np.ndarray))
