"""Executables: programs ready to run on arrays of their input types."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana.compiler.commands import (
    Command,
    ControlCommand,
    HostCommand,
    KernelCommand,
    LibraryCommand,
    Program,
)
from jacana.compiler.library import library_function
from jacana.compiler.llvm import native, native_image
from jacana.core.bounded import Bounded
from jacana.core.jaxpr import Jaxpr
from jacana.runtime import cache, calls, compiling, control, executor, limits
from jacana.runtime.array import Array, view
from jacana.runtime.buffer import OutOfMemoryError, allocate, live_bytes

# Sizes from here on do not fit in the words of a program, let alone in memory.
NATIVE_LIMIT = 1 << 60
# Kernel key -> address of its code; kernels are never unloaded.
_addresses: dict[bytes, int] = {}


def kernel_address(command: KernelCommand) -> int:
    """The code of a command's kernel: from memory, from disk, or compiled now."""
    address = _addresses.get(command.key)
    if address is None:
        with native.compile_lock:
            address = _addresses.get(command.key)
            if address is None:
                kernel = command.kernel
                objects = cache.get(command.key, lambda: compiling.compile_kernel(kernel))
                address = _addresses[command.key] = native_image.load(objects)["kernel"]
    return address


class Executable:
    """A compiled program. Calling it with arrays of the input types gives the list of results."""

    __slots__ = (
        "program", "in_avals", "run", "layout", "_run", "_outputs", "_results", "_arena", "_keep",
    )  # fmt: skip

    def __init__(self, program: Program):
        self.program = program
        self.in_avals = program.inputs
        n = len(program.inputs)
        self._outputs = [(aval, aval.nbytes) for _, aval in program.computed]
        for nbytes in (program.arena, *[size for _, size in self._outputs]):
            if nbytes >= NATIVE_LIMIT:
                raise OutOfMemoryError(nbytes, live_bytes(), limits.memory())
        position = {slot: n + k for k, (slot, _) in enumerate(program.computed)}
        self._results = [s if s < n else position[s] for s in program.results]
        self._arena = program.arena
        given = n + len(program.computed) + bool(program.temporaries)
        where = {**{i: i for i in range(n)}, **position}
        for k, (slot, _) in enumerate(program.temporaries):
            where[slot] = given + k
        self._keep: list[Any] = []
        commands = [self.record(c, where) for c in program.commands]
        offsets = [offset for _, offset in program.temporaries]
        release = sum(c.extent * bool(c.grain) for c in commands) > 0
        made = None
        if commands:
            made = executor.Program(commands, given, offsets, release_gil=release, keep=self._keep)
        self._run = made.run if made is not None else None
        # Python code, or another thread, runs while the program does.
        shared = release or calls_python(program.commands)
        self.layout = calls.Layout(
            n, self._outputs, self._results, self._arena, made, given + len(offsets), shared
        )
        # The list of results of a list of arrays of the input types.
        self.run: Callable[[list[Array]], list[Array]] = self._run_in_python
        if self.layout.is_native:
            self.run = calls.Call(self.layout, [calls.ANY_ARRAY] * n).run

    def record(self, command: Command, where: dict[int, int]) -> executor.Command:
        slots = [where[s] for s in command.slots]
        match command:
            case KernelCommand():
                return executor.Command(
                    kernel_address(command), slots, command.params, command.extent, command.grain
                )
            case LibraryCommand():
                address, launch = library_function(command.name, command.dtype, command.params)
                return executor.Command(address, slots, *launch)
            case ControlCommand():
                return self._control(command, slots)
            case HostCommand():
                call = executor.HostFunction(_on_views(command), len(slots))
                self._keep.append(call)
                return executor.Command(call.address, slots)
        raise AssertionError(command)

    def _control(self, command: ControlCommand, slots: list[int]) -> executor.Command:
        own = {i: i for i in range(len(slots))}
        records = []
        for inner in command.programs:
            commands = [self.record(c, own) for c in inner.commands]
            records.append(executor.Records(commands, len(slots)))
        self._keep += records
        carries = [control.Carry(*c) for c in command.carries]
        if command.kind == "branch":
            return control.branch_command(slots, records)
        if command.kind == "while":
            condition, body = records
            return control.while_command(slots, condition, body, carries)
        slices = [control.Slice(*s) for s in command.slices]
        return control.scan_command(
            slots, records[0], command.length, carries, slices, command.reverse
        )

    def __call__(self, arrays: Sequence[Array]) -> list[Array]:
        """The results; the arrays' types are the caller's responsibility."""
        return self.run(list(arrays))

    def _run_in_python(self, arrays: list[Array]) -> list[Array]:
        """The results, where native calls are not possible or an array is too large for them."""
        calls.check_arrays(arrays, len(self.in_avals))
        addresses = [a.address for a in arrays]
        held = [a.buffer for a in arrays]
        made = []
        for aval, nbytes in self._outputs:
            buffer = allocate(nbytes)
            addresses.append(buffer.address)
            made.append(Array(aval, buffer))
        if self._arena:
            arena = allocate(self._arena)
            addresses.append(arena.address)
        if self._run is not None:
            self._run(addresses)
        del held
        n = len(arrays)
        return [arrays[i] if i < n else made[i - n] for i in self._results]


def calls_python(commands: Sequence[Command]) -> bool:
    """Whether any of the commands, or of those they run, is a Python function."""
    return any(
        isinstance(c, HostCommand)
        or isinstance(c, ControlCommand)
        and any(calls_python(p.commands) for p in c.programs)
        for c in commands
    )


def _on_views(command: HostCommand) -> Callable[[list[int]], None]:
    """The command's Python function on NumPy views of its buffers."""
    n = len(command.inputs)

    def call(addresses: list[int]) -> None:
        inputs = [view(aval, address, None) for aval, address in zip(command.inputs, addresses)]
        results = command.function(*inputs)
        for aval, address, result in zip(command.outputs, addresses[n:], results, strict=True):
            target = view(aval, address, None, writable=True)
            result = np.asarray(result)
            if result.shape != target.shape:
                raise ValueError(
                    f"a host call returned an array of shape {result.shape} where {aval} is due"
                )
            target[...] = result

    return call


# Jaxprs that are the same program share one executable.
_executables: Bounded[Any, Executable] = Bounded()


def executable_for(jaxpr: Jaxpr) -> Executable:
    """The executable of a jaxpr, whose constvars are inputs before its invars."""
    key = jaxpr.key
    found = _executables.get(key)
    if found is None:
        found = _executables[key] = Executable(compiling.compile_jaxpr(jaxpr))
    return found


def clear() -> None:
    """Forget compiled programs; kernels that arrays in flight may use stay loaded."""
    _executables.clear()
