"""The positions of extreme elements: argmax and argmin.

Along a long axis the extreme of each block comes first, which takes one comparison an element; then
the first block that has the extreme of all, and the position in that block alone.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.ops.extremes import greatest, is_before, least
from jacana.ops.families import ORDERED, not_differentiable, not_linear
from jacana.ops.lowering import Build, Tensor, Value
from jacana.ops.reduction import Axes, Folding
from jacana.ops.sorting import take_along

# An axis is searched by blocks if it is at least this long, and they are of at least so many.
LONG, BLOCK = 512, 16


class ArgExtreme(Folding):
    """The index of the first extreme element along one axis; the first nan wins."""

    kinds = ORDERED
    largest: ClassVar[bool]

    jvp = not_differentiable
    transpose = not_linear

    def type_rule(self, x: ShapedArray, *, axes: Axes, index_dtype: Any) -> ShapedArray:
        if len(axes) != 1:
            raise ValueError(f"{self.name} needs exactly one axis, got axes={axes}.")
        out = self.folded(x, axes)
        if not dtypes.is_integer(index_dtype):
            raise TypeError(f"{self.name} needs an integer index_dtype, got {index_dtype}.")
        if x.shape[axes[0]] < 1:
            raise ValueError(
                f"attempt to get {self.name} of an empty sequence: axis {axes[0]} of {x} has "
                f"extent 0."
            )
        return ShapedArray(out.shape, index_dtype)

    def reference(self, x: Any, *, axes: Axes, index_dtype: Any) -> Any:
        # NumPy's narrow dtypes have no argmax: float64 and int64 hold their values.
        wide = np.asarray(x, np.float64) if dtypes.kind(x.dtype) == "float" else x
        found = np.argmax(wide, axes[0]) if self.largest else np.argmin(wide, axes[0])
        return np.asarray(found).astype(index_dtype)

    def lower(self, build: Build, x: Tensor, *, axes: Axes, index_dtype: Any) -> Tensor:
        axis = axes[0]
        block = block_of(x.shape[axis])
        if block:
            dtype = dtypes.dtype(index_dtype)
            made: Tensor = build.compose(lambda v: self._by_blocks(v, axis, block, dtype), x)
            return made
        counting = dtypes.int32 if x.shape[axis] < 2**31 else dtypes.int64
        position = build.compute(x.shape, counting, lambda *i: build.convert(i[axis], counting))

        def combine(a: Sequence[Any], b: Sequence[Any]) -> list[Value]:
            # Lanes meet in any order, so the tie is broken by position.
            wins = is_before(a[0], b[0], self.largest, a[1] < b[1])
            return [build.select(wins, a[0], b[0]), build.select(wins, a[1], b[1])]

        worst = least(x.dtype) if self.largest else greatest(x.dtype)
        init = [worst, int(np.iinfo(counting).max)]
        found = build.reduce([x, position], axes, combine, init)[1]
        return build.elementwise(lambda v: build.convert(v, index_dtype), [found], index_dtype)

    def _by_blocks(self, x: Any, axis: int, block: int, dtype: Any) -> Any:
        shape = np.shape(x)
        if dtypes.is_bool(x.dtype):
            x = ops.convert_element_type(x, new_dtype=dtypes.uint8, weak_type=False)
        apart = (*shape[:axis], shape[axis] // block, block, *shape[axis + 1 :])
        best = (ops.reduce_max if self.largest else ops.reduce_min)(
            ops.reshape(x, new_sizes=apart), axes=(axis + 1,)
        )
        index = (*shape[:axis], block, *shape[axis + 1 :])
        first = ops.mul(self(best, axes=(axis,), index_dtype=dtype), dtype.type(block))
        kept = tuple(a for a in range(len(shape)) if a != axis)
        start = ops.broadcast_in_dim(first, shape=index, broadcast_dimensions=kept)
        steps = ops.iota(dtype=dtype, shape=index, dimension=axis)
        found = self(take_along(x, ops.add(start, steps), axis), axes=(axis,), index_dtype=dtype)
        return ops.add(first, found)


def block_of(n: int) -> int:
    """The length of blocks that divide an axis of extent n, about its square root; 0 for none."""
    if n < LONG:
        return 0
    root = int(n**0.5)
    near = [d for d in range(BLOCK, 8 * root) if n % d == 0 and n // d >= BLOCK]
    return min(near, key=lambda d: abs(d - root), default=0)


class ArgMax(ArgExtreme):
    """The index of the first maximum."""

    name = "argmax"
    largest = True


class ArgMin(ArgExtreme):
    """The index of the first minimum."""

    name = "argmin"
    largest = False


argmax = ArgMax()
argmin = ArgMin()
