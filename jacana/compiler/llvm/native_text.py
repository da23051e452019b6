"""A writer of LLVM IR text for the runtime's own functions: structured control flow over values.

Variables live in stack slots, which LLVM turns into registers. Integers are signed. The module has
no metadata and needs no llvmlite: it is text until somebody compiles it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from jacana.core.records import record


@record(eq=False)
class Value:
    """One SSA value or constant; arithmetic on it writes an instruction into its function."""

    writer: "Writer"
    text: str
    type: str

    def _binary(self, operation: str, other: "Operand") -> "Value":
        right = self.writer.value(other, self.type)
        return self.writer.emit(f"{operation} {self.type} {self.text}, {right.text}", self.type)

    def _compare(self, predicate: str, other: "Operand") -> "Value":
        right = self.writer.value(other, self.type)
        return self.writer.emit(f"icmp {predicate} {self.type} {self.text}, {right.text}", "i1")

    def __add__(self, other: "Operand") -> "Value":
        return self._binary("add", other)

    def __sub__(self, other: "Operand") -> "Value":
        return self._binary("sub", other)

    def __mul__(self, other: "Operand") -> "Value":
        return self._binary("mul", other)

    def __floordiv__(self, other: "Operand") -> "Value":
        """Division toward zero, as LLVM's sdiv."""
        return self._binary("sdiv", other)

    def __mod__(self, other: "Operand") -> "Value":
        """Remainder with the sign of the dividend, as LLVM's srem."""
        return self._binary("srem", other)

    def __and__(self, other: "Operand") -> "Value":
        return self._binary("and", other)

    def __or__(self, other: "Operand") -> "Value":
        return self._binary("or", other)

    def __lshift__(self, other: "Operand") -> "Value":
        return self._binary("shl", other)

    def __rshift__(self, other: "Operand") -> "Value":
        """Shift that fills with zeros."""
        return self._binary("lshr", other)

    def __lt__(self, other: "Operand") -> "Value":
        return self._compare("slt", other)

    def __le__(self, other: "Operand") -> "Value":
        return self._compare("sle", other)

    def __gt__(self, other: "Operand") -> "Value":
        return self._compare("sgt", other)

    def __ge__(self, other: "Operand") -> "Value":
        return self._compare("sge", other)

    def eq(self, other: "Operand") -> "Value":
        return self._compare("eq", other)

    def ne(self, other: "Operand") -> "Value":
        return self._compare("ne", other)

    def choose(self, then: "Value", orelse: "Operand") -> "Value":
        """`then` where this i1 is true, else `orelse`."""
        other = self.writer.value(orelse, then.type)
        operands = f"{then.type} {then.text}, {other.type} {other.text}"
        return self.writer.emit(f"select i1 {self.text}, {operands}", then.type)

    def cast(self, type_: str) -> "Value":
        """The same integer in another width: truncated, or extended, except i1 by sign."""
        if type_ == self.type:
            return self
        if int(type_[1:]) < int(self.type[1:]):
            operation = "trunc"
        else:
            operation = "zext" if self.type == "i1" else "sext"
        return self.writer.emit(f"{operation} {self.type} {self.text} to {type_}", type_)

    def item(self, type_: str, index: "Operand") -> "Value":
        """Address of element `index` of the array of `type_` that this pointer is the start of."""
        at = self.writer.value(index, "i64")
        return self.writer.emit(f"getelementptr {type_}, ptr {self.text}, i64 {at.text}", "ptr")

    def load(self, type_: str, index: "Operand" = 0) -> "Value":
        address = self if isinstance(index, int) and index == 0 else self.item(type_, index)
        return self.writer.emit(f"load {type_}, ptr {address.text}", type_)

    def store(self, value: "Value", index: "Operand" = 0) -> None:
        address = self if isinstance(index, int) and index == 0 else self.item(value.type, index)
        self.writer.line(f"store {value.type} {value.text}, ptr {address.text}")

    def atomic_load(self, type_: str, order: str = "seq_cst") -> "Value":
        align = int(type_[1:]) // 8
        return self.writer.emit(
            f"load atomic {type_}, ptr {self.text} {order}, align {align}", type_
        )

    def atomic_store(self, value: "Value", order: str = "seq_cst") -> None:
        align = int(value.type[1:]) // 8
        text = f"store atomic {value.type} {value.text}, ptr {self.text} {order}, align {align}"
        self.writer.line(text)

    def atomic(self, operation: str, value: "Value", order: str = "seq_cst") -> "Value":
        """The old contents; atomically replaced by `old operation value`."""
        operands = f"ptr {self.text}, {value.type} {value.text}"
        return self.writer.emit(f"atomicrmw {operation} {operands} {order}", value.type)

    def compare_and_swap(self, old: "Value", new: "Value") -> "Value":
        """True if the contents were `old` and are now `new`."""
        operands = f"ptr {self.text}, {old.type} {old.text}, {new.type} {new.text}"
        pair = self.writer.emit(f"cmpxchg {operands} acq_rel monotonic", f"{{ {old.type}, i1 }}")
        return self.writer.emit(f"extractvalue {pair.type} {pair.text}, 1", "i1")


Operand = Value | int


@record(eq=False)
class Variable:
    """A stack slot of one type."""

    slot: Value
    type: str

    @property
    def value(self) -> Value:
        return self.slot.load(self.type)

    def set(self, value: Operand) -> None:
        self.slot.store(self.slot.writer.value(value, self.type))


class Writer:
    """The body of one function."""

    def __init__(self, params: tuple[str, ...]) -> None:
        self.slots: list[str] = []
        self.lines: list[str] = []
        self.closed = False
        self._names = 0
        self.params = tuple(Value(self, f"%p{i}", type_) for i, type_ in enumerate(params))

    def _name(self) -> int:
        self._names += 1
        return self._names

    def line(self, text: str) -> None:
        if self.closed:
            self.label(f"dead{self._name()}")
        self.lines.append("  " + text)

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.closed = False

    def emit(self, text: str, type_: str) -> Value:
        name = f"%v{self._name()}"
        self.line(f"{name} = {text}")
        return Value(self, name, type_)

    def value(self, operand: Operand, type_: str) -> Value:
        """The operand itself, or a constant of the type."""
        if isinstance(operand, Value):
            return operand
        text = "null" if type_ == "ptr" else str(operand)
        return Value(self, text, type_)

    def i64(self, number: int) -> Value:
        return self.value(number, "i64")

    def i32(self, number: int) -> Value:
        return self.value(number, "i32")

    def symbol(self, name: str) -> Value:
        """The address of a global or function of the module."""
        return Value(self, f"@{name}", "ptr")

    def variable(self, type_: str, init: Operand) -> Variable:
        variable = Variable(self.array(type_, 1), type_)
        variable.set(init)
        return variable

    def array(self, type_: str, count: int) -> Value:
        """The address of `count` elements on the stack, allocated once a call."""
        name = f"%s{self._name()}"
        self.slots.append(f"  {name} = alloca [{count} x {type_}], align 16")
        return Value(self, name, "ptr")

    def call(self, result: str, callee: str | Value, *args: Value, signature: str = "") -> Value:
        """Call a named or computed function; a "void" result is not to be used."""
        target = f"@{callee}" if isinstance(callee, str) else callee.text
        listed = ", ".join(f"{arg.type} {arg.text}" for arg in args)
        text = f"call {signature or result} {target}({listed})"
        if result == "void":
            self.line(text)
            return Value(self, "undef", "void")
        return self.emit(text, result)

    def close(self, text: str) -> None:
        """Write a terminator: what follows is reached only through a label."""
        self.line(text)
        self.closed = True

    def ret(self, value: Operand | None = None, type_: str = "i64") -> None:
        if value is None:
            self.close("ret void")
        else:
            result = self.value(value, type_)
            self.close(f"ret {result.type} {result.text}")

    def jump(self, label: str) -> None:
        if not self.closed:
            self.close(f"br label %{label}")

    def branch(self, condition: Value, then: str, orelse: str) -> None:
        self.close(f"br i1 {condition.text}, label %{then}, label %{orelse}")

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """The block runs if the condition holds."""
        n = self._name()
        self.branch(condition, f"then{n}", f"end{n}")
        self.label(f"then{n}")
        yield
        self.jump(f"end{n}")
        self.label(f"end{n}")

    @contextmanager
    def either(self, condition: Value) -> Iterator["Otherwise"]:
        """The block runs if the condition holds, up to `otherwise.begin()`; the rest if not."""
        n = self._name()
        otherwise = Otherwise(self, f"else{n}", f"end{n}")
        self.branch(condition, f"then{n}", f"else{n}")
        self.label(f"then{n}")
        yield otherwise
        self.jump(f"end{n}")
        self.label(f"end{n}")

    @contextmanager
    def forever(self) -> Iterator["Loop"]:
        """The block runs until it leaves with `loop.leave_if` or a return."""
        n = self._name()
        loop = Loop(self, f"loop{n}", f"end{n}")
        self.jump(loop.head)
        self.label(loop.head)
        yield loop
        self.jump(loop.head)
        self.label(loop.end)

    @contextmanager
    def count(self, begin: Operand, end: Operand, step: int = 1) -> Iterator[Value]:
        """The block runs for begin, begin + step, ... below `end`."""
        stop = self.value(end, "i64")
        index = self.variable("i64", begin)
        with self.forever() as loop:
            at = index.value
            loop.leave_if(at >= stop)
            yield at
            if not self.closed:
                index.set(at + step)

    def smaller(self, left: Value, right: Operand) -> Value:
        other = self.value(right, left.type)
        return (left < other).choose(left, other)


@record
class Otherwise:
    """The second half of `either`."""

    writer: Writer
    label: str
    end: str

    def begin(self) -> None:
        self.writer.jump(self.end)
        self.writer.label(self.label)


@record
class Loop:
    """A loop being written."""

    writer: Writer
    head: str
    end: str

    def leave_if(self, condition: Value) -> None:
        stay = f"stay{self.writer._name()}"
        self.writer.branch(condition, self.end, stay)
        self.writer.label(stay)

    def leave(self) -> None:
        self.writer.jump(self.end)

    def again(self) -> None:
        self.writer.jump(self.head)


class Module:
    """Globals and functions that are compiled together."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._declared: dict[str, str] = {}

    def data(self, name: str, type_: str, init: str = "zeroinitializer", align: int = 8) -> None:
        """Memory of the module, hidden from others unless `export`ed by a function."""
        self._parts.append(f"@{name} = internal global {type_} {init}, align {align}")

    def shared_data(self, name: str, type_: str, init: str, align: int = 8) -> None:
        """Memory of the module whose address is known outside by its name."""
        self._parts.append(f"@{name} = hidden global {type_} {init}, align {align}")

    def external(self, name: str, result: str, params: str) -> None:
        """A function of the C library or of Python, found when the module is loaded."""
        self._declared[name] = f"declare {result} @{name}({params})"

    @contextmanager
    def function(
        self, name: str, result: str, *params: str, inside: bool = False
    ) -> Iterator[tuple[Writer, tuple[Value, ...]]]:
        """Define a function; `inside` ones are seen by this module only."""
        writer = Writer(params)
        yield writer, writer.params
        if not writer.closed:
            writer.close("ret void" if result == "void" else "unreachable")
        listed = ", ".join(f"{value.type} {value.text}" for value in writer.params)
        linkage = "internal" if inside else "hidden"
        head = f"define {linkage} {result} @{name}({listed}) nounwind {{\nstart:"
        body = [head, *writer.slots, "  br label %body", "body:", *writer.lines, "}"]
        self._parts.append("\n".join(body))

    def raw(self, text: str) -> None:
        """Declarations written out."""
        self._parts.append(text)

    def text(self) -> str:
        return "\n".join([*self._declared.values(), *self._parts]) + "\n"
