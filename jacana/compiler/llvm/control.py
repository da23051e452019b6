"""Calls of functions, and the choices and loops made of them, with a mask for each lane.

What depends on scalars only is computed once, with real branches. Lanes outside the mask get
arbitrary but defined values.
"""

from collections.abc import Sequence

from jacana.compiler.llvm.analysis import needs_mask
from jacana.compiler.llvm.code import Emitter, Value, llvm_type
from jacana.kernel import ir


def call(e: Emitter, s: ir.Call) -> None:
    _bind(e, s.results, run(e, s.function, [e.value(a) for a in s.args]))


def run(e: Emitter, function: ir.Function, args: Sequence[Value]) -> list[Value]:
    """The results of the function, its body in place or called."""
    if e.module.inline:
        return _in_place(e, function, args)
    return _called(e, function, args)


def _bind(e: Emitter, names: Sequence[ir.Var], values: Sequence[Value]) -> None:
    for name, value in zip(names, values, strict=True):
        e.env[name.id] = value


def _in_place(e: Emitter, function: ir.Function, args: Sequence[Value]) -> list[Value]:
    outer, e.env = e.env, {}
    _bind(e, function.params, args)
    e.statements(function.body)
    results = [e.value(r) for r in function.results]
    e.env = outer
    return results


def _called(e: Emitter, function: ir.Function, args: Sequence[Value]) -> list[Value]:
    if e.is_uniform(args):
        with e.at_width(1):
            return _call_function(e, function, [a.text for a in args], 0)
    texts = [e.vector(a) for a in args]
    return _call_function(e, function, texts, None)


def result_type(function: ir.Function, width: int) -> str:
    """The LLVM type that the function returns."""
    types = [llvm_type(r.type, width) for r in function.results]
    return types[0] if len(types) == 1 else "{ " + ", ".join(types) + " }"


def _call_function(
    e: Emitter, function: ir.Function, texts: Sequence[str], stride: int | None
) -> list[Value]:
    width = e.width
    name = e.module.function(function, width)
    args = [f"{llvm_type(p.type, width)} {t}" for p, t in zip(function.params, texts, strict=True)]
    if width > 1 and needs_mask(function):
        args.append(f"<{width} x i1> {e.mask or 'splat (i1 true)'}")
    returned = result_type(function, width)
    made = e.let(f"call fastcc {returned} {name}({', '.join(args)})")
    if len(function.results) == 1:
        return [Value(function.results[0].type, made, stride)]
    return [
        Value(r.type, e.let(f"extractvalue {returned} {made}, {i}"), stride)
        for i, r in enumerate(function.results)
    ]


def branch(e: Emitter, s: ir.Branch) -> None:
    cond, args = e.value(s.cond), [e.value(a) for a in s.args]
    if not e.is_uniform((cond,)):
        results = (
            run(e, s.orelse, args) if s.shortcut else _masked_branch(e, s, e.vector(cond), args)
        )
    elif e.is_uniform(args):
        with e.at_width(1):
            results = _scalar_branch(e, s, cond.text, args)
    else:
        results = _scalar_branch(e, s, cond.text, args)
    _bind(e, s.results, results)


def _scalar_branch(e: Emitter, s: ir.Branch, cond: str, args: Sequence[Value]) -> list[Value]:
    """One side or the other."""
    sides = e.label(), e.label()
    after = e.label()
    e.jump_if(cond, *sides)
    ends: list[tuple[list[str], str]] = []
    for label, function in zip(sides, (s.then, s.orelse), strict=True):
        e.start(label)
        with e.region():
            texts = [e.vector(v) for v in run(e, function, args)]
        ends.append((texts, e.block))
        e.jump(after)
    e.start(after)
    stride = 0 if e.width == 1 else None
    return [
        Value(r.type, e.phi(llvm_type(r.type, e.width), *((t[i], b) for t, b in ends)), stride)
        for i, r in enumerate(s.results)
    ]


def _masked_branch(e: Emitter, s: ir.Branch, cond: str, args: Sequence[Value]) -> list[Value]:
    """Each side if a lane needs it, then lane by lane the one it asked for."""
    masks = f"<{e.width} x i1>"
    not_cond = e.let(f"xor {masks} {cond}, splat (i1 true)")
    sides = [
        _side(e, function, _both(e, side), args)
        for function, side in ((s.then, cond), (s.orelse, not_cond))
    ]
    results = []
    for r, then, orelse in zip(s.results, *sides, strict=True):
        vector = llvm_type(r.type, e.width)
        text = e.let(f"select {masks} {cond}, {vector} {then}, {vector} {orelse}")
        results.append(Value(r.type, text, None))
    return results


def _both(e: Emitter, mask: str) -> str:
    """The lanes of the mask that matter."""
    return mask if e.mask is None else e.let(f"and <{e.width} x i1> {mask}, {e.mask}")


def _side(e: Emitter, function: ir.Function, mask: str, args: Sequence[Value]) -> list[str]:
    needed, after, before = e.label(), e.label(), e.block
    e.jump_if(e.any(mask, e.width), needed, after)
    e.start(needed)
    with e.region(), e.at_width(e.width, mask):
        texts = [e.vector(v) for v in run(e, function, args)]
    end = e.block
    e.jump(after)
    e.start(after)
    types = [llvm_type(r.type, e.width) for r in function.results]
    return [
        e.phi(type, (text, end), ("zeroinitializer", before))
        for type, text in zip(types, texts, strict=True)
    ]


def iterate(e: Emitter, s: ir.Iterate) -> None:
    init, consts = [e.value(a) for a in s.init], [e.value(a) for a in s.consts]
    if e.is_uniform((*init, *consts)):
        with e.at_width(1):
            results = _iterate(e, s, init, consts)
    else:
        results = _iterate(e, s, init, consts)
    _bind(e, s.results, results)


def _iterate(
    e: Emitter, s: ir.Iterate, init: Sequence[Value], consts: Sequence[Value]
) -> list[Value]:
    """A loop while any lane is active; a lane that is not keeps its state."""
    width, stride = e.width, 0 if e.width == 1 else None
    types = [llvm_type(v.type, width) for v in init]
    masks = llvm_type("bool", width)
    start = [e.vector(v) for v in init]
    head, body, after, before = e.label(), e.label(), e.label(), e.block
    e.jump(head)
    e.start(head)
    places = [e.reserve() for _ in range(len(types) + 1)]
    names = [e.fresh() for _ in places]
    state = [Value(v.type, n, stride) for v, n in zip(init, names, strict=False)]
    active = names[-1]
    with e.region(), e.at_width(width, active if width > 1 else None):
        cond = e.vector(run(e, s.cond, [*state, *consts])[0])
        if width > 1:
            cond = e.let(f"and {masks} {cond}, {active}")
        e.jump_if(cond if width == 1 else e.any(cond, width), body, after)
        e.start(body)
        with e.at_width(width, cond if width > 1 else None):
            following = [e.vector(v) for v in run(e, s.step, [*state, *consts])]
        if width > 1:
            following = [
                e.let(f"select {masks} {cond}, {t} {new}, {t} {old.text}")
                for t, new, old in zip(types, following, state, strict=True)
            ]
    first_mask = e.mask or ("true" if width == 1 else "splat (i1 true)")
    for place, name, type, a, b in zip(
        places, names, [*types, masks], [*start, first_mask], [*following, cond], strict=True
    ):
        e.lines[place] = f"  {name} = phi {type} [ {a}, %{before} ], [ {b}, %{e.block} ]"
    e.jump(head)
    e.start(after)
    return state
