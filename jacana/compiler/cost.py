"""Cost: the arithmetic and the memory traffic of a program's commands, counted from their code.

Bytes are those of the buffers that a command touches, each once: what a cache saves or a partial
read leaves out does not show. A loop whose length only its data decides counts as one round.
"""

from collections.abc import Iterable, Mapping

from jacana.compiler.commands import (
    Command,
    ControlCommand,
    HostCommand,
    KernelCommand,
    LibraryCommand,
    Program,
)
from jacana.core.records import record
from jacana.kernel import ir

# One command more costs about as much as this many operations; doing work this many times over
# costs no more than storing what is shared.
LAUNCH, REPEATED = 200.0, 1.5
ARITHMETIC = frozenset(
    ("add", "sub", "mul", "div", "rem", "min", "max", "fma", "sqrt", "neg", "abs", "floor", "ceil",
     "trunc", "round")
)  # fmt: skip


@record
class Cost:
    """Floating-point operations, calls of elementary functions, bytes read and written."""

    flops: float = 0.0
    calls: float = 0.0
    bytes_read: int = 0
    bytes_written: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.flops + other.flops, self.calls + other.calls,
            self.bytes_read + other.bytes_read, self.bytes_written + other.bytes_written,
        )  # fmt: skip


def program_cost(program: Program) -> Cost:
    """The cost of all commands, each run once."""
    sizes = slot_sizes(program)
    return sum((command_cost(c, sizes) for c in program.commands), Cost())


def slot_sizes(program: Program) -> dict[int, int]:
    """The bytes of each buffer of a program."""
    sizes = {slot: aval.nbytes for slot, aval in enumerate(program.inputs)}
    sizes |= {slot: aval.nbytes for slot, aval in program.computed}
    return sizes | program.sizes()


def command_cost(command: Command, sizes: Mapping[int, int]) -> Cost:
    """The cost of one command on buffers of these sizes."""
    reads, writes = touched(command)
    traffic = Cost(0, 0, sum(sizes.get(s, 0) for s in reads), sum(sizes.get(s, 0) for s in writes))
    match command:
        case KernelCommand() if command.kernel is not None:
            return _Counter(command).cost() + traffic
        case LibraryCommand("gemm", _, _, (m, n, k, _, _, batch)):
            return Cost(2.0 * m * n * k * batch) + traffic
        case ControlCommand():
            inner = dict.fromkeys(range(len(command.slots)), 0)
            rounds = command.length if command.kind == "scan" else 1
            body = sum(
                (command_cost(c, inner) for p in command.programs for c in p.commands), Cost()
            )
            return Cost(body.flops * rounds, body.calls * rounds) + traffic
    return traffic


def holds_fold(command: KernelCommand) -> bool:
    """Whether the kernel folds more elements than are written out."""
    assert command.kernel is not None
    return any(isinstance(s, ir.Reduce) for s in statements(command.kernel.body))


def repeats_work(kernels: Iterable[KernelCommand], loop: ControlCommand) -> bool:
    """Whether a round of a loop's kernels computes again what its commands would store once."""
    apart = [c for inner in loop.programs for c in inner.commands]
    return arithmetic(kernels) > LAUNCH * len(apart) + REPEATED * arithmetic(apart)


def arithmetic(commands: Iterable[Command]) -> float:
    """Operations and calls of the commands, those of a while loop for one round."""
    costs = [command_cost(c, {}) for c in commands]
    return sum(c.flops + c.calls for c in costs)


def touched(command: Command) -> tuple[set[int], set[int]]:
    """The slots that a command reads, and those that it writes."""
    match command:
        case KernelCommand() if command.kernel is not None:
            pairs = list(zip(command.slots, command.kernel.buffers))
            read = loaded(command.kernel.body)
            return {s for s, b in pairs if b in read}, {s for s, b in pairs if b.written}
        case HostCommand():
            n = len(command.inputs)
            return set(command.slots[:n]), set(command.slots[n:])
        case LibraryCommand("copy" | "gemm"):
            return set(command.slots[:-1]), set(command.slots[-1:])
        case ControlCommand():
            reads: set[int] = set()
            writes = {command.slots[w] for _, w, _ in command.carries}
            for inner in command.programs:
                for c in inner.commands:
                    r, w = touched(c)
                    reads |= {command.slots[s] for s in r}
                    writes |= {command.slots[s] for s in w}
            return reads, writes
    # What a factorisation does with its buffers is its own affair: the last ones are results.
    return set(command.slots[:1]), set(command.slots[1:])


def statements(body: Iterable[ir.Statement]) -> Iterable[ir.Statement]:
    """All statements of a body, those of inner bodies included."""
    for s in body:
        yield s
        match s:
            case ir.For():
                yield from statements(s.body)
            case ir.If():
                yield from statements((*s.then, *s.orelse))
            case ir.While():
                yield from statements((*s.cond_body, *s.body))
            case ir.Reduce():
                yield from statements((*s.body, *s.combine_body))


def loaded(body: Iterable[ir.Statement]) -> set[ir.Memory]:
    """The memory that a body reads."""
    return {s.memory for s in statements(body) if isinstance(s, ir.Load)}


class _Counter:
    """Counts what a kernel does for the params of one command."""

    def __init__(self, command: KernelCommand) -> None:
        self.command = command
        self.known: dict[ir.Var, int] = {}
        self.functions: dict[ir.Function, float] = {}

    def cost(self) -> Cost:
        assert self.command.kernel is not None
        flops, calls = self.count(self.command.kernel.body)
        return Cost(flops, calls)

    def count(self, body: Iterable[ir.Statement]) -> tuple[float, float]:
        flops = calls = 0.0
        for s in body:
            more, called = self.statement(s)
            flops, calls = flops + more, calls + called
        return flops, calls

    def statement(self, s: ir.Statement) -> tuple[float, float]:
        match s:
            case ir.Let():
                self.learn(s)
                return operation_flops(s), 0.0
            case ir.Call():
                return self.function(s.function), 1.0
            case ir.Branch():
                return max(self.function(s.then), self.function(s.orelse)), 0.0
            case ir.Iterate():
                return self.function(s.cond) + self.function(s.step), 0.0
            case ir.For():
                return self.times(self.command.extent if s.grid else self.value(s.extent), s.body)
            case ir.If():
                return max(self.count(s.then), self.count(s.orelse))
            case ir.While():
                return self.count((*s.cond_body, *s.body))
            case ir.Reduce():
                return self.times(self.value(s.extent), (*s.body, *s.combine_body))
        return 0.0, 0.0

    def times(self, rounds: int, body: Iterable[ir.Statement]) -> tuple[float, float]:
        flops, calls = self.count(body)
        return flops * rounds, calls * rounds

    def function(self, function: ir.Function) -> float:
        if function not in self.functions:
            self.functions[function] = self.count(function.body)[0]
        return self.functions[function]

    def value(self, atom: ir.Atom) -> int:
        match atom:
            case ir.Const():
                return int(atom.value)
            case ir.Param():
                return self.command.params[atom.index]
        return self.known.get(atom, 1)

    def learn(self, s: ir.Let) -> None:
        """Sizes computed from sizes."""
        if s.var.type == "index" and s.operation in ("mul", "add", "sub", "div"):
            a, b = self.value(s.args[0]), self.value(s.args[1])
            results = {"mul": a * b, "add": a + b, "sub": a - b, "div": a // b if b else 0}
            self.known[s.var] = results[s.operation]


def operation_flops(s: ir.Let) -> float:
    """Arithmetic on floats counts, and an fma is two operations."""
    if s.var.type not in ir.FLOATS or s.operation not in ARITHMETIC:
        return 0.0
    return 2.0 if s.operation == "fma" else 1.0
