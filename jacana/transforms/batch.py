"""Batch: a trace whose values may have one more axis than the program sees."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from jacana.core.avals import AbstractRef, ShapedArray
from jacana.core.jaxpr import ClosedJaxpr, Jaxpr
from jacana.core.primitive import Primitive
from jacana.core.source import Source
from jacana.core.stage import BlockTrace
from jacana.core.trace import RefTracer, Trace, Tracer, base_trace, current, swap_current
from jacana.core.values import aval_of, is_ref
from jacana.ops.families import move_axis, spread_axis
from jacana.transforms.derived import (
    Cache,
    Runner,
    closed,
    evaluated,
    kept,
    one_equation,
)


class BatchTracer(Tracer):
    """A value with a batch axis that its aval does not show."""

    __slots__ = ("value", "axis")

    def __init__(self, trace: "BatchTrace", value: Any, axis: int, aval: ShapedArray | None = None):
        self._trace, self.value, self.axis = trace, value, axis
        self.aval = without_axis(aval_of(value), axis) if aval is None else aval

    def origin(self) -> Source | None:
        return self.value.origin() if isinstance(self.value, Tracer) else None


class BatchedRef(RefTracer):
    """A reference in vmapped code: one to the whole batch, whose axis its type does not show."""

    __slots__ = ("value", "axis")

    def __init__(self, trace: "BatchTrace", value: Any, axis: int):
        self._trace, self.value, self.axis = trace, value, axis
        self.aval: Any = AbstractRef(without_axis(value.aval.inner_aval, axis))


def tracer_of(trace: "BatchTrace", value: Any, axis: int) -> Tracer:
    """An argument of vmapped code."""
    return (BatchedRef if is_ref(value) else BatchTracer)(trace, value, axis)


def without_axis(aval: ShapedArray, axis: int) -> ShapedArray:
    """The aval of one example of a batch."""
    return aval.update(shape=aval.shape[:axis] + aval.shape[axis + 1 :])


class BatchTrace(Trace):
    """Applies batching rules; batched values are computed by the parent trace."""

    __slots__ = ("parent", "size", "axis_name")

    def __init__(self, parent: Trace, size: int, axis_name: Any = None):
        super().__init__()
        self.parent, self.size, self.axis_name = parent, size, axis_name

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        values, axes = self.split(args)
        if not self.concerns(primitive, axes, params):
            return self.parent.process(primitive, args, params)
        previous = swap_current(self.parent)
        try:
            if primitive.batch_rule is not None:
                out, out_axes = primitive.batch_rule(self, values, axes, params)
            else:
                out, out_axes = primitive.batch(self.size, values, axes, **params)
        finally:
            swap_current(previous)
        if not primitive.multiple_results:
            return out if out_axes is None else BatchTracer(self, out, out_axes)
        if out_axes is None or isinstance(out_axes, int):
            out_axes = [out_axes] * len(out)
        return [
            o if a is None else BatchTracer(self, o, a) for o, a in zip(out, out_axes, strict=True)
        ]

    def concerns(
        self, primitive: Primitive, axes: Sequence[int | None], params: dict[str, Any]
    ) -> bool:
        """Whether an operand is batched, or the operation is one between examples."""
        for a in axes:
            if a is not None:
                return True
        return self.axis_name is not None and self.axis_name in primitive.axis_names(params)

    def split(self, args: Sequence[Any]) -> tuple[list[Any], list[int | None]]:
        """Values and their batch axes (None: unbatched)."""
        values: list[Any] = []
        axes: list[int | None] = []
        for x in args:
            if type(x) is BatchTracer and x._trace is self:
                values.append(x.value)
                axes.append(x.axis)
            else:
                values.append(x)
                axes.append(None)
        return values, axes


def batch(
    function: Callable[..., Sequence[Any]],
    size: int,
    args: Sequence[Any],
    axes: Sequence[int | None],
    axis_name: Any = None,
) -> tuple[list[Any], list[int | None]]:
    """Outputs of a flat function on batched arguments, and their batch axes (None: unbatched)."""
    parent = current()
    kind = EagerBatchTrace if parent is base_trace else BatchTrace
    trace = kind(parent, size, axis_name)
    tracers = [x if a is None else tracer_of(trace, x, a) for x, a in zip(args, axes, strict=True)]
    previous = swap_current(trace)
    try:
        outs = function(*tracers)
    finally:
        swap_current(previous)
        trace.alive = False
    values: list[Any] = []
    out_axes: list[int | None] = []
    for o in outs:
        mine = type(o) is BatchTracer and o._trace is trace
        values.append(o.value if mine else o)
        out_axes.append(o.axis if mine else None)
    return values, out_axes


def to_axis(value: Any, axis: int | None, wanted: int | None, size: int) -> Any:
    """A batched (or unbatched) value with its batch axis at `wanted`."""
    if axis is None:
        return value if wanted is None else move_axis(spread_axis(value, size), 0, wanted)
    assert wanted is not None
    return move_axis(value, axis, wanted % np.ndim(value) if wanted < 0 else wanted)


def named_axes() -> Iterator[tuple[Any, int]]:
    """Names and sizes of the axes that the current trace is inside of, innermost first."""
    trace: Trace | None = current()
    while trace is not None:
        if isinstance(trace, BatchTrace) and trace.axis_name is not None:
            yield trace.axis_name, trace.size
        elif isinstance(trace, BlockTrace):
            yield from trace.axes.items()
        trace = getattr(trace, "parent", None)


def is_checked(name: Any) -> bool:
    """Whether types say which values vary over a named axis."""
    trace: Trace | None = current()
    while trace is not None:
        if isinstance(trace, BatchTrace) and trace.axis_name == name:
            return False
        if isinstance(trace, BlockTrace) and name in trace.axes:
            return trace.checked
        trace = getattr(trace, "parent", None)
    return False


def axis_size(name: Any) -> int:
    """The size of a named axis; NameError if there is none of that name."""
    for known, size in named_axes():
        if known == name:
            return size
    raise NameError(
        f"unbound axis name: {name}. The following axis names are available: "
        f"{[n for n, _ in named_axes()]}. Give vmap the axis_name, or shard_map a mesh that has it."
    )


def batch_program(
    jaxpr: Jaxpr, size: int, axes: tuple[int | None, ...], axis_name: Any
) -> tuple[ClosedJaxpr, list[int | None]]:
    """The batched program and the batch axes of its outputs."""

    def make() -> tuple[ClosedJaxpr, list[int | None]]:
        out_axes: list[int | None] = []

        def run(*args: Any) -> list[Any]:
            outs, found = batch(evaluated(jaxpr), size, args, axes, axis_name)
            out_axes[:] = [None if a is None else 0 for a in found]
            return [
                to_axis(o, a, None if a is None else 0, size)
                for o, a in zip(outs, found, strict=True)
            ]

        avals = [with_axis(v, size, a) for v, a in zip(jaxpr.in_avals, axes, strict=True)]
        return closed(run, avals), out_axes

    return kept(jaxpr, ("batch", size, axes, axis_name), make)


def batch_program_to(
    jaxpr: Jaxpr, size: int, axes: tuple[int | None, ...], axis_name: Any, wanted: tuple[bool, ...]
) -> ClosedJaxpr:
    """The batched program, with the batch axis first in the wanted outputs and in no others."""

    def run(*args: Any) -> list[Any]:
        outs, found = batch(evaluated(jaxpr), size, args, axes, axis_name)
        return [
            to_axis(o, a, 0, size) if w else o for o, a, w in zip(outs, found, wanted, strict=True)
        ]

    avals = [with_axis(v, size, a) for v, a in zip(jaxpr.in_avals, axes, strict=True)]
    return kept(jaxpr, ("batch to", size, axes, axis_name, wanted), lambda: closed(run, avals))


def with_axis(aval: ShapedArray, size: int, axis: int | None) -> ShapedArray:
    """The aval of a batch of values."""
    if axis is None:
        return aval
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))


# --- un-jitted code ---


class BatchedOperation:
    """One operation on batches of certain types, as a program that runs at once."""

    __slots__ = ("avals", "axes", "run")

    def __init__(
        self,
        primitive: Primitive,
        avals: tuple[ShapedArray, ...],
        params: dict[str, Any],
        how: tuple[int, Any, tuple[int | None, ...]],
    ):
        size, axis_name, axes = how
        jaxpr = one_equation(primitive, avals, params)
        self.avals = jaxpr.out_avals
        self.axes: list[int | None] = []

        def run(*args: Any) -> list[Any]:
            outs, self.axes = batch(evaluated(jaxpr), size, args, axes, axis_name)
            return outs

        self.run = Runner(closed(run, [with_axis(v, size, a) for v, a in zip(avals, axes)]))


batched_operations = Cache(BatchedOperation)


class EagerBatchTrace(BatchTrace):
    """Batching of un-jitted code."""

    __slots__ = ()

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        values, axes = self.split(args)
        if not self.concerns(primitive, axes, params):
            return base_trace.process(primitive, args, params)
        avals = tuple([aval_of(x) for x in args])
        axis_name = self.axis_name
        how = batched_operations.get(primitive, avals, params, (self.size, axis_name, tuple(axes)))
        results = [
            out if axis is None else BatchTracer(self, out, axis, aval)
            for out, axis, aval in zip(how.run(values), how.axes, how.avals)
        ]
        return results if primitive.multiple_results else results[0]
