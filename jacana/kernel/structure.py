"""The structure of kernels: what statements hold, call, read and define."""

from collections.abc import Iterable, Iterator

from jacana.core.records import record
from jacana.kernel import ir


@record
class Site:
    """A statement and what is around it, outermost first."""

    statement: ir.Statement
    around: tuple[ir.Statement, ...]


def walk(body: Iterable[ir.Statement], around: tuple[ir.Statement, ...] = ()) -> Iterator[Site]:
    """All statements of a body and of the bodies inside it, in order."""
    for s in body:
        yield Site(s, around)
        for inner in bodies(s):
            yield from walk(inner, (*around, s))


def bodies(s: ir.Statement) -> tuple[tuple[ir.Statement, ...], ...]:
    """The bodies that a statement holds."""
    match s:
        case ir.For():
            return (s.body,)
        case ir.If():
            return (s.then, s.orelse)
        case ir.While():
            return (s.cond_body, s.body)
        case ir.Reduce():
            return (s.body, s.combine_body)
    return ()


def functions_of(body: Iterable[ir.Statement]) -> list[ir.Function]:
    """All functions that a body reaches, each once."""
    found: dict[ir.Function, None] = {}

    def visit(body: Iterable[ir.Statement]) -> None:
        for site in walk(body):
            for f in callees(site.statement):
                if f not in found:
                    found[f] = None
                    visit(f.body)

    visit(body)
    return list(found)


def callees(s: ir.Statement) -> tuple[ir.Function, ...]:
    """The functions that a statement names."""
    match s:
        case ir.Call():
            return (s.function,)
        case ir.Branch():
            return (s.then, s.orelse)
        case ir.Iterate():
            return (s.cond, s.step)
    return ()


def operands(s: ir.Statement) -> tuple[ir.Atom, ...]:
    """The atoms that a statement reads where it stands (not those its bodies yield)."""
    match s:
        case ir.Let() | ir.Call():
            return s.args
        case ir.Load():
            return (s.index,)
        case ir.Store():
            return (s.index, s.value)
        case ir.Branch():
            return (s.cond, *s.args)
        case ir.Iterate():
            return (*s.init, *s.consts)
        case ir.For():
            return (s.extent,)
        case ir.If():
            return (s.cond,)
        case ir.While():
            return s.init
        case ir.Reduce():
            return (s.extent, *s.init)


def defined(s: ir.Statement) -> tuple[ir.Var, ...]:
    """The variables that exist after the statement."""
    match s:
        case ir.Let() | ir.Load():
            return (s.var,)
        case ir.Call() | ir.Branch() | ir.Iterate() | ir.While() | ir.Reduce():
            return s.results
    return ()


def bound(s: ir.Statement) -> tuple[ir.Var, ...]:
    """The variables that a statement binds in its bodies."""
    match s:
        case ir.For():
            return (s.var,)
        case ir.While():
            return s.state
        case ir.Reduce():
            return (s.var, *s.left, *s.right)
    return ()
