"""Calls: what native code needs to run a program on arrays, as 64-bit words (`native_layout`).

A call says what each argument must be and what becomes of the results. `Executable.run` is a call
that any arrays suit; fronts (`runtime.fronts`) choose among calls by their arguments.
"""

import ctypes
import functools
from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jacana.compiler.llvm import native
from jacana.compiler.llvm.native_layout import (
    ANY_ARRAY,
    BOOL_TO_8,
    CALL_GIVEN,
    CALL_KEYWORDS,
    CALL_NEXT,
    CALL_PATTERN,
    FLOAT_TO_32,
    FLOAT_TO_64,
    FORM_FINISHED,
    FORM_LIST,
    FORM_SINGLE,
    FORM_TREE,
    IN_PROGRAM,
    INT_TO_32,
    INT_TO_64,
    LARGEST,
    ON_TAPE,
)
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.runtime import executor, memory, native_array
from jacana.runtime.array import Array
from jacana.runtime.buffer import class_number
from jacana.runtime.native_objects import MethodMaker, is_supported, keep_forever, write_word
from jacana.runtime.patterns import Pattern
from jacana.transforms.eager_tape import TapeEntry

__all__ = [
    "ANY_ARRAY", "FORM_FINISHED", "FORM_LIST", "FORM_SINGLE", "FORM_TREE", "Call", "Due",
    "FromNumpy", "Given",
    "InProgram", "Layout", "OnTape", "Recording", "Result", "check_arrays", "due_of", "word_of",
]  # fmt: skip


class Layout:
    """What all calls of a program have in common."""

    __slots__ = ("inputs", "outputs", "results", "arena", "program", "slots", "shared", "is_native")

    def __init__(
        self,
        inputs: int,
        outputs: Sequence[tuple[ShapedArray, int]],
        results: Sequence[int],
        arena: int,
        program: executor.Program | None,
        slots: int,
        shared: bool,
    ) -> None:
        self.inputs, self.outputs, self.results = inputs, outputs, results
        self.arena, self.program, self.slots, self.shared = arena, program, slots, shared
        sizes = [arena, *[nbytes for _, nbytes in outputs]]
        self.is_native = is_supported() and max(sizes) <= LARGEST

    def with_results_apart(self) -> "Layout":
        """The same, where each result is an Array of its own: none is an input, none another one.

        What is shared is memory, so deleting or donating one does not delete another.
        """
        seen: set[int] = set()
        numbers = []
        for n in self.results:
            numbers.append(-1 - n if n < self.inputs or n in seen else n)
            seen.add(n)
        return self.with_results(numbers)

    def with_results(self, results: Sequence[int]) -> "Layout":
        """The same with other results, by their numbers among inputs and outputs."""
        return Layout(
            self.inputs, self.outputs, results, self.arena, self.program, self.slots, self.shared
        )


class Recording:
    """What a call adds to a tape (`native_traces`): an entry, whose variables some outputs are."""

    __slots__ = ("_words", "_kept", "address")

    def __init__(
        self,
        entry: TapeEntry,
        operands: int,
        nonzero: Sequence[bool],
        finish: Callable[[list[Any]], Any] | None,
    ):
        self._kept = (entry, entry.out_avals, finish)
        finish_word = 0 if finish is None else id(finish)
        head = [id(entry), id(entry.out_avals), operands, len(nonzero), finish_word]
        words = [*head, *map(int, nonzero)]
        self._words = (ctypes.c_int64 * len(words))(*words)
        self.address = ctypes.addressof(self._words)


class Result(NamedTuple):
    """What a call gives: a form, and the pattern of the tree or the function that finishes it.

    Instead of that, a list of outputs and residuals may be recorded on a tape.
    """

    form: int = FORM_LIST
    finish: Pattern | Recording | Callable[..., Any] | None = None

    def word(self) -> int:
        if isinstance(self.finish, Pattern | Recording):
            return self.finish.address
        return id(self.finish)


class Given(NamedTuple):
    """How a call finds its leaves in trees: how many arguments there are, and their pattern.

    Named arguments are given in any order; `names` are sorted, each with its place.
    """

    positional: int
    pattern: Pattern
    names: tuple[tuple[str, int], ...]


_LIST = Result()


class _Words(bytearray):
    """A call's memory; it also keeps alive what it points to."""

    __slots__ = ("keep",)

    keep: object


class Call:
    """One way to call a program. `run` takes a list of Arrays and gives the result."""

    __slots__ = ("memory", "address", "leaves")

    def __init__(
        self,
        layout: Layout,
        args: Sequence["Due"],
        consts: Sequence[Array] = (),
        config: object = None,
        result: Result = _LIST,
        trees: Given | None = None,
        donated: Sequence[int] = (),
    ) -> None:
        places = (ctypes.c_int64 * (1 + len(donated)))(len(donated), *donated)
        kept = (layout, args, consts, config, result, trees, places)
        given = layout.inputs + len(layout.outputs)
        head = [
            0, id(config) if config is not None else 0, len(consts), len(args), 0,
            len(layout.outputs), len(layout.results),
            layout.program.address if layout.program is not None else 0,
            max(layout.slots, given + 1), layout.arena, class_number(layout.arena),
            int(layout.shared), result.form, result.word(), len(args), 0,
            ctypes.addressof(places) if donated else 0,
        ]  # fmt: skip
        pairs: list[int] = []
        if trees is not None:
            head[CALL_GIVEN], head[CALL_PATTERN] = trees.positional, trees.pattern.address
            head[CALL_KEYWORDS] = len(trees.names)
            pairs = [word for name, place in trees.names for word in (id(name), place)]
        words = [*head, *map(id, consts), *map(word_of, args), *pairs]
        for aval, nbytes in layout.outputs:
            words += [id(aval), nbytes, class_number(nbytes)]
        words += layout.results
        self.leaves = 0 if trees is None else len(args)
        self.memory = _Words(array("q", words).tobytes())
        self.memory.keep = kept
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))

    def follow(self, address: int) -> None:
        """Be before another call in the list of a front."""
        ctypes.c_int64.from_address(self.address + 8 * CALL_NEXT).value = address

    @property
    def run(self) -> Callable[[list[Array]], Any]:
        return _maker()(self.memory)


class OnTape(NamedTuple):
    """A tracer of an un-jitted derivative, of an aval."""

    aval: ShapedArray


class InProgram(NamedTuple):
    """A tracer of a function that is traced, of an aval."""

    aval: ShapedArray
    mark: int = IN_PROGRAM


class FromNumpy(NamedTuple):
    """An array of NumPy's that becomes an Array of an aval, by a copy or from a wider dtype."""

    aval: ShapedArray
    mark: int


# What an argument must be: an Array of an aval, what becomes one, a tracer, or a kind of scalar.
Due = ShapedArray | FromNumpy | OnTape | InProgram | int


def word_of(due: Due) -> int:
    """The number by which native code knows what is due."""
    if isinstance(due, OnTape):
        return id(due.aval) + ON_TAPE
    if isinstance(due, InProgram | FromNumpy):
        return id(due.aval) + due.mark
    return due if isinstance(due, int) else id(due)


def due_of(value: Any, aval: ShapedArray) -> Due | None:
    """What an argument like this one must be; None for what only Python code can take."""
    if type(value) is Array:
        return aval
    if type(value) is np.ndarray:
        mark = memory.numpy_mark(value, aval)
        return None if mark is None else FromNumpy(aval, mark)
    return _SCALARS.get((type(value), aval.dtype))


_SCALARS = {
    (float, dtypes.float32): FLOAT_TO_32, (float, dtypes.float64): FLOAT_TO_64,
    (int, dtypes.int32): INT_TO_32, (int, dtypes.int64): INT_TO_64,
    (bool, dtypes.bool_): BOOL_TO_8,
}  # fmt: skip


def check_arrays(arrays: Sequence[Any], count: int | None = None) -> None:
    """Raise what is wrong with the arrays of a call, if anything is."""
    for x in arrays:
        if type(x) is not Array:
            raise TypeError(f"a program runs on a list of Arrays, got {type(x).__name__} in it")
        if x.address == 0 and not x._settle():
            # Raises, and says why.
            x._value  # noqa: B018
    if count is not None and len(arrays) != count:
        raise TypeError(f"a program of {count} arrays was given {len(arrays)}")


def _refused(arrays: Any) -> None:
    """Return if it was for memory that was promised, and now is there; otherwise say why."""
    if type(arrays) is list:
        promised = any(type(x) is Array and x._settle() for x in arrays)
        check_arrays(arrays)
        if promised:
            return
    raise TypeError("a program runs on a list of as many Arrays as it has inputs")


@functools.cache
def _maker() -> MethodMaker:
    native_array.prepare()
    keep_forever(_refused)
    write_word(native.runtime.address("call_refused"), id(_refused))
    return MethodMaker("run", native.runtime.address("run_arrays"))
