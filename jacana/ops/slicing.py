"""Slicing: parts of an array at fixed and at computed places, and arrays with a part replaced.

Computed places are clamped so that the whole part lies inside.
"""

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.primitive import Primitive
from jacana.kernel.build import Writer
from jacana.kernel.expr import Expr
from jacana.ops.families import LinearMap, align_batch, is_linear, move_axis
from jacana.ops.indexing import bounded_index, nested_loops
from jacana.ops.lowering import Build, Index, Output, Tensor
from jacana.ops.params import WithDefaults
from jacana.ops.shape import zero_of, zeros

Shape = tuple[int, ...]


class Slice(WithDefaults, LinearMap):
    """The elements from start_indices up to limit_indices, every strides-th of them."""

    joins = True

    name = "slice"
    defaults = {"strides": None}

    def type_rule(
        self, x: ShapedArray, *, start_indices: Shape, limit_indices: Shape,
        strides: Shape | None = None,
    ) -> ShapedArray:  # fmt: skip
        starts, limits, steps = start_indices, limit_indices, strides or (1,) * x.ndim
        if not len(starts) == len(limits) == len(steps) == x.ndim:
            raise TypeError(
                f"slice needs a start, a limit and a stride for each axis of {x}, got "
                f"start_indices={starts}, limit_indices={limits}, strides={strides}."
            )
        for start, limit, step, n in zip(starts, limits, steps, x.shape):
            if not 0 <= start <= limit <= n or step < 1:
                raise TypeError(
                    f"slice needs 0 <= start <= limit <= extent and positive strides, got "
                    f"start_indices={starts}, limit_indices={limits}, strides={strides} for {x}."
                )
        return ShapedArray(sliced_shape(starts, limits, steps), x.dtype, x.weak_type)

    def reference(
        self, x: Any, *, start_indices: Shape, limit_indices: Shape, strides: Shape | None = None
    ) -> Any:
        steps = strides or (1,) * np.ndim(x)
        return np.asarray(x)[tuple(map(slice_object, start_indices, limit_indices, steps))].copy()

    def transpose(
        self, ct: Any, x: Any, *, start_indices: Shape, limit_indices: Shape,
        strides: Shape | None = None,
    ) -> list[Any]:  # fmt: skip
        config = []
        steps = strides or (1,) * len(x.shape)
        for start, step, n, kept in zip(start_indices, steps, x.shape, np.shape(ct)):
            end = start + ((kept - 1) * step + 1 if kept else 0)
            config.append((start, n - end, step - 1))
        return [ops.pad(ct, zero_of(ct), padding_config=tuple(config))]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], *,
        start_indices: Shape, limit_indices: Shape, strides: Shape | None = None,
    ) -> tuple[Any, int]:  # fmt: skip
        x = align_batch(size, operands, axes)[0]
        return self(
            x, start_indices=(0, *start_indices), limit_indices=(size, *limit_indices),
            strides=None if strides is None else (1, *strides),
        ), 0  # fmt: skip

    def lower(
        self, build: Build, x: Tensor, *, start_indices: Shape, limit_indices: Shape,
        strides: Shape | None = None,
    ) -> Tensor:  # fmt: skip
        steps = strides or (1,) * x.ndim

        def index(*i: Expr) -> Index:
            return [k * step + start for k, step, start in zip(i, steps, start_indices)]

        return build.view(x, sliced_shape(start_indices, limit_indices, steps), index)


slice_object = builtins.slice


def sliced_shape(starts: Shape, limits: Shape, steps: Shape) -> Shape:
    return tuple(
        -((start - limit) // step) for start, limit, step in zip(starts, limits, steps, strict=True)
    )


def check_starts(name: str, x: ShapedArray, starts: Sequence[ShapedArray]) -> None:
    """Whether there is one rank-0 integer for each axis of x."""
    if len(starts) != x.ndim:
        raise TypeError(
            f"{name} needs one start index for each axis of {x}, got {len(starts)} of them."
        )
    for s in starts:
        if s.shape or not dtypes.is_integer(s.dtype):
            raise TypeError(f"{name} needs rank-0 integers as start indices, got {s}.")


def clamped_starts(shape: Sequence[int], sizes: Sequence[int], starts: Sequence[Any]) -> list[int]:
    return [min(max(int(s), 0), n - k) for n, k, s in zip(shape, sizes, starts, strict=True)]


class DynamicSlice(LinearMap):
    """The part of x of shape slice_sizes that begins at the starts, one rank-0 integer per axis."""

    name = "dynamic_slice"

    def type_rule(self, x: ShapedArray, *starts: ShapedArray, slice_sizes: Shape) -> ShapedArray:
        check_starts(self.name, x, starts)
        if len(slice_sizes) != x.ndim or any(not 0 <= k <= n for k, n in zip(slice_sizes, x.shape)):
            raise TypeError(
                f"dynamic_slice needs one size for each axis, at most its extent, got slice_sizes="
                f"{slice_sizes} for {x}."
            )
        return ShapedArray(slice_sizes, x.dtype, x.weak_type)

    def reference(self, x: Any, *starts: Any, slice_sizes: Shape) -> Any:
        x = np.asarray(x)
        begin = clamped_starts(x.shape, slice_sizes, starts)
        return x[tuple(slice_object(b, b + k) for b, k in zip(begin, slice_sizes))].copy()

    def transpose(self, ct: Any, x: Any, *starts: Any, slice_sizes: Shape) -> list[Any]:
        if not is_linear(x):
            return [None] * (1 + len(starts))
        into = zeros(x.shape, ct.dtype)
        return [ops.dynamic_update_slice(into, ct, *starts), *[None] * len(starts)]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], *, slice_sizes: Shape
    ) -> tuple[Any, int]:
        x, *starts = operands
        if all(a is None for a in axes[1:]):
            x = move_axis(x, axes[0] or 0, 0)
            return self(x, np.int32(0), *starts, slice_sizes=(size, *slice_sizes)), 0
        indices = stack_starts(size, starts, axes[1:])
        n = len(starts)
        numbers = ops.GatherDimensionNumbers(
            offset_dims=tuple(range(n)), collapsed_slice_dims=(), start_index_map=tuple(range(n)),
        )  # fmt: skip
        return ops.gather.batch(
            size, [x, indices], [axes[0], 0], dimension_numbers=numbers, slice_sizes=slice_sizes,
            unique_indices=True, indices_are_sorted=True, mode=ops.GatherScatterMode.CLIP,
            fill_value=None,
        )  # fmt: skip

    def lower(self, build: Build, x: Tensor, *starts: Tensor, slice_sizes: Shape) -> Tensor:
        if 0 in x.shape:
            return build.view(x, slice_sizes, lambda *i: i)

        def index(*i: Expr) -> Index:
            return [
                k + bounded_index(build, s, (), n - kept)
                for k, s, n, kept in zip(i, starts, x.shape, slice_sizes)
            ]

        return build.compute(slice_sizes, x.dtype, lambda *i: x[index(*i)], [x, *starts])


def stack_starts(size: int, starts: Sequence[Any], axes: Sequence[int | None]) -> Any:
    """Batched start indices as one array [size, len(starts)] of a dtype that holds them all."""
    found = [s.dtype for s in starts if hasattr(s, "dtype")] or [dtypes.int32]
    wide = max(found, key=lambda d: d.itemsize)
    if any(dtypes.is_unsigned_integer(d) != dtypes.is_unsigned_integer(wide) for d in found):
        wide = dtypes.int64 if wide.itemsize == 8 else dtypes.int32
    columns = []
    for s, a in zip(starts, axes, strict=True):
        if getattr(s, "dtype", None) != wide:
            s = ops.convert_element_type(s, new_dtype=wide, weak_type=False)
        if a is None:
            s = ops.broadcast_in_dim(s, shape=(size, 1), broadcast_dimensions=())
        else:
            s = ops.broadcast_in_dim(s, shape=(size, 1), broadcast_dimensions=(0,))
        columns.append(s)
    if not columns:
        return zeros((size, 0), wide)
    return ops.concatenate(*columns, dimension=1) if len(columns) > 1 else columns[0]


class DynamicUpdateSlice(Primitive):
    """x with the part that begins at the starts replaced by `update`."""

    name = "dynamic_update_slice"

    def type_rule(self, x: ShapedArray, update: ShapedArray, *starts: ShapedArray) -> ShapedArray:
        check_starts(self.name, x, starts)
        if x.dtype != update.dtype:
            raise TypeError(
                f"dynamic_update_slice needs an update of its operand's dtype, got {update} for "
                f"{x}. Convert it first, for example with astype."
            )
        if update.ndim != x.ndim or any(k > n for k, n in zip(update.shape, x.shape)):
            raise TypeError(
                f"dynamic_update_slice needs an update that fits into its operand, got {update} "
                f"for {x}."
            )
        return ShapedArray(x.shape, x.dtype, x.weak_type and update.weak_type)

    def reference(self, x: Any, update: Any, *starts: Any) -> Any:
        out = np.array(x)
        begin = clamped_starts(out.shape, np.shape(update), starts)
        part = tuple(slice_object(b, b + k) for b, k in zip(begin, np.shape(update)))
        out[part] = update
        return out

    def jvp(self, i: int, t: Any, out: Any, x: Any, update: Any, *starts: Any) -> Any:
        if i == 0:
            return self(t, zeros(np.shape(update), t.dtype), *starts)
        return self(zeros(np.shape(x), t.dtype), t, *starts)

    def transpose(self, ct: Any, x: Any, update: Any, *starts: Any) -> list[Any]:
        shape = np.shape(update)
        ct_x = self(ct, zeros(shape, ct.dtype), *starts) if is_linear(x) else None
        ct_update = None
        if is_linear(update):
            ct_update = ops.dynamic_slice(ct, *starts, slice_sizes=shape)
        return [ct_x, ct_update, *[None] * len(starts)]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None]
    ) -> tuple[Any, int]:
        x, update, *starts = operands
        if all(a is None for a in axes[2:]):
            x, update = align_batch(size, [x, update], axes[:2])
            return self(x, update, np.int32(0), *starts), 0
        n = len(starts)
        numbers = ops.ScatterDimensionNumbers(
            update_window_dims=tuple(range(n)), inserted_window_dims=(),
            scatter_dims_to_operand_dims=tuple(range(n)),
        )  # fmt: skip
        return ops.scatter.batch(
            size, [x, stack_starts(size, starts, axes[2:]), update], [axes[0], 0, axes[1]],
            dimension_numbers=numbers, indices_are_sorted=True, unique_indices=True,
            mode=ops.GatherScatterMode.CLIP, update_jaxpr=None, update_consts=(),
        )  # fmt: skip

    def lower(self, build: Build, x: Tensor, update: Tensor, *starts: Tensor) -> Tensor:
        if 0 in update.shape:
            return x
        if update.shape == x.shape:
            return update

        def body(writer: Writer, outs: Sequence[Output], ins: Sequence[Tensor]) -> None:
            source, *at = ins
            limits = [n - k for n, k in zip(x.shape, update.shape)]
            begin = [bounded_index(build, s, (), high) for s, high in zip(at, limits)]
            with nested_loops(writer, build, update.shape, grid=True) as i:
                outs[0].store([k + b for k, b in zip(i, begin)], source[i])

        return build.loops([(x.shape, x.dtype)], [update, *starts], body, {0: x})[0]


slice = Slice()
dynamic_slice = DynamicSlice()
dynamic_update_slice = DynamicUpdateSlice()
