"""Updates: results that take the memory of an input, as references and carries of loops do.

Where every read of the input comes before its memory changes, the commands write there themselves;
elsewhere a reference's new value is copied to it at the end.
"""

from collections.abc import Sequence

from jacana.compiler.commands import Command, KernelCommand, LibraryCommand
from jacana.core.records import record, replace
from jacana.kernel import ir
from jacana.kernel.structure import walk


@record
class Update:
    """The result in slot `result` belongs into the input in slot `place`.

    If it is not `required`, it is moved there only where that saves memory.
    """

    place: int
    result: int
    nbytes: int
    required: bool


def deliver(
    commands: list[Command], updates: Sequence[Update], inputs: int, results: Sequence[int]
) -> tuple[list[Command], dict[int, int]]:
    """The commands with updates in place, and where results went that have moved."""
    moved: dict[int, int] = {}
    copies: list[Command] = []
    taken = list(results) + [u.result for u in updates if u.required]
    fixed = {*range(inputs)} - {u.place for u in updates}
    for u in updates:
        if u.result == u.place:
            continue
        found = None
        if u.result >= inputs and taken.count(u.result) == 1 and u.place not in taken:
            found = write_in_place(commands, u, fixed)
        if found is not None:
            commands, moved[u.result] = found, u.place
        elif u.required:
            slots = (u.result, u.place)
            copies.append(LibraryCommand("copy", "", slots, (u.nbytes,)))
    return [*commands, *copies], moved


def write_in_place(
    commands: list[Command], update: Update, fixed: set[int]
) -> list[Command] | None:
    """The commands where the result's slot is the input's; None if the input is read too late.

    Slots in `fixed` never change.
    """
    place, result = update.place, update.result
    first = next((at for at, c in enumerate(commands) if result in c.slots), None)
    if first is None:
        return None
    before: list[Command] = list(commands[:first])
    after: list[Command] = []
    for command in commands[first:]:
        if place in command.slots and result not in command.slots:
            # What reads the input alone may come earlier, if it needs nothing made since.
            since = {s for c in after for s in c.slots} - fixed
            if since.isdisjoint({*command.slots} - {place}):
                before.append(command)
                continue
        after.append(command)
    kept: list[Command] = []
    for command in after:
        if place in command.slots:
            is_start = isinstance(command, LibraryCommand) and command.name == "copy"
            if is_start and command.slots == (place, result) and not kept:
                continue
            if kept or not reads_what_it_writes(command, place, result):
                return None
        kept.append(command)
    renamed = [
        replace(c, slots=tuple([place if s == result else s for s in c.slots])) for c in kept
    ]
    return [*before, *renamed]


def reads_what_it_writes(command: Command, place: int, result: int) -> bool:
    """Whether a kernel reads elements of the one buffer only where it writes them to the other."""
    if not isinstance(command, KernelCommand) or command.kernel is None:
        return False
    read = [i for i, s in enumerate(command.slots) if s == place]
    written = [i for i, s in enumerate(command.slots) if s == result]
    loads: list[ir.Atom] = []
    stores: list[ir.Atom] = []
    for site in walk(command.kernel.body):
        s = site.statement
        if isinstance(s, ir.Load) and isinstance(s.memory, ir.Buffer):
            if s.memory.id in read:
                loads.append(s.index)
            elif s.memory.id in written:
                return False
        elif isinstance(s, ir.Store) and isinstance(s.memory, ir.Buffer) and s.memory.id in written:
            stores.append(s.index)
    return len(stores) == 1 and isinstance(stores[0], ir.Var) and {*loads} <= {*stores}
