"""Lazy: un-jitted elementwise work on large arrays is put off until somebody looks at a result.

A chain of operations on arrays that do not fit in the cache is as slow as memory: each reads and
writes all of it. Put off, the chain is one program, whose inner results nobody holds any more when
it runs. `jit` never changes a bit, so neither does this: only time and memory can tell.

A batch is what one thread has put off. It runs when a value is looked at, when any other program
needs one, or when it is full; it is forgotten when nobody holds a result. Batches of one structure
are fused from the third on; before, and for endless kinds of batches, each operation runs by
itself, so that a program that is used once compiles nothing more than its operations.
"""

import os
import threading
import weakref
from collections.abc import Sequence
from typing import Any

from jacana.core.avals import ShapedArray
from jacana.core.bounded import Bounded
from jacana.core.jaxpr import Jaxpr, Var
from jacana.runtime.array import Array
from jacana.runtime.buffer import Promise
from jacana.runtime.executable import Executable, executable_for
from jacana.runtime.operations import Operation

# How much is put off at most: operations, and bytes of operands held and results promised.
MAX_STEPS = 64
MAX_BYTES = 1 << 28
# Batches of one structure are fused when they come for this time.
FUSE_AT = 3

# An operand or a result: the number of an input as (-1, number), or an output of a step.
Place = tuple[int, int]


class Step:
    """An operation that was put off, where its operands come from, and who holds its results."""

    __slots__ = ("operation", "sources", "results")

    def __init__(self, operation: Operation, sources: list[Place]):
        self.operation, self.sources = operation, sources
        self.results: list[weakref.ref[Array]] = []


class Kept(Promise):
    """A promise of a batch: the memory of an output of one of its steps."""

    __slots__ = ("batch", "place")

    def __init__(self, batch: "Batch", place: Place):
        self.batch, self.place = batch, place

    def keep(self) -> None:
        self.batch.run()


class Batch:
    """Operations that were put off, in order."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.closed = False
        self._busy = False
        self._forget()
        batches.add(self)

    def _forget(self) -> None:
        self._steps: list[Step] = []
        self._inputs: list[Array] = []
        self._numbers: dict[tuple[int, ShapedArray], Place] = {}
        self._bytes = 0
        self._held: set[Place] = set()

    def add(self, operation: Operation, arrays: Sequence[Array]) -> list[Array] | None:
        """The results, yet to be computed; None if the batch is closed."""
        with self.lock:
            if self.closed:
                return None
            self._busy = True
            try:
                step = Step(operation, [self._source(a) for a in arrays])
                results = []
                for k, aval in enumerate(operation.outputs):
                    place = (len(self._steps), k)
                    made = Array(aval, Kept(self, place))  # type: ignore[arg-type]
                    step.results.append(weakref.ref(made, self._dropper(place)))
                    self._held.add(place)
                    self._bytes += aval.nbytes
                    results.append(made)
                self._steps.append(step)
            finally:
                self._busy = False
            if len(self._steps) >= MAX_STEPS or self._bytes >= MAX_BYTES:
                self.run()
            return results

    def _source(self, x: Array) -> Place:
        owner = x._owner
        if type(owner) is Kept:
            return owner.place
        if owner is None:
            # Deleted by another thread meanwhile; this says so.
            x._value  # noqa: B018
        key = (id(owner), x.aval)
        place = self._numbers.get(key)
        if place is None:
            place = self._numbers[key] = (-1, len(self._inputs))
            # An Array of our own: the user's may be deleted before the batch runs.
            self._inputs.append(Array(x.aval, owner))
            self._bytes += x.aval.nbytes
        return place

    def _dropper(self, place: Place) -> Any:
        """What to do when a result is dropped: forget all when nobody holds any."""
        this = weakref.ref(self)

        def drop(_: Any) -> None:
            batch = this()
            if batch is None or batch.closed:
                return
            batch._held.discard(place)
            if not batch._held and batch.lock.acquire(blocking=False):
                try:
                    if not batch._busy and not batch._held:
                        batch._forget()
                finally:
                    batch.lock.release()

        return drop

    def run(self) -> None:
        """Compute what is held, and give the arrays that hold it their memory."""
        with self.lock:
            self.closed = True
            # Python code that runs meanwhile may look at a result, and so run all of it first.
            steps, inputs = self._steps, self._inputs
            held = [
                ((n, k), array)
                for n, step in enumerate(steps)
                for k, array in enumerate([reference() for reference in step.results])
                if array is not None and type(array._owner) is Kept
            ]
            if held:
                made = compute(steps, inputs, [place for place, _ in held])
                for (_, array), result in zip(held, made, strict=True):
                    if type(array._owner) is Kept:
                        array._receive(result.buffer)
            self._forget()


def compute(steps: list[Step], inputs: list[Array], held: list[Place]) -> list[Array]:
    """The results at some places of a batch."""
    needed = _needed(steps, held)
    structure = [(n, steps[n].operation, *steps[n].sources) for n in needed]
    key = (tuple(structure), tuple(held))
    known = programs.get(key, 0)
    if isinstance(known, int):
        if known + 1 < FUSE_AT or len(needed) == 1:
            programs[key] = known + 1
            return _run_by_steps(steps, inputs, needed, held)
        known = programs[key] = _fuse(steps, needed, held)
    executable, numbers = known
    return executable.run([inputs[n] for n in numbers])


def _needed(steps: list[Step], held: list[Place]) -> list[int]:
    """The steps that the held results come from, in order."""
    wanted = {n for n, _ in held}
    for number in range(len(steps) - 1, -1, -1):
        if number in wanted:
            wanted.update(n for n, _ in steps[number].sources if n >= 0)
    return sorted(wanted)


def _run_by_steps(
    steps: list[Step], inputs: list[Array], needed: list[int], held: list[Place]
) -> list[Array]:
    """The held results, each operation by itself; others are dropped once they were read."""
    values: dict[Place, Array] = {(-1, n): x for n, x in enumerate(inputs)}
    last = {source: n for n in needed for source in steps[n].sources}
    for place in held:
        last.pop(place, None)
    for n in needed:
        sources = steps[n].sources
        made = steps[n].operation.run([values[s] for s in sources])
        values.update({(n, k): x for k, x in enumerate(made)})
        for source in sources:
            if last.get(source) == n:
                values.pop(source, None)
    return [values[place] for place in held]


def _fuse(steps: list[Step], needed: list[int], held: list[Place]) -> tuple[Executable, list[int]]:
    """One program of the needed steps, and the numbers of its inputs."""
    places: dict[Place, Var] = {}
    equations = []
    for n in needed:
        operation, sources = steps[n].operation, steps[n].sources
        invars = [
            places.setdefault(s, Var(aval))
            for s, aval in zip(sources, operation.inputs, strict=True)
        ]
        outvars = [Var(aval) for aval in operation.outputs]
        places.update({(n, k): v for k, v in enumerate(outvars)})
        equations.append(operation.equation(invars, outvars))
    numbers = sorted(n for step, n in places if step < 0)
    invars = [places[-1, n] for n in numbers]
    return executable_for(Jaxpr([], invars, [places[p] for p in held], equations)), numbers


# Structure of a batch -> how often it came, or its program and the numbers of its inputs.
programs: Bounded[Any, int | tuple[Executable, list[int]]] = Bounded(1024)
batches: "weakref.WeakSet[Batch]" = weakref.WeakSet()
_thread = threading.local()


def put_off(operation: Operation, arrays: Sequence[Array]) -> list[Array] | None:
    """The results of an operation that joins, to be computed later; None to compute them now."""
    batch = getattr(_thread, "batch", None)
    promised = False
    for x in arrays:
        if x.address == 0:
            owner = x._owner
            if type(owner) is not Kept:
                return None
            if owner.batch is batch and not batch.closed:
                promised = True
            else:
                x._settle()
    if not promised and not operation.makes_large:
        return None
    results = batch.add(operation, arrays) if batch is not None else None
    if results is None:
        # Another thread may close it, and give what it promised, at any time before `add`.
        batch = _thread.batch = Batch()
        for x in arrays:
            x._settle()
        results = batch.add(operation, arrays)
    return results


def _after_fork() -> None:
    for batch in list(batches):
        batch.lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
