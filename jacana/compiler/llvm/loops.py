"""Statements as LLVM text. A vector loop is a loop over whole vectors and one over what is left."""

from collections.abc import Sequence

from jacana.compiler.llvm import control, memory, remainder
from jacana.compiler.llvm.analysis import (
    PairedStores,
    body_size,
    calls_size,
    can_vectorise,
    stores_pairs,
)
from jacana.compiler.llvm.code import (
    WIDTH,
    EmitError,
    Emitter,
    Handler,
    Value,
    llvm_type,
)
from jacana.compiler.llvm.convert import bitcast, convert
from jacana.compiler.llvm.reductions import reduce
from jacana.compiler.llvm.repeat import first_lanes, once, prefers_mask, repeat
from jacana.compiler.llvm.rows import folds_columns
from jacana.compiler.llvm.scalar import operation, reciprocal
from jacana.kernel import ir

AFFINE = ("add", "sub", "mul", "neg")
# Statements that a loop of static extent may become.
UNROLLED_SIZE = 64
# Iterations of a vector loop that run at once where each folds a column, and how large its body is.
STRIP, STRIP_SIZE = 64, 256
# Statements of a body whose latency a second vector beside the first hides, if registers suffice.
PAIRED_SIZE = range(24, 320)


def let(e: Emitter, s: ir.Let) -> None:
    args = [e.value(a) for a in s.args]
    uniform = e.is_uniform(args)
    if not uniform and args[0].type == "index":
        made = _affine(e, s, args)
        if made is not None:
            e.env[s.var.id] = made
            return
    if s.operation == "rem" and s.var.type in ir.FLOATS:
        e.env[s.var.id] = _float_remainder(e, s.var.type, args)
        return
    width, stride = (1, 0) if uniform else (e.width, None)
    if s.operation == "select" and e.is_uniform(args[:1]) and not uniform:
        sides = [e.vector(a) for a in args[1:]]
        side = llvm_type(args[1].type, width)
        text = e.let(f"select i1 {args[0].text}, {side} {sides[0]}, {side} {sides[1]}")
    else:
        texts = [a.text for a in args] if uniform else [e.vector(a) for a in args]
        if not uniform and s.operation in ("div", "rem") and _divides_by_one(s, args[1]):
            texts.append(e.spread("double", reciprocal(e, s.var.type, args[1].text)))
        text = _operation(e, width, s, args[-1].type, texts)
    e.env[s.var.id] = Value(s.var.type, text, 0 if width == 1 else stride)


def _divides_by_one(s: ir.Let, divisor: Value) -> bool:
    """Whether all lanes divide by one number, which a product with its reciprocal may replace."""
    known = divisor.text[0] != "%"
    return s.var.type in ("int32", "uint32") and divisor.stride == 0 and not known


def _operation(e: Emitter, width: int, s: ir.Let, type: str, texts: Sequence[str]) -> str:
    if s.operation == "convert":
        return convert(e, width, type, s.var.type, texts[0])
    if s.operation == "bitcast":
        return bitcast(e, width, type, s.var.type, texts[0])
    return operation(e, width, s.operation, type, texts)


def _affine(e: Emitter, s: ir.Let, args: Sequence[Value]) -> Value | None:
    """Index arithmetic on the base and the stride, if the result is affine in the lane."""
    if any(a.stride is None for a in args):
        return None
    if s.operation == "convert" and _wraps(s.var.type):
        return _narrow_ramp(e, s.var.type, args[0])
    if s.operation not in AFFINE:
        return None
    strides = [a.stride for a in args]
    if s.operation == "mul":
        if args[0].stride == 0:
            args, strides = args[::-1], strides[::-1]
        if args[1].stride != 0:
            return None
        factor = args[1].text
        strides[1] = factor if factor[0] == "%" else int(factor)
    base = operation(e, 1, s.operation, "index", [a.text for a in args])
    stride = strides[0] if s.operation == "neg" else _combine(e, s.operation, *strides)
    return Value("index", base, _combine(e, "sub", 0, stride) if s.operation == "neg" else stride)


def _combine(e: Emitter, name: str, a: int | str | None, b: int | str | None) -> int | str:
    """a + b, a - b or a * b of strides, at compile time where they are known."""
    assert a is not None and b is not None
    if isinstance(a, int) and isinstance(b, int):
        return a + b if name == "add" else a - b if name == "sub" else a * b
    if b == 0 and name != "mul":
        return a
    if a == 0 and name == "add" or a == 1 and name == "mul":
        return b
    return e.let(f"{name} i64 {a}, {b}")


def _wraps(type: str) -> bool:
    """Whether the type is of integers that fill their register."""
    return type not in ir.FLOATS and ir.WIDTH[type] >= 8


def _narrow_ramp(e: Emitter, type: str, x: Value) -> Value:
    """An affine index as a vector of integers of another width, which wraps alike."""
    base = convert(e, 1, "index", type, x.text)
    stride = x.stride
    assert stride is not None
    if isinstance(stride, str):
        stride = convert(e, 1, "index", type, stride)
    register = llvm_type(type)
    if isinstance(stride, int):
        bits = int(register[1:])
        stride = (stride + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
    return Value(type, e.ramp(register, e.spread(register, base), stride), None)


def _float_remainder(e: Emitter, type: str, args: Sequence[Value]) -> Value:
    """The exact remainder; of narrow floats it is computed in float32, where it is exact too."""
    if type not in ir.NARROW_FLOATS:
        return control.run(e, remainder.FUNCTIONS[type], args)[0]
    uniform = e.is_uniform(args)
    width, stride = (1, 0) if uniform else (e.width, None)
    texts = [a.text for a in args] if uniform else [e.vector(a) for a in args]
    wide = [Value("float32", convert(e, width, type, "float32", t), stride) for t in texts]
    result = control.run(e, remainder.FUNCTIONS["float32"], wide)[0]
    text = result.text if uniform else e.vector(result)
    return Value(type, convert(e, width, "float32", type, text), stride)


def for_loop(e: Emitter, s: ir.For) -> None:
    start, end = "0", e.value(s.extent).text
    if s.grid:
        start, end = "%begin", "%end"
    elif not e.is_uniform((e.value(s.extent),)):
        raise EmitError("the extent of a loop differs between the lanes of a vector loop")
    # A loop within may end by a value that is equal in all lanes but computed in each of them (a
    # reduction); then the elements are computed one by one.
    vector = s.kind == "vector" and e.width == 1 and can_vectorise(s.body, {s.var.id})
    if isinstance(s.extent, ir.Const) and not s.grid:
        size = (body_size(s.body) + calls_size(s.body)) * int(s.extent.value)
        if vector or size <= UNROLLED_SIZE:
            _static_loop(e, s, int(s.extent.value))
            return
    (_vector_loop if vector else _serial_loop)(e, s, start, end)


def _serial_loop(e: Emitter, s: ir.For, start: str, end: str) -> None:
    def body(index: str, carried: Sequence[str]) -> Sequence[str]:
        e.env[s.var.id] = Value("index", index)
        e.statements(s.body)
        return ()

    repeat(e, start, end, 1, (), body)


def _vector_loop(e: Emitter, s: ir.For, start: str, end: str) -> None:
    if folds_columns(s.body, s.var) and body_size(s.body) + calls_size(s.body) <= STRIP_SIZE:
        start = _strips(e, s, start, end)
    width = 2 * WIDTH if _is_paired(e, s.body) else WIDTH

    def whole(index: str, carried: Sequence[str]) -> Sequence[str]:
        _lanes(e, s, index, None)
        return ()

    def some(index: str, carried: Sequence[str]) -> Sequence[str]:
        _lanes(e, s, index, first_lanes(e, index, end, width), width)
        return ()

    if prefers_mask(e, s.body) and not stores_pairs(s.body):
        repeat(e, start, end, width, (), some)
        return
    width = WIDTH
    count = e.let(f"sub i64 {end}, {start}")
    middle = e.let(f"add i64 {start}, {e.let(f'and i64 {count}, {-WIDTH}')}")
    repeat(e, start, middle, WIDTH, (), whole)
    if e.facts.masks:
        once(e, middle, end, (), some)
        return
    outer, e.in_tail = e.in_tail, True
    _serial_loop(e, s, middle, end)
    e.in_tail = outer


def _is_paired(e: Emitter, body: Sequence[ir.Statement]) -> bool:
    """Whether iterations of twice as many lanes are quicker: one long computation without loops.

    Lanes of 64 bits fill two vectors as it is.
    """
    if not e.facts.masks or body_size(body) + calls_size(body) not in PAIRED_SIZE:
        return False
    return all(
        isinstance(s, ir.Store)
        or isinstance(s, ir.Let | ir.Load)
        and s.var.type not in ("float64", "int64", "uint64")
        or isinstance(s, ir.Call)
        and all(r.type != "float64" for r in s.results)
        for s in body
    )


def _strips(e: Emitter, s: ir.For, start: str, end: str) -> str:
    """Run whole strips of STRIP lanes; gives where they end.

    A fold inside reads one row after the other, of which one vector is a single cache line.
    """

    def whole(index: str, carried: Sequence[str]) -> Sequence[str]:
        _lanes(e, s, index, None, STRIP)
        return ()

    count = e.let(f"sub i64 {end}, {start}")
    middle = e.let(f"add i64 {start}, {e.let(f'and i64 {count}, {-STRIP}')}")
    repeat(e, start, middle, STRIP, (), whole)
    return middle


def _lanes(e: Emitter, s: ir.For, index: str, mask: str | None, width: int = WIDTH) -> None:
    with e.at_width(width, mask):
        e.env[s.var.id] = Value("index", index, 1)
        e.statements(s.body)


def _static_loop(e: Emitter, s: ir.For, extent: int) -> None:
    """A loop of few iterations: as lanes of one vector, or one iteration after another."""
    vector = s.kind == "vector" and e.width == 1 and extent > 2 and e.facts.masks
    if vector and can_vectorise(s.body, {s.var.id}):
        lanes = ", ".join(f"i1 {'true' if k < extent else 'false'}" for k in range(WIDTH))
        with e.region():
            _lanes(e, s, "0", f"<{lanes}>")
        return
    for k in range(extent):
        e.env[s.var.id] = Value("index", str(k))
        e.statements(s.body)


def if_statement(e: Emitter, s: ir.If) -> None:
    cond = e.value(s.cond)
    if not e.is_uniform((cond,)):
        raise EmitError("the condition of an If differs between the lanes of a vector loop")
    then, orelse, after = e.label(), e.label(), e.label()
    e.jump_if(cond.text, then, orelse if s.orelse else after)
    for label, statements in ((then, s.then), (orelse, s.orelse)):
        if label == orelse and not s.orelse:
            continue
        e.start(label)
        with e.region():
            e.statements(statements)
        e.jump(after)
    e.start(after)


def while_loop(e: Emitter, s: ir.While) -> None:
    varying = {i for i, v in e.env.items() if v.stride != 0} if e.width > 1 else set()
    if e.width > 1 and not can_vectorise((s,), varying):
        raise EmitError("the condition of a While differs between the lanes of a vector loop")
    widths = [e.width if v.id in varying else 1 for v in s.state]
    types = [llvm_type(v.type, w) for v, w in zip(s.state, widths, strict=True)]
    start = _state(e, s.init, widths)
    head, body, after, before = e.label(), e.label(), e.label(), e.block
    e.jump(head)
    e.start(head)
    places = [e.reserve() for _ in types]
    names = [e.fresh() for _ in types]
    for i, (v, name, width) in enumerate(zip(s.state, names, widths, strict=True)):
        stride = 0 if width == 1 else None
        e.env[v.id] = e.env[s.results[i].id] = Value(v.type, name, stride)
    with e.region():
        e.statements(s.cond_body)
        e.jump_if(e.value(s.cond).text, body, after)
        e.start(body)
        e.statements(s.body)
        following = _state(e, s.next, widths)
    for place, name, type, a, b in zip(places, names, types, start, following, strict=True):
        e.lines[place] = f"  {name} = phi {type} [ {a}, %{before} ], [ {b}, %{e.block} ]"
    e.jump(head)
    e.start(after)


def _state(e: Emitter, atoms: Sequence[ir.Atom], widths: Sequence[int]) -> list[str]:
    values = [e.value(a) for a in atoms]
    return [v.text if w == 1 else e.vector(v) for v, w in zip(values, widths, strict=True)]


HANDLERS: dict[type, Handler] = {
    ir.Let: let,
    ir.Load: memory.load,
    ir.Store: memory.store,
    PairedStores: memory.store_pair,
    ir.Call: control.call,
    ir.Branch: control.branch,
    ir.Iterate: control.iterate,
    ir.For: for_loop,
    ir.If: if_statement,
    ir.While: while_loop,
    ir.Reduce: reduce,
}
