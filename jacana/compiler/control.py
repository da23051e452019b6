"""Control: inner programs of branches and loops, laid out on the buffers of one command.

An inner program's inputs and results are buffers of the command; its temporaries become temporaries
of the outer program.
"""

from collections.abc import Callable, Sequence

from jacana.compiler.commands import (
    Command,
    ControlCall,
    ControlCommand,
    Inner,
    LibraryCommand,
    Program,
)
from jacana.compiler.tensors import Context, Tensor, nbytes
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.records import replace

# Position read, position written, bytes.
Carry = tuple[int, int, int]


class ControlFrame:
    """The buffers of a command under construction; a position is an index into them."""

    def __init__(self, context: Context, call: ControlCall):
        self.context, self.call = context, call
        self.slots: list[int] = []

    def place(self, tensor: Tensor) -> int:
        """A position for a stored tensor."""
        assert tensor.slot is not None
        self.slots.append(tensor.slot)
        return len(self.slots) - 1

    def scratch(self, aval: ShapedArray) -> int:
        """A position for a temporary of the outer program."""
        tensor = Tensor(self.context, aval.shape, aval.dtype, "stored")
        tensor.slot = self.context.add_slot(tensor)
        return self.place(tensor)

    def inner(
        self, program: Program, inputs: Sequence[int], results: Sequence[int]
    ) -> tuple[Command, ...]:
        """The program's commands on this frame, with its inputs and results at the positions."""
        where = dict(enumerate(inputs))
        for slot, place in zip(program.results, results, strict=True):
            where.setdefault(slot, place)
        sizes = program.sizes()
        for slot, _ in program.temporaries:
            where[slot] = self.scratch(ShapedArray((sizes[slot],), dtypes.uint8))
        commands = [replace(c, slots=tuple(where[s] for s in c.slots)) for c in program.commands]
        # A result that is an input, or another result, is copied.
        for slot, place, aval in zip(program.results, results, program.result_avals, strict=True):
            if where[slot] != place:
                commands.append(LibraryCommand("copy", "", (where[slot], place), (aval.nbytes,)))
        return tuple(commands)

    def command(self, compile_jaxpr: Callable[..., Program]) -> ControlCommand:
        """The finished command."""
        programs = self.call.programs
        if self.call.kind == "branch":
            return self._branch([compile_jaxpr(j) for j in programs])
        # The last inputs, but for slices, are the carry, which the first results replace.
        body, carries = programs[-1], len(self.call.start)
        first = len(body.invars) - self.call.slices - carries
        step = compile_jaxpr(body, [(first + k, k) for k in range(carries)])
        if self.call.kind == "while":
            return self._while(compile_jaxpr(programs[0]), step)
        return self._scan(step)

    def _written(self, body: Program, read: Sequence[int], first: int) -> list[int]:
        """Where a step writes the carry: where it reads it, if the program does so."""
        avals = [ShapedArray(t.shape, t.dtype) for t in self.call.outputs[: len(read)]]
        return [
            place if body.results[k] == first + k else self.scratch(aval)
            for k, (place, aval) in enumerate(zip(read, avals, strict=True))
        ]

    def _carries(self, read: Sequence[int], written: Sequence[int]) -> tuple[Carry, ...]:
        sizes = [nbytes(t) for t in self.call.outputs]
        return tuple([(r, w, n) for r, w, n in zip(read, written, sizes) if r != w])

    def _branch(self, programs: list[Program]) -> ControlCommand:
        _, *operands = [self.place(t) for t in self.call.inputs]
        outputs = [self.place(t) for t in self.call.outputs]
        inner = tuple(Inner(self.inner(p, operands, outputs)) for p in programs)
        return ControlCommand("branch", tuple(self.slots), inner)

    def _while(self, cond: Program, body: Program) -> ControlCommand:
        flag = self.scratch(ShapedArray((), dtypes.bool_))
        consts = [self.place(t) for t in self.call.inputs]
        read = [self.place(t) for t in self.call.outputs]
        n = len(cond.inputs) - len(read)
        written = self._written(body, read, len(consts) - n)
        condition = self.inner(cond, [*consts[:n], *read], [flag])
        step = self.inner(body, [*consts[n:], *read], written)
        programs = (Inner(condition), Inner(step))
        return ControlCommand("while", tuple(self.slots), programs, self._carries(read, written))

    def _scan(self, body: Program) -> ControlCommand:
        call = self.call
        inputs = [self.place(t) for t in call.inputs]
        outputs = [self.place(t) for t in call.outputs]
        carried = len(call.start)
        count = len(inputs) - call.slices
        consts, xs = inputs[:count], inputs[count:]
        read, ys = outputs[:carried], outputs[carried:]
        written = self._written(body, read, count)
        step = self.inner(body, [*consts, *read, *xs], [*written, *ys])
        carries = self._carries(read, written)
        sliced = [*call.inputs[count:], *call.outputs[carried:]]
        slices = tuple((place, row_bytes(t)) for place, t in zip([*xs, *ys], sliced, strict=True))
        return ControlCommand(
            "scan", tuple(self.slots), (Inner(step),), carries, slices, call.length, call.reverse
        )


def row_bytes(tensor: Tensor) -> int:
    """Bytes of one slice along the first axis."""
    return nbytes(tensor) // max(tensor.shape[0], 1)
