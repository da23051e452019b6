"""Fuse: decide which tensors are stored, and which are computed where they are read.

Tensors are visited from the results backwards. A tensor is computed inside the kernels that read it
unless that repeats more work than storing it once would cost; kernels over one domain that share
such a tensor become one kernel with several outputs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from jacana.compiler.commands import Call
from jacana.compiler.tensors import Fold, Tensor
from jacana.core.records import record
from jacana.kernel import ir

# In units of one vector operation an element: storing a value and reading it back once.
STORE = 4.0
READ = 0.5
# One kernel more costs about this much, whatever its size.
KERNEL = 200.0
# Keeping a value while its row is in cache, and reading it back.
STAGE, READ_STAGED = 1.0, 0.5
# Rows of a kernel that keeps some of their values: enough of them for threads, and long enough.
STAGED_ROWS, STAGED_LENGTH = 8, 32
# A reduction that depends on no loop is stored from this extent on, so that threads can share it.
PARALLEL_FOLD = 4096
# Tensors computed inside one kernel; beyond it compile time and registers suffer.
KERNEL_TENSORS = 2000

Axes = tuple[frozenset[int], ...]


@dataclass(eq=False)
class Group:
    """A kernel in the making (roots over one domain), or a call."""

    id: int
    roots: list[Tensor]
    call: Call | None = None
    domain: tuple[int, ...] = ()
    loops: tuple[int, ...] = ()
    depends: set[int] = field(default_factory=set)
    inlined: set[int] = field(default_factory=set)
    # Computed once for each row, before what reads them, and kept in memory until the row is done.
    staged: list[Tensor] = field(default_factory=list)
    work: float = 0.0

    @property
    def order(self) -> int:
        return max(t.id for t in self.roots)


@record
class Use:
    """A read of a tensor in a group: the loops that decide the index of each axis."""

    group: int
    axes: Axes
    direct: bool  # at the domain's own index


class Fusion:
    """The state of one run."""

    def __init__(self, tensors: Sequence[Tensor], results: Iterable[Tensor], calls: Sequence[Call]):
        self.tensors = tensors
        self.required = {t.id for t in results}
        self.call_of = {t.id: c for c in calls for t in c.outputs}
        self.groups: list[Group] = []
        self.merged: list[int] = []  # union-find over groups
        self.uses: dict[int, list[Use]] = {}
        self.called: dict[int, int] = {}  # id(call) -> group
        # Loops: how often the body of each runs in all.
        self.runs: list[float] = []
        self.fold_loops: dict[tuple[int, int, Axes], int] = {}
        # Loops of merged groups are those of the group that they became part of.
        self.same_loop: dict[int, int] = {}

    def find(self, group: int) -> Group:
        while self.merged[group] != group:
            self.merged[group] = self.merged[self.merged[group]]
            group = self.merged[group]
        return self.groups[group]

    def run(self) -> list[Group]:
        """Kernels and calls, each after what it depends on."""
        for tensor in reversed(self.tensors):
            uses = self.uses.get(tensor.id, [])
            if not uses and tensor.id not in self.required:
                continue
            if tensor.id in self.call_of:
                self._visit_call_output(tensor, uses)
            elif tensor.kind != "stored":
                self._visit(tensor, uses)
        self._merge_split()
        return self._in_order()

    def _add_group(self, roots: list[Tensor], call: Call | None = None) -> Group:
        group = Group(len(self.groups), roots, call)
        self.groups.append(group)
        self.merged.append(group.id)
        if call is None:
            group.domain = roots[0].shape
            loops, runs = [], 1.0
            for n in group.domain:
                runs *= n
                loops.append(len(self.runs))
                self.runs.append(runs)
            group.loops = tuple(loops)
        return group

    def _visit_call_output(self, tensor: Tensor, uses: list[Use]) -> None:
        call = self.call_of[tensor.id]
        made = self.called.get(id(call))
        if made is None:
            group = self._add_group(list(call.outputs), call)
            made = self.called[id(call)] = group.id
            starts = getattr(call, "start", {}).values()
            for x in (*call.inputs, *starts):
                self.required.add(x.id)
                self.uses.setdefault(x.id, []).append(Use(made, (), False))
        self._depend(uses, made)

    def _depend(self, uses: Iterable[Use], producer: int) -> None:
        for use in uses:
            self.find(use.group).depends.add(producer)

    def _visit(self, tensor: Tensor, uses: list[Use]) -> None:
        # Reading one index twice in one kernel computes it once.
        uses = list({(u.group, u.axes): u for u in self._current(uses)}.values())
        kernel_uses = [u for u in uses if self.groups[u.group].call is None]
        self._merge_groups(tensor, kernel_uses)
        kernel_uses = list({(u.group, u.axes): u for u in self._current(kernel_uses)}.values())
        if tensor.id in self.required:
            if not uses or not self._stage(tensor, uses):
                self._store(tensor, uses, kernel_uses)
        elif self._inline_pays(tensor, kernel_uses):
            for use in kernel_uses:
                self._enter(tensor, use)
        elif not self._stage(tensor, uses):
            self._store(tensor, uses, kernel_uses)

    def _current(self, uses: Iterable[Use]) -> Iterable[Use]:
        """Uses with merged groups under their present name and loops."""
        for u in uses:
            group = self.find(u.group)
            if group.id == u.group:
                yield u
            elif u.direct:
                yield Use(group.id, tuple(frozenset((x,)) for x in group.loops), True)
            else:
                yield Use(group.id, u.axes, False)

    def _merge_groups(self, tensor: Tensor, uses: list[Use]) -> None:
        """Kernels that read the tensor at their own index become one where order allows it."""
        direct = [self.find(u.group) for u in uses if u.direct]
        if len(direct) < 2:
            return
        first = direct[0]
        for other in direct[1:]:
            other, first = self.find(other.id), self.find(first.id)
            if other is first or other.domain != first.domain:
                continue
            if len(other.inlined) + len(first.inlined) > KERNEL_TENSORS:
                continue
            if self._reaches(first, other) or self._reaches(other, first):
                continue
            self._merge(first, other)

    def _merge(self, first: Group, other: Group) -> None:
        self.merged[other.id] = first.id
        first.roots += other.roots
        first.depends |= other.depends
        first.inlined |= other.inlined
        first.staged += other.staged
        self.same_loop.update(zip(other.loops, first.loops, strict=True))
        first.work += other.work

    def _merge_split(self) -> None:
        """Long reductions of the same elements sweep over them together."""
        split = {g.id for g in self.groups if self.find(g.id) is g and all(map(is_split, g.roots))}
        if len(split) < 2:
            return
        for uses in self.uses.values():
            alike: dict[Any, Group] = {}
            for number in sorted(split & {self.find(u.group).id for u in uses}):
                group = self.find(number)
                first = self.find(alike.setdefault(elements_of(group.roots[0]), group).id)
                if first is group or self._reaches(first, group) or self._reaches(group, first):
                    continue
                self._merge(first, group)

    def _reaches(self, start: Group, goal: Group) -> bool:
        todo, seen = [start.id], {start.id}
        while todo:
            for d in self.find(todo.pop()).depends:
                found = self.find(d).id
                if found == goal.id:
                    return True
                if found not in seen:
                    seen.add(found)
                    todo.append(found)
        return False

    def _evaluations(self, axes: Axes) -> float:
        return max((self.runs[loop] for axis in axes for loop in axis), default=1.0)

    def _inline_pays(self, tensor: Tensor, uses: list[Use]) -> bool:
        if tensor.kind == "view" or not tensor.reads and tensor.own_cost == 0:
            return True
        fold = tensor.fold
        if fold is not None:
            loose = any(not any(u.axes) for u in uses)
            if loose and fold.extent >= PARALLEL_FOLD or is_split(tensor):
                return False
        if any(len(self.find(u.group).inlined) > KERNEL_TENSORS for u in uses):
            return False
        evaluations = sum(self._evaluations(u.axes) for u in uses)
        recompute = tensor.total_cost * evaluations
        store = (tensor.total_cost + STORE) * tensor.size + READ * evaluations + KERNEL
        return recompute <= store

    def _stage(self, tensor: Tensor, uses: list[Use]) -> bool:
        """Compute the tensor once for each row of the one kernel that reads it, if that can be."""
        group = self.find(uses[0].group)
        length = tensor.shape[-1] if tensor.shape else 0
        if group.call is not None or group.domain != tensor.shape or tensor.fold is not None:
            return False
        if length < STAGED_LENGTH or tensor.size < STAGED_ROWS * length:
            return False
        outer = [frozenset((x,)) for x in group.loops[:-1]]
        for use in uses:
            if self.find(use.group) is not group:
                return False
            if not use.direct and [self._present(a) for a in use.axes[:-1]] != outer:
                return False
            if not use.direct and not use.axes[-1].isdisjoint(group.loops):
                return False
        evaluations = sum(self._evaluations(u.axes) for u in uses)
        cost = (tensor.total_cost + STAGE) * tensor.size + READ_STAGED * evaluations
        if tensor.id in self.required:
            if all(u.direct for u in uses):
                return False
            group.roots.append(tensor)
        elif len(uses) < 2 or tensor.total_cost * evaluations <= cost:
            return False
        group.staged.append(tensor)
        self._enter(tensor, Use(group.id, tuple(frozenset((x,)) for x in group.loops), True))
        return True

    def _present(self, loops: frozenset[int]) -> frozenset[int]:
        """The loops under the names they have after groups were merged."""
        found = set()
        for loop in loops:
            while loop in self.same_loop:
                loop = self.same_loop[loop]
            found.add(loop)
        return frozenset(found)

    def _store(self, tensor: Tensor, uses: list[Use], kernel_uses: list[Use]) -> None:
        group = self._join(tensor, kernel_uses)
        if group is None:
            group = self._add_group([tensor])
        self._depend([u for u in uses if self.find(u.group) is not group], group.id)
        axes = tuple(frozenset((x,)) for x in group.loops)
        self._enter(tensor, Use(group.id, axes, True))

    def _join(self, tensor: Tensor, uses: list[Use]) -> Group | None:
        """A kernel that computes the tensor anyway and can store it as well."""
        for use in uses:
            group = self.find(use.group)
            if not use.direct or group.domain != tensor.shape:
                continue
            if any(self.find(u.group) is group and not u.direct for u in uses):
                continue
            if is_split(tensor) and not all(map(is_split, group.roots)):
                continue
            others = [self.find(u.group) for u in self.uses.get(tensor.id, [])]
            if any(o is not group and self._reaches(group, o) for o in others):
                continue
            group.roots.append(tensor)
            return group
        return None

    def _enter(self, tensor: Tensor, use: Use) -> None:
        """The tensor is computed in the group: so are its operands, at the index it reads them."""
        group = self.find(use.group)
        group.inlined.add(tensor.id)
        group.work += tensor.own_cost * self._evaluations(use.axes)
        for operand, axes, direct in self._operand_axes(tensor, use):
            uses = self.uses.setdefault(operand.id, [])
            uses.append(Use(use.group, axes, direct))

    def _operand_axes(self, tensor: Tensor, use: Use) -> Iterable[tuple[Tensor, Axes, bool]]:
        axes = use.axes
        if tensor.kind == "map":
            for r in tensor.reads:
                yield (r, axes, use.direct) if r.shape == tensor.shape else (r, (), False)
        elif tensor.kind == "view":
            (operand,) = tensor.reads
            union = [
                frozenset().union(*[axes[i] for i in range(len(axes)) if mask >> i & 1])
                for mask in tensor.axes
            ]
            yield operand, tuple(union), False
        elif tensor.fold is not None:
            yield from self._fold_axes(tensor.fold, use)
        else:
            every: frozenset[int] = frozenset().union(*axes)
            for r in tensor.reads:
                yield r, tuple(every for _ in r.shape), False

    def _fold_axes(self, fold: Fold, use: Use) -> Iterable[tuple[Tensor, Axes, bool]]:
        key = (use.group, id(fold), use.axes)
        loop = self.fold_loops.get(key)
        if loop is None:
            loop = self.fold_loops[key] = len(self.runs)
            self.runs.append(self._evaluations(use.axes) * fold.extent)
        full: list[frozenset[int]] = [frozenset((loop,))] * len(fold.operands[0].shape)
        for axis, loops in zip(fold.kept, use.axes, strict=True):
            full[axis] = loops
        for r in fold.operands:
            yield r, tuple(full), False

    def _in_order(self) -> list[Group]:
        """Groups after all they depend on; among those, in program order."""
        ordered: list[Group] = []
        state: dict[int, int] = {}
        heads = {self.find(g.id).id: self.find(g.id) for g in self.groups}
        for start in sorted(heads.values(), key=lambda g: g.order):
            todo = [start]
            while todo:
                group = todo[-1]
                if state.get(group.id) == 2:
                    todo.pop()
                    continue
                state[group.id] = 1
                waiting = {self.find(d).id: self.find(d) for d in group.depends}
                missing = [g for g in waiting.values() if g is not group and g.id not in state]
                if missing:
                    todo += sorted(missing, key=lambda g: -g.order)
                    continue
                state[group.id] = 2
                ordered.append(todo.pop())
        return ordered


def is_split(tensor: Tensor) -> bool:
    """Whether chunks of the reduction are worth a kernel of their own; by shape alone."""
    fold = tensor.fold
    return fold is not None and fold.extent >= 4 * ir.CHUNK and tensor.size <= 16


def elements_of(reduction: Tensor) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape that a reduction is of, and the axes that it takes away."""
    assert reduction.fold is not None
    return reduction.fold.operands[0].shape, reduction.fold.axes


def fuse(
    tensors: Sequence[Tensor], results: Iterable[Tensor], calls: Sequence[Call]
) -> list[Group]:
    """The kernels and calls that compute the results, in order."""
    return Fusion(tensors, results, calls).run()
