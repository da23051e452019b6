"""What every kernel satisfies: one function per invariant, each yielding its violations.

Nothing is checked while kernels are built: tests call `check`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from jacana.kernel import ir
from jacana.kernel.show import show, structural_key
from jacana.kernel.structure import bodies, bound, defined, functions_of, operands, walk

# An error shows so much of the kernel.
SHOWN_LINES = 100


class KernelError(Exception):
    """A kernel breaks an invariant of the kernel language; `invariant` is the invariant's name."""

    def __init__(self, invariant: str, violations: Sequence[str], text: str):
        self.invariant = invariant
        listed = "\n".join(f"  {v}" for v in violations)
        lines = text.splitlines()
        if len(lines) > SHOWN_LINES:
            lines[SHOWN_LINES:] = [f"... ({len(lines) - SHOWN_LINES} more lines)"]
        shown = "\n".join(lines)
        super().__init__(f"invariant {invariant} does not hold:\n{listed}\nin\n\n{shown}\n")


def check(kernel: ir.Kernel) -> None:
    """Raise KernelError for the first invariant that the kernel breaks."""
    for function in functions_of(kernel.body):
        check_function(function)
    for name, invariant in KERNEL_INVARIANTS.items():
        violations = list(invariant(kernel))
        if violations:
            raise KernelError(name, violations, show(kernel))


def check_function(function: ir.Function) -> None:
    """Raise KernelError for the first invariant that the function breaks."""
    for name, invariant in FUNCTION_INVARIANTS.items():
        violations = list(invariant(function))
        if violations:
            raise KernelError(name, violations, show(function))


def _types(atoms: Iterable[ir.Atom]) -> list[str]:
    return [a.type for a in atoms]


# --- types --------------------------------------------------------------------------------------

_NUMBERS = frozenset(ir.TYPES) - {"bool"}
_INTEGERS = frozenset((*ir.SIGNED, *ir.UNSIGNED))

# Which types an operation is defined on; all types where it is not listed.
_DOMAIN: dict[str, frozenset[str]] = {
    **dict.fromkeys(("neg", "abs", "add", "sub", "mul", "div", "rem"), _NUMBERS),
    "fma": frozenset(("float32", "float64")),
    **dict.fromkeys(("sqrt", "floor", "ceil", "trunc", "round"), frozenset(ir.FLOATS)),
    "copysign": frozenset(ir.FLOATS),
    **dict.fromkeys(("and", "or", "xor", "not"), _INTEGERS | {"bool"}),
    **dict.fromkeys(("shl", "shr", "popcount", "clz", "mulhi"), _INTEGERS),
}

_COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))


def _let_fault(s: ir.Let) -> str | None:
    types, result, name = _types(s.args), s.var.type, s.operation
    if ir.OPERATIONS.get(name) != len(types):
        return f"{name} is no operation of {len(types)} operands"
    if name == "convert":
        return None
    if name == "bitcast":
        same = ir.WIDTH[types[0]] == ir.WIDTH[result]
        return None if same else f"bitcast of {types[0]} to {result} changes the width"
    if name == "select":
        if types[0] != "bool" or not types[1] == types[2] == result:
            return f"select of {types} gives {result}"
        return None
    if len(set(types)) != 1:
        return f"{name} of different types {types}"
    if types[0] not in _DOMAIN.get(name, ir.TYPES):
        return f"{name} is not defined on {types[0]}"
    expected = "bool" if name in _COMPARISONS else types[0]
    return None if result == expected else f"{name} of {types[0]} gives {expected}, not {result}"


def _signature_faults(s: ir.Statement) -> Iterator[str]:
    """Faults of the types that a statement passes to and takes from functions and bodies."""

    def agree(what: str, given: Iterable[ir.Atom], wanted: Iterable[ir.Atom]) -> Iterator[str]:
        if _types(given) != _types(wanted):
            yield f"{what} has types {_types(given)}, expected {_types(wanted)}"

    match s:
        case ir.Call():
            yield from agree(f"call of {s.function.name}", s.args, s.function.params)
            yield from agree(f"result of {s.function.name}", s.results, s.function.results)
        case ir.Branch():
            for f in (s.then, s.orelse):
                yield from agree(f"branch to {f.name}", s.args, f.params)
                yield from agree(f"result of {f.name}", s.results, f.results)
            if s.cond.type != "bool":
                yield f"the condition of a branch is {s.cond.type}"
        case ir.Iterate():
            for f in (s.cond, s.step):
                yield from agree(f"iteration of {f.name}", (*s.init, *s.consts), f.params)
            yield from agree(f"result of {s.step.name}", s.step.results, s.init)
            yield from agree("result of an iteration", s.results, s.init)
            if _types(s.cond.results) != ["bool"]:
                yield f"the condition {s.cond.name} gives {_types(s.cond.results)}"
        case ir.While():
            for what, atoms in (("state", s.state), ("next", s.next), ("results", s.results)):
                yield from agree(f"{what} of a while", atoms, s.init)
        case ir.Reduce():
            parts = {"init": s.init, "left": s.left, "right": s.right, "combined": s.combined}
            for what, atoms in {**parts, "results": s.results}.items():
                yield from agree(f"{what} of a reduction", atoms, s.values)


def operand_types(code: ir.Kernel | ir.Function) -> Iterator[str]:
    """Operations, memory, functions and bodies get and give values of their own types."""
    for site in walk(code.body):
        match site.statement:
            case ir.Let() as s:
                fault = _let_fault(s)
                if fault:
                    yield fault
            case ir.Load() as s if s.var.type != s.memory.type:
                yield f"a load of {s.memory.type} gives {s.var.type}"
            case ir.Store() as s if s.value.type != s.memory.type:
                yield f"a store of {s.value.type} to {s.memory.type}"
            case (ir.If() | ir.While()) as s if s.cond.type != "bool":
                yield f"a condition is {s.cond.type}"
        yield from _signature_faults(site.statement)


def constants(code: ir.Kernel | ir.Function) -> Iterator[str]:
    """A constant is a Python bool, int or float as its type wants it, and in its range."""

    def fault(value: bool | int | float, kind: str) -> str | None:
        wanted = "bool" if kind == "bool" else "float" if kind in ir.FLOATS else "int"
        if type(value).__name__ != wanted:
            return f"{value!r} is no constant of {kind}"
        width = ir.WIDTH[kind]
        if wanted == "int" and not -(1 << width - 1) <= value < 1 << width:
            return f"{value!r} is out of the range of {kind}"
        return None

    for site in walk(code.body):
        s = site.statement
        values = [(a.value, a.type) for a in operands(s) if isinstance(a, ir.Const)]
        if isinstance(s, ir.Load) and isinstance(s.memory, ir.Table):
            values += [(v, s.memory.type) for v in s.memory.values]
        for value, kind in values:
            message = fault(value, kind)
            if message:
                yield message


def index_types(code: ir.Kernel | ir.Function) -> Iterator[str]:
    """Indices, extents and the variables of loops have the type "index"."""
    for site in walk(code.body):
        match site.statement:
            case (ir.Load() | ir.Store()) as s if s.index.type != "index":
                yield f"memory is indexed with {s.index.type}"
            case (ir.For() | ir.Reduce()) as s if (s.var.type, s.extent.type) != (
                "index",
                "index",
            ):
                yield f"a loop of {s.var.type} below {s.extent.type}"


# --- variables ----------------------------------------------------------------------------------


def single_definition(code: ir.Kernel | ir.Function) -> Iterator[str]:
    """A variable is defined once."""
    seen = set(code.params) if isinstance(code, ir.Function) else set()
    for site in walk(code.body):
        for v in (*bound(site.statement), *defined(site.statement)):
            if v in seen:
                yield f"variable {v.id} of {v.type} is defined again"
            seen.add(v)


def _scope_faults(body: Iterable[ir.Statement], known: set[ir.Atom]) -> Iterator[str]:
    """Faults of a body; afterwards `known` holds what the body defined."""

    def use(atoms: Iterable[ir.Atom], known: set[ir.Atom]) -> Iterator[str]:
        for a in atoms:
            if isinstance(a, ir.Var) and a not in known:
                yield f"variable {a.id} of {a.type} is used where it is not defined"

    for s in body:
        yield from use(operands(s), known)
        match s:
            case ir.For():
                yield from _scope_faults(s.body, known | {s.var})
            case ir.If():
                yield from _scope_faults(s.then, set(known))
                yield from _scope_faults(s.orelse, set(known))
            case ir.While():
                inner = known | set(s.state)
                yield from _scope_faults(s.cond_body, inner)
                yield from use((s.cond,), inner)
                yield from _scope_faults(s.body, inner)
                yield from use(s.next, inner)
            case ir.Reduce():
                inner = known | {s.var}
                yield from _scope_faults(s.body, inner)
                yield from use(s.values, inner)
                inner = known | {*s.left, *s.right}
                yield from _scope_faults(s.combine_body, inner)
                yield from use(s.combined, inner)
        known.update(defined(s))


def defined_before_use(code: ir.Kernel | ir.Function) -> Iterator[str]:
    """A variable is used only after its definition, in the body of it or in bodies inside."""
    known: set[ir.Atom] = set(code.params) if isinstance(code, ir.Function) else set()
    yield from _scope_faults(code.body, known)
    if isinstance(code, ir.Function):
        for a in code.results:
            if isinstance(a, ir.Var) and a not in known:
                yield f"the result, variable {a.id}, is not defined"


def param_slots(kernel: ir.Kernel) -> Iterator[str]:
    """A parameter is a slot that the kernel has, read as the type of the slot."""
    for site in walk(kernel.body):
        s = site.statement
        atoms = [*operands(s)]
        match s:
            case ir.While():
                atoms += [s.cond, *s.next]
            case ir.Reduce():
                atoms += [*s.values, *s.combined]
        for a in atoms:
            if isinstance(a, ir.Param):
                if not 0 <= a.index < len(kernel.params):
                    yield f"parameter {a.index} of {len(kernel.params)}"
                elif kernel.params[a.index] != a.type:
                    yield f"parameter {a.index} is {kernel.params[a.index]}, read as {a.type}"


# --- memory -------------------------------------------------------------------------------------


def memory_is_declared(kernel: ir.Kernel) -> Iterator[str]:
    """Memory is the kernel's own (buffer i has number i), and only written buffers are written."""
    for i, b in enumerate(kernel.buffers):
        if b.id != i:
            yield f"buffer {i} has number {b.id}"
    for site in walk(kernel.body):
        match site.statement:
            case (ir.Load() | ir.Store()) as s:
                memory = s.memory
                if isinstance(memory, ir.Buffer) and memory not in kernel.buffers:
                    yield f"buffer {memory.id} is not the kernel's"
                if isinstance(memory, ir.Local) and memory not in kernel.locals:
                    yield f"local {memory.id} is not the kernel's"
                if (
                    isinstance(s, ir.Store)
                    and isinstance(s.memory, ir.Buffer)
                    and not s.memory.written
                ):
                    yield f"buffer {s.memory.id} is stored to and not marked as written"


def static_bounds(code: ir.Kernel | ir.Function) -> Iterator[str]:
    """An index or extent that is known in the code is in bounds."""
    for site in walk(code.body):
        match site.statement:
            case (ir.For() | ir.Reduce()) as s if isinstance(s.extent, ir.Const):
                if s.extent.value < 0:
                    yield f"an extent of {s.extent.value}"
            case (ir.Load() | ir.Store()) as s:
                size = _size(s.memory)
                low, high = _static_range(s.index, site.around)
                above = size is not None and high is not None and high >= size
                if above or (low is not None and low < 0):
                    what = "unknown size" if size is None else f"{size} elements"
                    yield f"index {low}..{high} of memory of {what}"


def _size(memory: ir.Memory) -> int | None:
    match memory:
        case ir.Local():
            return memory.size
        case ir.Table():
            return len(memory.values)
    return None


def _static_range(
    index: ir.Atom, around: tuple[ir.Statement, ...]
) -> tuple[int | None, int | None]:
    """The lowest and highest value of an index, where the code tells."""
    if isinstance(index, ir.Const):
        return int(index.value), int(index.value)
    for s in around:
        if isinstance(s, ir.For | ir.Reduce) and s.var is index:
            known = isinstance(s.extent, ir.Const) and s.extent.value > 0
            return 0, int(s.extent.value) - 1 if known else None  # type: ignore[union-attr]
    return None, None


# --- loops --------------------------------------------------------------------------------------


def grid_loop(kernel: ir.Kernel) -> Iterator[str]:
    """There is at most one grid loop, at the top level."""
    grids = [s for s in walk(kernel.body) if isinstance(s.statement, ir.For) and s.statement.grid]
    if len(grids) > 1:
        yield f"{len(grids)} grid loops"
    if any(site.around for site in grids):
        yield "a grid loop inside another statement"


def loop_kinds(kernel: ir.Kernel) -> Iterator[str]:
    """A loop is serial or vector, and a vector loop is inside no other vector loop."""
    for site in walk(kernel.body):
        s = site.statement
        if isinstance(s, ir.For):
            if s.kind not in ("serial", "vector"):
                yield f"a loop of kind {s.kind!r}"
            if s.kind == "vector" and any(_is_vector(t) for t in site.around):
                yield "a vector loop inside a vector loop"


def _is_vector(s: ir.Statement) -> bool:
    return isinstance(s, ir.For) and s.kind == "vector"


def varying(loop: ir.For) -> set[ir.Atom]:
    """The variables in a loop's body that can differ between its iterations."""
    found: set[ir.Atom] = {loop.var}

    def any_varies(atoms: Iterable[ir.Atom]) -> bool:
        return not found.isdisjoint(atoms)

    def visit(body: Iterable[ir.Statement]) -> None:
        for s in body:
            varies = any_varies(operands(s))
            if isinstance(s, ir.Load) and isinstance(s.memory, ir.Local) and loop.grid:
                varies = True  # each iteration has its own
            match s:
                case ir.While():
                    _visit_while(s)
                    continue
                case ir.Reduce():
                    visit(s.body)
                    if varies or any_varies(s.values):
                        found.update((*s.left, *s.right))
                    visit(s.combine_body)
                    varies = varies or any_varies((*s.values, *s.combined))
                case _:
                    for inner in bodies(s):
                        visit(inner)
            if varies:
                found.update(defined(s))

    def _visit_while(s: ir.While) -> None:
        before = -1
        while len(found) != before:
            before = len(found)
            for name, result, *sources in zip(s.state, s.results, s.init, s.next, strict=True):
                if any_varies((*sources, s.cond)):
                    found.update((name, result))
            visit(s.cond_body)
            visit(s.body)

    visit(loop.body)
    return found


def vector_bodies(kernel: ir.Kernel) -> Iterator[str]:
    """A vector loop stores to no local memory, and all its iterations take the same way."""
    for site in walk(kernel.body):
        loop = site.statement
        if not isinstance(loop, ir.For) or loop.kind != "vector":
            continue
        differs = varying(loop)
        for inner in walk(loop.body):
            match inner.statement:
                case ir.Store() as s if isinstance(s.memory, ir.Local):
                    yield f"a store to local {s.memory.id} in a vector loop"
                case (ir.If() | ir.While()) as s if s.cond in differs:
                    kind = type(s).__name__.lower()
                    yield f"the condition of {kind} differs between iterations of a vector loop"
                case (ir.For() | ir.Reduce()) as s if s.extent in differs:
                    yield "an extent differs between iterations of a vector loop"


def write_races(kernel: ir.Kernel) -> Iterator[str]:
    """Independent iterations do not all store to one place."""
    for site in walk(kernel.body):
        loop = site.statement
        if not isinstance(loop, ir.For) or not (loop.grid or loop.kind == "vector"):
            continue
        if isinstance(loop.extent, ir.Const) and loop.extent.value <= 1:
            continue
        differs = varying(loop)
        for inner in walk(loop.body):
            s = inner.statement
            if not isinstance(s, ir.Store) or not isinstance(s.memory, ir.Buffer):
                continue
            guarded = any(isinstance(t, ir.If) and t.cond in differs for t in inner.around)
            if s.index not in differs and not guarded:
                yield f"iterations of a {loop.kind} loop all store to one element of b{s.memory.id}"


# --- functions ----------------------------------------------------------------------------------


def function_bodies(function: ir.Function) -> Iterator[str]:
    """A function holds only what is pure, and no parameter of a kernel."""
    for s in function.body:
        if not isinstance(s, ir.Let | ir.Load | ir.Call | ir.Branch | ir.Iterate):
            yield f"{type(s).__name__} in a function"
            continue
        if isinstance(s, ir.Load) and not isinstance(s.memory, ir.Table):
            yield f"a load from a {type(s.memory).__name__.lower()} in a function"
        if any(isinstance(a, ir.Param) for a in operands(s)):
            yield "a parameter of a kernel in a function"
    if any(isinstance(a, ir.Param) for a in function.results):
        yield "a parameter of a kernel as the result of a function"


def function_names(kernel: ir.Kernel) -> Iterator[str]:
    """Functions of one name are the same function."""
    keys: dict[str, bytes] = {}
    for f in functions_of(kernel.body):
        call = ir.Call((), f, ())
        key = structural_key(ir.Kernel((), (), (), (call,)))
        if keys.setdefault(f.name, key) != key:
            yield f"two functions have the name {f.name}"


Invariant = Callable[[ir.Kernel], Iterator[str]]

KERNEL_INVARIANTS: dict[str, Invariant] = {
    f.__name__: f
    for f in (
        single_definition, defined_before_use, operand_types, constants, index_types,
        param_slots, memory_is_declared, static_bounds, grid_loop, loop_kinds, vector_bodies,
        write_races, function_names,
    )
}  # fmt: skip

FUNCTION_INVARIANTS: dict[str, Callable[[ir.Function], Iterator[str]]] = {
    f.__name__: f
    for f in (
        function_bodies, single_definition, defined_before_use, operand_types, constants,
        index_types, static_bounds,
    )
}  # fmt: skip
