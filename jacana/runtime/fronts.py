"""Fronts: callables that run a program they know for their arguments, or hand them to Python.

Where native types are possible, the choice and the call are one native function
(`compiler.llvm.native_fronts`); elsewhere everything goes the way of Python.
"""

import ctypes
import functools
import importlib
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jacana.compiler.llvm import native
from jacana.compiler.llvm.native_layout import (
    FRONT_FIRST,
    FRONT_LEAVES,
    FRONT_OWNER,
    FRONT_SIZE,
    FRONT_SLOW,
    FRONT_STAGED,
    FRONT_TAPED,
)
from jacana.core import config, trace
from jacana.core.stage import JaxprTrace, JaxprTracer
from jacana.runtime import native_array
from jacana.runtime.calls import Call
from jacana.runtime.native_objects import (
    BASE_TYPE,
    METHOD,
    OBJECT,
    TP_CALL,
    TP_DESCR_GET,
    VECTORCALL,
    WORD,
    Member,
    is_supported,
    keep_forever,
    make_object_type,
    slot_offset,
    write_word,
)
from jacana.transforms.eager_tape import EagerTape
from jacana.transforms.linearize import EagerLinearizeTrace, TapedTracer

# A front that is called with ever other types keeps so many calls, and begins another list when so
# many more could not be kept.
MAX_CALLS = 64
PATIENCE = 16 * MAX_CALLS


class Calls:
    """The calls that a front knows, and the Python function for all other arguments."""

    __slots__ = ("_words", "_kept", "_keys", "_refused", "_slow", "_beside", "address")

    def __init__(self, slow: Callable[..., Any]) -> None:
        self._words = (ctypes.c_int64 * FRONT_SIZE)()
        self._kept: list[Call] = []
        self._keys: set[object] = set()
        self._refused = 0
        self._slow = slow
        self._beside: list[Calls] = []
        self.address = ctypes.addressof(self._words)
        self._words[FRONT_SLOW] = id(slow)
        self._words[FRONT_OWNER] = id(self._kept)

    def in_derivatives(self) -> "Calls":
        """Calls on tracers of un-jitted derivatives, which are taken after all others."""
        return self._list_beside(FRONT_TAPED)

    def in_programs(self) -> "Calls":
        """Calls on tracers of programs."""
        return self._list_beside(FRONT_STAGED)

    def _list_beside(self, word: int) -> "Calls":
        calls = Calls(self._slow)
        self._beside.append(calls)
        self._words[word] = calls.address
        return calls

    def wants(self, key: object) -> bool:
        """Whether a call that is not known under a key should be added."""
        if key in self._keys:
            return False
        if len(self._kept) >= MAX_CALLS:
            self._refused += 1
            if self._refused < PATIENCE:
                return False
            self.clear()
        return True

    def add(self, call: Call, key: object) -> None:
        """Let the front take a call from now on."""
        self._keys.add(key)
        self._kept.append(call)
        self._words[FRONT_LEAVES] = max(self._words[FRONT_LEAVES], call.leaves)
        call.follow(self._words[FRONT_FIRST])
        self._words[FRONT_FIRST] = call.address

    def clear(self) -> None:
        """Forget all calls; those that are being made hold on to the old list."""
        old = self._kept
        self._words[FRONT_FIRST] = 0
        self._kept = []
        self._keys = set()
        self._refused = 0
        self._words[FRONT_OWNER] = id(self._kept)
        del old


class Front:
    """A callable object: its method `_call` is what it does with arguments it knows no call for."""

    __slots__ = ("_entry", "_state")

    _entry: int
    _state: int

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def _begin(self) -> Calls | None:
        """Make the object callable; where it knows calls natively, the list of them."""
        if not is_supported():
            return None
        calls = Calls(type(self)._call)
        self._state = calls.address
        self._entry = native.runtime.address("call_front")
        return calls


def _native_front() -> Any:
    """The native type of fronts, which classes may be derived from."""
    made = make_object_type(
        "jacana.runtime.fronts.Front",
        Front.__doc__ or "",
        2,
        _MEMBERS,
        {TP_CALL: _vectorcall_call()},
        flags=BASE_TYPE | VECTORCALL,
    )
    made._begin = Front._begin
    return made


_MEMBERS = [
    Member("_entry", WORD, 0, True),
    Member("_state", WORD, 1, True),
    Member("__vectorcalloffset__", WORD, 0),
]


def _vectorcall_call() -> int:
    return ctypes.cast(ctypes.pythonapi.PyVectorcall_Call, ctypes.c_void_p).value or 0


_operation_types: set[type] = set()


@functools.cache
def _operation_type() -> Any:
    prepare()
    made = make_object_type(
        "jacana.runtime.fronts.Operation",
        "A function of arrays that is a method too.",
        4,
        [*_MEMBERS, *[Member(n, OBJECT, 2 + i, True) for i, n in enumerate(_NAMES)]],
        {TP_CALL: _vectorcall_call(), TP_DESCR_GET: native.runtime.address("bind_method")},
        flags=VECTORCALL | METHOD,
    )
    made.__doc__ = property(lambda self: self.__wrapped__.__doc__)
    made.__module__ = property(lambda self: self.__wrapped__.__module__)
    # Everything else is the function's: attributes of ufuncs, annotations, where it is defined.
    made.__getattr__ = lambda self, name: getattr(self.__wrapped__, name)
    made.__repr__ = lambda self: repr(self.__wrapped__)
    _operation_types.add(made)
    made.__reduce__ = lambda self: (_by_name, (self.__wrapped__.__module__, self.__qualname__))
    return made


def _by_name(module: str, name: str) -> Any:
    """The function of a name where the user finds it."""
    public = importlib.import_module(module.rpartition(".")[0])
    return getattr(public, name) if hasattr(public, name) else getattr(sys.modules[module], name)


_NAMES = ("__name__", "__wrapped__")


def plain_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that an operation is made of; any other as it is."""
    if type(function) in _operation_types:
        return function.__wrapped__  # type: ignore[attr-defined, no-any-return]
    return function


def operation(slow: Callable[..., Any], function: Callable[..., Any]) -> tuple[Any, Calls | None]:
    """The function as one that knows calls, with `slow` for other arguments; it lives for good.

    Where native types are not possible, it is the function itself, and there are no calls.
    """
    if not is_supported():
        return function, None
    made = _operation_type()()
    calls = Calls(slow)
    made._state = calls.address
    made._entry = native.runtime.address("call_operation")
    made.__name__, made.__wrapped__ = function.__name__, function
    keep_forever(made, calls, slow)
    return made, calls


@functools.cache
def prepare() -> None:
    """Tell native code where the current trace, its Config and what is on tapes are found."""
    native_array.prepare()
    objects = {
        "trace_state": trace._state,
        "trace_name": "trace",
        "base_trace": trace.base_trace,
        "config_variable": config._local,
        "config_module": vars(config),
        "config_name": "_process",
        "taped_tracer": TapedTracer,
        "taping_trace": EagerLinearizeTrace,
        "staged_tracer": JaxprTracer,
        "staging_trace": JaxprTrace,
    }
    keep_forever(*objects.values())
    for name, value in objects.items():
        write_word(native.runtime.address(name), id(value))
    attributes = (
        (TapedTracer, ("_trace", "aval", "primal", "number")),
        (EagerLinearizeTrace, ("parent",)),
        (EagerTape, ("entries", "avals")),
    )
    for kind, names in attributes:
        for name in names:
            write_word(native.runtime.address(f"slot_{name}"), slot_offset(kind, name))


if not TYPE_CHECKING and is_supported():
    prepare()
    Front = _native_front()
