"""Sorting: lexicographic by any number of keys, stable; and the k greatest elements.

nan comes last, whatever its sign, and -0.0 equals 0.0.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.primitive import Primitive
from jacana.ops.families import align_batch, move_axis, not_linear
from jacana.ops.lowering import Build, Tensor
from jacana.ops.params import WithDefaults
from jacana.ops.shape import zeros
from jacana.ops.sort_keys import keys_of, numbers_of, packed, ranked, values_of


def take_along(x: Any, index: Any, axis: int) -> Any:
    """x's elements at positions `index` along the axis, in all other axes at the index's own."""
    shape, rank = np.shape(index), len(np.shape(index))
    if 0 in shape:
        return zeros(shape, x.dtype)
    others = tuple(a for a in range(rank) if a != axis)
    numbers = ops.GatherDimensionNumbers(
        offset_dims=(), collapsed_slice_dims=(axis,), start_index_map=(axis,),
        operand_batching_dims=others, start_indices_batching_dims=others,
    )  # fmt: skip
    vectors = ops.broadcast_in_dim(
        index, shape=(*shape, 1), broadcast_dimensions=tuple(range(rank))
    )  # fmt: skip
    return ops.gather(
        x, vectors, dimension_numbers=numbers, slice_sizes=(1,) * rank, unique_indices=True,
        mode=ops.GatherScatterMode.PROMISE_IN_BOUNDS,
    )  # fmt: skip


def ranks(x: np.ndarray, signed_zeros: bool = False) -> np.ndarray:
    """Unsigned integers ordered as x is: all nan last and equal, -0.0 equal to 0.0 unless asked."""
    dtype = dtypes.dtype(x.dtype)
    if dtypes.is_float(dtype):
        wide = x.astype(np.float64 if dtype.itemsize == 8 else np.float32)
        if not signed_zeros:
            wide = np.add(wide, 0, dtype=wide.dtype)
        bits = wide.view(np.dtype(f"u{wide.dtype.itemsize}"))
        top = bits.dtype.type(1 << 8 * wide.dtype.itemsize - 1)
        ordered = np.where(bits & top, ~bits, bits | top)
        return np.where(np.isnan(wide), ~bits.dtype.type(0), ordered)
    if dtypes.is_signed_integer(dtype):
        wide = x if x.dtype.kind == "i" else x.astype(np.int8)
        bits = wide.view(np.dtype(f"u{wide.dtype.itemsize}"))
        flipped: np.ndarray = bits ^ bits.dtype.type(1 << 8 * wide.dtype.itemsize - 1)
        return flipped
    return x if x.dtype.kind == "u" else x.astype(np.uint8)


def numbered(key: np.ndarray, axis: int) -> np.ndarray | None:
    """Each rank with its position in the low half, all distinct; None for ranks of 64 bits."""
    if key.dtype.itemsize > 4 or key.shape[axis] >= 1 << 32:
        return None
    along = [-1 if a == axis else 1 for a in range(key.ndim)]
    position = np.arange(key.shape[axis], dtype=np.uint64).reshape(along)
    return key.astype(np.uint64) << np.uint64(32) | position


def position_of(found: np.ndarray) -> np.ndarray:
    return (found & np.uint64(0xFFFFFFFF)).astype(np.int64)


def order_of(keys: Sequence[np.ndarray], axis: int) -> np.ndarray:
    """The stable order by the first key, then by the next ones."""
    parts = [p for k in keys for p in ([k.real, k.imag] if k.dtype.kind == "c" else [k])]
    comparable = [ranks(p) for p in parts]
    if len(comparable) > 1:
        return np.lexsort(comparable[::-1], axis)
    (key,) = comparable
    found = numbered(key, axis)
    if found is None:
        return np.argsort(key, axis, kind="stable")
    # Numbers that differ need no stable sort, which is the slower one.
    return position_of(np.sort(found, axis))


def sorted_alone(x: np.ndarray, axis: int) -> np.ndarray | None:
    """x in order where equal elements cannot be told apart; None where they can."""
    if x.dtype.kind not in "biuf" or np.any((x == 0) & np.signbit(x) if x.dtype.kind == "f" else 0):
        return None
    return np.sort(x, axis)


# Rows that are longer, whose positions an int32 does not hold, are sorted on the host.
MOST = 1 << 31
# Selecting k elements of n pays if there are so many times k.
SELECTION = 8


def swapped(build: Build, x: Tensor, axis: int) -> Tensor:
    """x with one axis and the last one exchanged."""
    last = x.ndim - 1
    if axis == last:
        return x
    order = list(range(x.ndim))
    order[axis], order[last] = last, axis
    return build.view(x, [x.shape[a] for a in order], lambda *i: [i[a] for a in order])


def moved(build: Build, x: Tensor, order: Tensor) -> Tensor:
    """The elements of each row of x in an order."""
    made: Tensor = build.compose(partial(take_along, axis=x.ndim - 1), x, order)
    return made


def extents(x: Tensor) -> tuple[int, int]:
    """How many rows there are, and the length of each."""
    return math.prod(x.shape[:-1]), x.shape[-1]


def sorted_values(build: Build, x: Tensor) -> Tensor:
    """Each row in order; elements that are equal differ by the sign of zero alone."""
    keys: Tensor = build.compose(keys_of, x)
    zero = -1
    if dtypes.is_float(x.dtype):
        wide = x.dtype if x.dtype.itemsize > 1 else dtypes.float32
        zero = numbers_of(wide).zero
    spec = (keys.shape, keys.dtype)
    params = (*extents(keys), zero)
    found = build.library("sort_values", [spec, spec], [keys], params, keys.dtype)[0]
    made: Tensor = build.compose(partial(values_of, dtype=x.dtype), found)
    return made


def stable_order(build: Build, keys: Sequence[Tensor]) -> Tensor:
    """The positions of each row's elements in their order by the first key, then the next ones."""
    groups: list[Tensor] = build.compose(lambda *xs: packed(xs), *keys)
    order: Tensor | None = None
    for group in reversed(groups):
        key = group if order is None else moved(build, group, order)
        found = _order_command(build, "sort_order", key, key.shape, ())
        order = found if order is None else moved(build, order, found)
    assert order is not None
    return order


def _order_command(
    build: Build, name: str, keys: Tensor, shape: Sequence[int], params: Sequence[int]
) -> Tensor:
    entry = dtypes.dtype("uint64" if keys.dtype.itemsize == 4 else "complex128")
    outputs = [(shape, dtypes.int32), (shape, entry), (shape, entry)]
    settings = (*extents(keys), *params)
    return build.library(name, outputs, [keys], settings, keys.dtype)[0]


def first_order(build: Build, x: Tensor, k: int) -> Tensor:
    """The positions of the k greatest elements of each row."""
    keys: Tensor = build.compose(lambda v: ops.not_(ranked(v, signed_zeros=True)), x)
    shape = (*x.shape[:-1], k)
    if SELECTION * k <= x.shape[-1]:
        return _order_command(build, "top_order", keys, shape, (k,))
    order = _order_command(build, "sort_order", keys, keys.shape, ())
    return build.view(order, shape, lambda *i: i)


class Sort(Primitive):
    """The operands ordered along `dimension` by the first num_keys of them."""

    name = "sort"
    multiple_results = True
    transpose = not_linear

    def type_rule(
        self, *xs: ShapedArray, dimension: int, is_stable: bool, num_keys: int
    ) -> tuple[ShapedArray, ...]:
        found = ", ".join(map(str, xs))
        if not xs or any(x.shape != xs[0].shape for x in xs):
            raise TypeError(f"sort needs operands of equal shape, got {found or 'none'}.")
        if not 0 <= dimension < xs[0].ndim:
            raise ValueError(f"sort needs an axis of its operands, got {dimension} for {found}.")
        if not 1 <= num_keys <= len(xs):
            raise ValueError(
                f"sort needs 1 to {len(xs)} keys for {found}, got num_keys={num_keys}."
            )
        return xs

    def reference(
        self, *xs: Any, dimension: int, is_stable: bool, num_keys: int
    ) -> list[np.ndarray]:
        arrays = [np.asarray(x) for x in xs]
        if len(arrays) == 1 and (alone := sorted_alone(arrays[0], dimension)) is not None:
            return [alone]
        order = order_of(arrays[:num_keys], dimension)
        return [np.take_along_axis(x, order, dimension) for x in arrays]

    def jvp(
        self, i: int, t: Any, outs: Sequence[Any], *xs: Any, dimension: int, is_stable: bool,
        num_keys: int,
    ) -> list[Any]:  # fmt: skip
        shape = np.shape(t)
        position = ops.iota(dtype=dtypes.int32, shape=shape, dimension=dimension)
        order = self(
            *xs[:num_keys], position, dimension=dimension, is_stable=True, num_keys=num_keys
        )[-1]
        moved = take_along(t, order, dimension)
        return [moved if k == i else None for k in range(len(xs))]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], *, dimension: int,
        **params: Any,
    ) -> tuple[list[Any], list[int]]:  # fmt: skip
        aligned = align_batch(size, operands, axes)
        return list(self(*aligned, dimension=dimension + 1, **params)), [0] * len(operands)

    def lower(
        self, build: Build, *xs: Tensor, dimension: int, is_stable: bool, num_keys: int
    ) -> list[Tensor]:
        n = xs[0].shape[dimension]
        if 0 in xs[0].shape or n == 1:
            return list(xs)
        if n >= MOST:
            function = partial(
                self.reference, dimension=dimension, is_stable=is_stable, num_keys=num_keys
            )
            return build.host(function, [(x.shape, x.dtype) for x in xs], xs)
        rows = [swapped(build, x, dimension) for x in xs]
        if len(xs) == 1 and not dtypes.is_complex(xs[0].dtype):
            made = [sorted_values(build, rows[0])]
        else:
            order = stable_order(build, rows[:num_keys])
            made = [moved(build, x, order) for x in rows]
        return [swapped(build, x, dimension) for x in made]


def greatest_positions(x: np.ndarray, k: int, axis: int) -> np.ndarray:
    """Positions of the k greatest; nan is greatest, 0.0 is above -0.0, ties by position."""
    key = ~ranks(x, signed_zeros=True)
    found = numbered(key, axis)
    first = slice(None, k)
    part = (slice(None),) * axis + (first,)
    if found is None:
        return np.argsort(key, axis, kind="stable")[part]
    if 0 < k < found.shape[axis]:
        found = np.partition(found, k - 1, axis)[part]
    return position_of(np.sort(found, axis)[part])


class TopK(WithDefaults):
    """The k greatest elements along an axis, from the greatest, and their positions."""

    name = "top_k"
    multiple_results = True
    transpose = not_linear
    defaults = {"axis": -1}

    def type_rule(self, x: ShapedArray, *, k: int, axis: int = -1) -> tuple[ShapedArray, ...]:
        if dtypes.is_complex(x.dtype):
            raise ValueError(f"top_k is not compatible with complex inputs, got {x}.")
        if x.ndim == 0:
            raise TypeError(f"top_k operand must have >= 1 dimension, got {x}.")
        axis = axis % x.ndim
        if not 0 <= k <= x.shape[axis]:
            raise ValueError(
                f"k argument to top_k must be no larger than size along axis, got k={k} for axis "
                f"{axis} of {x}."
            )
        shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
        return ShapedArray(shape, x.dtype), ShapedArray(shape, dtypes.int32)

    def reference(self, x: Any, *, k: int, axis: int = -1) -> list[np.ndarray]:
        x = np.asarray(x)
        axis = axis % x.ndim
        order = greatest_positions(x, k, axis)
        return [np.take_along_axis(x, order, axis), order.astype(np.int32)]

    def jvp(
        self, i: int, t: Any, outs: Sequence[Any], x: Any, *, k: int, axis: int = -1
    ) -> list[Any]:
        return [take_along(t, outs[1], axis % len(np.shape(t))), None]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[Any], *, k: int, axis: int = -1
    ) -> tuple[list[Any], list[int]]:
        x = move_axis(operands[0], axes[0], 0)
        axis = axis % (len(np.shape(x)) - 1) + 1
        return list(self(x, k=k, axis=axis)), [0, 0]

    def lower(self, build: Build, x: Tensor, *, k: int, axis: int = -1) -> list[Tensor]:
        axis = axis % x.ndim
        shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
        if 0 in shape or x.shape[axis] >= MOST:
            function = partial(self.reference, k=k, axis=axis)
            return build.host(function, [(shape, x.dtype), (shape, dtypes.int32)], [x])
        rows = swapped(build, x, axis)
        order = first_order(build, rows, k)
        return [swapped(build, moved(build, rows, order), axis), swapped(build, order, axis)]


class ApproxTopK(WithDefaults):
    """The k greatest (or least) elements: exact here, whatever recall is asked for."""

    name = "approx_top_k"
    multiple_results = True
    transpose = not_linear
    defaults = {
        "reduction_dimension": -1, "recall_target": 0.95, "is_max_k": True,
        "reduction_input_size_override": -1, "aggregate_to_topk": True,
    }  # fmt: skip

    def _axis(self, rank: int, params: dict[str, Any]) -> int:
        return int(params["reduction_dimension"]) % rank

    def type_rule(self, x: ShapedArray, *, k: int, **params: Any) -> tuple[ShapedArray, ...]:
        if not dtypes.is_float(x.dtype):
            raise ValueError(f"approx_top_k needs floating-point numbers, got {x}.")
        return ops.top_k.type_rule(x, k=k, axis=self._axis(x.ndim, params))

    def reference(self, x: Any, *, k: int, is_max_k: bool, **params: Any) -> list[Any]:
        axis = self._axis(np.ndim(x), params)
        signed = np.asarray(x) if is_max_k else -np.asarray(x)
        values, positions = ops.top_k.reference(signed, k=k, axis=axis)
        return [values if is_max_k else -values, positions]

    def jvp(
        self, i: int, t: Any, outs: Sequence[Any], x: Any, *, k: int, **params: Any
    ) -> list[Any]:
        return [take_along(t, outs[1], self._axis(len(np.shape(t)), params)), None]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[Any], *, k: int, **params: Any
    ) -> tuple[list[Any], list[int]]:
        x = move_axis(operands[0], axes[0], 0)
        axis = self._axis(len(np.shape(x)) - 1, params) + 1
        return list(self(x, k=k, **{**params, "reduction_dimension": axis})), [0, 0]

    def lower(self, build: Build, x: Tensor, *, k: int, **params: Any) -> list[Tensor]:
        axis, sign = self._axis(x.ndim, params), params["is_max_k"]

        def exact(v: Any) -> list[Any]:
            values, positions = ops.top_k(v if sign else ops.neg(v), k=k, axis=axis)
            return [values if sign else ops.neg(values), positions]

        made: list[Tensor] = build.compose(exact, x)
        return made


sort = Sort()
top_k = TopK()
approx_top_k = ApproxTopK()
