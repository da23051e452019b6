"""Small loops: a scan or while whose carry registers can hold is one kernel.

Where all carries have leading axes in common along which the body computes each element on its own,
these are the kernel's outer loops (in vectors, shared between threads) and time is the inner one.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from jacana.compiler.commands import ControlCall, KernelCommand
from jacana.compiler.nests import PARALLEL_WORK, divides, finish, store, with_loops
from jacana.compiler.registers import (
    MAX_STATE,
    InnerLoop,
    LoopBuilder,
    NotInRegisters,
    RegisterGraph,
    as_expr,
    carry_variables,
    held_size,
    held_tensor,
    hold_variables,
    lane_elements,
    lane_rank,
    own_condition,
    rest_indices,
)
from jacana.compiler.tensors import Context, Tensor, flatten_parts, join_parts, split_index
from jacana.core.records import replace
from jacana.kernel import ir
from jacana.kernel.build import Writer
from jacana.kernel.expr import Expr
from jacana.ops.lowering import Value

Index = tuple[Expr, ...]

# A carry of at most this many elements is held element by element, not in vectors.
SCALARS = 8
# Elements that one iteration computes side by side hide the latency of each other's steps, as long
# as registers hold their states.
COPIES = 4
COPIED_STATE = 8
# Slices beyond this size are better gone through in order, unless a step is so small that running
# it as a command costs more.
CACHED_SLICES = 1 << 20
WIDE_DOMAIN = 512
# A while loop is taken to run this often, where the number of steps decides something.
GUESSED_STEPS = 32


def write_loop(
    context: Context, call: ControlCall, wanted: Sequence[int]
) -> list[KernelCommand] | None:
    """Kernels that run the loop for its outputs `wanted`, or None if it must run as commands."""
    if call.kind == "branch" or any(t.size == 0 for t in (*call.inputs, *call.outputs)):
        return None
    if not wanted or call.kind == "scan" and call.length == 0:
        return None
    for domain in domains(call):
        try:
            return _write_over(context, call, domain, wanted)
        except NotInRegisters:
            continue
    return None


def domains(call: ControlCall) -> Iterator[tuple[int, ...]]:
    """Axes that may be the kernel's outer loops, the most promising first."""
    carried = len(call.start)
    shapes = [t.shape for t in call.outputs[:carried]]
    shapes += [t.shape[1:] for t in call.outputs[carried:]]
    largest = max(shapes, key=math.prod)
    if sum(map(math.prod, shapes)) > SCALARS:
        for rank in range(len(largest), 0, -1):
            if math.prod(largest[:rank]) > 1:
                yield largest[:rank]
    if sum(map(math.prod, shapes)) <= 2 * MAX_STATE:
        yield ()


def _write_over(
    context: Context, call: ControlCall, domain: tuple[int, ...], wanted: Sequence[int]
) -> list[KernelCommand]:
    loop = SmallLoop(context, call)
    own = [k for k in wanted if lane_rank(loop.shapes[k], domain) or not domain]
    shared = [k for k in wanted if k not in own]
    commands = []
    if own:
        commands.append(loop.command(domain, own))
    if shared:
        commands.append(loop.command((), shared))
    return commands


class SmallLoop:
    """A loop whose body is expressions of carry and slices."""

    def __init__(self, context: Context, call: ControlCall):
        self.context, self.call = context, call
        carried = len(call.start)
        self.carries = [held_tensor(context, t.shape, t.dtype) for t in call.outputs[:carried]]
        self.start = [call.start[k] for k in range(carried)]
        self.shapes = [t.shape for t in self.carries]
        self.shapes += [t.shape[1:] for t in call.outputs[carried:]]
        build = LoopBuilder(context)
        count = len(call.inputs) - call.slices
        consts, sliced = call.inputs[:count], call.inputs[count:]
        self.holds: Tensor | None = None
        if call.kind == "while":
            cond, body = call.programs
            n = len(cond.invars) - carried
            self.holds = build.program(cond, [*consts[:n], *self.carries])[0]
            self.following = build.program(body, [*consts[n:], *self.carries])
        else:
            slices = [self._slice(x) for x in sliced]
            self.following = build.program(call.programs[0], [*consts, *self.carries, *slices])

    def _slice(self, source: Tensor) -> Tensor:
        def element(*index: Expr) -> Value:
            kernel = self.context.kernel
            assert isinstance(kernel, RegisterGraph) and kernel.step is not None
            return source[(kernel.step, *index)]

        return Tensor(self.context, source.shape[1:], source.dtype, "compute", (), element)

    # --- what an output depends on ----------------------------------------------------------------

    def needed(self, domain: tuple[int, ...], wanted: Sequence[int]) -> tuple[list[int], int]:
        """The carries that outputs depend on, and the number of expressions of one step."""
        kernel = RegisterGraph(domain)
        graph = kernel.graph
        with self._writing(kernel):
            kernel.lanes = tuple([graph.variable("index") for _ in domain])
            kernel.step = graph.variable("index")
            sizes = [held_size(kernel, c) for c in self.carries]
            if sum(sizes) > MAX_STATE:
                raise NotInRegisters("the carry is too large")
            every = carry_variables(graph, self.carries, sizes)
            hold_variables(kernel, self.carries, every, kernel.lanes)
            owner = {}
            for k, c in enumerate(self.carries):
                for v in flatten_parts(lane_elements(kernel, c, kernel.lanes)):
                    owner[v.data] = k
            needed, todo = set(), list(wanted)
            if self.holds is not None:
                todo += _owners(owner, as_expr(self.holds[()]).free)
            while todo:
                k = todo.pop()
                if k in needed:
                    continue
                needed.add(k)
                following = self.following[k]
                if held_size(kernel, following) > MAX_STATE:
                    raise NotInRegisters("a slice of results is too large")
                for e in flatten_parts(lane_elements(kernel, following, kernel.lanes)):
                    todo += _owners(owner, e.free)
        return sorted(k for k in needed if k < len(self.carries)), graph.count

    def _writing(self, kernel: RegisterGraph) -> "_Writing":
        return _Writing(self.context, kernel)

    def _sliced_bytes(self, domain: tuple[int, ...], wanted: Sequence[int]) -> int:
        """Memory of the slices along the domain that the loop reads and writes."""
        own = list(self.call.inputs[len(self.call.inputs) - self.call.slices :])
        own += [self.call.outputs[k] for k in wanted if k >= len(self.carries)]
        return sum(t.size * int(t.dtype.itemsize) for t in own if lane_rank(t.shape[1:], domain))

    # --- the kernel -------------------------------------------------------------------------------

    def command(self, domain: tuple[int, ...], wanted: Sequence[int]) -> KernelCommand:
        if self.holds is not None and own_condition(self.holds, domain) is not None:
            return self._nest(domain, lambda kernel, writer, lanes: self._repeat_each(
                kernel, writer, lanes, wanted
            ), GUESSED_STEPS * 40.0, 1)  # fmt: skip
        carries, size = self.needed(domain, wanted)
        steps = GUESSED_STEPS if self.holds is not None else self.call.length
        states = sum(math.prod(self.shapes[k][len(domain) :]) for k in carries)
        # Slices are memory traffic: what waits for them gains nothing from more of it.
        sliced = self._sliced_bytes(domain, wanted)
        if sliced > CACHED_SLICES and math.prod(domain) >= WIDE_DOMAIN:
            raise NotInRegisters("time outside reads and writes the slices in order")
        copies = COPIES if domain and not sliced and states <= COPIED_STATE else 1
        return self._nest(domain, lambda kernel, writer, lanes: self._repeat(
            kernel, writer, lanes, carries, wanted
        ), float(steps * size), copies)  # fmt: skip

    def _nest(
        self, domain: tuple[int, ...],
        body: Callable[[RegisterGraph, Writer, list[Index]], None], work: float, copies: int,
    ) -> KernelCommand:  # fmt: skip
        """The kernel that runs `body` for every element of the domain, some at once."""
        for flat in (True, False) if len(domain) > 1 else (False,):
            kernel = RegisterGraph(domain)
            writer = Writer(kernel.graph)
            sizes = [math.prod(domain)] if flat else list(domain)
            while sizes and (sizes[-1] % copies or sizes[-1] < 16 * copies) and copies > 1:
                copies //= 2
            if sizes:
                sizes[-1] //= copies

            with self._writing(kernel):
                with_loops(writer, kernel, sizes, True, partial(
                    _side_by_side, body, kernel, writer, sizes, copies, flat
                ))  # fmt: skip
            if not flat or not divides(writer):
                break
            if domain[-1] < ir.LANES:
                raise NotInRegisters("vectors along this axis would be nearly empty")
        extent = next((n for n in sizes if n != 1), 1)
        made = finish(kernel, writer, extent, work * math.prod(domain) if domain else 0.0)
        if made.grain and len([n for n in sizes if n != 1]) == 1:
            # Threads share whole vectors.
            return replace(made, grain=-(-made.grain // ir.LANES) * ir.LANES)
        if not domain and (self.holds is not None or work >= PARALLEL_WORK):
            # What may take long lets other Python threads run: only kernels with a grain do.
            return replace(made, grain=1)
        return made

    def _repeat_each(
        self, kernel: RegisterGraph, writer: Writer, lanes: list[Index], wanted: Sequence[int]
    ) -> None:
        """A loop that each lane leaves on its own."""
        assert self.holds is not None
        (kernel.lanes,) = lanes
        loop = InnerLoop(self.context, self.carries, self.start, self.following, self.holds)
        results = loop.results()
        for k in wanted:
            self._store(kernel, writer, k, (), kernel.lanes, self.elements(kernel, results[k]))

    def elements(self, kernel: RegisterGraph, tensor: Tensor) -> list[Value]:
        return lane_elements(kernel, tensor, kernel.lanes)

    def _repeat(
        self, kernel: RegisterGraph, writer: Writer, lanes: list[Index], needed: Sequence[int],
        wanted: Sequence[int],
    ) -> None:  # fmt: skip
        """The loop over time for some elements of the domain, side by side."""
        graph = kernel.graph
        carries = [self.carries[k] for k in needed]
        # Values that belong to no lane are held once for all of them.
        held = [
            (k, c, at)
            for k, c in zip(needed, carries, strict=True)
            for at in (lanes if lane_rank(c.shape, kernel.domain) else lanes[:1])
        ]
        start: list[Value] = []
        for k, _, at in held:
            kernel.lanes = at
            start += self.elements(kernel, self.start[k])

        def hold(state: Sequence[Expr]) -> None:
            taken = 0
            for _, c, at in held:
                width = len(carry_variables(graph, [c], [held_size(kernel, c)]))
                part = state[1 + taken : 1 + taken + width]
                hold_variables(kernel, [c], part, at)
                taken += width

        def holds(state: Sequence[Expr]) -> Expr:
            hold(state)
            if self.holds is None:
                return state[0] < graph.index(self.call.length)
            return as_expr(self.holds[()])

        def step(state: Sequence[Expr]) -> list[Expr]:
            kernel.step = state[0]
            if self.call.reverse:
                kernel.step = graph.index(self.call.length - 1) - state[0]
            following: list[Value] = []
            for k, _, at in held:
                kernel.lanes = at
                following += self.elements(kernel, self.following[k])
            for k in wanted:
                if k >= len(self.carries):
                    for at in lanes:
                        kernel.lanes = at
                        values = self.elements(kernel, self.following[k])
                        self._store(kernel, writer, k, (kernel.step,), at, values)
            return [state[0] + 1, *flatten_parts(following)]

        last = writer.carry([graph.index(0), *flatten_parts(start)], holds, step)
        like = [c for _, c, _ in held for _ in range(held_size(kernel, c))]
        results = iter(join_parts(last[1:], like))
        for k, c, at in held:
            values = [next(results) for _ in range(held_size(kernel, c))]
            if k in wanted:
                self._store(kernel, writer, k, (), at, values)

    def _store(
        self, kernel: RegisterGraph, writer: Writer, k: int, first: Index, lanes: Index,
        values: Sequence[Value],
    ) -> None:  # fmt: skip
        tensor, shape = self.call.outputs[k], self.shapes[k]
        rank = lane_rank(shape, kernel.domain)
        for rest, value in zip(rest_indices(kernel.graph, shape[rank:]), values, strict=True):
            store(kernel, writer, tensor, (*first, *lanes[:rank], *rest), value)


def _side_by_side(
    body: Callable[[RegisterGraph, Writer, list[Index]], None], kernel: RegisterGraph,
    writer: Writer, sizes: list[int], copies: int, flat: bool, at: list[Expr],
) -> None:  # fmt: skip
    """`body` for the elements of the domain that one iteration of its loops computes."""
    if not at:
        body(kernel, writer, [()])
        return
    every = [[*at[:-1], at[-1] + k * sizes[-1]] for k in range(copies)]
    lanes = [split_index(e[0], kernel.domain) if flat else e for e in every]
    body(kernel, writer, [tuple(e) for e in lanes])


class _Writing:
    """`with`: elements are those of this kernel."""

    def __init__(self, context: Context, kernel: RegisterGraph):
        self.context, self.kernel = context, kernel

    def __enter__(self) -> None:
        self.outer, self.context.kernel = self.context.kernel, self.kernel

    def __exit__(self, *exc: object) -> None:
        self.context.kernel = self.outer


def _owners(owner: dict[int, int], free: int) -> list[int]:
    return [k for bit, k in owner.items() if bit & free]
