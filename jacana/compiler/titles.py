"""Titles: commands in a few words, for people who look at programs."""

from jacana.compiler.commands import (
    Command,
    ControlCommand,
    HostCommand,
    KernelCommand,
    LibraryCommand,
)
from jacana.compiler.cost import statements
from jacana.kernel import ir


def title_of(command: Command) -> str:
    """A command in a few words."""
    match command:
        case KernelCommand() if command.kernel is not None:
            return f"kernel {gist(command.kernel)} over {command.extent:,}"
        case LibraryCommand("gemm", dtype, _, (m, n, k, _, _, batch)):
            return f"gemm {dtype} {f'{batch} x ' if batch > 1 else ''}{m}x{k} @ {k}x{n}"
        case LibraryCommand():
            return f"{command.name} {command.dtype}".rstrip()
        case ControlCommand():
            rounds = f" of {command.length:,}" if command.kind == "scan" else ""
            return f"{command.kind}{rounds}"
        case HostCommand():
            return f"Python function {getattr(command.function, '__name__', '')}".rstrip()
    return "kernel"


def gist(kernel: ir.Kernel) -> str:
    """The most telling operations of a kernel."""
    called: dict[str, None] = {}
    plain: dict[str, None] = {}
    sums: dict[str, None] = {}
    for s in statements(kernel.body):
        if isinstance(s, ir.Call):
            called[s.function.name.rsplit("_", 1)[0]] = None
        elif isinstance(s, ir.Reduce):
            inner = [x.operation for x in s.combine_body if isinstance(x, ir.Let)]
            sums["reduce " + " ".join(dict.fromkeys(inner))] = None
        elif isinstance(s, ir.Let) and s.var.type != "index":
            plain[s.operation] = None
    names = [*sums, *called, *[p for p in plain if p not in ("convert", "select")]]
    return ", ".join(names[:6]) + (", ..." if len(names) > 6 else "") if names else "copy"
