"""What a convolution does: its axes, windows, groups and sizes."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from jacana.kernel.expr import Expr
from jacana.ops.indexing import select_if
from jacana.ops.lowering import Build, Tensor
from jacana.ops.windows import Windows

Axes = tuple[int, ...]
Padding = tuple[tuple[int, int], ...]


class ConvDimensionNumbers(NamedTuple):
    """Axes of lhs and output (batch, feature, *spatial) and rhs (out, in feature, *spatial)."""

    lhs_spec: Axes
    rhs_spec: Axes
    out_spec: Axes


class Geometry(NamedTuple):
    """What a convolution does besides multiplying: the params but for the dimension numbers."""

    strides: Axes
    padding: Padding
    lhs_dilation: Axes
    rhs_dilation: Axes
    feature_groups: int
    batch_groups: int

    def windows(self, window: Sequence[int]) -> Windows:
        return Windows(
            tuple(window), self.strides, self.padding, self.lhs_dilation, self.rhs_dilation
        )


def geometry_of(params: dict[str, Any]) -> Geometry:
    return Geometry(
        params["window_strides"], params["padding"], params["lhs_dilation"],
        params["rhs_dilation"], params["feature_group_count"], params["batch_group_count"],
    )  # fmt: skip


def permuted(shape: Sequence[int], spec: Axes) -> Axes:
    return tuple(shape[a] for a in spec)


def convolved_shape(
    x_shape: Sequence[int], w_shape: Sequence[int], numbers: ConvDimensionNumbers,
    geometry: Geometry,
) -> Axes:  # fmt: skip
    batch, _, *spatial = permuted(x_shape, numbers.lhs_spec)
    features, _, *window = permuted(w_shape, numbers.rhs_spec)
    counts = geometry.windows(window).counts(spatial)
    made = (batch // geometry.batch_groups, features, *counts)
    return tuple(made[numbers.out_spec.index(a)] for a in range(len(made)))


class Groups:
    """The sizes of a convolution taken apart into groups, each of features of its own."""

    def __init__(self, x: Tensor, w: Tensor, numbers: ConvDimensionNumbers, geometry: Geometry):
        self.x, self.w, self.numbers, self.geometry = x, w, numbers, geometry
        self.count = max(geometry.feature_groups, geometry.batch_groups)
        self.spatial = permuted(x.shape, numbers.lhs_spec[2:])
        features, self.channels, *window = permuted(w.shape, numbers.rhs_spec)
        self.window = tuple(window)
        self.features = features // self.count
        self.batch = x.shape[numbers.lhs_spec[0]] // geometry.batch_groups
        self.windows = geometry.windows(window)
        self.counts = self.windows.counts(self.spatial)

    def read(
        self, build: Build, group: Any, batch: Any, at: Sequence[Expr], channel: Any,
        within: Sequence[Expr],
    ) -> Any:  # fmt: skip
        """The element of lhs under element `within` of window `at`; 0 outside."""
        index, inside = self.windows.position(self.spatial, at, within)
        if self.geometry.feature_groups > 1:
            channel = group * self.channels + channel
        if self.geometry.batch_groups > 1:
            batch = group * self.batch + batch
        axes = dict(zip(self.numbers.lhs_spec, [batch, channel, *index]))
        value = self.x[[axes[a] for a in range(self.x.ndim)]]
        return select_if(build, inside, value, build.const(0, self.x.dtype))

    def factors(self, build: Build, out: Sequence[Expr], depth: Sequence[Expr]) -> tuple[Any, Any]:
        """The elements of lhs and rhs that output element `out` multiplies at (channel, ...)."""
        spec = self.numbers.out_spec
        feature = out[spec[1]]
        group = feature / self.features if self.count > 1 else 0
        at = [out[a] for a in spec[2:]]
        a = self.read(build, group, out[spec[0]], at, depth[0], depth[1:])
        of_w = dict(zip(self.numbers.rhs_spec, [feature, *depth]))
        return a, self.w[[of_w[k] for k in range(self.w.ndim)]]

    def patches_size(self) -> int:
        """Elements of all windows together."""
        sizes = (self.count, self.batch, *self.counts, self.channels, *self.window)
        return math.prod(sizes)
