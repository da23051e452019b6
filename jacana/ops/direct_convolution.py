"""Convolution without copies of its windows: blocks of outputs in registers, a loop over depth.

A block is an outer product: some scalars times some vectors. Where features are the output's last
axis, vectors run along features and scalars are neighbouring places; else vectors run along the
last spatial axis and scalars are features. Either way an output element is a chain of fused
multiply-adds over the input features of its group and, inside, over the window in row-major order.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from jacana.core import dtypes
from jacana.kernel.build import Writer
from jacana.kernel.expr import Expr
from jacana.ops.convolution_geometry import Axes, Groups
from jacana.ops.indexing import select_if, split_index
from jacana.ops.lowering import Build, Output, Tensor, Value
from jacana.ops.windows import Windows

DTYPES = (dtypes.float32, dtypes.float64)
# Vectors have this many elements; a row that fills less of one is the library's.
LANES, SHORTEST = 16, 12
# Bytes of vectors that registers hold for one block; vectors that hide each other's latency.
BLOCK_BYTES, MOST_VECTORS = 1024, 8
# Sums this short are computed where they are read, unless other features share what they read.
SHORT_SUM, FEW_FEATURES = 16, 2
# Window elements whose steps are written out.
UNROLLED = 16
# Larger windows, and groups whose kernels no cache holds, are the library's.
LARGEST_WINDOW, LARGEST_KERNELS = 4096, 1 << 18

# One factor of a product: element number `k` of its side, at an input feature and a window element.
Factor = Callable[[int, Expr, Sequence[Expr]], Expr]

# Where vector number `v` of a block is.
Place = Callable[[int], Expr]
# Blocks that cover a part of an axis: where they begin, their size, how many there are.
Piece = tuple[int, int, int]


class Unit(NamedTuple):
    """What one thread computes at a time: all features of places that differ in the last axis."""

    group: Expr
    batch: Expr
    outer: Sequence[Expr]


def is_direct(groups: Groups) -> bool:
    """Whether this is the fastest way; by shape and dtype alone."""
    if groups.x.dtype not in DTYPES or not groups.window:
        return False
    taps = math.prod(groups.window)
    kernels = groups.features * groups.channels * taps * int(groups.x.dtype.itemsize)
    if not 0 < taps <= LARGEST_WINDOW or kernels > LARGEST_KERNELS or groups.patches_size() == 0:
        return False
    return _is_along_features(groups) or groups.counts[-1] >= SHORTEST


def _is_along_features(groups: Groups) -> bool:
    spec = groups.numbers.out_spec
    return groups.features >= SHORTEST and spec[1] == len(spec) - 1


def is_short(groups: Groups) -> bool:
    """Whether an element of a direct convolution is cheap enough to be fused with its reader."""
    depth = groups.channels * math.prod(groups.window)
    return depth <= SHORT_SUM and groups.features <= FEW_FEATURES


def direct_convolution(build: Build, groups: Groups) -> Tensor:
    """The convolution, in the order of axes that its dimension numbers ask for."""
    along_features = _is_along_features(groups)
    made = (_along_features if along_features else _along_space)(build, groups)
    out_spec = groups.numbers.out_spec
    order = [0, made.ndim - 1, *range(1, made.ndim - 1)] if along_features else range(made.ndim)
    # Axis out_spec[k] of the output is axis order[k] of what was made.
    source = dict(zip(order, out_spec))
    shape = [made.shape[order[out_spec.index(a)]] for a in range(made.ndim)]
    if shape == list(made.shape) and all(source[a] == a for a in range(made.ndim)):
        return made
    return build.view(made, shape, lambda *i: [i[source[a]] for a in range(made.ndim)])


def _along_space(build: Build, groups: Groups) -> Tensor:
    """[batch, features, *places]: vectors along the last spatial axis, scalars are features."""
    features, width = groups.features, groups.counts[-1]
    spec = groups.numbers.rhs_spec

    def block(ins: Sequence[Tensor], at: Unit, first: Expr, place: Place) -> tuple[Factor, Factor]:
        x, w = ins
        feature = at.group * features + first

        def scalar(k: int, c: Expr, window: Sequence[Expr]) -> Any:
            return w[_placed(spec, [feature + k, c, *window])]

        def vector(v: int, c: Expr, window: Sequence[Expr]) -> Any:
            return x[_under(groups, at, [*at.outer, place(v)], c, window)]

        return scalar, vector

    def target(at: Unit, k: Expr, v: Expr) -> list[Expr]:
        return [at.batch, at.group * features + k, *at.outer, v]

    shape = (groups.batch, groups.count * features, *groups.counts)
    inputs = [_spread(build, groups), groups.w]
    return _blocks(build, groups, shape, inputs, (features, width), block, target)


def _along_features(build: Build, groups: Groups) -> Tensor:
    """[batch, *places, features]: vectors along features, scalars are neighbouring places."""
    features, width = groups.features, groups.counts[-1]

    def block(ins: Sequence[Tensor], at: Unit, first: Expr, place: Place) -> tuple[Factor, Factor]:
        x, w = ins
        feature = at.group * features

        def scalar(k: int, c: Expr, window: Sequence[Expr]) -> Any:
            return x[_under(groups, at, [*at.outer, first + k], c, window)]

        def vector(v: int, c: Expr, window: Sequence[Expr]) -> Any:
            return w[[c, *window, feature + place(v)]]

        return scalar, vector

    def target(at: Unit, k: Expr, v: Expr) -> list[Expr]:
        return [at.batch, *at.outer, k, at.group * features + v]

    shape = (groups.batch, *groups.counts, groups.count * features)
    inputs = [_spread(build, groups), _features_last(build, groups)]
    return _blocks(build, groups, shape, inputs, (width, features), block, target)


def _blocks(
    build: Build, groups: Groups, shape: Sequence[int], inputs: Sequence[Tensor],
    extents: tuple[int, int],
    block: Callable[[Sequence[Tensor], Unit, Expr, Place], tuple[Factor, Factor]],
    target: Callable[[Unit, Expr, Expr], list[Expr]],
) -> Tensor:  # fmt: skip
    """The kernel: blocks over `extents`, of scalars and of vectors, for each unit of work."""
    high, wide = extents
    rows, vectors = _block(groups, min(high, LANES), wide)
    units = (groups.count, groups.batch, *groups.counts[:-1])
    steps = -(-wide // vectors)

    def write(writer: Writer, out: Output, ins: Sequence[Tensor], at: Unit, piece: Piece) -> None:
        first, size, times = piece
        with (
            writer.loop(build.index(times)) as number,
            writer.loop(build.index(steps), "vector") as step,
        ):
            start = number * size + first

            def place(v: int) -> Expr:
                # The last vectors overlap those before them where they would reach too far.
                return step + min(v * steps, wide - steps)

            scalar, vector = block(ins, at, start, place)
            for k, v, value in _sums(build, writer, groups, (scalar, size), (vector, vectors)):
                out.store(target(at, start + k, place(v)), value)

    def body(writer: Writer, outs: Sequence[Output], ins: Sequence[Tensor]) -> None:
        with writer.loop(build.index(math.prod(units)), "serial", grid=True) as unit:
            group, batch, *outer = _unit_index(build, unit, units)
            for piece in _pieces(high, rows):
                write(writer, outs[0], ins, Unit(group, batch, outer), piece)

    work = float(groups.patches_size() * groups.features)
    return build.loops([(shape, groups.x.dtype)], inputs, body, work=work)[0]


def _block(groups: Groups, most: int, width: int) -> tuple[int, int]:
    """How many scalars and how many vectors a block is the product of."""
    held = BLOCK_BYTES // (LANES * int(groups.x.dtype.itemsize))
    vectors = min(-(-width // LANES), max(2, held // most), MOST_VECTORS)
    return max(1, min(most, held // vectors)), vectors


def _pieces(extent: int, size: int) -> Iterator[Piece]:
    """Blocks that cover an extent."""
    yield 0, size, extent // size
    if extent % size:
        yield extent // size * size, extent % size, 1


def _unit_index(build: Build, unit: Expr, units: Sequence[int]) -> list[Expr]:
    """The index of a unit of work; 0 along axes of extent 1."""
    long = [a for a, n in enumerate(units) if n != 1]
    index = [build.index(0)] * len(units)
    for a, i in zip(long, split_index(unit, [units[a] for a in long])):
        index[a] = i
    return index


def _sums(
    build: Build, writer: Writer, groups: Groups, scalars: tuple[Factor, int],
    vectors: tuple[Factor, int],
) -> list[tuple[int, int, Expr]]:  # fmt: skip
    """The sum over depth of each scalar times each vector, with their numbers."""
    (scalar, rows), (vector, columns) = scalars, vectors
    depth = (groups.channels, *groups.window)
    unrolled = len(depth)
    while unrolled > 1 and math.prod(depth[unrolled - 1 :]) <= UNROLLED:
        unrolled -= 1

    def tap(at: Sequence[Expr], state: Sequence[Expr]) -> list[Expr]:
        right = [vector(v, at[0], at[1:]) for v in range(columns)]
        left = [scalar(k, at[0], at[1:]) for k in range(rows)]
        fma, products = writer.graph.op, iter(state)
        return [fma("fma", a, b, next(products)) for a in left for b in right]

    def over(at: Sequence[Expr], state: Sequence[Expr]) -> list[Expr]:
        axis = len(at)
        if axis == len(depth):
            return tap(at, state)
        n = depth[axis]
        if n == 1 or axis >= unrolled:
            for k in range(n):
                state = over([*at, build.index(k)], state)
            return list(state)
        results = writer.carry(
            [build.index(0), *state],
            lambda state: state[0] < build.index(n),
            lambda state: [state[0] + 1, *over([*at, state[0]], state[1:])],
        )
        return results[1:]

    zero: Any = build.const(0, groups.x.dtype)
    sums = iter(over([], [zero] * (rows * columns)))
    return [(k, v, next(sums)) for k in range(rows) for v in range(columns)]


def _placed(spec: Axes, index: Sequence[Any]) -> list[Any]:
    """An index (of features, of places ...) in the order of an operand's axes."""
    where = dict(zip(spec, index))
    return [where[a] for a in range(len(spec))]


def _features_last(build: Build, groups: Groups) -> Tensor:
    """rhs as [in feature, *window, out feature]."""
    spec, w = groups.numbers.rhs_spec, groups.w
    order = (*spec[1:], spec[0])
    if order == tuple(range(w.ndim)):
        return w
    shape = [w.shape[a] for a in order]
    return build.view(w, shape, lambda *i: [i[order.index(a)] for a in range(w.ndim)])


# --- lhs with its padding -------------------------------------------------------------------------


def _reach(groups: Groups) -> list[int]:
    """How many places of each spatial axis of the padded lhs windows reach."""
    of_space = groups.windows
    return [
        (count - 1) * stride + (size - 1) * dilation + 1
        for count, size, stride, dilation in zip(
            groups.counts, of_space.dimensions, of_space.strides, of_space.dilation
        )
    ]


def _spread(build: Build, groups: Groups) -> Tensor:
    """lhs with its padding and its holes, as [batch, feature, *places].

    The last axis is [phase, place]: neighbouring windows are neighbours there whatever their
    stride.
    """
    x, spec, of_space = groups.x, groups.numbers.lhs_spec, groups.windows
    reach, stride = _reach(groups), of_space.strides[-1]
    ones, spatial = (1,) * len(reach), groups.spatial
    holes = [(n - 1) * base + 1 for n, base in zip(spatial, of_space.base_dilation)]
    reach[-1] = -(-reach[-1] // stride) * stride
    padding = [(low, r - low - h) for (low, _), r, h in zip(of_space.padding, reach, holes)]
    whole = Windows(tuple(reach), ones, tuple(padding), of_space.base_dilation, ones)
    shape = (x.shape[spec[0]], x.shape[spec[1]], *reach[:-1], stride, reach[-1] // stride)

    def element(*i: Expr) -> Value:
        batch, feature, *outer, phase, place = i
        zero = build.index(0)
        within = [*outer, place * stride + phase]
        index, inside = whole.position(spatial, [zero] * len(reach), within)
        value = x[_placed(spec, [batch, feature, *index])]
        made: Value = select_if(build, inside, value, build.const(0, x.dtype))
        return made

    is_whole = all(p == (0, 0) for p in padding) and set(of_space.base_dilation) == {1}
    if is_whole and stride == 1 and spec == tuple(range(x.ndim)):
        return build.view(x, shape, lambda *i: [*i[:-2], i[-1]])
    return build.compute(shape, x.dtype, element, [x])


def _under(
    groups: Groups, unit: Unit, at: Sequence[Expr], channel: Expr, window: Sequence[Expr]
) -> list[Expr]:
    """The index, in lhs as it was spread, of what is under an element of the window at a place."""
    of_space = groups.windows
    batch, feature = unit.batch, channel
    if groups.geometry.feature_groups > 1:
        feature = unit.group * groups.channels + channel
    if groups.geometry.batch_groups > 1:
        batch = unit.group * groups.batch + batch
    offsets = [k * dilation for k, dilation in zip(window, of_space.dilation)]
    outer = [
        i * stride + offset
        for i, stride, offset in zip(at[:-1], of_space.strides[:-1], offsets[:-1])
    ]
    stride, last = of_space.strides[-1], offsets[-1]
    return [batch, feature, *outer, last % stride, at[-1] + last / stride]
