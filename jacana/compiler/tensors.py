"""Tensors under compilation: how one element is computed, and where the whole is if stored."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from jacana.core import dtypes
from jacana.kernel import ir
from jacana.kernel.expr import Expr, Graph
from jacana.kernel.math.complex import Complex
from jacana.ops.lowering import Value


@functools.cache
def element_type(dtype: Any) -> str:
    """The kernel type of an element's parts: a complex element is two parts."""
    if dtypes.is_complex(dtype):
        return "float32" if dtype.itemsize == 8 else "float64"
    name = str(dtypes.storage_dtype(dtype))
    if name not in ir.TYPES:
        raise NotImplementedError(f"computing with dtype {dtype} is not supported yet")
    return name


class Tensor:
    """An array of the program. `slot` is its buffer in the frame once it is stored.

    kind: "stored" (input, constant, result of a command), "map" (reads its operands at its own
    index), "view" (one operand, at another index), "reduce" (one result of a Fold), "compute".
    """

    __slots__ = (
        "context", "shape", "dtype", "kind", "reads", "element", "own_cost", "id", "slot", "fold",
        "position", "axes", "size", "total_cost",
    )  # fmt: skip

    def __init__(
        self,
        context: "Context",
        shape: Sequence[int],
        dtype: Any,
        kind: str,
        reads: Sequence["Tensor"] = (),
        element: Callable[..., Value] | None = None,
        own_cost: float = 1.0,
    ):
        self.context, self.shape, self.dtype = context, tuple(shape), dtype
        self.kind, self.reads, self.element = kind, tuple(reads), element
        self.own_cost = own_cost
        self.id = context.register(self)
        self.slot: int | None = None
        # For a result of a reduction: which reduction, and which of its results.
        self.fold: Fold | None = None
        self.position = 0
        # For a view: per axis of the operand, the bit set of this tensor's axes it is read by.
        self.axes: tuple[int, ...] = ()
        self.size = math.prod(self.shape)
        # What computing one element from stored tensors costs. An operand that is read by several
        # elements is computed in an outer loop, once for all of them.
        shares = [r.total_cost * min(1.0, r.size / max(self.size, 1)) for r in self.reads]
        self.total_cost: float = min(own_cost + sum(shares), 1e15)
        if kind == "stored":
            self.total_cost = 0.0

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, index: Any) -> Value:
        kernel = self.context.kernel
        assert kernel is not None, "elements are read while a kernel is written"
        if not isinstance(index, tuple | list):
            index = (index,)
        graph = kernel.graph
        exprs = tuple([i if isinstance(i, Expr) else graph.index(i) for i in index])
        if len(exprs) != len(self.shape):
            raise IndexError(f"{len(exprs)} indices for a tensor of shape {self.shape}")
        return kernel.read(self, exprs)


def nbytes(tensor: Tensor) -> int:
    """The bytes of a tensor that is stored."""
    return tensor.size * int(tensor.dtype.itemsize)


class Fold:
    """One joint reduction; its results are Tensors of kind "reduce"."""

    __slots__ = ("operands", "axes", "kept", "combine", "init", "extent")

    def __init__(
        self,
        operands: Sequence[Tensor],
        axes: Sequence[int],
        combine: Callable[[Sequence[Value], Sequence[Value]], Sequence[Value]],
        init: Sequence[Any],
    ):
        self.operands, self.axes = tuple(operands), tuple(axes)
        shape = operands[0].shape
        self.kept = tuple(i for i in range(len(shape)) if i not in self.axes)
        self.combine, self.init = combine, tuple(init)
        self.extent = 1
        for a in self.axes:
            self.extent *= shape[a]


class Context:
    """All tensors of one program under compilation, and the kernel being written at the moment."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.slots: list[Tensor] = []
        self.kernel: KernelGraph | None = None

    def add_slot(self, tensor: Tensor) -> int:
        """A buffer of the frame for the tensor."""
        self.slots.append(tensor)
        return len(self.slots) - 1

    def register(self, tensor: Tensor) -> int:
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def scratch(self) -> "KernelGraph":
        """A kernel that is not written, to look at expressions in."""
        return KernelGraph(lambda tensor: True)


class KernelGraph:
    """The expressions of one kernel: what tensors are read at which index, each once."""

    def __init__(self, stored: Callable[[Tensor], bool]):
        self.graph = Graph()
        self.is_stored = stored
        self.buffers: list[ir.Buffer] = []
        self.slots: list[int] = []
        self._buffer_of: dict[int, ir.Buffer] = {}
        self._memo: dict[Any, Any] = {}

    def buffer(self, tensor: Tensor, written: bool = False) -> ir.Buffer:
        """The kernel's buffer for a stored tensor."""
        assert tensor.slot is not None
        found = self._buffer_of.get(tensor.slot)
        if found is None:
            found = ir.Buffer(len(self.buffers), element_type(tensor.dtype), written)
            self._buffer_of[tensor.slot] = found
            self.buffers.append(found)
            self.slots.append(tensor.slot)
        return found

    def read(self, tensor: Tensor, index: tuple[Expr, ...]) -> Value:
        """The tensor's element at an index: a load if it is stored, else what it is made of."""
        ids = tuple([i.id for i in index])
        key = (tensor.id, ids)
        found = self._memo.get(key)
        if found is None:
            # A long chain of maps is evaluated from its beginning, not by recursion.
            for t in self._pending(tensor, ids):
                self._memo[(t.id, ids)] = self._evaluate(t, index)
            found = self._memo[key]
        return found  # type: ignore[no-any-return]

    def _pending(self, tensor: Tensor, ids: tuple[int, ...]) -> list[Tensor]:
        pending, todo, seen = [], [tensor], {tensor.id}
        while todo:
            t = todo.pop()
            pending.append(t)
            if t.kind != "map" or (t is not tensor and self.is_stored(t)):
                continue
            for r in t.reads:
                if (
                    r.kind == "map" and r.shape == t.shape and r.id not in seen
                    and not self.is_stored(r) and (r.id, ids) not in self._memo
                ):  # fmt: skip
                    seen.add(r.id)
                    todo.append(r)
        pending.sort(key=lambda t: t.id)
        return pending

    def _evaluate(self, tensor: Tensor, index: tuple[Expr, ...]) -> Value:
        if tensor.size == 0:
            return self._zero(tensor.dtype)
        if self.is_stored(tensor):
            return self.load(self.buffer(tensor), tensor, index)
        if tensor.kind == "reduce":
            return self._reduce(tensor, index)
        assert tensor.element is not None
        return tensor.element(*index)

    def compute(self, tensor: Tensor, index: tuple[Expr, ...]) -> Value:
        """The element computed from operands even though the tensor is stored (to store it)."""
        ids = tuple([i.id for i in index])
        if tensor.kind == "reduce":
            return self._reduce(tensor, index)
        for t in self._pending(tensor, ids):
            if t is not tensor and (t.id, ids) not in self._memo:
                self._memo[(t.id, ids)] = self._evaluate(t, index)
        assert tensor.element is not None
        return tensor.element(*index)

    def _zero(self, dtype: Any) -> Value:
        zero = self.graph.const(0, element_type(dtype))
        return Complex(zero, zero) if dtypes.is_complex(dtype) else zero

    def load(self, buffer: ir.Buffer, tensor: Tensor, index: Sequence[Expr]) -> Value:
        at = linear_index(self.graph, index, tensor.shape)
        if dtypes.is_complex(tensor.dtype):
            at = at * 2
            return Complex(self.graph.load(buffer, at), self.graph.load(buffer, at + 1))
        return self.graph.load(buffer, at)

    def _reduce(self, tensor: Tensor, index: tuple[Expr, ...]) -> Value:
        fold = tensor.fold
        assert fold is not None
        key = ("fold", id(fold), tuple([i.id for i in index]))
        results = self._memo.get(key)
        if results is None:
            results = self._memo[key] = self.write_fold(fold, index, None)
        value: Value = results[tensor.position]
        return value

    def remember(self, tensor: Tensor, index: tuple[Expr, ...], value: Value) -> None:
        """From here on the tensor's element at this index is known to be the value."""
        self._memo[(tensor.id, tuple([i.id for i in index]))] = value

    def fold_init(self, fold: Fold) -> list[Value]:
        pairs = zip(fold.init, fold.operands, strict=True)
        return [constant(self.graph, v, x.dtype) for v, x in pairs]

    def write_fold(
        self, fold: Fold, index: tuple[Expr, ...], chunk: tuple[Expr, Expr] | None
    ) -> list[Value]:
        """The fold at an output index; with `chunk` = (first, count), of those iterations only."""
        graph, shape = self.graph, fold.operands[0].shape
        start, extent = chunk if chunk else (None, graph.index(fold.extent))

        def elements(k: Expr) -> list[Expr]:
            at = k if start is None else start + k
            full: list[Any] = [None] * len(shape)
            for axis, i in zip(fold.kept, index, strict=True):
                full[axis] = i
            reduced = [shape[a] for a in fold.axes]
            for axis, i in zip(fold.axes, split_index(at, reduced), strict=True):
                full[axis] = i
            return flatten_parts([x[tuple(full)] for x in fold.operands])

        def combine(left: Sequence[Expr], right: Sequence[Expr]) -> list[Expr]:
            joined = join_parts(left, fold.operands), join_parts(right, fold.operands)
            return flatten_parts(fold.combine(*joined))

        init = flatten_parts(self.fold_init(fold))
        return join_parts(graph.reduce(extent, elements, combine, init), fold.operands)


def constant(graph: Graph, value: Any, dtype: Any) -> Value:
    if isinstance(value, Expr | Complex):
        return value
    type_ = element_type(dtype)
    if dtypes.is_complex(dtype):
        value = complex(value)
        return Complex(graph.const(value.real, type_), graph.const(value.imag, type_))
    return graph.const(value, type_)


def flatten_parts(values: Sequence[Value]) -> list[Expr]:
    """Real expressions of which the values consist."""
    parts: list[Expr] = []
    for v in values:
        parts += [v.re, v.im] if isinstance(v, Complex) else [v]
    return parts


def join_parts(parts: Sequence[Expr], like: Sequence[Tensor]) -> list[Value]:
    """The inverse of flatten_parts, for values of the dtypes of `like`."""
    values: list[Value] = []
    rest = list(parts)
    for x in like:
        if dtypes.is_complex(x.dtype):
            values.append(Complex(rest[0], rest[1]))
            del rest[:2]
        else:
            values.append(rest.pop(0))
    return values


def linear_index(graph: Graph, index: Sequence[Expr], shape: Sequence[int]) -> Expr:
    """The row-major position of an index; undoes `split_index` where it can."""
    at, extent = graph.index(0), 1
    joined: list[tuple[Expr, int]] = []
    for i, n in zip(index, shape, strict=True):
        joined.append((i, n))
        while len(joined) > 1:
            merged = _merge(joined[-2][0], joined[-1][0], joined[-1][1])
            if merged is None:
                break
            joined[-2:] = [(merged, joined[-2][1] * joined[-1][1])]
    for i, n in reversed(joined):
        at = at + i * extent
        extent *= n
    return at


def _merge(high: Expr, low: Expr, extent: int) -> Expr | None:
    """high * extent + low, if it is simpler than its parts."""
    if low.op == "rem" and low.args[1].is_const(extent):
        whole = low.args[0]
        if high.op == "div" and high.args[0] is whole and high.args[1].is_const(extent):
            return whole
        if high.op == "rem" and high.args[0].op == "div" and high.args[1].op == "const":
            inner = high.args[0]
            if inner.args[0] is whole and inner.args[1].is_const(extent):
                return whole % int(extent * high.args[1].data)
        if high.op == "add":
            # Of `first + whole`, where whole rows come first.
            for rows, rest in (high.args, high.args[::-1]):
                if rest.op == "div" and rest.args[0] is whole and rest.args[1].is_const(extent):
                    return rows * extent + whole
    return None


def split_index(at: Expr, shape: Sequence[int]) -> list[Expr]:
    """The index of the row-major position `at` in an array of the shape."""
    index: list[Expr] = []
    for axis in range(len(shape) - 1, 0, -1):
        n = shape[axis]
        index.append(at % n)
        at = at / n
    if shape:
        index.append(at)
    return index[::-1]
