"""Python functions and types made of native code, through CPython's own interface.

What is made here is never freed: it may be used while the interpreter goes down.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

_METH_O = 0x0008
_TP_DEALLOC, _TP_DOC, _TP_MEMBERS = 52, 56, 72
_DEFAULT_FLAGS, _NO_CONSTRUCTOR = 1 << 18, 1 << 7
_T_PYSSIZET, _READONLY = 19, 1
_kept: list[object] = []


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


def make_type(name: str, doc: str, words: Sequence[str], dealloc: int) -> Any:
    """A type without constructor whose objects are 64-bit words, read-only numbers for Python."""
    head = object.__basicsize__
    members = (_MemberDef * (len(words) + 1))(
        *[
            _MemberDef(word.encode(), _T_PYSSIZET, head + 8 * i, _READONLY, None)
            for i, word in enumerate(words)
        ]
    )
    text = doc.encode()
    slots = (_Slot * 4)(
        _Slot(_TP_DEALLOC, dealloc),
        _Slot(_TP_DOC, ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p)),
        _Slot(_TP_MEMBERS, ctypes.addressof(members)),
        _Slot(0, None),
    )
    size = head + 8 * len(words)
    flags = _DEFAULT_FLAGS | _NO_CONSTRUCTOR
    spec = _Spec(name.encode(), size, 0, flags, ctypes.addressof(slots))
    keep_forever(members, text, slots, spec)
    make = ctypes.pythonapi.PyType_FromSpec
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p]
    made = make(ctypes.addressof(spec))
    keep_forever(made)
    return made


def write_word(address: int, value: int) -> None:
    """Set a 64-bit variable of native code."""
    ctypes.c_int64.from_address(address).value = value


def read_word(address: int) -> int:
    """A 64-bit variable of native code."""
    return ctypes.c_int64.from_address(address).value
