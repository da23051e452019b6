"""Scatters of many updates by several threads.

Sums in few elements are formed in blocks of updates. Each block has elements of its own, and the
blocks are added in order: a part of what the sum means, so it depends on shapes alone. Arrays that
fit in no core's cache are halved instead: each half sees all updates and takes its own, in order.
"""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from jacana.core import dtypes
from jacana.kernel.build import Writer
from jacana.kernel.expr import Expr
from jacana.ops.indexing import conjunction, flat_index, join_index, minimum, nested_loops
from jacana.ops.lowering import Build, Output, Tensor, Value
from jacana.ops.scatter_layout import Layout

# At least so many updates in all, and for each element of the result, are summed in BLOCKS blocks.
BLOCKED, SHARE, BLOCKS = 1 << 17, 32, 8


# Elements of an array from which on it is halved, and what is left beside each half.
HALVED, ROOM = 1 << 19, 16


def is_halved(shape: Sequence[int], updates: Sequence[int], among: Sequence[int]) -> bool:
    """Whether single elements are updated, in an array that should be in two caches."""
    single = prod(updates) == prod(among) and len(among) > 0
    return single and prod(shape) >= HALVED and prod(updates) >= HALVED // 2


def updated_in_halves(
    build: Build, x: Tensor, indices: Tensor, updates: Tensor, layout: Layout, checked: bool,
    update: Callable[[Output, Sequence[Expr], Value], Value],
) -> Tensor:  # fmt: skip
    """x with update(out, at, value) stored for each of the updates, in order."""
    among = [updates.shape[a] for a in layout.among]
    size = prod(x.shape)
    half = -(-size // 2)
    places = first_places(build, x, indices, among, layout, checked, 2 * half)

    def body(writer: Writer, outs: Sequence[Output], ins: Sequence[Tensor]) -> None:
        (out,), (x, places, updates) = outs, ins
        with writer.loop(build.index(2), grid=True) as part:
            first = part * half
            with writer.loop(minimum(build.index(half), size - first), "vector") as i:
                out.store([part, i], x[flat_index(x.shape, first + i)])
            with nested_loops(writer, build, among, vector=False) as batch:
                place: Any = places[batch]
                # Places before the half are large numbers without a sign.
                beside = (place - first.convert(place.type)).bitcast(f"u{place.type}")
                target = minimum(beside, half).convert("index")
                at = dict(zip(layout.among, batch))
                value = updates[[at[a] for a in range(updates.ndim)]]
                out.store([part, target], update(out, [part, target], value))

    spec = ((2, half + ROOM), x.dtype)
    (halves,) = build.loops([spec], [x, places, updates], body)

    def element(*i: Expr) -> Value:
        at = join_index(build, i, x.shape)
        return halves[(at / half, at % half)]

    return build.compute(x.shape, x.dtype, element, [halves])


def is_blocked(shape: Sequence[int], updates: Sequence[int], among: Sequence[int]) -> bool:
    """Whether updates of a shape are summed in blocks, in an array of the first shape."""
    enough = prod(updates) >= max(BLOCKED, SHARE * prod(shape))
    return enough and len(among) > 0 and among[0] >= BLOCKS * BLOCKS


def sums_in_blocks(
    build: Build, x: Tensor, indices: Tensor, updates: Tensor, layout: Layout, checked: bool,
    nothing: Any, combine: Callable[[Value, Value], Value],
) -> Tensor:  # fmt: skip
    """x combined with the sums of the blocks, which begin from `nothing`.

    Behind the elements of a block is room for the updates that are left out where indices are
    `checked`, so that no update asks.
    """
    among = [updates.shape[a] for a in layout.among]
    within = [updates.shape[a] for a in layout.within]
    strides = [prod(x.shape[axis + 1 :]) for axis in layout.window]
    row = prod(x.shape) + 1 + sum((n - 1) * k for n, k in zip(within, strides, strict=True))
    places = first_places(build, x, indices, among, layout, checked, prod(x.shape))
    length = -(-among[0] // BLOCKS)
    blocks = -(-among[0] // length)

    def body(writer: Writer, outs: Sequence[Output], ins: Sequence[Tensor]) -> None:
        (out,), (places, updates) = outs, ins
        with writer.loop(build.index(blocks), grid=True) as block:
            with writer.loop(build.index(row), "vector") as i:
                out.store([block, i], build.const(nothing, x.dtype))
            first = block * length
            count = minimum(build.index(length), build.index(among[0]) - first)
            with (
                writer.loop(count) as k,
                nested_loops(writer, build, among[1:], vector=False) as rest,
            ):
                batch = [first + k, *rest]
                base: Any = places[batch]
                with nested_loops(writer, build, within) as offset:
                    target = base.convert("index")
                    for j, stride in zip(offset, strides, strict=True):
                        target = target + j * stride
                    at = dict(zip((*layout.among, *layout.within), (*batch, *offset)))
                    value = updates[[at[a] for a in range(updates.ndim)]]
                    out.store([block, target], combine(out.load([block, target]), value))

    (sums,) = build.loops([((blocks, row), x.dtype)], [places, updates], body)

    def element(*i: Expr) -> Value:
        total, at = x[i], join_index(build, i, x.shape)
        for block in range(blocks):
            total = combine(total, sums[(block, at)])
        return total

    return build.compute(x.shape, x.dtype, element, [x, sums])


def first_places(
    build: Build, x: Tensor, indices: Tensor, among: Sequence[int], layout: Layout, checked: bool,
    left_out: int,
) -> Tensor:  # fmt: skip
    """Where in flat memory each window begins; `left_out` for those that are."""
    dtype = dtypes.int32 if left_out < 2**31 else dtypes.int64

    def place(*batch: Expr) -> Value:
        starts, inside = layout.places.expressions(build, indices, batch, layout.limits)
        at: Value = join_index(build, starts, x.shape)
        if checked and inside:
            at = build.select(conjunction(inside), at, build.index(left_out))
        return build.convert(at, dtype)

    return build.compute(among, dtype, place, [indices])
