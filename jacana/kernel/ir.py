"""The kernel language: what one compiled kernel is.

A kernel is a loop nest over flat buffers whose every value is named (A-normal form): operands of a
statement are atoms. Scalars only; complex numbers are two of them, vectors belong to the emitter.
Everything here is frozen data. `build` makes it, `check` verifies it, `interpret` is its meaning.
"""

from jacana.core.records import record

# Floats that are computed in float32 and rounded once; the small ones have eight bits at most.
SMALL_FLOATS = (
    "float4_e2m1fn", "float8_e3m4", "float8_e4m3", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e4m3b11fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
)  # fmt: skip
NARROW_FLOATS = ("float16", "bfloat16", *SMALL_FLOATS)
FLOATS = (*NARROW_FLOATS, "float32", "float64")
SIGNED = ("int2", "int4", "int8", "int16", "int32", "int64", "index")
UNSIGNED = ("uint2", "uint4", "uint8", "uint16", "uint32", "uint64")
TYPES = ("bool", *SIGNED, *UNSIGNED, *FLOATS)

# How many bits a value of each type has; "index" is the 64-bit integer that addresses buffers.
WIDTH = {
    "bool": 1, "int2": 2, "uint2": 2, "int4": 4, "uint4": 4, "int8": 8, "uint8": 8,
    "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64, "uint64": 64, "index": 64,
    **{name: int(name[5]) for name in SMALL_FLOATS},
    "float16": 16, "bfloat16": 16, "float32": 32, "float64": 64,
}  # fmt: skip

# A reduction keeps this many partial results: element k belongs to lane k % LANES of its chunk.
LANES = 16
# Elements of one chunk; chunks are folded from the left. Part of what a sum means, so it is frozen.
CHUNK = 8192

# Operation -> number of operands. Unless said otherwise operands and result have one type.
# Each is total: `interpret` states the value for every input (division by zero, big shifts, nan).
OPERATIONS = {
    # arithmetic; floats in IEEE 754, narrow floats computed in float32 and rounded once,
    # integers modulo 2**width. Integer x / 0 is -1 (all ones), x % 0 is x, min / -1 is min.
    "neg": 1, "abs": 1, "add": 2, "sub": 2, "mul": 2, "div": 2, "rem": 2,
    # max(a, b) is a if a is nan, else a if a > b, else b; min likewise with a < b.
    "min": 2, "max": 2,
    # floats only; fma and sqrt are correctly rounded (fma: float32 and float64 only); round
    # takes halves to even
    "fma": 3, "sqrt": 1, "floor": 1, "ceil": 1, "trunc": 1, "round": 1, "copysign": 2,
    # integers and bool; shr is arithmetic on signed types; a shift by >= width shifts all bits out
    "and": 2, "or": 2, "xor": 2, "not": 1, "shl": 2, "shr": 2, "popcount": 1, "clz": 1,
    "mulhi": 2,  # the upper half of the double-width product
    # comparisons give bool; ordered, except that ne is true on nan
    "eq": 2, "ne": 2, "lt": 2, "le": 2, "gt": 2, "ge": 2,
    # select(bool, a, b)
    "select": 3,
    # convert to the type of the result. To integer: toward zero, saturating, nan to 0; integer to
    # integer wraps; to bool: x != 0; to a narrower float: to nearest even.
    "convert": 1,
    # same bits, same width
    "bitcast": 1,
}  # fmt: skip


@record(eq=False)
class Var:
    """A named scalar, defined exactly once."""

    id: int
    type: str


@record
class Const:
    """A constant that is part of the code: a Python bool, int or float."""

    value: bool | int | float
    type: str


@record
class Param:
    """A scalar given at each call: slot `index` (8 bytes) of the kernel's parameters.

    Sizes, strides and scalar literals are parameters, so that kernels do not depend on them. A slot
    holds the value's own bits in its low bytes (an "index" as a signed 64-bit integer).
    """

    index: int
    type: str


Atom = Var | Const | Param


@record(eq=False)
class Buffer:
    """Flat memory of elements of `type`, the kernel's argument number `id`.

    In memory a bool is one byte (0 or 1) and a 4-bit integer one byte.
    """

    id: int
    type: str
    written: bool


@record(eq=False)
class Local:
    """Scratch memory of a fixed number of elements that lives as long as one grid iteration."""

    id: int
    type: str
    size: int


@record(eq=False)
class Table:
    """Constant memory that is part of the code, such as the coefficients of a function."""

    name: str
    type: str
    values: tuple[bool | int | float, ...]


Memory = Buffer | Local | Table


@record(eq=False)
class Function:
    """A pure scalar function: straight-line statements from parameters to results.

    Only Let, Load (from a Table), Call, Branch and Iterate occur in the body. The emitter decides
    whether a call is inlined. A function is known by its name, which is unique.
    """

    name: str
    params: tuple[Var, ...]
    body: tuple["Statement", ...]
    results: tuple[Atom, ...]


@record(eq=False)
class Let:
    """var = operation(*args)."""

    var: Var
    operation: str
    args: tuple[Atom, ...]


@record(eq=False)
class Load:
    """var = memory[index]; the index (of type "index") is always in bounds."""

    var: Var
    memory: Memory
    index: Atom


@record(eq=False)
class Store:
    """memory[index] = value."""

    memory: Buffer | Local
    index: Atom
    value: Atom


@record(eq=False)
class Call:
    """results = function(*args)."""

    results: tuple[Var, ...]
    function: Function
    args: tuple[Atom, ...]


@record(eq=False)
class Branch:
    """results = then(*args) where cond, else orelse(*args); a side no lane needs is not run.

    `shortcut`: where cond holds both sides give the same bits, and `then` is only quicker. Lanes
    that differ may all take `orelse`.
    """

    results: tuple[Var, ...]
    cond: Atom
    then: Function
    orelse: Function
    args: tuple[Atom, ...]
    shortcut: bool = False


@record(eq=False)
class Iterate:
    """results = state after `while cond(*state, *consts): state = step(*state, *consts)`.

    Each lane stops on its own: a lane that is done keeps its state while others go on.
    """

    results: tuple[Var, ...]
    cond: Function
    step: Function
    init: tuple[Atom, ...]
    consts: tuple[Atom, ...]


@record(eq=False)
class For:
    """Run `body` for var = 0 .. extent - 1.

    kind "serial": in order. kind "vector": iterations are independent and the emitter runs several
    at once; the body holds no Local store and no data-dependent If or While.
    `grid` marks the kernel's outermost loop, which the caller may split: iterations are independent
    and it covers the range [begin, end) given to the kernel.
    """

    var: Var
    extent: Atom
    body: tuple["Statement", ...]
    kind: str
    grid: bool


@record(eq=False)
class If:
    """Run `then` where cond holds, else `orelse`."""

    cond: Atom
    then: tuple["Statement", ...]
    orelse: tuple["Statement", ...]


@record(eq=False)
class While:
    """results = the state for which cond is false; `state` names it inside cond_body and body."""

    results: tuple[Var, ...]
    state: tuple[Var, ...]
    init: tuple[Atom, ...]
    cond_body: tuple["Statement", ...]
    cond: Atom
    body: tuple["Statement", ...]
    next: tuple[Atom, ...]


@record(eq=False)
class Reduce:
    """results = fold of `values` over var = 0 .. extent - 1, in the one order that reductions have.

    Per chunk of CHUNK iterations, iteration k is combined into accumulator k % LANES (which starts
    from `init`); then accumulators j and j + 8 are combined, then j and j + 4, j + 2, j + 1; then
    the chunks' results are combined from the left, the first being init combined with chunk 0.
    `combined`, computed by `combine_body`, combines two states named `left` and `right`. Outside a
    vector loop the LANES accumulators are a vector; inside one each of them is: the value is the
    same.
    """

    results: tuple[Var, ...]
    var: Var
    extent: Atom
    body: tuple["Statement", ...]
    values: tuple[Atom, ...]
    init: tuple[Atom, ...]
    left: tuple[Var, ...]
    right: tuple[Var, ...]
    combine_body: tuple["Statement", ...]
    combined: tuple[Atom, ...]


Statement = Let | Load | Store | Call | Branch | Iterate | For | If | While | Reduce


@record(eq=False)
class Kernel:
    """A compiled unit: kernel(buffers, params, begin, end) over the range of its grid loop.

    The body holds at most one For with `grid`, at its top level. `buffers[i].id == i`.
    """

    buffers: tuple[Buffer, ...]
    locals: tuple[Local, ...]
    params: tuple[str, ...]
    body: tuple[Statement, ...]
