"""Scalar expressions: the DAG that lowering rules and math functions are written with.

Equal expressions of one Graph are one object, numbered in topological order. Operators build
expressions; `build` later names them and places each in the outermost loop it can be computed in.
"""

import operator
import struct
from collections.abc import Callable, Sequence
from typing import Any

from jacana.kernel import ir

COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
COMPARISONS = frozenset(COMPARE)

Number = bool | int | float


class Expr:
    """A scalar value of a Graph; `free` is the bit set of the bound variables it depends on."""

    __slots__ = ("graph", "id", "op", "args", "data", "type", "free")

    def __init__(
        self, graph: "Graph", op: str, args: "tuple[Expr, ...]", data: Any, type: str, free: int
    ):
        self.graph, self.op, self.args, self.data = graph, op, args, data
        self.type, self.free = type, free
        self.id = graph.count
        graph.count += 1

    def __repr__(self) -> str:
        return f"<{self.op} {self.type} #{self.id}>"

    # Python numbers take the type of the other operand.
    def __add__(self, other: "Expr | Number") -> "Expr":
        return self.graph.op("add", self, other)

    def __radd__(self, other: Number) -> "Expr":
        return self.graph.op("add", other, self)

    def __sub__(self, other: "Expr | Number") -> "Expr":
        return self.graph.op("sub", self, other)

    def __rsub__(self, other: Number) -> "Expr":
        return self.graph.op("sub", other, self)

    def __mul__(self, other: "Expr | Number") -> "Expr":
        return self.graph.op("mul", self, other)

    def __rmul__(self, other: Number) -> "Expr":
        return self.graph.op("mul", other, self)

    def __truediv__(self, other: "Expr | Number") -> "Expr":
        return self.graph.op("div", self, other)

    def __rtruediv__(self, other: Number) -> "Expr":
        return self.graph.op("div", other, self)

    __floordiv__ = __truediv__  # integers: `div` truncates, which is floor for indices
    __rfloordiv__ = __rtruediv__

    def __mod__(self, other: "Expr | Number") -> "Expr":
        return self.graph.op("rem", self, other)

    def __and__(self, other: "Expr | Number") -> "Expr":
        return self.graph.op("and", self, other)

    def __or__(self, other: "Expr | Number") -> "Expr":
        return self.graph.op("or", self, other)

    def __xor__(self, other: "Expr | Number") -> "Expr":
        return self.graph.op("xor", self, other)

    def __lshift__(self, other: "Expr | Number") -> "Expr":
        return self.graph.op("shl", self, other)

    def __rshift__(self, other: "Expr | Number") -> "Expr":
        return self.graph.op("shr", self, other)

    def __invert__(self) -> "Expr":
        return self.graph.op("not", self)

    def __neg__(self) -> "Expr":
        return self.graph.op("neg", self)

    def __abs__(self) -> "Expr":
        return self.graph.op("abs", self)

    def __lt__(self, other: "Expr | Number") -> "Expr":
        return self.graph.op("lt", self, other)

    def __le__(self, other: "Expr | Number") -> "Expr":
        return self.graph.op("le", self, other)

    def __gt__(self, other: "Expr | Number") -> "Expr":
        return self.graph.op("gt", self, other)

    def __ge__(self, other: "Expr | Number") -> "Expr":
        return self.graph.op("ge", self, other)

    def eq(self, other: "Expr | Number") -> "Expr":
        """self == other as an expression (`==` itself compares identity)."""
        return self.graph.op("eq", self, other)

    def ne(self, other: "Expr | Number") -> "Expr":
        return self.graph.op("ne", self, other)

    def isnan(self) -> "Expr":
        return self.graph.op("ne", self, self)

    def convert(self, type: str) -> "Expr":
        return self if type == self.type else self.graph.typed("convert", (self,), type)

    def bitcast(self, type: str) -> "Expr":
        return self if type == self.type else self.graph.typed("bitcast", (self,), type)

    def const(self, value: Number) -> "Expr":
        """A constant of this expression's type and graph."""
        return self.graph.const(value, self.type)

    def is_const(self, value: Number | None = None) -> bool:
        return self.op == "const" and (value is None or self.data == value)


class Graph:
    """The expressions of one kernel or function, each distinct one once."""

    def __init__(self) -> None:
        self.table: dict[Any, Expr] = {}
        self.count = 0
        self.variables = 0
        # Variable -> exclusive upper bound of its values, all of which are >= 0.
        self.bounds: dict[int, int] = {}
        self._intervals: dict[int, tuple[int, int] | None] = {}

    def _make(
        self, op: str, args: tuple[Expr, ...], data: Any, type: str, key_data: Any = None
    ) -> Expr:
        key = (op, type, *[a.id for a in args], data if key_data is None else key_data)
        found = self.table.get(key)
        if found is None:
            free = 0
            for a in args:
                free |= a.free
            found = self.table[key] = Expr(self, op, args, data, type, free)
        return found

    def const(self, value: Number, type: str) -> Expr:
        """A constant that is part of the code. An "index" constant above 8 becomes a parameter."""
        if type in ir.FLOATS:
            value = float(value)
            return self._make("const", (), value, type, struct.pack("<d", value))
        value = bool(value) if type == "bool" else int(value)
        return self._make("const", (), value, type)

    def index(self, value: int) -> Expr:
        return self.const(value, "index")

    def scalar(self, value: Number, type: str) -> Expr:
        """A scalar whose value is not part of the code but a parameter of the kernel."""
        if type in ir.FLOATS:
            value = float(value)
            return self._make("scalar", (), value, type, struct.pack("<d", value))
        return self._make("scalar", (), value, type)

    def divisor(self, x: Expr) -> Expr:
        """A divisor, as part of the code if it is a whole number: that is a multiplication then."""
        if x.op == "scalar" and x.type not in ir.FLOATS:
            return self.const(x.data, x.type)
        return x

    def variable(self, type: str, extent: Expr | None = None) -> Expr:
        """A new variable bound by a loop (which runs below `extent`), a reduction or a function."""
        bit = 1 << self.variables
        self.variables += 1
        made = Expr(self, "var", (), bit, type, bit)
        if extent is not None and extent.op == "const":
            self.bounds[made.id] = extent.data
        return made

    def bound(self, e: Expr) -> int | None:
        """An exclusive upper bound of an index expression that is known to be >= 0."""
        if e.op == "const":
            return e.data + 1 if e.data >= 0 else None
        if e.op == "var":
            return self.bounds.get(e.id)
        if e.op not in ("add", "mul", "div", "rem", "min"):
            return None
        a, b = self.bound(e.args[0]), self.bound(e.args[1])
        if a is None or b is None:
            return None
        match e.op:
            case "add":
                return a + b - 1
            case "mul":
                return (a - 1) * (b - 1) + 1
            case "min":
                return min(a, b)
        if e.args[1].op != "const" or b == 1:
            return None
        return min(a, b - 1) if e.op == "rem" else (a - 1) // (b - 1) + 1

    def interval(self, e: Expr) -> tuple[int, int] | None:
        """The least and the greatest value of an index expression, where they are known."""
        if e.op == "const":
            return e.data, e.data
        if e.op == "var":
            bound = self.bounds.get(e.id)
            return None if bound is None else (0, bound - 1)
        if e.op not in ("add", "sub", "mul", "min", "max"):
            bound = self.bound(e)
            return None if bound is None else (0, bound - 1)
        if e.id not in self._intervals:
            self._intervals[e.id] = self._interval(e)
        return self._intervals[e.id]

    def _interval(self, e: Expr) -> tuple[int, int] | None:
        a, b = self.interval(e.args[0]), self.interval(e.args[1])
        if a is None or b is None:
            return None
        match e.op:
            case "add":
                return a[0] + b[0], a[1] + b[1]
            case "sub":
                return a[0] - b[1], a[1] - b[0]
            case "mul":
                ends = [x * y for x in a for y in b]
                return min(ends), max(ends)
            case "min":
                return min(a[0], b[0]), min(a[1], b[1])
        return max(a[0], b[0]), max(a[1], b[1])

    def _fold_order(self, name: str, a: Expr, b: Expr) -> Expr | None:
        """A comparison, min or max that the intervals of its operands decide."""
        x, y = self.interval(a), self.interval(b)
        if x is None or y is None:
            return None
        if name in ("min", "max"):
            if x[1] <= y[0]:
                return a if name == "min" else b
            if y[1] <= x[0]:
                return b if name == "min" else a
            return None
        # (holds for all values, holds for none) of a < b and of a <= b; the others negate these.
        always, never = {
            "lt": (x[1] < y[0], x[0] >= y[1]), "ge": (x[0] >= y[1], x[1] < y[0]),
            "le": (x[1] <= y[0], x[0] > y[1]), "gt": (x[0] > y[1], x[1] <= y[0]),
        }[name]  # fmt: skip
        return self.const(always, "bool") if always or never else None

    def op(self, name: str, *args: "Expr | Number") -> Expr:
        """The operation on expressions of one type; Python numbers are constants of that type."""
        like = next(a for a in reversed(args) if isinstance(a, Expr))
        exprs = tuple(a if isinstance(a, Expr) else self.const(a, like.type) for a in args)
        if like.type == "index":
            folded = self._fold_index(name, exprs)
            if folded is not None:
                return folded
        if name in ("and", "or") and like.type == "bool":
            # A constant decides, or changes nothing.
            for a, b in (exprs, exprs[::-1]):
                if a.op == "const":
                    return b if a.data == (name == "and") else a
        return self._make(name, exprs, None, "bool" if name in COMPARISONS else exprs[0].type)

    def typed(self, name: str, args: tuple[Expr, ...], type: str) -> Expr:
        """The operation with the type of its result given (convert, bitcast, load)."""
        if name == "convert" and args[0].op == "const" and {type, args[0].type} <= INTEGERS:
            return self.const(args[0].data, type)
        return self._make(name, args, None, type)

    def _fold_index(self, name: str, args: tuple[Expr, ...]) -> Expr | None:
        if all(a.op == "const" for a in args):
            return self._fold_constants(name, [a.data for a in args])
        if name in ("add", "mul") and args[0].op == "const":
            args = args[::-1]
        a, b = args[0], args[-1]
        if name in ("add", "sub") and b.is_const(0):
            return a
        if name == "mul" and b.is_const(1) or name == "div" and b.is_const(1):
            return a
        if name == "mul" and b.is_const(0) or name == "rem" and b.is_const(1):
            return self.index(0)
        if name == "add" and b.op == "const" and a.op == "add" and a.args[1].op == "const":
            return a.args[0] + int(a.args[1].data + b.data)
        if name in ("div", "rem") and b.op == "const" and b.data > 0:
            return self._fold_division(name, a, b.data)
        if name in ("min", "max", "lt", "le", "gt", "ge"):
            return self._fold_order(name, a, b)
        return None

    def _fold_division(self, name: str, a: Expr, n: int) -> Expr | None:
        """a / n or a % n where bounds make it simpler: (i * n + j) / n is i for j < n."""
        bound = self.bound(a)
        if bound is not None and bound <= n:
            return self.index(0) if name == "div" else a
        if a.op == "mul" and a.args[1].op == "const" and a.args[1].data % n == 0:
            return self.index(0) if name == "rem" else a.args[0] * (a.args[1].data // n)
        if a.op == "add" and bound is not None:
            for multiple, rest in (a.args, a.args[::-1]):
                if multiple.op == "const" and multiple.data > 0 and multiple.data % n == 0:
                    return rest % n if name == "rem" else rest / n + int(multiple.data // n)
                is_multiple = (
                    multiple.op == "mul"
                    and multiple.args[1].op == "const"
                    and multiple.args[1].data % n == 0
                )
                if is_multiple and name == "rem":
                    return rest % n
                if is_multiple:
                    return multiple.args[0] * int(multiple.args[1].data // n) + rest / n
        return None

    def _fold_constants(self, name: str, v: list[int]) -> Expr | None:
        if name in COMPARISONS:
            return self.const(COMPARE[name](v[0], v[1]), "bool")
        match name:
            case "add":
                return self.index(v[0] + v[1])
            case "sub":
                return self.index(v[0] - v[1])
            case "mul":
                return self.index(v[0] * v[1])
            case "min":
                return self.index(min(v))
            case "max":
                return self.index(max(v))
            case "div" if v[1] > 0 and v[0] >= 0:
                return self.index(v[0] // v[1])
            case "rem" if v[1] > 0 and v[0] >= 0:
                return self.index(v[0] % v[1])
        return None

    def select(self, cond: Expr, a: "Expr | Number", b: "Expr | Number") -> Expr:
        like = a if isinstance(a, Expr) else b
        if not isinstance(like, Expr):
            raise TypeError("select needs an expression on at least one side")
        a = a if isinstance(a, Expr) else like.const(a)
        b = b if isinstance(b, Expr) else like.const(b)
        if cond.op == "const":
            return a if cond.data else b
        return a if a is b else self._make("select", (cond, a, b), None, a.type)

    def load(self, memory: ir.Memory, index: Expr) -> Expr:
        """memory[index], of memory that this kernel does not write while the value is needed."""
        return self._make("load", (index,), memory, memory.type)

    def call(self, function: ir.Function, args: Sequence[Expr]) -> tuple[Expr, ...]:
        made = self._make("call", tuple(args), function, "")
        return self._items(made, [r.type for r in function.results])

    def branch(
        self, cond: Expr, then: ir.Function, orelse: ir.Function, args: Sequence[Expr],
        shortcut: bool = False,
    ) -> tuple[Expr, ...]:  # fmt: skip
        """then(*args) where cond holds, else orelse(*args), running only what a lane needs.

        `shortcut` promises that `orelse` would give the same bits where cond holds.
        """
        made = self._make("branch", (cond, *args), (then, orelse, shortcut), "")
        return self._items(made, [r.type for r in then.results])

    def iterate(
        self,
        cond: ir.Function,
        step: ir.Function,
        init: Sequence[Expr],
        consts: Sequence[Expr] = (),
    ) -> tuple[Expr, ...]:
        """The state after `while cond(*state, *consts): state = step(*state, *consts)`."""
        made = self._make("iterate", (*init, *consts), (cond, step, len(init)), "")
        return self._items(made, [e.type for e in init])

    def _items(self, made: Expr, types: list[str]) -> tuple[Expr, ...]:
        return tuple(self._make("item", (made,), i, t) for i, t in enumerate(types))

    def reduce(
        self,
        extent: Expr,
        values: Callable[[Expr], Sequence[Expr]],
        combine: Callable[[Sequence[Expr], Sequence[Expr]], Sequence[Expr]],
        init: Sequence[Expr],
    ) -> tuple[Expr, ...]:
        """The fold of values(k) over k = 0 .. extent - 1, in the order that ir.Reduce states."""
        k = self.variable("index", extent)
        elements = tuple(values(k))
        left = tuple(self.variable(e.type) for e in elements)
        right = tuple(self.variable(e.type) for e in elements)
        combined = tuple(combine(left, right))
        made = self._make(
            "reduce", (extent, *init, *elements), (k, left, right, combined), "", k.id
        )
        made.free &= ~k.data
        return self._items(made, [e.type for e in elements])


INTEGERS = frozenset((*ir.SIGNED, *ir.UNSIGNED))
