"""Facts about statements: whether lanes of one vector can run them together, how many there are."""

from collections.abc import Iterable, Sequence

from jacana.core.records import record
from jacana.kernel import ir
from jacana.kernel.structure import bodies, callees


def can_vectorise(statements: Sequence[ir.Statement], varying: set[int]) -> bool:
    """Whether no lane needs control flow or local memory of its own.

    `varying` holds the variables that differ between lanes; those that depend on them are added.
    """
    return all(_can_vectorise(s, varying) for s in statements)


def differs(atoms: Iterable[ir.Atom], varying: set[int]) -> bool:
    """Whether one of the atoms is a variable that differs between lanes."""
    return any(type(a) is ir.Var and a.id in varying for a in atoms)


def _can_vectorise(s: ir.Statement, varying: set[int]) -> bool:
    match s:
        case ir.Let(var, _, args):
            _mark((var,), args, varying)
        case ir.Load(var, _, index):
            _mark((var,), (index,), varying)
        case ir.Store(memory, _, _):
            return not isinstance(memory, ir.Local)
        case ir.Call(results, _, args):
            _mark(results, args, varying)
        case ir.Branch(results, cond, _, _, args):
            _mark(results, (cond, *args), varying)
        case ir.Iterate(results, _, _, init, consts):
            _mark(results, (*init, *consts), varying)
        case ir.For(_, extent, body):
            return not differs((extent,), varying) and can_vectorise(body, varying)
        case ir.If(cond, then, orelse):
            return not differs((cond,), varying) and can_vectorise((*then, *orelse), varying)
        case ir.While():
            return _while(s, varying)
        case ir.Reduce():
            varying |= {v.id for v in (*s.results, *s.left, *s.right)}
            return not differs((s.extent,), varying) and can_vectorise(s.body, varying)
    return True


def _mark(names: Iterable[ir.Var], sources: Iterable[ir.Atom], varying: set[int]) -> None:
    if differs(sources, varying):
        varying |= {v.id for v in names}


def _while(s: ir.While, varying: set[int]) -> bool:
    feeds = s.init
    while True:
        before = len(varying)
        for name, result, first, after in zip(s.state, s.results, feeds, s.next, strict=True):
            _mark((name, result), (first, after), varying)
        if not can_vectorise((*s.cond_body, *s.body), varying):
            return False
        if len(varying) == before:
            return not differs((s.cond,), varying)


@record(eq=False)
class PairedStores:
    """Two stores to neighbouring elements, the second of which may as well be first."""

    first: ir.Store
    second: ir.Store


def pair_stores(statements: Sequence[ir.Statement]) -> list[ir.Statement | PairedStores]:
    """The statements with the parts of each complex number stored together."""
    after: dict[int, ir.Atom] = {}
    made: list[ir.Statement | PairedStores] = []
    first: int | None = None  # where a store is that may be paired
    for s in statements:
        made.append(s)
        match s:
            case ir.Let(var, "add", (base, ir.Const(1))):
                after[var.id] = base
            case ir.Store():
                before = made[first] if first is not None else None
                if (
                    first is not None
                    and isinstance(before, ir.Store)
                    and _follows(s, before, after)
                ):
                    made[-1] = PairedStores(before, s)
                    del made[first]
                    first = None
                else:
                    first = len(made) - 1
            case ir.Load() if first is not None and s.memory is _memory(made[first]):
                first = None
            case ir.For() | ir.If() | ir.While() | ir.Reduce():
                first = None
    return made


def stores_pairs(statements: Sequence[ir.Statement]) -> bool:
    """Whether complex numbers are stored; they are loaded by shuffles only where no mask is."""
    return any(isinstance(s, PairedStores) for s in pair_stores(statements))


def _follows(s: ir.Store, before: ir.Store, after: dict[int, ir.Atom]) -> bool:
    known = after.get(s.index.id) if isinstance(s.index, ir.Var) else None
    return s.memory is before.memory and known is not None and known is before.index


def _memory(s: ir.Statement | PairedStores) -> ir.Memory | None:
    return s.memory if isinstance(s, ir.Store) else None


def body_size(statements: Sequence[ir.Statement]) -> int:
    """How many statements these are, those inside loops and conditions included.

    A reduction counts as many more for the steps that fold its partial results.
    """
    folds = sum(isinstance(s, ir.Reduce) for s in statements) * ir.LANES
    inside = sum(body_size(part) for s in statements for part in bodies(s))
    return len(statements) + folds + inside


def calls_size(statements: Sequence[ir.Statement]) -> int:
    """How many statements the functions called by these add to them when emitted in place."""
    return _calls_size(statements, {})


def _calls_size(statements: Iterable[ir.Statement], known: dict[ir.Function, int]) -> int:
    total = 0
    for s in statements:
        for function in callees(s):
            if function not in known:
                inner = _calls_size(function.body, known)
                known[function] = body_size(function.body) + inner
            total += known[function]
        for part in bodies(s):
            total += _calls_size(part, known)
    return total


def needs_mask(function: ir.Function) -> bool:
    """Whether lanes that do not matter could change how long the function runs, or fault."""
    for s in function.body:
        if isinstance(s, ir.Branch | ir.Iterate | ir.Load):
            return True
        if isinstance(s, ir.Call) and needs_mask(s.function):
            return True
    return False
