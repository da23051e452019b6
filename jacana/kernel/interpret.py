"""The meaning of the kernel language, in NumPy: what compiled kernels are held against.

Iterations of grid and vector loops run side by side as lanes. A uniform value has one element, any
other one element a lane; conditions and loops narrow or widen the lanes of a Frame.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from jacana.kernel import ir
from jacana.kernel.arithmetic import DTYPES, Array, apply, constant, from_bits, wrap

# Lanes that run side by side: their values stay in the processor's cache.
WIDTH = 1 << 14


def evaluate(function: ir.Function, *arrays: Array | float) -> tuple[Array, ...]:
    """The function's results, elementwise over arrays of its parameter types."""
    values = [np.asarray(a, DTYPES[p.type]) for p, a in zip(function.params, arrays, strict=True)]
    shape = np.broadcast_shapes(*[v.shape for v in values])
    flat = [np.broadcast_to(v, shape).reshape(-1) for v in values]
    results = tuple(np.empty(int(np.prod(shape)), DTYPES[r.type]) for r in function.results)
    with np.errstate(all="ignore"):
        for start in range(0, len(results[0]), WIDTH):
            part = slice(start, start + WIDTH)
            made = _call(function, [v[part] for v in flat], len(results[0][part]))
            for result, value in zip(results, made, strict=True):
                result[part] = value
    return tuple(r.reshape(shape) for r in results)


def run(
    kernel: ir.Kernel, buffers: Sequence[Array], params: Sequence[int], begin: int = 0, end: int = 0
) -> None:
    """Run the kernel on flat arrays; `params` are the bits of its 8-byte slots.

    Raises IndexError for an index out of bounds and RuntimeError when two iterations of a loop
    whose iterations are independent store to one place.
    """
    memory = {b: _memory_view(a, b.type) for b, a in zip(kernel.buffers, buffers, strict=True)}
    slots = [
        from_bits(np.array([bits & 0xFFFFFFFFFFFFFFFF], np.uint64), type)
        for bits, type in zip(params, kernel.params, strict=True)
    ]
    frame = Frame(None, np.zeros(1, np.int64), memory, slots)
    frame.range = (begin, end)
    frame.open_locals(kernel.locals)
    with np.errstate(all="ignore"):
        execute(kernel.body, frame)


def _memory_view(array: Array, type: str) -> Array:
    """The flat array's memory as elements that the interpreter computes with."""
    if array.ndim != 1 or array.dtype.itemsize != DTYPES[type].itemsize:
        raise TypeError(f"a buffer of {type} needs a flat array, got {array.dtype}{array.shape}")
    return array.view(DTYPES[type])


class Frame:
    """Values by variable for a number of lanes; lane i is lane origin[i] of the parent."""

    def __init__(
        self,
        parent: "Frame | None",
        origin: Array,
        memory: dict[ir.Buffer, Array],
        slots: list[Array],
    ):
        self.parent, self.origin, self.lanes = parent, origin, len(origin)
        self.memory, self.slots = memory, slots
        self.values: dict[ir.Var, Array] = {}
        self.range: tuple[int, int] = (0, 0) if parent is None else parent.range
        self.locals: dict[ir.Local, Array] = {} if parent is None else parent.locals
        # Which row of the local memories each lane has.
        self.rows: Array = origin if parent is None else parent.rows[origin]

    def open_locals(self, sizes: Iterable[ir.Local]) -> None:
        """Give each lane its own local memory, with values that no kernel may rely on."""
        self.rows, self.locals = np.arange(self.lanes), {}
        for m in sizes:
            poison = float("nan") if m.type in ir.FLOATS else 127
            made = np.full((self.lanes, m.size), poison).astype(DTYPES[m.type])
            self.locals[m] = wrap(made, m.type)

    def child(self, origin: Array) -> "Frame":
        return Frame(self, origin, self.memory, self.slots)

    def get(self, atom: ir.Atom) -> Array:
        """The atom's value: one element, or one for each lane."""
        if isinstance(atom, ir.Const):
            return constant(atom.value, atom.type)
        if isinstance(atom, ir.Param):
            return self.slots[atom.index]
        found = self.values.get(atom)
        if found is None:
            if self.parent is None:
                raise NameError(f"variable {atom.id} is used before its definition")
            found = self.parent.get(atom)
            if len(found) != 1:
                found = found[self.origin]
            self.values[atom] = found
        return found

    def full(self, atom: ir.Atom) -> Array:
        """A new array of the atom's value in each lane."""
        return np.broadcast_to(self.get(atom), self.lanes).copy()


def execute(body: Sequence[ir.Statement], frame: Frame) -> None:
    """Run statements in all lanes of the frame."""
    for s in body:
        match s:
            case ir.Let():
                args = [frame.get(a) for a in s.args]
                types = [a.type for a in s.args]
                frame.values[s.var] = apply(s.operation, s.var.type, types, args)
            case ir.Load():
                frame.values[s.var] = _load(s, frame)
            case ir.Store():
                _store(s, frame)
            case ir.Call():
                _define(frame, s.results, _call(s.function, _atoms(frame, s.args), frame.lanes))
            case ir.Branch():
                _branch(s, frame)
            case ir.Iterate():
                _iterate(s, frame)
            case ir.For():
                _for(s, frame)
            case ir.If():
                _if(s, frame)
            case ir.While():
                _while(s, frame)
            case ir.Reduce():
                _reduce(s, frame)


def _atoms(frame: Frame, atoms: Sequence[ir.Atom]) -> list[Array]:
    return [frame.get(a) for a in atoms]


def _define(frame: Frame, names: Sequence[ir.Var], values: Sequence[Array]) -> None:
    frame.values.update(zip(names, values, strict=True))


# --- memory -----------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def _table(table: ir.Table) -> Array:
    return np.concatenate([constant(v, table.type) for v in table.values])


def _bounded(index: Array, size: int, memory: ir.Memory) -> Array:
    if index.size and (index.min() < 0 or index.max() >= size):
        raise IndexError(f"index {index.min()}..{index.max()} of {size} elements of {memory}")
    return index


def _load(s: ir.Load, frame: Frame) -> Array:
    index = frame.get(s.index)
    if isinstance(s.memory, ir.Local):
        store = frame.locals[s.memory]
        loaded: Array = store[frame.rows, _bounded(index, store.shape[1], s.memory)]
        return loaded
    array = _table(s.memory) if isinstance(s.memory, ir.Table) else frame.memory[s.memory]
    return wrap(array[_bounded(index, len(array), s.memory)], s.memory.type)


def _store(s: ir.Store, frame: Frame) -> None:
    index, value = frame.full(s.index), frame.full(s.value)
    if isinstance(s.memory, ir.Local):
        store = frame.locals[s.memory]
        place = frame.rows * store.shape[1] + _bounded(index, store.shape[1], s.memory)
        array = store.reshape(-1)
    else:
        array = frame.memory[s.memory]
        place = _bounded(index, len(array), s.memory)
    if len(place) > 1 and len(np.unique(place)) != len(place):
        raise RuntimeError(f"independent iterations store to one element of {s.memory}")
    array[place] = value


# --- functions --------------------------------------------------------------------------------


def _call(function: ir.Function, args: Sequence[Array], lanes: int) -> list[Array]:
    frame = Frame(None, np.zeros(lanes, np.int64), {}, [])
    _define(frame, function.params, args)
    execute(function.body, frame)
    return _atoms(frame, function.results)


def _pick(values: Sequence[Array], lanes: Array) -> list[Array]:
    return [v if len(v) == 1 else v[lanes] for v in values]


def _branch(s: ir.Branch, frame: Frame) -> None:
    args, cond = _atoms(frame, s.args), frame.full(s.cond)
    results = [np.empty(frame.lanes, DTYPES[r.type]) for r in s.results]
    for side, lanes in ((s.then, np.flatnonzero(cond)), (s.orelse, np.flatnonzero(~cond))):
        if len(lanes):
            made = _call(side, _pick(args, lanes), len(lanes))
            for result, value in zip(results, made, strict=True):
                result[lanes] = value
    _define(frame, s.results, results)


def _iterate(s: ir.Iterate, frame: Frame) -> None:
    state, consts = [frame.full(a) for a in s.init], _atoms(frame, s.consts)
    lanes = np.arange(frame.lanes)
    while True:
        now = [*_pick(state, lanes), *_pick(consts, lanes)]
        (going,) = _call(s.cond, now, len(lanes))
        going = np.broadcast_to(going, len(lanes))
        if not going.any():
            break
        if frame.lanes > 1:
            now = _pick(now, np.flatnonzero(going))
        lanes = lanes[going]
        for old, new in zip(state, _call(s.step, now, len(lanes)), strict=True):
            old[lanes] = new
    _define(frame, s.results, state)


# --- loops ------------------------------------------------------------------------------------


def _for(s: ir.For, frame: Frame) -> None:
    if s.grid:
        _for_lanes(s, frame, *frame.range)
        return
    extent = frame.get(s.extent)
    if s.kind == "vector" and len(extent) == 1:
        _for_lanes(s, frame, 0, int(extent[0]))
        return
    for k in range(int(extent.max(initial=0))):
        inner = frame.child(np.flatnonzero(np.broadcast_to(k < extent, frame.lanes)))
        inner.values[s.var] = np.array([k])
        execute(s.body, inner)


def _for_lanes(s: ir.For, frame: Frame, begin: int, end: int) -> None:
    step = max(1, WIDTH // frame.lanes)
    for start in range(begin, end, step):
        count = min(step, end - start)
        inner = frame.child(np.repeat(np.arange(frame.lanes), count))
        inner.values[s.var] = np.tile(np.arange(start, start + count), frame.lanes)
        if s.grid:
            inner.open_locals(frame.locals)
        execute(s.body, inner)


def _if(s: ir.If, frame: Frame) -> None:
    cond = frame.full(s.cond)
    for body, lanes in ((s.then, np.flatnonzero(cond)), (s.orelse, np.flatnonzero(~cond))):
        if len(lanes) and body:
            execute(body, frame.child(lanes))


def _while(s: ir.While, frame: Frame) -> None:
    state, lanes = [frame.full(a) for a in s.init], np.arange(frame.lanes)
    while len(lanes):
        inner = frame.child(lanes)
        _define(inner, s.state, [v[lanes] for v in state])
        execute(s.cond_body, inner)
        going = np.flatnonzero(inner.full(s.cond))
        if not len(going):
            break
        lanes = lanes[going]
        step = inner.child(going)
        execute(s.body, step)
        for old, atom in zip(state, s.next, strict=True):
            old[lanes] = step.get(atom)
    _define(frame, s.results, state)


# --- reductions -------------------------------------------------------------------------------


def _reduce(s: ir.Reduce, frame: Frame) -> None:
    extent = np.broadcast_to(frame.get(s.extent), frame.lanes)
    total = [frame.full(a) for a in s.init]
    for start in range(0, int(extent.max(initial=0)), ir.CHUNK):
        lanes = np.flatnonzero(extent > start)
        inner = frame.child(lanes)
        length = np.minimum(extent[lanes] - start, ir.CHUNK)
        chunk = _reduce_chunk(s, inner, start, length)
        made = _combine(s, inner, [t[lanes] for t in total], chunk)
        for old, new in zip(total, made, strict=True):
            old[lanes] = new
    _define(frame, s.results, total)


def _combine(
    s: ir.Reduce, frame: Frame, left: Sequence[Array], right: Sequence[Array]
) -> list[Array]:
    """Both states combined; they have a whole number of elements for each lane."""
    per_lane = len(left[0]) // frame.lanes
    inner = frame.child(np.repeat(np.arange(frame.lanes), per_lane))
    _define(inner, s.left, left)
    _define(inner, s.right, right)
    execute(s.combine_body, inner)
    return [inner.full(a) for a in s.combined]


def _reduce_chunk(s: ir.Reduce, frame: Frame, start: int, length: Array) -> list[Array]:
    """Each lane's fold of its iterations start .. start + length - 1."""
    n = frame.lanes
    state = [np.repeat(frame.full(a), ir.LANES).reshape(n, ir.LANES) for a in s.init]
    block = max(1, WIDTH // (ir.LANES * n)) * ir.LANES
    for first in range(0, int(length.max()), block):
        values = _reduce_values(s, frame, start, first, np.minimum(length - first, block))
        count = np.clip(length - first, 0, block)
        for k in range(0, int(count.max()), ir.LANES):
            live = k + np.arange(ir.LANES) < count[:, None]
            element = [v[:, k : k + ir.LANES] for v in values]
            flat = [[x.reshape(-1) for x in side] for side in (state, element)]
            made = _combine(s, frame, *flat)
            state = [np.where(live, m.reshape(n, -1), o) for m, o in zip(made, state, strict=True)]
    half = ir.LANES // 2
    while half:
        left = [x[:, :half].reshape(-1) for x in state]
        right = [x[:, half:].reshape(-1) for x in state]
        state = [m.reshape(n, half) for m in _combine(s, frame, left, right)]
        half //= 2
    return [x.reshape(-1) for x in state]


def _reduce_values(s: ir.Reduce, frame: Frame, start: int, first: int, count: Array) -> list[Array]:
    """The values folded by each lane in iterations from start + first on, one row a lane."""
    width = -(-int(count.max()) // ir.LANES) * ir.LANES
    live = np.arange(width) < count[:, None]
    lane, k = np.nonzero(live)
    inner = frame.child(lane)
    inner.values[s.var] = start + first + k
    execute(s.body, inner)
    made = []
    for atom in s.values:
        # Elements past the end are never combined; they only fill the row.
        row = np.zeros(live.shape, DTYPES[atom.type])
        row[live] = inner.full(atom)
        made.append(row)
    return made
