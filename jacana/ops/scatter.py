"""Scatter: an array with slices at computed places combined with updates, one after the other.

Updates are applied in row-major order, so where several meet the last one set is what remains.
Sums of many updates in few elements are formed in blocks of updates, which are then added in order.
"""

import functools
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, ClassVar

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.evaluate import evaluate
from jacana.core.jaxpr import ClosedJaxpr, Jaxpr
from jacana.core.stage import stage
from jacana.core.values import aval_of
from jacana.kernel.build import Writer
from jacana.ops.extremes import greater_of, lesser_of
from jacana.ops.families import align_batch, is_linear, move_axis, not_linear
from jacana.ops.gather import (
    GatherScatterMode,
    check_axes,
    check_indices,
)
from jacana.ops.indexing import conjunction, nested_loops
from jacana.ops.lowering import Build, Output, Tensor, Value
from jacana.ops.params import WithDefaults
from jacana.ops.scatter_blocks import is_blocked, is_halved, sums_in_blocks, updated_in_halves
from jacana.ops.scatter_layout import Layout, ScatterDimensionNumbers
from jacana.ops.segments import products_of_others
from jacana.ops.shape import full, zeros

Axes = tuple[int, ...]
Combine = Callable[[Any, Any], Any]


def slices_met(x: Any, indices: Any, updates_shape: Sequence[int], params: Any, fill: Any) -> Any:
    """x's elements where the updates go, in the updates' shape; `fill` for those left out."""
    layout = Layout(np.shape(x), updates_shape, params["dimension_numbers"])
    return ops.gather(
        x, indices, dimension_numbers=layout.gather_numbers(), slice_sizes=layout.slice_sizes,
        mode=params["mode"], fill_value=fill, unique_indices=params["unique_indices"],
        indices_are_sorted=params["indices_are_sorted"],
    )  # fmt: skip


@functools.lru_cache(maxsize=256)
def scalar_jaxpr(combine: Any, dtype: Any) -> Jaxpr:
    """The program of a combination of two scalars."""
    aval = ShapedArray((), dtype)
    return stage(lambda a, b: [combine(a, b)], [aval, aval])[0]


class ScatterFamily(WithDefaults):
    """x with `updates` combined into it at the places given by `indices`."""

    # What a sum of updates begins from: combined with it, any number stays what it is.
    neutral: ClassVar[complex | None] = None

    defaults: ClassVar[dict[str, Any]] = {
        "indices_are_sorted": False, "unique_indices": False,
        "mode": GatherScatterMode.FILL_OR_DROP, "update_jaxpr": None, "update_consts": (),
    }  # fmt: skip

    def scalar(self, a: Any, b: Any) -> Any:
        """The combination, with primitives."""
        raise NotImplementedError

    def combine(self, build: Build, a: Any, b: Any) -> Value:
        """The combination of an element with an update, in kernel language."""
        raise NotImplementedError

    def ufunc(self, a: Any, b: Any) -> Any:
        """The combination, in NumPy."""
        raise NotImplementedError

    def __call__(self, x: Any, indices: Any, updates: Any, **params: Any) -> Any:
        if params.get("update_jaxpr") is None:
            params["update_jaxpr"] = scalar_jaxpr(self.scalar, aval_of(x).dtype)
        return super().__call__(x, indices, updates, **params)

    def type_rule(
        self, x: ShapedArray, indices: ShapedArray, updates: ShapedArray, *,
        dimension_numbers: ScatterDimensionNumbers,
        mode: GatherScatterMode = GatherScatterMode.FILL_OR_DROP, **params: Any,
    ) -> ShapedArray:  # fmt: skip
        check_indices(self.name, indices)
        if x.dtype != updates.dtype:
            raise TypeError(
                f"{self.name} needs updates of its operand's dtype, got {updates} for {x}. Convert "
                f"them first, for example with astype."
            )
        if mode is GatherScatterMode.ONE_HOT:
            raise NotImplementedError(f"{self.name} with mode ONE_HOT is not supported.")
        check_scatter(self.name, x, indices, updates, dimension_numbers)
        return ShapedArray(x.shape, x.dtype, x.weak_type and updates.weak_type)

    def reference(
        self, x: Any, indices: Any, updates: Any, *, dimension_numbers: ScatterDimensionNumbers,
        mode: GatherScatterMode = GatherScatterMode.FILL_OR_DROP, **params: Any,
    ) -> Any:  # fmt: skip
        out, updates, indices = np.array(x), np.asarray(updates), np.asarray(indices)
        layout = Layout(out.shape, updates.shape, dimension_numbers)
        starts, inside = layout.places.reference(indices, layout.limits)
        function = self.reference_function(out.dtype, params)
        for at in np.ndindex(updates.shape):
            batch = tuple(at[a] for a in layout.among)
            if mode is not GatherScatterMode.CLIP and not inside[batch]:
                continue
            target = [int(s) for s in starts[batch]]
            for axis, position in zip(layout.window, layout.within):
                target[axis] += at[position]
            out[tuple(target)] = function(out[tuple(target)], updates[at])
        return out

    def reference_function(self, dtype: Any, params: dict[str, Any]) -> Combine:
        return self.ufunc

    def element_function(self, build: Build, dtype: Any, params: dict[str, Any]) -> Combine:
        return lambda a, b: self.combine(build, a, b)

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], *,
        dimension_numbers: ScatterDimensionNumbers, indices_are_sorted: bool = False,
        **params: Any,
    ) -> tuple[Any, int]:  # fmt: skip
        x, indices, updates = operands
        window, inserted, index_map, of_x, of_indices = dimension_numbers
        inserted, index_map, of_x = _shift(inserted), _shift(index_map), _shift(of_x)
        x, updates = align_batch(size, [x, updates], [axes[0], axes[2]])
        if axes[1] is None:
            # The batch axis is one more axis of the window.
            window = (0, *_shift(window))
        else:
            indices = move_axis(indices, axes[1], 0)
            window = _shift(window)
            of_x, of_indices = (0, *of_x), (0, *_shift(of_indices))
            indices_are_sorted = False
        numbers = ScatterDimensionNumbers(window, inserted, index_map, of_x, of_indices)
        made = self(
            x, indices, updates, dimension_numbers=numbers, indices_are_sorted=indices_are_sorted,
            **params,
        )  # fmt: skip
        return made, 0

    def lower(
        self, build: Build, x: Tensor, indices: Tensor, updates: Tensor, *,
        dimension_numbers: ScatterDimensionNumbers,
        mode: GatherScatterMode = GatherScatterMode.FILL_OR_DROP, **params: Any,
    ) -> Tensor:  # fmt: skip
        if 0 in updates.shape or 0 in x.shape:
            return x
        layout = Layout(x.shape, updates.shape, dimension_numbers)
        function = self.element_function(build, x.dtype, params)
        among = [updates.shape[a] for a in layout.among]
        within = [updates.shape[a] for a in layout.within]
        # Batches along the outermost axis meet in no element of x.
        is_grid = 0 in dimension_numbers.scatter_indices_batching_dims

        if self.neutral is not None and not is_grid and is_blocked(x.shape, updates.shape, among):
            checked = mode is not GatherScatterMode.CLIP
            nothing = neutral_in(self.neutral, x.dtype)
            return sums_in_blocks(
                build, x, indices, updates, layout, checked, nothing,
                lambda a, b: self.combine(build, _Known(a), b),
            )  # fmt: skip

        if not is_grid and is_halved(x.shape, updates.shape, among):
            checked = mode is not GatherScatterMode.CLIP
            return updated_in_halves(
                build, x, indices, updates, layout, checked,
                lambda out, at, value: function(_Element(out, at), value),
            )  # fmt: skip

        def body(writer: Writer, outs: Sequence[Output], ins: Sequence[Tensor]) -> None:
            with nested_loops(writer, build, among, grid=is_grid, vector=False) as batch:
                starts, inside = layout.places.expressions(build, ins[0], batch, layout.limits)
                with ExitStack() as stack:
                    if mode is not GatherScatterMode.CLIP and inside:
                        stack.enter_context(writer.when(conjunction(inside)))
                    with nested_loops(writer, build, within) as offset:
                        target, at = list(starts), dict(zip(layout.among, batch))
                        for axis, i in zip(layout.window, offset):
                            target[axis] = i + target[axis]
                        at |= dict(zip(layout.within, offset))
                        value = ins[1][[at[a] for a in range(updates.ndim)]]
                        outs[0].store(target, function(_Element(outs[0], target), value))

        return build.loops([(x.shape, x.dtype)], [indices, updates], body, {0: x})[0]


def neutral_in(neutral: complex, dtype: Any) -> complex:
    """A neutral number as a constant of the dtype."""
    if dtypes.is_complex(dtype):
        return neutral
    return neutral.real if dtypes.is_float(dtype) else 0


class _Known:
    """An element that is known already."""

    def __init__(self, value: Value):
        self.value = value

    def load(self) -> Any:
        return self.value


class _Element:
    """An element of an output, read only where a combination needs it."""

    def __init__(self, out: Output, index: Sequence[Any]):
        self.out, self.index = out, index

    def load(self) -> Any:
        return self.out.load(self.index)


def _shift(axes: Axes) -> Axes:
    return tuple(a + 1 for a in axes)


def check_scatter(
    name: str, x: ShapedArray, indices: ShapedArray, updates: ShapedArray,
    numbers: ScatterDimensionNumbers,
) -> None:  # fmt: skip
    window, inserted, index_map, of_x, of_indices = numbers
    gone = (*inserted, *of_x)
    check_axes(f"{name}'s update_window_dims", window, updates.ndim)
    check_axes(f"{name}'s inserted_window_dims", inserted, x.ndim)
    check_axes(f"{name}'s operand_batching_dims", of_x, x.ndim)
    check_axes(f"{name}'s scatter_dims_to_operand_dims", index_map, x.ndim, is_sorted=False)
    check_axes(f"{name}'s scatter_indices_batching_dims", of_indices, indices.ndim - 1, False)
    if len(window) + len(gone) != x.ndim or len(set(gone)) != len(gone):
        raise TypeError(
            f"{name} needs one window axis for each axis of its operand {x} that is neither "
            f"inserted nor a batching axis, got {numbers}."
        )
    if len(index_map) != indices.shape[-1]:
        raise ValueError(
            f"{name} needs one axis in scatter_dims_to_operand_dims for each component of its "
            f"index vectors, got {index_map} for indices {indices}."
        )
    among = tuple(n for a, n in enumerate(updates.shape) if a not in window)
    if among != indices.shape[:-1]:
        raise TypeError(
            f"{name} needs one update for each index vector, got updates {updates} for indices "
            f"{indices} with {numbers}."
        )
    kept = [n for a, n in enumerate(x.shape) if a not in gone]
    if any(updates.shape[a] > n for a, n in zip(window, kept)):
        raise ValueError(
            f"{name} needs updates no larger than its operand, got {updates} for {x} with "
            f"{numbers}."
        )
    if [x.shape[a] for a in of_x] != [indices.shape[a] for a in of_indices]:
        raise TypeError(
            f"{name} needs batching axes of equal extents, got {x} and {indices} with {numbers}."
        )


class Scatter(ScatterFamily):
    """x with elements replaced by updates, or by what update_jaxpr makes of element and update."""

    name = "scatter"

    def __call__(self, x: Any, indices: Any, updates: Any, **params: Any) -> Any:
        return WithDefaults.__call__(self, x, indices, updates, **params)

    def reference_function(self, dtype: Any, params: dict[str, Any]) -> Combine:
        jaxpr = params.get("update_jaxpr")
        if jaxpr is None:
            return lambda a, b: b
        consts = params.get("update_consts", ())
        return lambda a, b: evaluate(jaxpr, consts, [a, b])[0]

    def element_function(self, build: Build, dtype: Any, params: dict[str, Any]) -> Combine:
        jaxpr = params.get("update_jaxpr")
        if jaxpr is None:
            return lambda a, b: b
        closed = ClosedJaxpr(jaxpr, params.get("update_consts", ()))

        def function(a: Any, b: Value) -> Value:
            element = a.load()
            operands = [build.compute((), dtype, lambda v=v: v) for v in (element, b)]
            return build.call(closed, operands)[0][()]

        return function

    def jvp(
        self, i: int, t: Any, out: Any, x: Any, indices: Any, updates: Any, **params: Any
    ) -> Any:
        params = self.completed(params)
        if params["update_jaxpr"] is not None:
            raise NotImplementedError(
                "scatter_apply has no derivative. Apply the function to the gathered elements and "
                "set the result instead: x.at[i].set(f(x[i]))."
            )
        if i == 0:
            return self(t, indices, zeros(np.shape(updates), t.dtype), **params)
        return self(zeros(np.shape(x), t.dtype), indices, t, **params)

    def transpose(self, ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
        params = self.completed(params)
        shape = np.shape(updates)
        ct_x = ct_updates = None
        if is_linear(x):
            ct_x = self(ct, indices, zeros(shape, ct.dtype), **params)
        if is_linear(updates):
            ct_updates = slices_met(ct, indices, shape, params, 0)
            if not params["unique_indices"]:
                won = self._remaining(np.shape(ct), indices, shape, params)
                ct_updates = ops.select_n(won, zeros(shape, ct.dtype), ct_updates)
        return [ct_x, None, ct_updates]

    def _remaining(
        self, x_shape: Sequence[int], indices: Any, shape: Sequence[int], params: Any
    ) -> Any:
        """Which updates are what remains: those whose number is read back from where they went."""
        count = int(np.prod(shape))
        number_dtype = dtypes.int32 if count < 2**31 - 1 else dtypes.int64
        flat = ops.iota(dtype=number_dtype, shape=(count,), dimension=0)
        own = ops.reshape(flat, new_sizes=tuple(shape))
        nobody = full(x_shape, -1, number_dtype)
        numbers = self(nobody, indices, own, **params)
        return ops.eq(own, slices_met(numbers, indices, shape, params, -1))


class ScatterSum(ScatterFamily):
    """x with updates, or their negatives, added to its elements."""

    subtracts = False

    def jvp(
        self, i: int, t: Any, out: Any, x: Any, indices: Any, updates: Any, **params: Any
    ) -> Any:
        params = self.completed(params)
        if i == 0:
            return t
        return self(zeros(np.shape(x), t.dtype), indices, t, **params)

    def transpose(self, ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
        params = self.completed(params)
        ct_updates = None
        if is_linear(updates):
            ct_updates = slices_met(ct, indices, np.shape(updates), params, 0)
            ct_updates = ops.neg(ct_updates) if self.subtracts else ct_updates
        return [ct if is_linear(x) else None, None, ct_updates]


class ScatterAdd(ScatterSum):
    """x with updates added to its elements."""

    name = "scatter-add"
    neutral = complex(-0.0, -0.0)

    def scalar(self, a: Any, b: Any) -> Any:
        return ops.add(a, b)

    def ufunc(self, a: Any, b: Any) -> Any:
        return a | b if a.dtype == bool else np.add(a, b)

    def combine(self, build: Build, a: Any, b: Any) -> Value:
        element = a.load()
        if getattr(element, "type", "") == "bool":
            return element | b  # type: ignore[no-any-return]
        return element + b  # type: ignore[no-any-return]


class ScatterSub(ScatterSum):
    """x with updates subtracted from its elements."""

    name = "scatter-sub"
    subtracts = True

    def scalar(self, a: Any, b: Any) -> Any:
        return ops.sub(a, b)

    def ufunc(self, a: Any, b: Any) -> Any:
        return np.subtract(a, b)

    def combine(self, build: Build, a: Any, b: Any) -> Value:
        return a.load() - b  # type: ignore[no-any-return]


class ScatterMul(ScatterFamily):
    """x with its elements multiplied by updates."""

    name = "scatter-mul"

    def scalar(self, a: Any, b: Any) -> Any:
        return ops.mul(a, b)

    def ufunc(self, a: Any, b: Any) -> Any:
        return a & b if a.dtype == bool else np.multiply(a, b)

    def combine(self, build: Build, a: Any, b: Any) -> Value:
        element = a.load()
        if getattr(element, "type", "") == "bool":
            return element & b  # type: ignore[no-any-return]
        return element * b  # type: ignore[no-any-return]

    def jvp(
        self, i: int, t: Any, out: Any, x: Any, indices: Any, updates: Any, **params: Any
    ) -> Any:
        params = self.completed(params)
        if i == 0:
            return self(t, indices, updates, **params)
        shape = np.shape(updates)
        factor = slices_met(x, indices, shape, params, 0)
        if not params["unique_indices"]:
            count = int(np.prod(np.shape(x)))
            number_dtype = dtypes.int32 if count < 2**31 - 1 else dtypes.int64
            flat = ops.iota(dtype=number_dtype, shape=(count,), dimension=0)
            places = ops.reshape(flat, new_sizes=np.shape(x))
            target = slices_met(places, indices, shape, params, -1)
            factor = ops.mul(factor, products_of_others(updates, target))
        into = {**params, "update_jaxpr": None}
        return ops.scatter_add(zeros(np.shape(x), t.dtype), indices, ops.mul(t, factor), **into)

    def transpose(self, ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
        params = self.completed(params)
        if is_linear(x):
            return [self(ct, indices, updates, **params), None, None]
        raise NotImplementedError("scatter_mul is not linear in its updates: use jvp first.")


class ScatterExtreme(ScatterFamily):
    """x with the smaller or greater of element and update; those that tie share the derivative."""

    transpose = not_linear

    def jvp(
        self, i: int, t: Any, out: Any, x: Any, indices: Any, updates: Any, **params: Any
    ) -> Any:
        params = self.completed(params)
        into = {**params, "update_jaxpr": None}
        shape = np.shape(updates)

        def as_weight(condition: Any) -> Any:
            return ops.convert_element_type(condition, new_dtype=t.dtype, weak_type=False)

        kept = as_weight(ops.eq(x, out))
        taken = as_weight(ops.eq(updates, slices_met(out, indices, shape, params, 0)))
        count = ops.scatter_add(kept, indices, taken, **into)
        if i == 0:
            share = ops.mul(t, kept)
        else:
            nothing = zeros(np.shape(x), t.dtype)
            share = ops.scatter_add(nothing, indices, ops.mul(t, taken), **into)
        return ops.div(share, count)


class ScatterMin(ScatterExtreme):
    """x with the smaller of element and update."""

    name = "scatter-min"

    def scalar(self, a: Any, b: Any) -> Any:
        return ops.min(a, b)

    def ufunc(self, a: Any, b: Any) -> Any:
        return np.minimum(a, b)

    def combine(self, build: Build, a: Any, b: Any) -> Value:
        return lesser_of(build, a.load(), b)


class ScatterMax(ScatterExtreme):
    """x with the greater of element and update."""

    name = "scatter-max"

    def scalar(self, a: Any, b: Any) -> Any:
        return ops.max(a, b)

    def ufunc(self, a: Any, b: Any) -> Any:
        return np.maximum(a, b)

    def combine(self, build: Build, a: Any, b: Any) -> Value:
        return greater_of(build, a.load(), b)


scatter = Scatter()
scatter_add = ScatterAdd()
scatter_sub = ScatterSub()
scatter_mul = ScatterMul()
scatter_min = ScatterMin()
scatter_max = ScatterMax()
