"""Folds with any operator: `reduce` and `reduce_window` with a program that combines scalars.

Elements are combined from the left in row-major order, beginning with the initial values.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from jacana import ops
from jacana.core.avals import ShapedArray
from jacana.core.evaluate import evaluate_closed
from jacana.core.jaxpr import ClosedJaxpr
from jacana.core.primitive import Inapplicable, Primitive
from jacana.kernel.build import Writer
from jacana.ops.families import align_batch, not_linear
from jacana.ops.indexing import nested_loops
from jacana.ops.lowering import Build, Output, Tensor, Value
from jacana.ops.params import WithDefaults
from jacana.ops.reduction import check_axes, without_axes
from jacana.ops.windows import DILATIONS, Windows, check_windows

Axes = tuple[int, ...]


def combined(build: Build, jaxpr: ClosedJaxpr, values: Sequence[Value], like: Sequence[Any]) -> Any:
    """The scalars that the program makes of scalars of the dtypes of `like` (twice over)."""
    operands = [
        build.compute((), x.dtype, lambda v=v: v) for v, x in zip(values, (*like, *like))
    ]  # fmt: skip
    return [out[()] for out in build.call(jaxpr, operands)]


def check_operands(name: str, operands: Sequence[ShapedArray], jaxpr: ClosedJaxpr) -> int:
    """Half the number of operands: values, then initial values."""
    n = len(operands) // 2
    values, inits = operands[:n], operands[n:]
    if len(values) != len(inits) or not values or any(x.shape != values[0].shape for x in values):
        raise ValueError(
            f"{name} needs operands of one shape and an initial value for each, got "
            f"{', '.join(map(str, operands))}."
        )
    if any(x.dtype != i.dtype for x, i in zip(values, inits)):
        raise TypeError(
            f"{name} needs initial values of its operands' dtypes, got "
            f"{', '.join(map(str, operands))}."
        )
    made = [(a.shape, a.dtype) for a in jaxpr.out_avals]
    if made != [((), x.dtype) for x in values]:
        raise TypeError(
            f"{name} needs a computation that gives scalars of its operands' dtypes, got "
            f"{', '.join(map(str, jaxpr.out_avals))} for {', '.join(map(str, values))}."
        )
    return n


own_operator = Inapplicable(
    "a fold by an operator of your own; use one of the reductions by add, mul, max or min"
)


class Reduce(Primitive):
    """Operands folded over `dimensions` by `jaxpr`, from an initial value for each.

    An initial value is a scalar, or has the output's shape.
    """

    name = "reduce"
    multiple_results = True
    jvp = own_operator
    transpose = not_linear

    def type_rule(
        self, *operands: ShapedArray, dimensions: Axes, jaxpr: ClosedJaxpr
    ) -> tuple[ShapedArray, ...]:
        n = check_operands(self.name, operands, jaxpr)
        check_axes(self.name, operands[0], dimensions)
        shape = without_axes(operands[0].shape, dimensions)
        if any(i.shape not in ((), shape) for i in operands[n:]):
            raise ValueError(f"reduce needs scalars as initial values, got {operands[n:]}.")
        return tuple(ShapedArray(shape, x.dtype) for x in operands[:n])

    def reference(self, *operands: Any, dimensions: Axes, jaxpr: ClosedJaxpr) -> list[Any]:
        n = len(operands) // 2
        values = [np.asarray(x) for x in operands[:n]]
        kept = [a for a in range(values[0].ndim) if a not in dimensions]
        shape = tuple(values[0].shape[a] for a in kept)
        rows = [np.transpose(x, (*kept, *dimensions)).reshape(*shape, -1) for x in values]
        state = [np.array(np.broadcast_to(i, shape), x.dtype) for i, x in zip(operands[n:], values)]
        for at in np.ndindex(shape):
            for k in range(rows[0].shape[-1]):
                left, right = [s[at] for s in state], [r[(*at, k)] for r in rows]
                for s, v in zip(state, evaluate_closed(jaxpr, *left, *right)):
                    s[at] = v
        return state

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], *,
        dimensions: Axes, jaxpr: ClosedJaxpr,
    ) -> tuple[list[Any], list[int]]:  # fmt: skip
        n = len(operands) // 2
        values = align_batch(size, operands[:n], axes[:n])
        moved = tuple(d + 1 for d in dimensions)
        shape = without_axes(np.shape(values[0]), moved)
        inits = [
            i if a is None and np.ndim(i) == 0 else _spread(size, i, a, shape)
            for i, a in zip(operands[n:], axes[n:])
        ]
        return list(self(*values, *inits, dimensions=moved, jaxpr=jaxpr)), [0] * n

    def lower(
        self, build: Build, *operands: Tensor, dimensions: Axes, jaxpr: ClosedJaxpr
    ) -> list[Tensor]:
        n = len(operands) // 2
        full = operands[0].shape
        kept = [a for a in range(len(full)) if a not in dimensions]
        shape = [full[a] for a in kept]

        def body(writer: Writer, outs: Sequence[Output], ins: Sequence[Tensor]) -> None:
            with nested_loops(writer, build, shape, grid=True, vector=False) as i:
                for out, init in zip(outs, ins[n:]):
                    out.store(i, init[i if init.shape else ()])
                extents = [full[a] for a in dimensions]
                if 0 in extents:
                    return
                with nested_loops(writer, build, extents, vector=False) as k:
                    at = dict(zip(kept, i)) | dict(zip(dimensions, k))
                    index = [at[a] for a in range(len(full))]
                    state = [out.load(i) for out in outs]
                    elements = [x[index] for x in ins[:n]]
                    made = combined(build, jaxpr, [*state, *elements], outs)
                    for out, value in zip(outs, made):
                        out.store(i, value)

        return build.loops([(shape, x.dtype) for x in operands[:n]], operands, body)


def _spread(size: int, init: Any, axis: int | None, shape: Sequence[int]) -> Any:
    """An initial value that differs within the batch, in the shape of the batched output."""
    init = align_batch(size, [init], [axis])[0]
    if np.shape(init) == tuple(shape):
        return init
    return ops.broadcast_in_dim(init, shape=tuple(shape), broadcast_dimensions=(0,))


class ReduceWindowGeneral(WithDefaults):
    """Each window of the operands folded by `jaxpr`; places outside are left out."""

    name = "reduce_window"
    multiple_results = True
    jvp = own_operator
    transpose = not_linear
    defaults = {**DILATIONS, "consts": ()}

    def __call__(self, *args: Any, **params: Any) -> Any:
        return super().__call__(*args, **{**params, **Windows.of(params).params()})

    def type_rule(
        self, *operands: ShapedArray, jaxpr: ClosedJaxpr, consts: tuple[Any, ...] = (),
        **params: Any,
    ) -> tuple[ShapedArray, ...]:  # fmt: skip
        n = check_operands(self.name, operands, jaxpr)
        windows = Windows.of(params)
        check_windows(self.name, operands[0].shape, windows)
        if any(i.shape for i in operands[n:]):
            raise TypeError(f"reduce_window needs scalars as initial values, got {operands[n:]}.")
        shape = windows.counts(operands[0].shape)
        return tuple(ShapedArray(shape, x.dtype) for x in operands[:n])

    def reference(
        self, *operands: Any, jaxpr: ClosedJaxpr, consts: tuple[Any, ...] = (), **params: Any
    ) -> list[Any]:
        n = len(operands) // 2
        windows = Windows.of(params)
        arrays = [np.asarray(x) for x in operands[:n]]
        shape = windows.counts(arrays[0].shape)
        inside = windows.reference(np.ones(arrays[0].shape, bool), False).reshape(*shape, -1)
        rows = [windows.reference(x, 0).reshape(*shape, -1) for x in arrays]
        state = [np.full(shape, i, x.dtype) for x, i in zip(arrays, operands[n:])]
        for at in np.ndindex(shape):
            for k in np.flatnonzero(inside[at]):
                left, right = [s[at] for s in state], [r[(*at, k)] for r in rows]
                for s, v in zip(state, evaluate_closed(jaxpr, *left, *right)):
                    s[at] = v
        return state

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], *,
        jaxpr: ClosedJaxpr, consts: tuple[Any, ...] = (), **params: Any,
    ) -> tuple[list[Any], list[int]]:  # fmt: skip
        n = len(operands) // 2
        if any(a is not None for a in axes[n:]):
            raise NotImplementedError("vmap of reduce_window over its initial values.")
        values = align_batch(size, operands[:n], axes[:n])
        windows = Windows.of(params).with_batch_axis()
        return list(self(*values, *operands[n:], jaxpr=jaxpr, **windows.params())), [0] * n

    def lower(
        self, build: Build, *operands: Tensor, jaxpr: ClosedJaxpr, consts: tuple[Any, ...] = (),
        **params: Any,
    ) -> list[Tensor]:  # fmt: skip
        n, full = len(operands) // 2, operands[0].shape
        windows = Windows.of(params)
        shape = windows.counts(full)

        def body(writer: Writer, outs: Sequence[Output], ins: Sequence[Tensor]) -> None:
            with nested_loops(writer, build, shape, grid=True, vector=False) as i:
                for out, init in zip(outs, ins[n:]):
                    out.store(i, init[()])
                if 0 in full:
                    return
                with nested_loops(writer, build, windows.dimensions, vector=False) as k:
                    index, inside = windows.position(full, i, k)
                    with ExitStack() as stack:
                        if inside is not None:
                            stack.enter_context(writer.when(inside))
                        state = [out.load(i) for out in outs]
                        made = combined(build, jaxpr, [*state, *(x[index] for x in ins[:n])], outs)
                        for out, value in zip(outs, made):
                            out.store(i, value)

        return build.loops([(shape, x.dtype) for x in operands[:n]], operands, body)


reduce = Reduce()
reduce_window = ReduceWindowGeneral()
