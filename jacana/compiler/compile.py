"""Compile: a jaxpr to a Program, by way of tensors, fused groups and loop nests."""

from collections.abc import Sequence

from jacana.compiler.commands import (
    Call,
    Command,
    ControlCall,
    HostCall,
    HostCommand,
    KernelCommand,
    LibraryCall,
    LibraryCommand,
    Loops,
    Program,
)
from jacana.compiler.control import ControlFrame
from jacana.compiler.cost import holds_fold, repeats_work
from jacana.compiler.fuse import Group, fuse
from jacana.compiler.loops import write_loop
from jacana.compiler.lower import Builder
from jacana.compiler.memory import last_uses, plan
from jacana.compiler.nests import places_of_staged, write_group, write_loops
from jacana.compiler.pipeline import run_passes
from jacana.compiler.tensors import Context, Tensor, nbytes
from jacana.compiler.updates import Update, deliver
from jacana.core.avals import ShapedArray, is_ref_type
from jacana.core.jaxpr import Jaxpr
from jacana.core.records import replace


def compile_jaxpr(jaxpr: Jaxpr, carried: Sequence[tuple[int, int]] = ()) -> Program:
    """The program of a jaxpr; its constvars are inputs, before its invars.

    What is `carried` are an input and a result that may have one place: then the result's slot is
    the input's. References are inputs whose memory the program changes.
    """
    count = len(jaxpr.outvars)
    types = [v.aval for v in (*jaxpr.constvars, *jaxpr.invars)]
    refs = [k for k, aval in enumerate(types) if is_ref_type(aval)]
    jaxpr = run_passes(jaxpr)
    builder = Builder()
    context = builder.context
    inputs = []
    for v in (*jaxpr.constvars, *jaxpr.invars):
        tensor = Tensor(context, v.aval.shape, v.aval.dtype, "stored")
        tensor.slot = context.add_slot(tensor)
        inputs.append(tensor)
    n = len(jaxpr.constvars)
    results = builder.lower_jaxpr(jaxpr, inputs[:n], inputs[n:])
    needed = [*results, *builder.tokens]
    groups = fuse(context.tensors, needed, builder.commands)
    commands = write_commands(context, groups, needed)
    avals = [v.aval for v in (*jaxpr.constvars, *jaxpr.invars)]
    updates = [
        Update(k, slot_of(t), nbytes(t), True) for k, t in zip(refs, results[count:], strict=True)
    ]
    updates += [Update(k, slot_of(results[r]), 0, False) for k, r in carried]
    return lay_out(context, commands, avals, results[:count], jaxpr.out_avals[:count], updates)


def write_commands(
    context: Context, groups: Sequence[Group], results: Sequence[Tensor]
) -> list[Command]:
    read = {t.id for t in results}
    for group in groups:
        read |= {r.id for i in group.inlined for r in context.tensors[i].reads}
        if group.call is not None:
            starts = getattr(group.call, "start", {}).values()
            read |= {t.id for t in (*group.call.inputs, *starts)}
        for t in group.roots:
            if t.slot is None:
                t.slot = context.add_slot(t)
        places = places_of_staged(group)
        for t in [t for t in group.staged if t.slot is None]:
            t.slot = places[t.id].slot if t.id in places else context.add_slot(t)
    commands: list[Command] = []
    for group in groups:
        if group.call is None:
            commands += write_group(context, group)
        else:
            commands += write_call(context, group.call, read)
    return commands


def write_call(context: Context, call: Call, read: set[int]) -> list[Command]:
    if isinstance(call, ControlCall):
        return write_control(context, call, read)
    slots = tuple(slot_of(t) for t in (*call.inputs, *call.outputs))
    match call:
        case Loops():
            copies: list[Command] = [
                LibraryCommand("copy", "", (slot_of(t), slot_of(call.outputs[k])), (nbytes(t),))
                for k, t in call.start.items()
            ]
            if all(t.size == 0 for t in call.outputs):
                return []
            return [*copies, write_loops(context, call)]
        case LibraryCall():
            return [LibraryCommand(call.name, call.dtype, slots, call.params)]
        case HostCall():
            inputs = tuple(ShapedArray(t.shape, t.dtype) for t in call.inputs)
            outputs = tuple(ShapedArray(t.shape, t.dtype) for t in call.outputs)
            return [HostCommand(call.function, inputs, outputs, slots)]
    raise AssertionError(call)


def write_control(context: Context, call: ControlCall, read: set[int]) -> list[Command]:
    """A loop as kernels of its own, or copies of what it begins with and a command."""
    kernels = write_loop(context, call, [k for k, t in enumerate(call.outputs) if t.id in read])
    if kernels is not None and not any(holds_fold(k) for k in kernels):
        return list(kernels)
    command = ControlFrame(context, call).command(compile_jaxpr)
    if kernels is not None and not repeats_work(kernels, command):
        return list(kernels)
    copies: list[Command] = [
        LibraryCommand("copy", "", (slot_of(t), slot_of(call.outputs[k])), (nbytes(t),))
        for k, t in call.start.items()
    ]
    return [*copies, command]


def slot_of(tensor: Tensor) -> int:
    assert tensor.slot is not None
    return tensor.slot


def lay_out(
    context: Context,
    commands: list[Command],
    inputs: Sequence[ShapedArray],
    results: Sequence[Tensor],
    result_avals: Sequence[ShapedArray],
    updates: Sequence[Update],
) -> Program:
    slots = [slot_of(t) for t in results]
    commands = update_in_place(commands, len(inputs), {*slots, *[u.result for u in updates]})
    commands, moved = deliver(commands, updates, len(inputs), slots)
    slots = [moved.get(s, s) for s in slots]
    computed: dict[int, ShapedArray] = {}
    for slot, aval in zip(slots, result_avals, strict=True):
        if slot >= len(inputs):
            computed.setdefault(slot, aval)
    used = {s for c in commands for s in c.slots}
    temporaries = {
        slot: nbytes(tensor)
        for slot, tensor in enumerate(context.slots)
        if slot >= len(inputs) and slot not in computed and slot in used
    }
    offsets, arena = plan(commands, temporaries)
    return Program(
        tuple(inputs), tuple(slots), tuple(commands), len(context.slots),
        tuple(computed.items()), offsets, arena, tuple(result_avals), tuple(temporaries.items()),
    )  # fmt: skip


def update_in_place(commands: list[Command], inputs: int, computed: set[int]) -> list[Command]:
    """Commands without copies whose source is a temporary that nobody reads afterwards."""
    last = last_uses(commands)
    rename: dict[int, int] = {}
    kept: list[Command] = []
    for at, command in enumerate(commands):
        if isinstance(command, LibraryCommand) and command.name == "copy":
            source, target = command.slots
            if source >= inputs and source not in computed and last[source] == at:
                rename[source] = target
                continue
        kept.append(command)

    def final(slot: int) -> int:
        while slot in rename:
            slot = rename[slot]
        return slot

    return [replace(c, slots=tuple(final(s) for s in c.slots)) if rename else c for c in kept]


def kernels_of(program: Program) -> list[KernelCommand]:
    return [c for c in program.commands if isinstance(c, KernelCommand)]
