"""Convolution in any number of dimensions, and its gradients, which are convolutions too."""

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.kernel.expr import Expr
from jacana.ops.contraction import LIBRARY_DTYPES, LIBRARY_WORK, converted
from jacana.ops.convolution_geometry import (
    Axes,
    ConvDimensionNumbers,
    Geometry,
    Groups,
    convolved_shape,
    geometry_of,
    permuted,
)
from jacana.ops.direct_convolution import direct_convolution, is_direct, is_short
from jacana.ops.families import Bilinear, is_linear, move_axis, spread_axis
from jacana.ops.lowering import Build, Index, Tensor, Value
from jacana.ops.params import WithDefaults
from jacana.ops.reduction import accumulation_dtype

# All windows of an operand are copied out for the library if they are no more than this.
LARGEST_PATCHES = 1 << 26


class ConvGeneralDilated(WithDefaults, Bilinear):
    """Windows of lhs times rhs, summed over the window and over the input features of a group."""

    name = "conv_general_dilated"
    defaults = {
        "feature_group_count": 1, "batch_group_count": 1, "precision": None,
        "preferred_element_type": None, "out_sharding": None,
    }  # fmt: skip

    def type_rule(
        self, x: ShapedArray, w: ShapedArray, *, dimension_numbers: ConvDimensionNumbers,
        preferred_element_type: Any = None, **params: Any,
    ) -> ShapedArray:  # fmt: skip
        if x.dtype != w.dtype:
            raise TypeError(
                f"conv_general_dilated requires arguments to have the same dtypes, got {x} and "
                f"{w}. Convert one first, for example with astype."
            )
        geometry = geometry_of(params)
        check_convolution(x, w, dimension_numbers, geometry)
        shape = convolved_shape(x.shape, w.shape, dimension_numbers, geometry)
        return ShapedArray(shape, preferred_element_type or x.dtype)

    def work(
        self, operands: list[ShapedArray], outs: list[ShapedArray], params: dict[str, Any]
    ) -> float:
        features: int = operands[1].shape[params["dimension_numbers"].rhs_spec[0]]
        return 2.0 * outs[0].size * operands[1].size / max(features, 1)

    def reference(
        self, x: Any, w: Any, *, dimension_numbers: ConvDimensionNumbers,
        preferred_element_type: Any = None, **params: Any,
    ) -> Any:  # fmt: skip
        geometry, numbers = geometry_of(params), dimension_numbers
        out_dtype = np.dtype(preferred_element_type or np.asarray(x).dtype)
        wide = accumulation_dtype(out_dtype)
        x = np.transpose(np.asarray(x).astype(wide), numbers.lhs_spec)
        w = np.transpose(np.asarray(w).astype(wide), numbers.rhs_spec)
        groups, batches = geometry.feature_groups, geometry.batch_groups
        if batches > 1:
            parts = [
                _convolve(a, b, geometry)
                for a, b in zip(np.split(x, batches, 0), np.split(w, batches, 0))
            ]
        else:
            parts = [
                _convolve(a, b, geometry)
                for a, b in zip(np.split(x, groups, 1), np.split(w, groups, 0))
            ]
        out = np.concatenate(parts, 1)
        return np.transpose(out, np.argsort(numbers.out_spec)).astype(out_dtype)

    def transpose(
        self, ct: Any, x: Any, w: Any, *, dimension_numbers: ConvDimensionNumbers,
        precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None,
        **params: Any,
    ) -> list[Any]:  # fmt: skip
        geometry = geometry_of(params)
        if is_linear(x):
            made = lhs_cotangent(ct, x.shape, w, dimension_numbers, geometry)
            return [_as(made, x.dtype), None]
        made = rhs_cotangent(ct, x, w.shape, dimension_numbers, geometry)
        return [None, _as(made, w.dtype)]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], *,
        dimension_numbers: ConvDimensionNumbers, feature_group_count: int = 1,
        batch_group_count: int = 1, **params: Any,
    ) -> tuple[Any, int]:  # fmt: skip
        (x, w), (ax, aw), numbers = operands, axes, dimension_numbers
        params = {**params, "dimension_numbers": numbers}
        groups, batches = feature_group_count, batch_group_count
        feature_out = numbers.out_spec[1]
        if aw is None and batches == 1:
            # More batch.
            made = self(
                _merge(move_axis(x, ax or 0, 0), numbers.lhs_spec[0]), w,
                feature_group_count=groups, **params,
            )  # fmt: skip
            return _divide(made, numbers.out_spec[0], size), 0
        if ax is None and groups == 1 and batches == 1:
            # More output features.
            made = self(x, _merge(move_axis(w, aw or 0, 0), numbers.rhs_spec[0]), **params)
            return _divide(made, feature_out, size), 0
        # As many groups, each with its own lhs and rhs.
        x = move_axis(x, ax, 0) if ax is not None else spread_axis(x, size)
        w = move_axis(w, aw, 0) if aw is not None else spread_axis(w, size)
        w = _merge(w, numbers.rhs_spec[0])
        if batches > 1:
            made = self(
                _merge(x, numbers.lhs_spec[0]), w, batch_group_count=batches * size, **params
            )
        else:
            made = self(
                _merge(x, numbers.lhs_spec[1]), w, feature_group_count=groups * size, **params
            )
        return _divide(made, feature_out, size), 0

    def lower(
        self, build: Build, x: Tensor, w: Tensor, *, dimension_numbers: ConvDimensionNumbers,
        preferred_element_type: Any = None, **params: Any,
    ) -> Tensor:  # fmt: skip
        out_dtype = dtypes.dtype(preferred_element_type or x.dtype)
        wide = accumulation_dtype(out_dtype)
        x, w = (converted(build, v, wide) for v in (x, w))
        out = lowered_convolution(build, x, w, dimension_numbers, geometry_of(params))
        return converted(build, out, out_dtype)


def _as(x: Any, dtype: Any) -> Any:
    if x.dtype == dtype:
        return x
    return ops.convert_element_type(x, new_dtype=dtype, weak_type=False)


def lowered_convolution(
    build: Build, x: Tensor, w: Tensor, numbers: ConvDimensionNumbers, geometry: Geometry
) -> Tensor:
    """Directly or by the library's matrix product where large, else fused; by shape and dtype."""
    groups = Groups(x, w, numbers, geometry)
    size = groups.patches_size()
    if size * groups.features >= LIBRARY_WORK * groups.count and is_direct(groups):
        make = fused_convolution if is_short(groups) else direct_convolution
        return make(build, groups)
    if (
        x.dtype in LIBRARY_DTYPES
        and size * groups.features >= LIBRARY_WORK * groups.count
        and 0 < size <= LARGEST_PATCHES
    ):
        return library_convolution(build, groups)
    return generated_convolution(build, groups)


def generated_convolution(build: Build, groups: Groups) -> Tensor:
    """Every output element folds its own window."""
    x, w, numbers = groups.x, groups.w, groups.numbers
    shape = convolved_shape(x.shape, w.shape, numbers, groups.geometry)
    rank, depth = len(shape), [groups.channels, *groups.window]
    is_empty = 0 in x.shape or 0 in w.shape

    def element(*i: Expr) -> Value:
        if is_empty:
            return build.const(0, x.dtype)
        a, b = groups.factors(build, i[:rank], i[rank:])
        return a * b  # type: ignore[no-any-return]

    def combine(a: Sequence[Any], b: Sequence[Any]) -> list[Value]:
        return [a[0] + b[0]]

    products = build.compute([*shape, *depth], x.dtype, element, [x, w])
    axes = tuple(range(rank, rank + len(depth)))
    return build.reduce([products], axes, combine, [0])[0]


def fused_convolution(build: Build, groups: Groups) -> Tensor:
    """What direct_convolution computes, in whatever kernel reads it."""
    x, w = groups.x, groups.w
    shape = convolved_shape(x.shape, w.shape, groups.numbers, groups.geometry)
    depth = (groups.channels, *groups.window)

    def element(*i: Expr) -> Value:
        total: Any = build.const(0, x.dtype)
        for within in product(*map(range, depth)):
            a, b = groups.factors(build, i, [build.index(k) for k in within])
            total = total.graph.op("fma", b, a, total)
        return total  # type: ignore[no-any-return]

    return build.compute(shape, x.dtype, element, [x, w], cost=2.0 * math.prod(depth))


def library_convolution(build: Build, groups: Groups) -> Tensor:
    """The product of all windows, as rows of a matrix, with rhs as another."""
    x, w, numbers = groups.x, groups.w, groups.numbers
    rank = len(groups.window)
    # The order of a row follows that of rhs in memory, so that rhs need not move.
    is_last = groups.count == 1 and numbers.rhs_spec[0] == w.ndim - 1
    depth_axes = sorted(numbers.rhs_spec[1:]) if is_last else list(numbers.rhs_spec[1:])
    depth = [w.shape[a] for a in depth_axes]
    rows = (groups.batch, *groups.counts)

    def patch(*i: Expr) -> Value:
        group, batch, at, within = i[0], i[1], i[2 : 2 + rank], i[2 + rank :]
        of_w = dict(zip(depth_axes, within))
        channel, *inner = [of_w[a] for a in numbers.rhs_spec[1:]]
        return groups.read(build, group, batch, at, channel, inner)  # type: ignore[no-any-return]

    patches = build.compute((groups.count, *rows, *depth), x.dtype, patch, [x])
    order = numbers.rhs_spec
    kernels = w
    if not is_last and order != tuple(sorted(order)):
        kernels = build.view(
            w, permuted(w.shape, order), lambda *i: [i[order.index(a)] for a in range(w.ndim)]
        )
    m, n, k = math.prod(rows), groups.features, math.prod(depth)
    params = (m, n, k, 0, int(not is_last), groups.count)
    spec = ((groups.count, *rows, n), x.dtype)
    made = build.library("gemm", [spec], [patches, kernels], params, x.dtype)[0]

    def index(*i: Expr) -> Index:
        feature = i[numbers.out_spec[1]]
        at = [i[a] for a in (numbers.out_spec[0], *numbers.out_spec[2:])]
        return [feature / n, *at, feature % n]

    shape = convolved_shape(x.shape, w.shape, numbers, groups.geometry)
    return build.view(made, shape, index)


def _convolve(x: np.ndarray, w: np.ndarray, geometry: Geometry) -> np.ndarray:
    """x[n, c, ...] and w[o, c, ...] of one group, in NumPy."""
    of_space = geometry.windows(w.shape[2:])
    windows = of_space.with_batch_axis().with_batch_axis()
    rank = w.ndim - 2
    found = windows.reference(x, 0).reshape(
        *x.shape[:2], *of_space.counts(x.shape[2:]), *w.shape[2:]
    )  # fmt: skip
    out = np.tensordot(found, w, ([1, *range(2 + rank, 2 + 2 * rank)], range(1, w.ndim)))
    return np.moveaxis(out, -1, 1)


def check_convolution(
    x: ShapedArray, w: ShapedArray, numbers: ConvDimensionNumbers, geometry: Geometry
) -> None:
    rank = x.ndim
    if rank != w.ndim or rank < 2 or any(sorted(s) != list(range(rank)) for s in numbers):
        raise TypeError(
            f"conv_general_dilated needs operands of one rank and permutations of their axes, got "
            f"{x} and {w} with {numbers}."
        )
    if any(len(part) != rank - 2 for part in geometry[:4]):
        raise TypeError(
            f"conv_general_dilated needs one stride, padding and dilation for each of {rank - 2} "
            f"spatial axes, got {geometry}."
        )
    batch, features = permuted(x.shape, numbers.lhs_spec)[:2]
    out_features, in_features = permuted(w.shape, numbers.rhs_spec)[:2]
    groups, batches = geometry.feature_groups, geometry.batch_groups
    if groups < 1 or batches < 1 or (groups > 1 and batches > 1):
        raise ValueError(
            f"conv_general_dilated needs positive group counts of which one is 1, got "
            f"feature_group_count={groups} and batch_group_count={batches}."
        )
    if features != in_features * groups:
        raise ValueError(
            f"conv_general_dilated feature_group_count times the input features of rhs must be the "
            f"features of lhs, got {groups} * {in_features} and {features} for {x} and {w}."
        )
    if out_features % groups or out_features % batches or batch % batches:
        raise ValueError(
            f"conv_general_dilated group counts must divide output features and batch, got "
            f"feature_group_count={groups}, batch_group_count={batches} for {x} and {w}."
        )


# --- gradients ---


def _merge(x: Any, axis: int) -> Any:
    """x with its first axis folded into axis `axis` of the rest, outside that one."""
    shape = list(np.shape(x))
    x = move_axis(x, 0, axis)
    size = shape.pop(0)
    shape[axis] *= size
    return ops.reshape(x, new_sizes=tuple(shape))


def _divide(x: Any, axis: int, size: int) -> Any:
    """The inverse of _merge."""
    shape = list(np.shape(x))
    shape[axis : axis + 1] = [size, shape[axis] // size]
    return move_axis(ops.reshape(x, new_sizes=tuple(shape)), axis, 0)


def _regroup(x: Any, taken: int, given: int, groups: int) -> Any:
    """x with `groups` moved from axis `taken` to the outside of axis `given`."""
    if groups == 1:
        return x
    return _merge(_divide(x, taken, groups), given)


def _swapped(spec: Axes) -> Axes:
    return (spec[1], spec[0], *spec[2:])


def lhs_cotangent(
    ct: Any, x_shape: Sequence[int], w: Any, numbers: ConvDimensionNumbers, geometry: Geometry
) -> Any:
    """ct spread by the strides, convolved with the reversed rhs whose features change roles."""
    lhs, rhs, out = numbers
    spatial = permuted(x_shape, lhs[2:])
    window = permuted(np.shape(w), rhs[2:])
    counts = permuted(np.shape(ct), out[2:])
    padding = []
    for n, count, size, stride, (low, _), base, dilation in zip(
        spatial, counts, *geometry.windows(window)
    ):
        reach = (size - 1) * dilation
        spread = (count - 1) * stride + 1 if count else 0
        extent = (n - 1) * base + 1 if n else 0
        padding.append((reach - low, extent + low - spread))
    groups = geometry.feature_groups
    if geometry.batch_groups > 1:
        groups = geometry.batch_groups
    w = _regroup(w, rhs[0], rhs[1], groups)
    w = ops.rev(w, dimensions=tuple(rhs[2:]))
    made = ops.conv_general_dilated(
        ct, w, window_strides=geometry.lhs_dilation, padding=tuple(padding),
        lhs_dilation=geometry.strides, rhs_dilation=geometry.rhs_dilation,
        dimension_numbers=ConvDimensionNumbers(out, _swapped(rhs), lhs),
        feature_group_count=groups,
    )  # fmt: skip
    if geometry.batch_groups > 1:
        made = _regroup(made, lhs[1], lhs[0], geometry.batch_groups)
    return made


def rhs_cotangent(
    ct: Any, x: Any, w_shape: Sequence[int], numbers: ConvDimensionNumbers, geometry: Geometry
) -> Any:
    """lhs convolved with ct, whose batch is summed over; strides and dilation change roles."""
    lhs, rhs, out = numbers
    spatial = permuted(np.shape(x), lhs[2:])
    window = permuted(w_shape, rhs[2:])
    counts = permuted(np.shape(ct), out[2:])
    if 0 in np.shape(ct):
        zero = np.zeros((), ct.dtype)[()]
        return ops.broadcast_in_dim(zero, shape=tuple(w_shape), broadcast_dimensions=())
    padding = []
    for n, count, size, stride, (low, _), base, dilation in zip(
        spatial, counts, *geometry.windows(window)
    ):
        extent = (n - 1) * base + 1 if n else 0
        reach = (count - 1) * stride + (size - 1) * dilation + 1
        padding.append((low, reach - low - extent))
    feature_groups = batch_groups = 1
    if geometry.batch_groups > 1:
        feature_groups = geometry.batch_groups
    elif geometry.feature_groups > 1:
        batch_groups = geometry.feature_groups
    return ops.conv_general_dilated(
        x, ct, window_strides=geometry.rhs_dilation, padding=tuple(padding),
        lhs_dilation=geometry.lhs_dilation, rhs_dilation=geometry.strides,
        dimension_numbers=ConvDimensionNumbers(_swapped(lhs), _swapped(out), _swapped(rhs)),
        feature_group_count=feature_groups, batch_group_count=batch_groups,
    )  # fmt: skip


conv_general_dilated = ConvGeneralDilated()
