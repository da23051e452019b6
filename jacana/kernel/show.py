"""Kernels as text, and as the key under which their code is cached.

Both number variables in order of appearance: how a kernel came about does not show.
"""

import struct
from collections.abc import Sequence
from functools import lru_cache

from jacana.core.digest import sha256
from jacana.kernel import ir

INDENT = "  "


def show(code: ir.Kernel | ir.Function) -> str:
    """The kernel or function as text, one statement a line, with all functions it reaches."""
    text = _Text()
    if isinstance(code, ir.Kernel):
        text.kernel(code)
    else:
        text.function_names[code] = code.name
    shown = 0
    while shown < len(text.function_names):
        function = list(text.function_names)[shown]
        if text.lines:
            text.lines.append("")
        text.function(function)
        shown += 1
    for table in text.tables:
        values = ", ".join(map(repr, table.values))
        text.lines += ["", f"table {table.name}: {table.type}[{len(table.values)}]", f"  {values}"]
    return "\n".join(text.lines) + "\n"


class _Text:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[ir.Var, str] = {}
        self.locals: dict[ir.Local, str] = {}
        self.tables: dict[ir.Table, None] = {}
        # Distinct functions of one name are told apart by their number.
        self.function_names: dict[ir.Function, str] = {}
        self.depth = 0

    def line(self, text: str) -> None:
        self.lines.append(INDENT * self.depth + text)

    def kernel(self, kernel: ir.Kernel) -> None:
        self.line("kernel")
        for b in kernel.buffers:
            self.line(f"  buffer b{b.id}: {b.type}{' written' if b.written else ''}")
        for i, m in enumerate(kernel.locals):
            self.locals[m] = f"m{i}"
            self.line(f"  local m{i}: {m.type}[{m.size}]")
        for i, type in enumerate(kernel.params):
            self.line(f"  param p{i}: {type}")
        self.block(kernel.body)

    def function(self, function: ir.Function) -> None:
        self.names = {}
        params, results = self.define(function.params), self.types(function.results)
        self.line(f"function {self.function_names[function]}({params}) -> {results}")
        self.depth += 1
        self.block(function.body)
        self.line(f"return {self.atoms(function.results)}")
        self.depth -= 1

    # --- parts of a statement -----------------------------------------------------------------

    def define(self, variables: Sequence[ir.Var]) -> str:
        for v in variables:
            self.names[v] = f"v{len(self.names)}"
        return ", ".join(f"{self.names[v]}: {v.type}" for v in variables)

    def types(self, atoms: Sequence[ir.Atom]) -> str:
        return ", ".join(a.type for a in atoms)

    def atom(self, a: ir.Atom) -> str:
        match a:
            case ir.Var():
                return self.names.get(a, "undefined")
            case ir.Param():
                return f"p{a.index}"
        return repr(a.value) if a.type in ("bool", "index") else f"{a.value!r}:{a.type}"

    def atoms(self, atoms: Sequence[ir.Atom]) -> str:
        return ", ".join(map(self.atom, atoms))

    def memory(self, memory: ir.Memory) -> str:
        match memory:
            case ir.Buffer():
                return f"b{memory.id}"
            case ir.Local():
                return self.locals.get(memory, "undefined")
        self.tables[memory] = None
        return memory.name

    def callee(self, function: ir.Function) -> str:
        if function not in self.function_names:
            taken = list(self.function_names.values())
            name, n = function.name, 1
            while name in taken:
                n += 1
                name = f"{function.name}#{n}"
            self.function_names[function] = name
        return self.function_names[function]

    # --- statements ---------------------------------------------------------------------------

    def block(self, body: Sequence[ir.Statement], indent: bool = False) -> None:
        self.depth += indent
        for s in body:
            self.statement(s)
        self.depth -= indent

    def statement(self, s: ir.Statement) -> None:
        match s:
            case ir.Let():
                made = f"{s.operation} {self.atoms(s.args)}"
                self.line(f"{self.define([s.var])} = {made}")
            case ir.Load():
                made = f"{self.memory(s.memory)}[{self.atom(s.index)}]"
                self.line(f"{self.define([s.var])} = {made}")
            case ir.Store():
                place = f"{self.memory(s.memory)}[{self.atom(s.index)}]"
                self.line(f"{place} = {self.atom(s.value)}")
            case ir.Call():
                made = f"{self.callee(s.function)}({self.atoms(s.args)})"
                self.line(f"{self.define(s.results)} = {made}")
            case ir.Branch():
                sides = f"{self.callee(s.then)} else {self.callee(s.orelse)}"
                when = "quicker if" if s.shortcut else "if"
                made = f"{when} {self.atom(s.cond)} then {sides} of ({self.atoms(s.args)})"
                self.line(f"{self.define(s.results)} = {made}")
            case ir.Iterate():
                loop = f"while {self.callee(s.cond)} do {self.callee(s.step)}"
                made = f"from ({self.atoms(s.init)}) with ({self.atoms(s.consts)})"
                self.line(f"{self.define(s.results)} = {loop} {made}")
            case ir.For():
                self._for(s)
            case ir.If():
                self.line(f"if {self.atom(s.cond)}:")
                self.block(s.then, indent=True)
                if s.orelse:
                    self.line("else:")
                    self.block(s.orelse, indent=True)
            case ir.While():
                self._while(s)
            case ir.Reduce():
                self._reduce(s)

    def _for(self, s: ir.For) -> None:
        extent = self.atom(s.extent)
        kind = f"grid {s.kind}" if s.grid else s.kind
        self.line(f"{kind} for {self.define([s.var])} < {extent}:")
        self.block(s.body, indent=True)

    def _while(self, s: ir.While) -> None:
        init = self.atoms(s.init)
        self.line(f"state {self.define(s.state)} from {init}:")
        self.block(s.cond_body, indent=True)
        self.line(f"while {self.atom(s.cond)}:")
        self.block(s.body, indent=True)
        self.line(f"  next {self.atoms(s.next)}")
        self.line(f"{self.define(s.results)} = state")

    def _reduce(self, s: ir.Reduce) -> None:
        extent, init = self.atom(s.extent), self.atoms(s.init)
        self.line(f"reduce {self.define([s.var])} < {extent} from {init}:")
        self.block(s.body, indent=True)
        self.line(f"  fold {self.atoms(s.values)}")
        self.line(f"combine ({self.define(s.left)}) and ({self.define(s.right)}):")
        self.block(s.combine_body, indent=True)
        self.line(f"  to {self.atoms(s.combined)}")
        self.line(f"{self.define(s.results)} = reduced")


# --- the key ----------------------------------------------------------------------------------


def structural_key(kernel: ir.Kernel) -> bytes:
    """The SHA-256 of all that determines the kernel's meaning.

    Names of variables, functions and tables are no part of it; types, order and constants are.
    """
    writer = _Key()
    for b in kernel.buffers:
        writer.out.append(f"buffer {b.id} {b.type} {b.written}")
    for i, m in enumerate(kernel.locals):
        writer.locals[m] = f"m{i}"
        writer.out.append(f"local {m.type} {m.size}")
    writer.out.append(f"params {' '.join(kernel.params)}")
    writer.block(kernel.body)
    return writer.digest()


@lru_cache(maxsize=4096)
def _function_key(function: ir.Function) -> str:
    writer = _Key()
    writer.define(function.params)
    writer.block(function.body)
    writer.out.append(writer.atoms(function.results))
    return writer.digest().hex()


@lru_cache(maxsize=1024)
def _table_key(table: ir.Table) -> str:
    values = " ".join(_constant(v) for v in table.values)
    return sha256(f"{table.type} {values}".encode()).hexdigest()


def _constant(value: bool | int | float) -> str:
    if value != value:  # nan: its bits are part of it
        return struct.pack("<d", value).hex()
    return repr(value)


class _Key:
    """Statements as lines of tokens; a definition is known by its place, so only types appear."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.names: dict[ir.Atom, str] = {}
        self.locals: dict[ir.Memory, str] = {}

    def digest(self) -> bytes:
        return sha256("\n".join(self.out).encode()).digest()

    def define(self, variables: Sequence[ir.Var]) -> None:
        names = self.names
        for v in variables:
            names[v] = str(len(names))
        self.out.append(" ".join([v.type for v in variables]))

    def atom(self, a: ir.Atom) -> str:
        if isinstance(a, ir.Var):
            return self.names[a]
        if isinstance(a, ir.Param):
            return f"p{a.index}:{a.type}"
        return f"c{_constant(a.value)}:{a.type}"

    def atoms(self, atoms: Sequence[ir.Atom]) -> str:
        names, made = self.names, []
        for a in atoms:
            made.append(names[a] if type(a) is ir.Var else self.atom(a))
        return " ".join(made)

    def memory(self, memory: ir.Memory) -> str:
        if isinstance(memory, ir.Buffer):
            return f"b{memory.id}"
        if isinstance(memory, ir.Local):
            return self.locals[memory]
        return _table_key(memory)

    def block(self, body: Sequence[ir.Statement]) -> None:
        self.out.append("{")
        for s in body:
            if type(s) is ir.Let:
                args = self.atoms(s.args)
                self.names[s.var] = str(len(self.names))
                self.out.append(f"{s.operation} {s.var.type} {args}")
            else:
                self.statement(s)
        self.out.append("}")

    def statement(self, s: ir.Statement) -> None:
        out, atoms = self.out, self.atoms
        match s:
            case ir.Load():
                out.append(f"load {self.memory(s.memory)} {self.atom(s.index)}")
                self.define([s.var])
            case ir.Store():
                out.append(f"store {self.memory(s.memory)} {atoms([s.index, s.value])}")
            case ir.Call():
                out.append(f"call {_function_key(s.function)} {atoms(s.args)}")
                self.define(s.results)
            case ir.Branch():
                sides = f"{_function_key(s.then)} {_function_key(s.orelse)}"
                out.append(f"branch {s.shortcut} {sides} {atoms((s.cond, *s.args))}")
                self.define(s.results)
            case ir.Iterate():
                parts = f"{_function_key(s.cond)} {_function_key(s.step)}"
                out.append(f"iterate {parts} {atoms(s.init)} , {atoms(s.consts)}")
                self.define(s.results)
            case ir.For():
                out.append(f"for {self.atom(s.extent)} {s.kind} {s.grid}")
                self.define([s.var])
                self.block(s.body)
            case ir.If():
                out.append(f"if {self.atom(s.cond)}")
                self.block(s.then)
                self.block(s.orelse)
            case ir.While():
                out.append(f"while {atoms(s.init)}")
                self.define(s.state)
                self.block(s.cond_body)
                out.append(self.atom(s.cond))
                self.block(s.body)
                out.append(atoms(s.next))
                self.define(s.results)
            case ir.Reduce():
                out.append(f"reduce {self.atom(s.extent)} {atoms(s.init)}")
                self.define([s.var])
                self.block(s.body)
                out.append(atoms(s.values))
                self.define([*s.left, *s.right])
                self.block(s.combine_body)
                out.append(atoms(s.combined))
                self.define(s.results)
