"""Python functions and types made of native code, through CPython's own interface.

What is made here is never freed: it may be used while the interpreter goes down.
"""

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

_METH_O = 0x0008
_TP_DOC, _TP_MEMBERS, _TP_GETSET = 56, 72, 73
# Numbers of the slots that a type may be given, from CPython's typeslots.h.
BF_GETBUFFER, TP_CALL, TP_DEALLOC, TP_DESCR_GET, TP_NEW = 1, 50, 52, 54, 65
_DEFAULT_FLAGS = 1 << 18
NO_CONSTRUCTOR, BASE_TYPE, VECTORCALL, METHOD = 1 << 7, 1 << 10, 1 << 11, 1 << 17
# Kinds of members: an object, or None where there is none; an object that is always there; a word.
OBJECT, PRESENT_OBJECT, WORD = 6, 16, 19
_kept: list[object] = []


def is_supported() -> bool:
    """Whether objects of this interpreter may be made and read by native code."""
    return (
        sys.implementation.name == "cpython"
        and "t" not in sys.abiflags  # without the GIL
        and ctypes.sizeof(ctypes.c_void_p) == 8
        and not hasattr(sys, "getobjects")  # a build that links all objects
    )


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _MemberDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("type", ctypes.c_int),
        ("offset", ctypes.c_ssize_t),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _GetSetDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("get", ctypes.c_void_p),
        ("set", ctypes.c_void_p),
        ("doc", ctypes.c_char_p),
        ("closure", ctypes.c_void_p),
    )


class _Slot(ctypes.Structure):
    _fields_ = (("slot", ctypes.c_int), ("function", ctypes.c_void_p))


class _Spec(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("basicsize", ctypes.c_int),
        ("itemsize", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("slots", ctypes.c_void_p),
    )


def keep_forever(*things: object) -> None:
    """Give each thing a reference that nobody takes back."""
    for thing in things:
        _kept.append(thing)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


class MethodMaker:
    """Makes Python functions of one argument of `PyObject *f(PyObject *self, PyObject *arg)`."""

    def __init__(self, name: str, function: int) -> None:
        self._definition = _MethodDef(name.encode(), function, _METH_O, None)
        self._make = ctypes.pythonapi.PyCFunction_NewEx
        self._make.restype = ctypes.py_object
        self._make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
        self._address = ctypes.addressof(self._definition)
        keep_forever(self._definition)

    def __call__(self, this: object) -> Callable[[Any], Any]:
        """The function with `this` as its self."""
        method: Callable[[Any], Any] = self._make(self._address, this, None)
        return method


class Member(NamedTuple):
    """An attribute that is a word of the object, or of its type where the name says so."""

    name: str
    kind: int
    word: int
    writable: bool = False


class Getter(NamedTuple):
    """A property by a native function of the object and a closure."""

    name: str
    function: int
    closure: object


def make_type(name: str, doc: str, words: Sequence[str], dealloc: int) -> Any:
    """A type without constructor whose objects are 64-bit words, read-only numbers for Python."""
    members = [Member(word, WORD, i) for i, word in enumerate(words)]
    return make_object_type(
        name, doc, len(words), members, {TP_DEALLOC: dealloc}, flags=NO_CONSTRUCTOR
    )


def make_object_type(
    name: str,
    doc: str,
    size: int,
    members: Sequence[Member],
    functions: Mapping[int, int],
    getters: Sequence[Getter] = (),
    flags: int = 0,
) -> Any:
    """A type whose objects have `size` words; `functions` are the addresses of its slots."""
    head = object.__basicsize__
    member_table = (_MemberDef * (len(members) + 1))(
        *[
            _MemberDef(m.name.encode(), m.kind, head + 8 * m.word, int(not m.writable), None)
            for m in members
        ]
    )
    getter_table = (_GetSetDef * (len(getters) + 1))(
        *[_GetSetDef(g.name.encode(), g.function, None, None, id(g.closure)) for g in getters]
    )
    text = doc.encode()
    values = {
        **functions,
        _TP_DOC: ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value,
        _TP_MEMBERS: ctypes.addressof(member_table),
        _TP_GETSET: ctypes.addressof(getter_table),
    }
    slots = (_Slot * (len(values) + 1))(*[_Slot(k, v) for k, v in values.items()])
    spec = _Spec(name.encode(), head + 8 * size, 0, _DEFAULT_FLAGS | flags, ctypes.addressof(slots))
    keep_forever(member_table, getter_table, text, slots, spec, *[g.closure for g in getters])
    make = ctypes.pythonapi.PyType_FromSpec
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p]
    made = make(ctypes.addressof(spec))
    keep_forever(made)
    return made


def slot_offset(kind: type, name: str) -> int:
    """Where objects of a class keep an attribute that is one of its `__slots__`."""
    descriptor = getattr(kind, name)
    # The member's definition follows the head and the type, name and qualified name.
    definition = _MemberDef.from_address(read_word(id(descriptor) + object.__basicsize__ + 24))
    assert definition.name == name.encode()
    return int(definition.offset)


def write_word(address: int, value: int) -> None:
    """Set a 64-bit variable of native code."""
    ctypes.c_int64.from_address(address).value = value


def read_word(address: int) -> int:
    """A 64-bit variable of native code."""
    return ctypes.c_int64.from_address(address).value
