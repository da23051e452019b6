"""Expressions to statements: the only way kernel language is made.

A Writer keeps the blocks that are open (loops, reductions, conditions). An expression is named in
the outermost open block where all its variables are known, so what a loop does not change is
computed before it.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import ml_dtypes
import numpy as np

from jacana.kernel import ir
from jacana.kernel.expr import Expr, Graph, Number

# Index constants from here on are parameters: code does not depend on them.
STATIC_LIMIT = 8


class Block:
    """Statements being written, and the bit set of variables that are known in them."""

    __slots__ = ("statements", "known")

    def __init__(self, known: int):
        self.statements: list[ir.Statement] = []
        self.known = known


class Writer:
    """Writes the statements of one kernel or function."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.blocks = [Block(0)]
        self.atoms: dict[int, ir.Atom | tuple[ir.Var, ...]] = {}
        self.next_var = 0
        self.locals: list[ir.Local] = []
        self.params: list[str] = []
        self.param_values: list[int] = []
        self._param_index: dict[tuple[str, int], int] = {}

    def make_var(self, type: str) -> ir.Var:
        self.next_var += 1
        return ir.Var(self.next_var - 1, type)

    # --- expressions ------------------------------------------------------------------------------

    def atom(self, expr: Expr) -> ir.Atom:
        """The name of the expression's value, after writing what it needs."""
        found = self.atoms.get(expr.id)
        if found is None:
            for e in self._needed(expr):
                self._write(e)
        return self._named(expr)

    def _named(self, expr: Expr) -> ir.Atom:
        """The name that an expression with one value has."""
        found = self.atoms[expr.id]
        assert not isinstance(found, tuple)
        return found

    def _needed(self, expr: Expr) -> list[Expr]:
        """Expressions without a name yet that the value is made of, operands first."""
        seen, todo, needed = {expr.id}, [expr], []
        while todo:
            e = todo.pop()
            needed.append(e)
            # What a reduction folds is written inside its own block.
            args = e.args[: 1 + len(e.data[1])] if e.op == "reduce" else e.args
            for a in args:
                if a.id not in seen and a.id not in self.atoms:
                    seen.add(a.id)
                    todo.append(a)
        needed.sort(key=lambda e: e.id)
        return needed

    def _block_of(self, free: int) -> Block:
        for block in self.blocks:
            if not free & ~block.known:
                return block
        raise AssertionError("an expression uses a variable of a loop that is closed")

    def _write(self, e: Expr) -> None:
        if e.op in ("const", "scalar"):
            self.atoms[e.id] = self._constant(e)
            return
        if e.op == "item":
            names = self.atoms[e.args[0].id]
            assert isinstance(names, tuple)
            self.atoms[e.id] = names[e.data]
            return
        if e.op == "reduce":
            self._write_reduce(e)
            return
        assert e.op != "var", "a variable is used outside its loop"
        block = self._block_of(e.free)
        args = tuple(self._named(a) for a in e.args)
        if e.op in ("call", "branch", "iterate"):
            block.statements.append(self._composite(e, args))
            return
        var = self.make_var(e.type)
        self.atoms[e.id] = var
        if e.op == "load":
            block.statements.append(ir.Load(var, e.data, args[0]))
        else:
            block.statements.append(ir.Let(var, e.op, args))

    def _composite(self, e: Expr, args: tuple[ir.Atom, ...]) -> ir.Statement:
        match e.op:
            case "call":
                names = self._names(e, e.data.results)
                return ir.Call(names, e.data, args)
            case "branch":
                then, orelse, shortcut = e.data
                names = self._names(e, then.results)
                return ir.Branch(names, args[0], then, orelse, args[1:], shortcut)
        cond, step, n = e.data
        return ir.Iterate(self._names(e, step.results), cond, step, args[:n], args[n:])

    def _names(self, e: Expr, like: Sequence[ir.Atom]) -> tuple[ir.Var, ...]:
        names = tuple(self.make_var(a.type) for a in like)
        self.atoms[e.id] = names
        return names

    def _constant(self, e: Expr) -> ir.Atom:
        if e.op == "const" and not (e.type == "index" and abs(e.data) > STATIC_LIMIT):
            return ir.Const(e.data, e.type)
        return self.param(e.data, e.type)

    def param(self, value: Number, type: str) -> ir.Param:
        """The parameter slot that holds the value; equal values of one type share a slot."""
        key = (type, scalar_bits(value, type))
        index = self._param_index.get(key)
        if index is None:
            index = self._param_index[key] = len(self.params)
            self.params.append(type)
            self.param_values.append(key[1])
        return ir.Param(index, type)

    def _write_reduce(self, e: Expr) -> None:
        k, left, right, combined = e.data
        n = len(left)
        extent, *init = [self._named(a) for a in e.args[: n + 1]]
        block = self._block_of(e.free)
        depth = self.blocks.index(block)
        # Whatever the values need from blocks inside `block` does not exist: e.free is known there.
        inner, self.blocks = self.blocks[depth + 1 :], self.blocks[: depth + 1]
        with self._open(k.data) as body:
            var = self._bind(k)
            values = tuple(self.atom(v) for v in e.args[n + 1 :])
        with self._open(sum(v.data for v in (*left, *right))) as combine_body:
            left_names = tuple(self._bind(v) for v in left)
            right_names = tuple(self._bind(v) for v in right)
            results = tuple(self.atom(v) for v in combined)
        self.blocks += inner
        names = self._names(e, left_names)
        block.statements.append(
            ir.Reduce(
                names, var, extent, tuple(body.statements), values, tuple(init), left_names,
                right_names, tuple(combine_body.statements), results,
            )
        )  # fmt: skip

    def _bind(self, variable: Expr) -> ir.Var:
        var = self.atoms[variable.id] = self.make_var(variable.type)
        return var

    # --- statements -------------------------------------------------------------------------------

    @contextmanager
    def _open(self, known: int) -> Iterator[Block]:
        block = Block(self.blocks[-1].known | known)
        self.blocks.append(block)
        yield block
        self.blocks.pop()

    @contextmanager
    def loop(self, extent: Expr, kind: str = "serial", grid: bool = False) -> Iterator[Expr]:
        """`with writer.loop(n) as i:` writes a loop; what the body does not vary goes before it."""
        variable = self.graph.variable("index", extent)
        count = self.atom(extent)
        with self._open(variable.data) as block:
            var = self._bind(variable)
            yield variable
        self.blocks[-1].statements.append(ir.For(var, count, tuple(block.statements), kind, grid))

    @contextmanager
    def when(self, cond: Expr) -> Iterator[None]:
        """`with writer.when(c):` writes statements that run only where c holds.

        Pure expressions may still be computed before it: read guarded memory with load_now.
        """
        test = self.atom(cond)
        with self._open(0) as block:
            yield
        self.blocks[-1].statements.append(ir.If(test, tuple(block.statements), ()))

    def store(self, memory: ir.Buffer | ir.Local, index: Expr, value: Expr) -> None:
        i, v = self.atom(index), self.atom(value)
        self.blocks[-1].statements.append(ir.Store(memory, i, v))

    def local(self, type: str, size: int) -> ir.Local:
        """Scratch memory of the kernel."""
        self.locals.append(ir.Local(len(self.locals), type, size))
        return self.locals[-1]

    def load_now(self, memory: ir.Memory, index: Expr) -> Expr:
        """The value that memory has at this statement (memory that this kernel also writes)."""
        i = self.atom(index)
        value = self.graph.variable(memory.type)
        # Known from here to the end of the block and in the blocks inside it.
        self.blocks[-1].known |= value.data
        self.blocks[-1].statements.append(ir.Load(self._bind(value), memory, i))
        return value

    def carry(
        self,
        init: Sequence[Expr],
        cond: Callable[[Sequence[Expr]], Expr],
        body: Callable[[Sequence[Expr]], Sequence[Expr]],
    ) -> list[Expr]:
        """The state after `while cond(state): state = body(state)`."""
        start = tuple(self.atom(e) for e in init)
        state = [self.graph.variable(e.type) for e in init]
        with self._open(sum(v.data for v in state)) as block:
            names = tuple(self._bind(v) for v in state)
            test = self.atom(cond(state))
            cond_length = len(block.statements)
            following = tuple(self.atom(e) for e in body(state))
        results = [self.graph.variable(e.type) for e in init]
        self.blocks[-1].known |= sum(v.data for v in results)
        bound = tuple(self._bind(v) for v in results)
        self.blocks[-1].statements.append(
            ir.While(
                bound, names, start, tuple(block.statements[:cond_length]), test,
                tuple(block.statements[cond_length:]), following,
            )
        )  # fmt: skip
        return results


def scalar_bits(value: Number, type: str) -> int:
    """The value as the bits of a parameter slot (an unsigned 64-bit integer)."""
    if type in ("float64", "float32", "float16"):
        code = {"float64": "<d", "float32": "<f", "float16": "<e"}[type]
        try:
            packed = struct.pack(code, value)
        except OverflowError:
            packed = struct.pack(code, float("inf") if value > 0 else float("-inf"))
        return int.from_bytes(packed, "little")
    if type == "bfloat16":
        return round_to_bfloat16(scalar_bits(value, "float32"))
    if type in ir.SMALL_FLOATS:
        return int(np.float64(value).astype(getattr(ml_dtypes, type)).view(np.uint8))
    return int(value) & 0xFFFFFFFFFFFFFFFF


def round_to_bfloat16(bits: int) -> int:
    """float32 bits to bfloat16 bits, to nearest even."""
    if bits & 0x7FFFFFFF > 0x7F800000:
        return bits >> 16 | 0x40
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def function(
    name: str, *types: str
) -> Callable[[Callable[..., Expr | tuple[Expr, ...]]], ir.Function]:
    """Decorator: the ir.Function whose results the Python function builds from its parameters."""

    def build(python: Callable[..., Expr | tuple[Expr, ...]]) -> ir.Function:
        graph = Graph()
        writer = Writer(graph)
        params = [graph.variable(t) for t in types]
        writer.blocks[0].known |= sum(p.data for p in params)
        names = tuple(writer._bind(p) for p in params)
        made = python(*params)
        results = tuple(writer.atom(e) for e in (made if isinstance(made, tuple) else (made,)))
        assert not writer.params, f"{name}: a function has no run-time parameters"
        return ir.Function(name, names, tuple(writer.blocks[0].statements), results)

    return build
