"""Nests: from a group of tensors over one domain to the loop nest that stores them."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from jacana.compiler.commands import KernelCommand, Loops
from jacana.compiler.fuse import Group, is_split
from jacana.compiler.sweeps import TILE, TILED_SIZE, breaks, transposed_axis
from jacana.compiler.tensors import (
    Context,
    Fold,
    KernelGraph,
    Tensor,
    element_type,
    flatten_parts,
    join_parts,
    linear_index,
    split_index,
)
from jacana.core import dtypes
from jacana.kernel import ir
from jacana.kernel.build import Writer
from jacana.kernel.expr import Expr
from jacana.kernel.math.complex import Complex
from jacana.kernel.show import structural_key
from jacana.kernel.structure import bodies
from jacana.ops.lowering import Value

# Work (in vector operations) that is worth a second thread.
PARALLEL_WORK = 100_000
# A last axis up to this is written out, if the axis before it is at least that long.
NARROW, NARROW_LENGTH = 8, 64
# Threads share a loop over vectors in multiples of this: rows are read a few cache lines at a time.
COLUMNS = 64
# A reduction at least this long runs its own lanes; a shorter one runs once per lane of its loop.
LONG_FOLD = 16


def finish(kernel: KernelGraph, writer: Writer, extent: int, work: float) -> KernelCommand:
    """The command that runs what the writer has written."""
    made = ir.Kernel(
        tuple(kernel.buffers),
        tuple(writer.locals),
        tuple(writer.params),
        tuple(writer.blocks[0].statements),
    )
    grain = 0
    if work >= 2 * PARALLEL_WORK and extent > 1:
        grain = max(1, int(extent * PARALLEL_WORK / work))
        if extent > COLUMNS and any(is_columns(s) for s in made.body):
            grain = -(-grain // COLUMNS) * COLUMNS
    return KernelCommand(
        made, structural_key(made), tuple(kernel.slots), tuple(writer.param_values), extent, grain
    )


def is_columns(s: ir.Statement) -> bool:
    """Whether this is the loop over vectors that threads share."""
    return isinstance(s, ir.For) and s.grid and s.kind == "vector"


def store(
    kernel: KernelGraph, writer: Writer, tensor: Tensor, index: Sequence[Expr], value: Value
) -> None:
    buffer = kernel.buffer(tensor, written=True)
    at = linear_index(kernel.graph, index, tensor.shape)
    if isinstance(value, Complex):
        writer.store(buffer, at * 2, value.re)
        writer.store(buffer, at * 2 + 1, value.im)
    else:
        writer.store(buffer, at, value)


def write_group(context: Context, group: Group) -> list[KernelCommand]:
    """The kernels of a fused group."""
    if any(0 in t.shape for t in group.roots):
        return []
    roots = list({t.id: t for t in group.roots}.values())
    if all(map(is_split, roots)):
        return write_split_folds(context, roots)
    members = [context.tensors[i] for i in group.inlined]
    if group.staged:
        return [write_rows(context, roots, group)]
    nest = Nest(context, roots, members, group)
    if len(group.domain) > 1 and may_flatten(members, group.domain):
        flat = nest.flat()
        if flat is not None:
            return [flat]
    return nest.commands()


def may_flatten(members: Sequence[Tensor], domain: tuple[int, ...]) -> bool:
    """Whether one loop over the whole domain may do: nothing repeats or skips along an axis."""
    for t in members:
        if t.kind == "compute" and t.shape:
            return False
        if t.kind == "view" and t.size != t.reads[0].size and t.reads[0].size != 1:
            return False
    return True


class Nest:
    """The loops over the domain of a group, which store its roots."""

    def __init__(
        self, context: Context, roots: list[Tensor], members: list[Tensor], group: Group
    ) -> None:
        self.context, self.roots, self.members, self.group = context, roots, members, group
        self.domain = group.domain
        self.own = {t.id for t in roots}
        self.folds_rows = has_long_row_fold(members, group.domain)

    def _write(
        self, sizes: Sequence[int], vector: bool,
        body: Callable[[KernelGraph, Writer, list[Expr]], None],
    ) -> tuple[KernelGraph, Writer]:  # fmt: skip
        kernel = KernelGraph(lambda t: t.slot is not None and t.id not in self.own)
        writer = Writer(kernel.graph)
        previous, self.context.kernel = self.context.kernel, kernel
        try:
            with_loops(writer, kernel, sizes, vector, lambda at: body(kernel, writer, at))
        finally:
            self.context.kernel = previous
        return kernel, writer

    def _finish(self, kernel: KernelGraph, writer: Writer, sizes: Sequence[int]) -> KernelCommand:
        extent = next((n for n in sizes if n != 1), 1)
        work = max(self.group.work, float(group_size(self.domain)))
        return finish(kernel, writer, extent, work)

    def flat(self) -> KernelCommand | None:
        """One loop over the whole domain, or None if it would need divisions."""

        def body(kernel: KernelGraph, writer: Writer, at: list[Expr]) -> None:
            _store_roots(kernel, writer, self.roots, split_index(at[0], self.domain))

        sizes = [group_size(self.domain)]
        kernel, writer = self._write(sizes, True, body)
        return None if divides(writer) else self._finish(kernel, writer, sizes)

    def commands(self) -> list[KernelCommand]:
        """A loop for each axis, the last cut and both tiled where the expressions ask for it."""
        index: list[Expr] = []

        def body(kernel: KernelGraph, writer: Writer, at: list[Expr]) -> None:
            index[:] = at
            _store_roots(kernel, writer, self.roots, at)

        if not self.folds_rows and is_narrow(self.domain) and len(self.roots) <= NARROW:
            return [self._across()]
        kernel, writer = self._write(self.domain, True, body)
        if not self.folds_rows and self.domain and self.domain[-1] > 1:
            cuts = breaks(kernel.graph, index[-1], self.domain[-1])
            if cuts:
                return self._cut([0, *cuts, self.domain[-1]])
            axis = transposed_axis(kernel.graph, index)
            if axis is not None and group_size(self.domain) >= TILED_SIZE:
                return [*self._store_folds(), self._tiled(axis)]
        return [self._finish(kernel, writer, self.domain)]

    def _store_folds(self) -> list[KernelCommand]:
        """Kernels for the reductions that rows compute once, which tiles would compute again."""
        size = group_size(self.domain)
        folds: dict[int, list[Tensor]] = {}
        for t in self.members:
            if t.fold is not None and t.size < size:
                folds.setdefault(id(t.fold), []).append(t)
        made = []
        for tensors in folds.values():
            domain = tensors[0].shape
            for t in tensors:
                t.slot = self.context.add_slot(t)
            part = replace(self.group, roots=tensors, domain=domain, loops=(), staged=[])
            made += write_group(self.context, part)
        return made

    def _across(self) -> KernelCommand:
        """Vectors along the last axis but one; an iteration stores the few elements behind it."""

        def body(kernel: KernelGraph, writer: Writer, at: list[Expr]) -> None:
            last = [kernel.graph.index(k) for k in range(self.domain[-1])]
            _store_roots(kernel, writer, self.roots, *[[*at, k] for k in last])

        sizes = self.domain[:-1]
        kernel, writer = self._write(sizes, True, body)
        return self._finish(kernel, writer, sizes)

    def _cut(self, ends: list[int]) -> list[KernelCommand]:
        """The last axis in segments: of several loops in one kernel, or of one kernel each."""
        outer = self.domain[:-1]
        pieces = list(pairwise(ends))
        inside = group_size(outer) > 1
        made = []
        for part in [pieces] if inside else [[p] for p in pieces]:

            def body(
                kernel: KernelGraph, writer: Writer, at: list[Expr],
                part: list[tuple[int, int]] = part,
            ) -> None:  # fmt: skip
                if not inside:
                    _store_roots(kernel, writer, self.roots, [*at[:-1], at[-1] + part[0][0]])
                    return
                for start, end in part:
                    with writer.loop(kernel.graph.index(end - start), "vector") as i:
                        _store_roots(kernel, writer, self.roots, [*at, i + start])

            sizes = outer if inside else (*outer, part[0][1] - part[0][0])
            kernel, writer = self._write(sizes, not inside, body)
            made.append(self._finish(kernel, writer, sizes))
        return made

    def _tiled(self, axis: int) -> KernelCommand:
        """Tiles over one axis and the last: what is read across rows is in cache the next time."""
        tall, wide = self.domain[axis], self.domain[-1]
        outer = [*self.domain[:axis], -(-tall // TILE), *self.domain[axis + 1 : -1]]

        def body(kernel: KernelGraph, writer: Writer, at: list[Expr]) -> None:
            graph = kernel.graph
            side = graph.index(TILE)
            top = at[axis] * TILE
            with writer.loop(graph.index(-(-wide // TILE))) as tile:
                left = tile * TILE
                with writer.loop(graph.op("min", side, graph.index(tall) - top)) as i:
                    count = graph.op("min", side, graph.index(wide) - left)
                    with writer.loop(count, "vector") as j:
                        here = [*at, left + j]
                        here[axis] = top + i
                        _store_roots(kernel, writer, self.roots, here)

        kernel, writer = self._write(outer, False, body)
        return self._finish(kernel, writer, outer)


def write_rows(context: Context, roots: list[Tensor], group: Group) -> KernelCommand:
    """A nest that sweeps over each row several times: for what is staged, then for the roots."""
    unfinished = {t.id for t in (*roots, *group.staged)}
    kernel = KernelGraph(lambda t: t.slot is not None and t.id not in unfinished)
    writer, domain = Writer(kernel.graph), group.domain
    previous, context.kernel = context.kernel, kernel

    def sweep(row: list[Expr], tensors: list[Tensor]) -> None:
        with writer.loop(kernel.graph.index(domain[-1]), "vector") as column:
            _store_roots(kernel, writer, tensors, [*row, column])

    def sweeps(row: list[Expr]) -> None:
        for t in sorted(group.staged, key=lambda t: t.id):
            sweep(row, [t])
            unfinished.remove(t.id)
        sweep(row, [t for t in roots if t.id in unfinished])

    try:
        with_loops(writer, kernel, domain[:-1], False, sweeps)
    finally:
        context.kernel = previous
    extent = next((n for n in domain if n != 1), 1)
    return finish(kernel, writer, extent, max(group.work, float(group_size(domain))))


def places_of_staged(group: Group) -> dict[int, Tensor]:
    """Staged tensors that may live in the memory of a root: it is written after their last read."""
    free = [t for t in group.roots if t not in group.staged]
    found = {}
    for t in group.staged:
        if t in group.roots:
            continue
        like = next((r for r in free if r.shape == t.shape and r.dtype == t.dtype), None)
        if like is not None:
            free.remove(like)
            found[t.id] = like
    return found


def group_size(domain: Sequence[int]) -> int:
    size = 1
    for n in domain:
        size *= n
    return size


def _store_roots(
    kernel: KernelGraph, writer: Writer, roots: list[Tensor], *places: Sequence[Expr]
) -> None:
    """Store the roots' elements at the places, all of which are computed before."""
    values = []
    for index in places:
        at = tuple(index)
        # Operands first: a root that another root reads is then in a register.
        for t in sorted(roots, key=lambda t: t.id):
            value = kernel.compute(t, at)
            kernel.remember(t, at, value)
            values.append((t, at, value))
    for t, at, value in values:
        store(kernel, writer, t, at, value)


def is_narrow(domain: Sequence[int]) -> bool:
    """Whether the last axis fills no vector, and the one before it many."""
    return len(domain) > 1 and 1 < domain[-1] <= NARROW and domain[-2] >= NARROW_LENGTH


def with_loops(
    writer: Writer, kernel: KernelGraph, sizes: Sequence[int], vector: bool,
    body: Callable[[list[Expr]], None],
) -> None:  # fmt: skip
    """Loops over the sizes, the first shared between threads, the last over vectors."""
    long = [axis for axis, n in enumerate(sizes) if n != 1]
    index: list[Expr] = [kernel.graph.index(0)] * len(sizes)

    def nest(depth: int) -> None:
        if depth == len(long):
            body(list(index))
            return
        axis = long[depth]
        kind = "vector" if vector and depth == len(long) - 1 else "serial"
        with writer.loop(kernel.graph.index(sizes[axis]), kind, grid=depth == 0) as i:
            index[axis] = i
            nest(depth + 1)

    nest(0)


def has_long_row_fold(members: Sequence[Tensor], domain: tuple[int, ...]) -> bool:
    """Whether each element of the domain folds a row of its own, long enough for vectors."""
    for t in members:
        fold = t.fold
        if fold is None or fold.extent < LONG_FOLD or t.size < group_size(domain):
            continue
        rank = len(fold.operands[0].shape)
        if rank - 1 in fold.axes:
            return True
    return False


def divides(writer: Writer) -> bool:
    """Whether any statement divides indices."""
    todo = list(writer.blocks[0].statements)
    while todo:
        s = todo.pop()
        if isinstance(s, ir.Let) and s.operation in ("div", "rem") and s.var.type == "index":
            return True
        for body in bodies(s):
            todo += body
    return False


# --- long reductions: chunks in parallel, then one fold over their results ----------------------


def write_split_folds(context: Context, results: list[Tensor]) -> list[KernelCommand]:
    """One kernel for the chunks of all the reductions, and one each for what their chunks gave."""
    folds = list({id(t.fold): t.fold for t in results if t.fold is not None}.values())
    size = results[0].size
    chunks = -(-folds[0].extent // ir.CHUNK)
    kept = [folds[0].operands[0].shape[i] for i in folds[0].kept]
    partial = [
        [Tensor(context, (size, chunks), x.dtype, "stored") for x in fold.operands]
        for fold in folds
    ]
    for t in (t for tensors in partial for t in tensors):
        t.slot = context.add_slot(t)
    made = [_write_chunks(context, folds, partial, kept, chunks)]
    for fold, tensors in zip(folds, partial, strict=True):
        own = [t for t in results if t.fold is fold]
        made.append(_write_chunk_fold(context, fold, tensors, own, kept, chunks))
    return made


def _write_chunks(
    context: Context,
    folds: list[Fold],
    partial: list[list[Tensor]],
    kept: list[int],
    chunks: int,
) -> KernelCommand:
    kernel = KernelGraph(lambda t: t.slot is not None)
    writer, graph = Writer(kernel.graph), kernel.graph
    previous, context.kernel = context.kernel, kernel
    size, extent = partial[0][0].shape[0], folds[0].extent
    # Where the last axis is kept, columns stand side by side: memory is read in order.
    columns = bool(kept) and folds[0].kept[-1] == len(folds[0].operands[0].shape) - 1

    def fold_chunk(row: Expr, c: Expr) -> None:
        first = c * ir.CHUNK
        count = graph.op("min", graph.index(ir.CHUNK), graph.index(extent) - first)
        for fold, tensors in zip(folds, partial, strict=True):
            values = kernel.write_fold(fold, tuple(split_index(row, kept)), (first, count))
            for t, value in zip(tensors, values, strict=True):
                store(kernel, writer, t, (row, c), value)

    shared = chunks if columns else size * chunks
    try:
        with writer.loop(graph.index(shared), "serial", grid=True) as i:
            if columns:
                with writer.loop(graph.index(size), "vector") as row:
                    fold_chunk(row, i)
            else:
                fold_chunk(i / chunks, i % chunks)
    finally:
        context.kernel = previous
    operands = [x for fold in folds for x in fold.operands]
    work = size * extent * (2.0 * len(folds) + sum(x.total_cost for x in operands))
    return finish(kernel, writer, shared, work)


def _write_chunk_fold(
    context: Context,
    fold: Fold,
    partial: list[Tensor],
    results: list[Tensor],
    kept: list[int],
    chunks: int,
) -> KernelCommand:
    kernel = KernelGraph(lambda t: t.slot is not None)
    writer, graph = Writer(kernel.graph), kernel.graph
    size = partial[0].shape[0]
    accumulators = [
        writer.local(element_type(x.dtype), 1)
        for x in partial
        for _ in range(2 if dtypes.is_complex(x.dtype) else 1)
    ]
    previous, context.kernel = context.kernel, kernel
    zero = graph.index(0)
    try:
        init = flatten_parts(kernel.fold_init(fold))
        with writer.loop(graph.index(size), "serial", grid=True) as row:
            for a, v in zip(accumulators, init, strict=True):
                writer.store(a, zero, v)
            with writer.loop(graph.index(chunks)) as c:
                left = join_parts([writer.load_now(a, zero) for a in accumulators], partial)
                right = [t[row, c] for t in partial]
                for a, v in zip(
                    accumulators, flatten_parts(fold.combine(left, right)), strict=True
                ):
                    writer.store(a, zero, v)
            total = join_parts([writer.load_now(a, zero) for a in accumulators], partial)
            index = split_index(row, kept)
            for t in results:
                store(kernel, writer, t, index, total[t.position])
    finally:
        context.kernel = previous
    return finish(kernel, writer, size, 0.0)


# --- imperative kernels -------------------------------------------------------------------------


class Written:
    """An output of an imperative kernel (ops/lowering.py: Output)."""

    def __init__(self, tensor: Tensor, kernel: KernelGraph, writer: Writer):
        self.tensor, self.kernel, self.writer = tensor, kernel, writer
        self.shape, self.dtype = tensor.shape, tensor.dtype

    def _index(self, index: Sequence[Any]) -> list[Expr]:
        return [i if isinstance(i, Expr) else self.kernel.graph.index(i) for i in index]

    def store(self, index: Sequence[Any], value: Value) -> None:
        store(self.kernel, self.writer, self.tensor, self._index(index), value)

    def load(self, index: Sequence[Any]) -> Value:
        buffer = self.kernel.buffer(self.tensor, written=True)
        at = linear_index(self.kernel.graph, self._index(index), self.shape)
        if dtypes.is_complex(self.dtype):
            re = self.writer.load_now(buffer, at * 2)
            return Complex(re, self.writer.load_now(buffer, at * 2 + 1))
        return self.writer.load_now(buffer, at)


def write_loops(context: Context, call: Loops) -> KernelCommand:
    """The kernel of an imperative rule."""
    kernel = KernelGraph(lambda t: t.slot is not None)
    writer = Writer(kernel.graph)
    previous, context.kernel = context.kernel, kernel
    try:
        outs = [Written(t, kernel, writer) for t in call.outputs]
        call.body(writer, outs, call.inputs)
    finally:
        context.kernel = previous
    extent, work = 1, 0.0
    for s in writer.blocks[0].statements:
        if isinstance(s, ir.For) and s.grid:
            extent = extent_of(s.extent, writer)
            work = call.work or 4.0 * max(
                group_size(t.shape) for t in (*call.outputs, *call.inputs)
            )
    return finish(kernel, writer, extent, work)


def extent_of(atom: ir.Atom, writer: Writer) -> int:
    if isinstance(atom, ir.Const):
        return int(atom.value)
    assert isinstance(atom, ir.Param), "the extent of a grid loop is known at compile time"
    return writer.param_values[atom.index]
