"""Stacking: arrays along a new axis, the slices along an axis, and an array side by side."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core.avals import ShapedArray
from jacana.core.dimensions import Dimensions, merged, without_dimensions
from jacana.core.primitive import Primitive
from jacana.kernel.expr import Expr
from jacana.ops.families import LinearMap, align_batch, is_linear, move_axis
from jacana.ops.joining import joined
from jacana.ops.lowering import Build, Index, Tensor
from jacana.ops.shape import reshape_to, zero_of, zeros

Shape = tuple[int, ...]


def with_axis(x: Any, axis: int) -> Any:
    """x with a new axis of extent 1."""
    shape = np.shape(x)
    kept = tuple(a + (a >= axis) for a in range(len(shape)))
    return ops.broadcast_in_dim(
        x, shape=(*shape[:axis], 1, *shape[axis:]), broadcast_dimensions=kept
    )  # fmt: skip


class Stack(Primitive):
    """The operands, of one type, along a new axis."""

    joins = True

    name = "stack"

    def type_rule(self, *xs: ShapedArray, axis: int) -> ShapedArray:
        found = ", ".join(map(str, xs))
        if not xs or any(x.shape != xs[0].shape or x.dtype != xs[0].dtype for x in xs):
            raise TypeError(f"stack needs operands of one shape and dtype, got {found or 'none'}.")
        shape = xs[0].shape
        if not 0 <= axis <= len(shape):
            raise ValueError(f"stack needs a place for an axis in {xs[0]}, got axis={axis}.")
        weak = all(x.weak_type for x in xs)
        return ShapedArray((*shape[:axis], len(xs), *shape[axis:]), xs[0].dtype, weak)

    def reference(self, *xs: Any, axis: int) -> Any:
        return np.stack(xs, axis)

    def jvp(self, i: int, t: Any, out: Any, *xs: Any, axis: int) -> Any:
        if len(xs) == 1:
            return with_axis(t, axis)
        config = [(0, 0, 0)] * len(np.shape(out))
        config[axis] = (i, len(xs) - 1 - i, 0)
        return ops.pad(with_axis(t, axis), zero_of(t), padding_config=tuple(config))

    def transpose(self, ct: Any, *xs: Any, axis: int) -> list[Any]:
        pieces = ops.unstack(ct, axis=axis)
        return [p if is_linear(x) else None for p, x in zip(pieces, xs, strict=True)]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], *, axis: int
    ) -> tuple[Any, int]:
        return self(*align_batch(size, operands, axes), axis=axis + 1), 0

    def lower(self, build: Build, *xs: Tensor, axis: int) -> Tensor:
        def index(*i: Expr) -> Index:
            return [*i[:axis], *i[axis + 1 :]]

        shape = (*xs[0].shape[:axis], 1, *xs[0].shape[axis:])
        return joined(build, [build.view(x, shape, index) for x in xs], axis)

    def spec_rule(
        self, specs: Sequence[Dimensions], avals: Any, outs: Any, params: dict[str, Any]
    ) -> list[Dimensions]:
        axis, one = params["axis"], merged(specs)
        return [(*one[:axis], (), *one[axis:])]


class Unstack(Primitive):
    """The slices along an axis, without it."""

    joins = True

    name = "unstack"
    multiple_results = True

    def type_rule(self, x: ShapedArray, *, axis: int) -> tuple[ShapedArray, ...]:
        if not 0 <= axis < x.ndim:
            raise ValueError(f"unstack needs an axis of its operand, got axis={axis} for {x}.")
        shape = (*x.shape[:axis], *x.shape[axis + 1 :])
        return (ShapedArray(shape, x.dtype, x.weak_type),) * x.shape[axis]

    def reference(self, x: Any, *, axis: int) -> list[Any]:
        return [v.copy() for v in np.moveaxis(np.asarray(x), axis, 0)]

    def jvp(self, i: int, t: Any, outs: Sequence[Any], x: Any, *, axis: int) -> list[Any]:
        return list(self(t, axis=axis))

    def transpose(self, cts: Sequence[Any], x: Any, *, axis: int) -> list[Any]:
        shape = (*x.shape[:axis], *x.shape[axis + 1 :])
        if not cts:
            return [zeros(x.shape, x.dtype)]
        pieces = [zeros(shape, x.dtype) if ct is None else ct for ct in cts]
        return [ops.stack(*pieces, axis=axis)]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[Any], *, axis: int
    ) -> tuple[list[Any], list[int]]:
        x = move_axis(operands[0], axes[0], 0)
        return list(self(x, axis=axis + 1)), [0] * np.shape(x)[axis + 1]

    def lower(self, build: Build, x: Tensor, *, axis: int) -> list[Tensor]:
        shape = (*x.shape[:axis], *x.shape[axis + 1 :])

        def piece(k: int) -> Tensor:
            return build.view(x, shape, lambda *i: [*i[:axis], k, *i[axis:]])

        return [piece(k) for k in range(x.shape[axis])]

    def spec_rule(
        self, specs: Sequence[Dimensions], avals: Any, outs: Any, params: dict[str, Any]
    ) -> list[Dimensions]:
        return [without_dimensions(specs[0], (params["axis"],))] * len(outs)


class Tile(LinearMap):
    """x repeated reps[k] times along each axis k."""

    joins = True

    name = "tile"

    def type_rule(self, x: ShapedArray, *, reps: Shape) -> ShapedArray:
        if len(reps) != x.ndim or any(r < 0 for r in reps):
            raise ValueError(f"tile needs one count for each axis of {x}, got reps={reps}.")
        return ShapedArray(tiled(x.shape, reps), x.dtype, x.weak_type)

    def reference(self, x: Any, *, reps: Shape) -> Any:
        return np.tile(x, reps)

    def transpose(self, ct: Any, x: Any, *, reps: Shape) -> list[Any]:
        apart = tuple(n for pair in zip(reps, x.shape) for n in pair)
        ct = reshape_to(ct, apart)
        return [ops.reduce_sum(ct, axes=tuple(range(0, len(apart), 2)))]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], *, reps: Shape
    ) -> tuple[Any, int]:
        return self(align_batch(size, operands, axes)[0], reps=(1, *reps)), 0

    def lower(self, build: Build, x: Tensor, *, reps: Shape) -> Tensor:
        def index(*i: Expr) -> Index:
            return [k if r == 1 or n == 0 else k % n for k, r, n in zip(i, reps, x.shape)]

        return build.view(x, tiled(x.shape, reps), index)


def tiled(shape: Shape, reps: Shape) -> Shape:
    return tuple(r * n for r, n in zip(reps, shape, strict=True))


stack = Stack()
unstack = Unstack()
tile = Tile()
