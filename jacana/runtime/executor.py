"""Programs: command records that a native loop runs on a frame of buffer addresses.

The records' layout and the loop are in `compiler.llvm.native_executor`. A frame is the addresses
given at each call, then addresses relative to the last of them (the arena), then fixed ones.
"""

import ctypes
import functools
import threading
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, NoReturn

from jacana.compiler.llvm import native
from jacana.compiler.llvm.native_layout import WRONG_FRAME
from jacana.runtime import cache, threads
from jacana.runtime.native_objects import MethodMaker, keep_forever, write_word

# A hook that runs upwards: the compiler's native functions are kept in this cache.
native.set_store(cache.get)


class Command(NamedTuple):
    """One native function applied to slots of the frame.

    It covers [0, extent), split over threads if grain > 0 and extent >= 2 * grain. Params are
    64-bit words, given as integers of either sign.
    """

    function: int
    buffers: Sequence[int]
    params: Sequence[int] = ()
    extent: int = 1
    grain: int = 0


class ProgramError(RuntimeError):
    """A native function reported that it failed."""


def pack(commands: Sequence[Command], slots: int, start: int = 0) -> tuple[list[int], list[int]]:
    """The words of commands on a frame of `slots` buffers, and where the params of each begin.

    Positions count from `start`, the number of words before these.
    """
    words: list[int] = []
    offsets = []
    for command in commands:
        if not all(0 <= slot < slots for slot in command.buffers):
            raise ValueError(f"slots {list(command.buffers)} in a frame of {slots} buffers")
        words += [
            command.function, len(command.buffers), len(command.params), command.extent,
            command.grain, *command.buffers,
        ]  # fmt: skip
        offsets.append(start + len(words))
        words += command.params
    return [word - (1 << 64) if word >= 1 << 63 else word for word in words], offsets


class Records:
    """Commands that a branch or a loop runs on its own buffers; it keeps this object alive."""

    __slots__ = ("_words", "address", "count", "keep")

    def __init__(
        self, commands: Sequence[Command], slots: int, keep: Iterable[object] = ()
    ) -> None:
        words, _ = pack(commands, slots)
        self._words = (ctypes.c_int64 * max(1, len(words)))(*words)
        self.address = ctypes.addressof(self._words)
        self.count = len(commands)
        self.keep = tuple(keep)


class _Words(bytearray):
    """A program's memory; it also keeps alive what its records point to."""

    __slots__ = ("keep",)

    keep: object


class Program:
    """A list of commands, ready to run.

    `run(addresses)` takes a list of `given` addresses, runs every command and returns None, or
    raises what a host command raised. `words` is the program as 64-bit integers, so that params
    may be changed between runs.
    """

    __slots__ = ("_offsets", "address", "run", "words")

    def __init__(
        self,
        commands: Sequence[Command],
        given: int,
        relative: Sequence[int] = (),
        fixed: Sequence[int] = (),
        release_gil: bool = False,
        keep: object = (),
    ) -> None:
        size = given + len(relative) + len(fixed)
        if relative and not given:
            raise ValueError("a program with addresses relative to the last given one needs one")
        head = (
            len(commands), given, len(relative), len(fixed), int(release_gil), id(_raise_failure),
        )  # fmt: skip
        front = [*head, *relative, *fixed]
        words, self._offsets = pack(commands, size, len(front))
        memory = _Words(array("q", [*front, *words]).tobytes())
        memory.keep = keep
        self.words = memoryview(memory).cast("q")
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        self.run: Callable[[list[int]], None] = _maker()(memory)

    def param_offset(self, command: int, param: int) -> int:
        """Where in `words` a param of a command is."""
        return self._offsets[command] + param


class HostFunction:
    """A Python function as a native one: `function(addresses)` is called with the GIL held.

    What it raises is carried out and raised by `Program.run`. A command that runs it has grain 0.
    """

    __slots__ = ("_callback", "address")

    def __init__(self, function: Callable[[list[int]], object], buffers: int) -> None:
        table = ctypes.c_uint64 * buffers

        def call(bufs: int, params: int, begin: int, end: int) -> int:
            try:
                function(list(table.from_address(bufs)) if buffers else [])
            except BaseException as error:
                _raised.error = error
                return 1
            return 0

        self._callback = _native_type(call)
        self.address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0


_native_type = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)
_raised = threading.local()


def _raise_failure(status: int) -> NoReturn:
    """Raise what the failed command of this thread's program left behind."""
    error: BaseException | None = getattr(_raised, "error", None)
    if error is not None:
        _raised.error = None
        raise error
    if status == WRONG_FRAME:
        raise ValueError("the program was given another number of addresses than it takes")
    raise ProgramError(f"native command {status - 1} of the program failed")


@functools.cache
def load() -> None:
    """Load the native executor, and tell it of the Python objects that it knows."""
    for name, value in (("python_list", list), ("python_none", None)):
        write_word(native.runtime.address(name), id(value))
    keep_forever(_raise_failure)


@functools.cache
def _maker() -> MethodMaker:
    """What makes `run` methods of programs."""
    load()
    threads.start()
    return MethodMaker("run", native.runtime.address("run_program"))


def run_holding_gil(frame: int, program: int, count: int) -> int:
    """Run `count` records at address `program` on the frame at an address; 1 + the failed one."""
    return int(_entries()[0](frame, program, count))


def run_releasing_gil(frame: int, program: int, count: int) -> int:
    """The same, with the GIL released meanwhile."""
    return int(_entries()[1](frame, program, count))


@functools.cache
def _entries() -> tuple["ctypes._CFunctionType", "ctypes._CFunctionType"]:
    _maker()
    address = native.runtime.address("run")
    params = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    holding = ctypes.PYFUNCTYPE(ctypes.c_int64, *params)(address)
    return holding, ctypes.CFUNCTYPE(ctypes.c_int64, *params)(address)
