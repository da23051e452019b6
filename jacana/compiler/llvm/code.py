"""What all emitters write into: the lines of one LLVM function, and the values known in it.

A value is held as a scalar, as a scalar that grows with the lane, or as a vector of the current
width. In registers a narrow float is its bits (i16 or i8); a 4-bit integer is a whole i8.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from jacana.compiler.llvm.analysis import pair_stores
from jacana.core.records import record
from jacana.kernel import ir
from jacana.kernel.build import scalar_bits

# Instructions that one block may hold before another is begun.
BLOCK_LINES = 400
# Iterations of a vector loop that run at once, on every target.
WIDTH = 16

REGISTER = {
    "bool": "i1", "int2": "i8", "uint2": "i8", "int4": "i8", "uint4": "i8",
    "int8": "i8", "uint8": "i8", **dict.fromkeys(ir.SMALL_FLOATS, "i8"),
    "int16": "i16", "uint16": "i16", "int32": "i32", "uint32": "i32",
    "int64": "i64", "uint64": "i64", "index": "i64",
    "float16": "i16", "bfloat16": "i16", "float32": "float", "float64": "double",
}  # fmt: skip
SUFFIX = {"float": "f32", "double": "f64"}
BYTES = {type: max(1, width // 8) for type, width in ir.WIDTH.items()}


class EmitError(Exception):
    """A kernel says what the emitter does not do; whatever built it is at fault."""


@record
class Facts:
    """What the text depends on besides the kernel.

    `masks`: loads and stores of some lanes cost about what those of all do. `has_half`: there are
    instructions that convert float16. `align_operand`: masked loads and stores take the alignment
    as an operand, as before LLVM 22. `permuted`: how many lanes of 32 bits one instruction
    permutes by a vector of their numbers (0: none does).
    """

    masks: bool
    has_half: bool
    align_operand: bool
    permuted: int


class Value:
    """A scalar (stride 0), base + lane * stride (an "index" only), or a vector (stride None).

    A stride other than 0 is an int, or the name of an i64.
    """

    __slots__ = ("type", "text", "stride")

    def __init__(self, type: str, text: str, stride: int | str | None = 0):
        self.type, self.text, self.stride = type, text, stride


def vector_type(register: str, width: int) -> str:
    return register if width == 1 else f"<{width} x {register}>"


def llvm_type(type: str, width: int = 1) -> str:
    return vector_type(REGISTER[type], width)


def memory_register(type: str) -> str:
    """The LLVM type of an element in memory."""
    return "i8" if type == "bool" else REGISTER[type]


def suffix(register: str, width: int) -> str:
    """How the name of an intrinsic ends for operands of this type."""
    name = SUFFIX.get(register, register)
    return name if width == 1 else f"v{width}{name}"


def constant(value: bool | int | float, type: str) -> str:
    """The constant's register form."""
    if type == "bool":
        return "true" if value else "false"
    if type in ir.NARROW_FLOATS:
        return str(scalar_bits(value, type))
    if type in ir.FLOATS:
        return float_text(float(value), type)
    bits = int(value) & ((1 << ir.WIDTH[type]) - 1)
    if type in ir.SIGNED and bits >> (ir.WIDTH[type] - 1):
        bits -= 1 << ir.WIDTH[type]
    return str(bits)


def float_text(value: float, type: str = "float64") -> str:
    """A float constant as LLVM writes it: the bits of the double of the same value."""
    if type == "float32":
        value = struct.unpack("<f", scalar_bits(value, "float32").to_bytes(8, "little")[:4])[0]
    return f"0x{scalar_bits(value, 'float64'):016X}"


def splat(register: str, text: str, width: int) -> str:
    """A constant operand of the given width."""
    return text if width == 1 else f"splat ({register} {text})"


class Code:
    """The text of one LLVM function while it is written."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.entry: list[str] = []
        self.lines: list[str] = []
        self.block, self.block_start = "entry", 0
        self.count = 0

    def fresh(self, prefix: str = "%v") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def let(self, expression: str) -> str:
        """Name the result of an instruction."""
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"  {name} = {expression}")
        return name

    def let_entry(self, expression: str) -> str:
        """Name the result of an instruction that runs once, at the start of the function."""
        name = self.fresh()
        self.entry.append(f"  {name} = {expression}")
        return name

    def emit(self, line: str) -> None:
        self.lines.append("  " + line)

    def label(self) -> str:
        return self.fresh("b")

    def start(self, label: str) -> None:
        """Begin a block; the one before it has been ended with a branch."""
        self.lines.append(f"{label}:")
        self.block, self.block_start = label, len(self.lines)

    def jump(self, label: str) -> None:
        self.lines.append(f"  br label %{label}")

    def jump_if(self, cond: str, then: str, orelse: str) -> None:
        self.lines.append(f"  br i1 {cond}, label %{then}, label %{orelse}")

    def reserve(self) -> int:
        """The place of a line whose text is known later."""
        self.lines.append("")
        return len(self.lines) - 1

    def phi(self, type: str, *incoming: tuple[str, str]) -> str:
        arms = ", ".join(f"[ {text}, %{block} ]" for text, block in incoming)
        return self.let(f"phi {type} {arms}")

    def any(self, mask: str, width: int) -> str:
        """Whether a lane of the mask is set."""
        bits = self.let(f"bitcast <{width} x i1> {mask} to i{width}")
        return self.let(f"icmp ne i{width} {bits}, 0")


Handler = Callable[["Emitter", Any], None]


class Emitter(Code):
    """One LLVM function being emitted: its variables, the vector width and mask of this place.

    `mask` names the lanes whose values matter (None: all). Inside `region` are the blocks that do
    not dominate what follows it.
    """

    def __init__(self, module: "Module", handlers: dict[type, Handler], width: int = 1):
        super().__init__(module.facts)
        self.module, self.handlers, self.width = module, handlers, width
        self.mask: str | None = None
        self.is_kernel = True
        self.env: dict[int, Value] = {}
        self.scopes: list[dict[tuple[str, str, int], str]] = [{}]
        self._params: dict[int, Value] = {}
        self._addresses: dict[int, str] = {}
        # Inside the remainder of a vector loop short code matters more than fast code.
        self.in_tail = False

    def statements(self, statements: Sequence[ir.Statement]) -> None:
        for s in pair_stores(statements) if self.width > 1 else statements:
            self.handlers[type(s)](self, s)
            if len(self.lines) - self.block_start > BLOCK_LINES and self.is_kernel:
                self._split_block()

    def _split_block(self) -> None:
        """Go on in another block: LLVM takes quadratic time over the loads of a long one.

        It would join blocks again if it knew that the pointer to the buffers is never null.
        """
        following, never = self.label(), self.label()
        self.jump_if(self.let("icmp ne ptr %bufs, null"), following, never)
        self.start(never)
        self.emit("ret i64 1")
        self.start(following)

    @contextmanager
    def region(self) -> Iterator[None]:
        self.scopes.append({})
        yield
        self.scopes.pop()

    @contextmanager
    def at_width(self, width: int, mask: str | None = None) -> Iterator[None]:
        saved = self.width, self.mask
        self.width, self.mask = width, mask
        yield
        self.width, self.mask = saved

    def value(self, atom: ir.Atom) -> Value:
        if type(atom) is ir.Var:
            return self.env[atom.id]
        if type(atom) is ir.Const:
            return Value(atom.type, constant(atom.value, atom.type))
        assert type(atom) is ir.Param
        if not self.module.params_at_start and atom.type != "index":
            return self._param(atom, self.let, "")
        found = self._params.get(atom.index)
        if found is None:
            made = self._param(atom, self.let_entry, ", !invariant.load !0")
            found = self._params[atom.index] = made
        return found

    def _param(self, atom: ir.Param, let: Callable[[str], str], fact: str) -> Value:
        register = memory_register(atom.type)
        place = let(f"getelementptr i64, ptr %params, i64 {atom.index}")
        text = let(f"load {register}, ptr {place}, align 8{fact}")
        if atom.type == "bool":
            text = let(f"icmp ne i8 {text}, 0")
        elif atom.type in ir.SIGNED + ir.UNSIGNED and ir.WIDTH[atom.type] < 8:
            unused = 8 - ir.WIDTH[atom.type]
            shifted = let(f"shl i8 {text}, {unused}")
            text = let(f"{'ashr' if atom.type in ir.SIGNED else 'lshr'} i8 {shifted}, {unused}")
        return Value(atom.type, text)

    def is_uniform(self, values: Sequence[Value]) -> bool:
        """Whether all are scalars, so that what depends on nothing else is computed once."""
        return self.width == 1 or all(v.stride == 0 for v in values)

    def vector(self, value: Value) -> str:
        """The value as a vector of the current width."""
        if value.stride is None or self.width == 1:
            return value.text
        register = REGISTER[value.type]
        if value.text[0] != "%" and value.stride == 0:
            return splat(register, value.text, self.width)
        return self._remember(value.text, str(value.stride), lambda: self._materialise(value))

    def _remember(self, text: str, stride: str, make: Callable[[], str]) -> str:
        key = (text, stride, self.width)
        for scope in self.scopes:
            if key in scope:
                return scope[key]
        made = self.scopes[-1][key] = make()
        return made

    def _materialise(self, value: Value) -> str:
        stride = value.stride
        register = REGISTER[value.type]
        base = self.spread(register, value.text)
        return base if stride == 0 or stride is None else self.ramp(register, base, stride)

    def spread(self, register: str, text: str) -> str:
        """The scalar in all lanes."""
        if self.width == 1:
            return text
        if text[0] != "%":
            return splat(register, text, self.width)
        vector = vector_type(register, self.width)
        one = self.let(f"insertelement {vector} poison, {register} {text}, i64 0")
        return self.let(
            f"shufflevector {vector} {one}, {vector} poison, <{self.width} x i32> zeroinitializer"
        )

    def ramp(self, register: str, base: str, stride: int | str) -> str:
        """base + lane * stride."""
        vector = vector_type(register, self.width)
        if isinstance(stride, int):
            steps = ", ".join(f"{register} {k * stride}" for k in range(self.width))
            return self.let(f"add {vector} {base}, <{steps}>")
        lanes = ", ".join(f"{register} {k}" for k in range(self.width))
        offset = self.let(f"mul {vector} {self.spread(register, stride)}, <{lanes}>")
        return self.let(f"add {vector} {base}, {offset}")

    def address(self, memory: ir.Memory) -> str:
        """The pointer to the first element."""
        found = self._addresses.get(id(memory))
        if found is None:
            found = self._addresses[id(memory)] = self._address(memory)
        return found

    def _address(self, memory: ir.Memory) -> str:
        if isinstance(memory, ir.Buffer):
            place = self.let_entry(f"getelementptr ptr, ptr %bufs, i64 {memory.id}")
            return self.let_entry(f"load ptr, ptr {place}, align 8, !invariant.load !0")
        if isinstance(memory, ir.Local):
            return self.stack(memory_register(memory.type), memory.size)
        return self.module.table(memory)

    def stack(self, register: str, size: int) -> str:
        """Room for elements in the frame of the function."""
        return self.let_entry(f"alloca [{max(size, 1)} x {register}], align 64")


class Module:
    """The functions and tables that the kernel's text needs besides the kernel."""

    def __init__(self, facts: Facts, inline: bool, params_at_start: bool):
        self.facts, self.inline, self.params_at_start = facts, inline, params_at_start
        self.tables: list[str] = []
        self.pending: list[tuple[str, ir.Function, int]] = []
        self._tables: dict[int, str] = {}
        self._functions: dict[tuple[int, int], str] = {}
        self._kept: list[object] = []

    def table(self, table: ir.Table) -> str:
        name = self._tables.get(id(table))
        if name is None:
            name = self._tables[id(table)] = f"@table{len(self._tables)}"
            self._kept.append(table)
            register = memory_register(table.type)
            texts = [constant(v, table.type) for v in table.values]
            if table.type == "bool":
                texts = [str(int(v)) for v in table.values]
            items = ", ".join(f"{register} {t}" for t in texts)
            self.tables.append(
                f"{name} = private unnamed_addr constant [{len(texts)} x {register}] "
                f"[{items}], align 64"
            )
        return name

    def function(self, function: ir.Function, width: int) -> str:
        """The name of the LLVM function that runs `function` on vectors of this width."""
        key = (id(function), width)
        name = self._functions.get(key)
        if name is None:
            name = self._functions[key] = f"@f{len(self._functions)}"
            self._kept.append(function)
            self.pending.append((name, function, width))
        return name
