"""Carries in registers: the expressions of a loop whose state is a few variables of one kernel.

An element of such a carry is an expression; so a body is lowered as anything else is, and whatever
reads the carry at an index that is not known while the kernel is written ends the attempt.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from jacana.compiler.commands import Call
from jacana.compiler.lower import Builder
from jacana.compiler.pipeline import run_passes
from jacana.compiler.tensors import (
    Context,
    Fold,
    KernelGraph,
    Tensor,
    element_type,
    flatten_parts,
    join_parts,
)
from jacana.core import dtypes
from jacana.core.jaxpr import ClosedJaxpr, Jaxpr
from jacana.kernel import ir
from jacana.kernel.build import STATIC_LIMIT, Writer
from jacana.kernel.expr import Expr, Graph
from jacana.ops.lowering import Value

# Expressions that one loop may consist of; more take long to compile and fit in no register.
MAX_EXPRESSIONS = 2500
# Variables that the state of a loop may have.
MAX_STATE = 128
# Reductions of a carry are written out up to this extent.
UNROLLED_FOLD = 8

Index = tuple[Expr, ...]


class NotInRegisters(Exception):
    """The loop is not one that registers can hold; it runs as commands."""


class RegisterGraph(KernelGraph):
    """The expressions of a loop kernel, and the values that its carries have at this point.

    `lanes`: the index along the domain of what is computed at the moment. `step`: the slice of the
    inputs that this iteration reads. `own_any`: where a loop stops for each lane on its own, what
    stands for "any lane goes on".
    """

    def __init__(self, domain: tuple[int, ...]) -> None:
        super().__init__(lambda t: t.slot is not None)
        self.domain = domain
        self.lanes: Index = ()
        self.step: Expr | None = None
        self.own_any: Expr | None = None
        self.values: dict[tuple[int, tuple[int, ...]], list[Value]] = {}

    def hold(self, tensor: Tensor, prefix: Index, values: list[Value]) -> None:
        """From here on the tensor's elements behind this prefix of an index are the values."""
        self.values[tensor.id, tuple([i.id for i in prefix])] = values

    def held(self, tensor: Tensor, index: Index) -> Value:
        if self.graph.count > MAX_EXPRESSIONS:
            raise NotInRegisters("the body is too large")
        rank = lane_rank(tensor.shape, self.domain)
        values = self.values.get((tensor.id, tuple([i.id for i in index[:rank]])))
        if values is None:
            raise NotInRegisters("an element reads the carry of other elements")
        at = 0
        for i, n in zip(index[rank:], tensor.shape[rank:], strict=True):
            if i.op != "const":
                raise NotInRegisters("the carry is read at an index that the body computes")
            at = at * n + int(i.data)
        return values[at]

    def _reduce(self, tensor: Tensor, index: Index) -> Value:
        try:
            return super()._reduce(tensor, index)
        except NotInRegisters:
            fold = tensor.fold
            assert fold is not None
            if self.own_any is not None and is_any(fold):
                return self.own_any
            if fold.extent > UNROLLED_FOLD:
                raise
        key = ("unrolled", id(fold), tuple([i.id for i in index]))
        results = self._memo.get(key)
        if results is None:
            results = self._memo[key] = unrolled_fold(self, fold, index)
        value: Value = results[tensor.position]
        return value


def lane_rank(shape: Sequence[int], domain: tuple[int, ...]) -> int:
    """How many axes of the shape are those of the domain."""
    return len(domain) if domain and tuple(shape[: len(domain)]) == domain else 0


def rest_indices(graph: Graph, shape: Sequence[int]) -> Iterator[Index]:
    """All indices of a shape, in row-major order."""
    for found in product(*[range(n) for n in shape]):
        yield tuple([graph.index(i) for i in found])


def is_any(fold: Fold) -> bool:
    """Whether the fold asks if any of its elements is true."""
    if len(fold.operands) != 1 or not dtypes.is_bool(fold.operands[0].dtype):
        return False
    graph = Graph()
    a, b = graph.variable("bool"), graph.variable("bool")
    (made,) = fold.combine([a], [b])
    return isinstance(made, Expr) and made.op == "or" and made.args == (a, b)


def unrolled_fold(kernel: RegisterGraph, fold: Fold, index: Index) -> list[Value]:
    """The fold written out, in the order that ir.Reduce states."""
    shape = fold.operands[0].shape
    init = kernel.fold_init(fold)
    lanes: list[Sequence[Value]] = [init] * ir.LANES
    reduced = [shape[a] for a in fold.axes]
    for k, at in enumerate(rest_indices(kernel.graph, reduced)):
        full: list[Any] = [None] * len(shape)
        for axis, i in zip((*fold.kept, *fold.axes), (*index, *at), strict=True):
            full[axis] = i
        elements = [x[tuple(full)] for x in fold.operands]
        lanes[k % ir.LANES] = fold.combine(lanes[k % ir.LANES], elements)
    neutral = is_neutral(kernel, fold, init)
    half = ir.LANES // 2
    while half:
        for j in range(half):
            if not (neutral and lanes[j + half] is init):
                lanes[j] = fold.combine(lanes[j], lanes[j + half])
        half //= 2
    return list(lanes[0] if neutral else fold.combine(init, lanes[0]))


# Operation -> the value that changes nothing it has been combined with before.
NEUTRAL = {"add": 0, "mul": 1, "max": float("-inf"), "min": float("inf"), "or": 0, "xor": 0}


def is_neutral(kernel: RegisterGraph, fold: Fold, init: Sequence[Value]) -> bool:
    """Whether combining with the initial state leaves what has been combined before as it is."""
    if len(init) != 1 or not isinstance(init[0], Expr):
        return False
    graph = Graph()
    a, b = graph.variable(init[0].type), graph.variable(init[0].type)
    (made,) = fold.combine([a], [b])
    if not isinstance(made, Expr) or made.args != (a, b) or made.op not in NEUTRAL:
        return False
    return init[0].is_const(NEUTRAL[made.op])


class LoopBuilder(Builder):
    """Lowers the body of a loop: what it holds must be expressions, inner loops and choices too."""

    def __init__(self, context: Context):
        super().__init__()
        self.context = context
        # Whether the branch that is being lowered is the chosen one; None outside of branches.
        self.is_chosen: Tensor | None = None

    def _command(self, command: Call) -> list[Tensor]:
        raise NotInRegisters(f"the body holds a command: {type(command).__name__}")

    def program(self, jaxpr: Jaxpr, operands: Sequence[Tensor]) -> list[Tensor]:
        return self.lower_jaxpr(run_passes(jaxpr), (), operands)

    def branch(
        self, index: Tensor, branches: Sequence[ClosedJaxpr], operands: Sequence[Tensor],
        outputs: Sequence[Any],
    ) -> list[Tensor]:  # fmt: skip
        """Every branch is computed, and its results selected: nothing in a body has effects."""
        every, outer = [], self.is_chosen
        for k, b in enumerate(branches):
            self.is_chosen = self._choice(index, k, len(branches), outer)
            every.append(self.program(b.jaxpr, operands))
        self.is_chosen = outer
        return [self._chosen(index, column) for column in zip(*every, strict=True)]

    def _choice(self, index: Tensor, k: int, count: int, outer: Tensor | None) -> Tensor:
        def element(which: Value, *rest: Value) -> Value:
            assert isinstance(which, Expr)
            chosen = which <= k if k == 0 else which >= k if k == count - 1 else which.eq(k)
            return chosen & as_expr(rest[0]) if rest else chosen

        return self.elementwise(element, [index, *([outer] if outer else [])], dtypes.bool_)

    def _chosen(self, index: Tensor, cases: Sequence[Tensor]) -> Tensor:
        def element(*at: Expr) -> Value:
            which = index[()]
            assert isinstance(which, Expr)
            value = cases[-1][at]
            for k in reversed(range(len(cases) - 1)):
                value = self.select(which <= k, cases[k][at], value)
            return value

        made = Tensor(self.context, cases[0].shape, cases[0].dtype, "compute", cases, element)
        return made

    def while_loop(
        self, cond: ClosedJaxpr, body: ClosedJaxpr, consts: Sequence[Tensor], init: Sequence[Tensor]
    ) -> list[Tensor]:
        carries = [held_tensor(self.context, x.shape, x.dtype) for x in init]
        n = len(cond.in_avals) - len(init)
        holds = self.program(cond.jaxpr, [*consts[:n], *carries])[0]
        following = self.program(body.jaxpr, [*consts[n:], *carries])
        if self.is_chosen is not None:
            # A loop in a branch that is not chosen might never end.
            both = [holds, self.is_chosen]
            holds = self.elementwise(lambda a, b: as_expr(a) & as_expr(b), both, dtypes.bool_)
        return InnerLoop(self.context, carries, init, following, holds).results()

    def scan(
        self, body: ClosedJaxpr, consts: Sequence[Tensor], init: Sequence[Tensor],
        xs: Sequence[Tensor], length: int, reverse: bool,
    ) -> list[Tensor]:  # fmt: skip
        if xs or len(body.out_avals) > len(init):
            raise NotInRegisters("an inner scan reads or writes slices")
        carries = [held_tensor(self.context, x.shape, x.dtype) for x in init]
        following = self.program(body.jaxpr, [*consts, *carries])

        return InnerLoop(self.context, carries, init, following, length).results()


def as_expr(value: Value) -> Expr:
    assert isinstance(value, Expr)
    return value


def own_condition(tensor: Tensor, domain: tuple[int, ...]) -> Tensor | None:
    """What a condition asks of each lane, if it asks whether any lane goes on."""
    while tensor.fold is not None and is_any(tensor.fold):
        tensor = tensor.fold.operands[0]
    return tensor if domain and tensor.shape == domain else None


def held_tensor(context: Context, shape: Sequence[int], dtype: Any) -> Tensor:
    """A carry: a tensor whose elements the kernel holds."""

    def element(*index: Expr) -> Value:
        kernel = context.kernel
        assert isinstance(kernel, RegisterGraph)
        return kernel.held(made, index)

    made = Tensor(context, shape, dtype, "compute", (), element)
    return made


def carry_variables(graph: Graph, tensors: Sequence[Tensor], sizes: Sequence[int]) -> list[Expr]:
    """New variables for the elements of the tensors, of which sizes[k] are held of the k-th."""
    return [
        graph.variable(element_type(t.dtype))
        for t, n in zip(tensors, sizes, strict=True)
        for _ in range(n * (2 if dtypes.is_complex(t.dtype) else 1))
    ]


def hold_variables(
    kernel: RegisterGraph, tensors: Sequence[Tensor], variables: Sequence[Expr], lanes: Index
) -> None:
    """The tensors' elements that belong to a lane are the variables, in order."""
    start = 0
    for t in tensors:
        count = held_size(kernel, t)
        width = count * (2 if dtypes.is_complex(t.dtype) else 1)
        values = join_parts(variables[start : start + width], [t] * count)
        kernel.hold(t, lanes[: lane_rank(t.shape, kernel.domain)], values)
        start += width


def held_size(kernel: RegisterGraph, tensor: Tensor) -> int:
    """The elements of a carry that one lane holds."""
    size = 1
    for n in tensor.shape[lane_rank(tensor.shape, kernel.domain) :]:
        size *= n
    return size


def lane_elements(kernel: RegisterGraph, tensor: Tensor, lanes: Index) -> list[Value]:
    """The elements of the tensor that belong to a lane."""
    rank = lane_rank(tensor.shape, kernel.domain)
    return [
        tensor[(*lanes[:rank], *rest)] for rest in rest_indices(kernel.graph, tensor.shape[rank:])
    ]


class InnerLoop:
    """A loop inside the body of a loop, as an expression that repeats a function."""

    def __init__(
        self, context: Context, carries: Sequence[Tensor], init: Sequence[Tensor],
        following: Sequence[Tensor], test: Tensor | int,
    ):  # fmt: skip
        self.context, self.carries, self.init = context, carries, init
        # The condition, or the number of steps.
        self.following, self.test = following, test

    def results(self) -> list[Tensor]:
        return [self._result(k, x) for k, x in enumerate(self.carries)]

    def _result(self, k: int, carry: Tensor) -> Tensor:
        def element(*index: Expr) -> Value:
            kernel = self.context.kernel
            assert isinstance(kernel, RegisterGraph)
            rank = lane_rank(carry.shape, kernel.domain)
            if any(i.op != "const" for i in index[rank:]):
                raise NotInRegisters("the result of an inner loop is read at an unknown index")
            if any(i is not lane for i, lane in zip(index[:rank], kernel.lanes, strict=False)):
                raise NotInRegisters("an element reads the inner loop of other elements")
            at = 0
            for i, n in zip(index[rank:], carry.shape[rank:], strict=True):
                at = at * n + int(i.data)
            return self._run(kernel, kernel.lanes)[k][at]

        return Tensor(self.context, carry.shape, carry.dtype, "compute", (), element)

    def _run(self, kernel: RegisterGraph, lanes: Index) -> list[list[Value]]:
        key = ("inner loop", id(self), tuple([i.id for i in lanes]))
        found = kernel._memo.get(key)
        if found is None:
            found = kernel._memo[key] = self._repeat(kernel, lanes)
        return found

    def _repeat(self, kernel: RegisterGraph, lanes: Index) -> list[list[Value]]:
        graph = kernel.graph
        sizes = [held_size(kernel, c) for c in self.carries]
        if sum(sizes) > MAX_STATE:
            raise NotInRegisters("an inner carry is too large")
        count = graph.variable("index")
        variables = carry_variables(graph, self.carries, sizes)
        hold_variables(kernel, self.carries, variables, lanes)
        start = [lane_elements(kernel, x, lanes) for x in self.init]
        # What is known of elements inside holds for this lane's variables only.
        outside_memo, kernel._memo = kernel._memo, dict(kernel._memo)
        test, following = self._step(kernel, lanes, count, variables)
        kernel._memo = outside_memo
        results = repeated(
            graph,
            [count, *variables],
            test,
            [count + 1, *following],
            [graph.index(0), *flatten_parts([v for values in start for v in values])],
        )
        like = [c for c, n in zip(self.carries, sizes, strict=True) for _ in range(n)]
        joined = iter(join_parts(results[1:], like))
        return [[next(joined) for _ in range(n)] for n in sizes]

    def _step(
        self, kernel: RegisterGraph, lanes: Index, count: Expr, variables: Sequence[Expr]
    ) -> tuple[Expr, list[Expr]]:
        """Whether a lane goes on, and what its carry is next."""
        graph, test = kernel.graph, self.test
        own = None if isinstance(test, int) else own_condition(test, kernel.domain)
        outer = kernel.own_any
        if own is not None:
            kernel.own_any = graph.variable("bool")
        following = flatten_parts(
            [v for x in self.following for v in lane_elements(kernel, x, lanes)]
        )
        stand_in, kernel.own_any = kernel.own_any, outer
        if isinstance(test, int):
            return count < graph.index(test), following
        if own is None or stand_in is None:
            return as_expr(test[()]), following
        goes_on = as_expr(own[lanes])
        pairs = zip(following, variables, strict=True)
        return goes_on, [guarded(f, v, goes_on, stand_in) for f, v in pairs]


def guarded(following: Expr, state: Expr, own: Expr, stand_in: Expr) -> Expr:
    """What the state becomes where `own` holds, given that elsewhere it stays what it is.

    A batched loop runs until no lane goes on, and lanes that are done keep their state; then each
    may as well stop on its own. Loops that do anything else with other lanes are refused.
    """
    if following is state:
        return state
    is_guard = following.op == "select" and following.args[2] is state
    if is_guard and following.args[0] is stand_in:
        return guarded(following.args[1], state, own, stand_in)
    if is_guard and following.args[0] is own:
        inner = following.args[1]
        while inner.op == "select" and inner.args[0] in (own, stand_in):
            inner = inner.args[1]
        if not (inner.free | own.free) & stand_in.data:
            return inner
    raise NotInRegisters("a lane's state depends on whether other lanes go on")


def repeated(
    graph: Graph, state: Sequence[Expr], test: Expr, following: Sequence[Expr],
    init: Sequence[Expr],
) -> list[Expr]:  # fmt: skip
    """The state after `while test: state = following`, each lane on its own."""
    bits = sum(v.data for v in state)
    consts = outside(bits, [test, *following])
    cond = as_function(graph, "holds", [*state, *consts], [test])
    step = as_function(graph, "step", [*state, *consts], following)
    return list(graph.iterate(cond, step, init, consts))


def outside(bits: int, results: Sequence[Expr]) -> list[Expr]:
    """The largest expressions in the results that depend on none of the variables."""
    found, seen, todo = [], set(), list(results)
    while todo:
        e = todo.pop()
        if e.id in seen:
            continue
        seen.add(e.id)
        is_code = e.op == "const" and not (e.type == "index" and abs(e.data) > STATIC_LIMIT)
        if is_code or e.op == "var" and e.data & bits:
            continue
        if not e.free & bits:
            found.append(e)
            continue
        if e.op in ("load", "reduce") and not (e.op == "load" and isinstance(e.data, ir.Table)):
            raise NotInRegisters("an inner loop reads memory")
        todo += e.args
    return sorted(found, key=lambda e: e.id)


def as_function(
    graph: Graph, name: str, params: Sequence[Expr], results: Sequence[Expr]
) -> ir.Function:
    """The function of the parameters, expressions of a graph, that gives the results."""
    writer = Writer(graph)
    writer.blocks[0].known = -1
    names = tuple(writer._bind(p) for p in params)
    made = tuple(writer.atom(e) for e in results)
    return ir.Function(name, names, tuple(writer.blocks[0].statements), made)
