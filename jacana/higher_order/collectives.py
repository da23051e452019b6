"""Operations between the examples of a batch: collectives over a named axis.

The axis is that of a vmap, or of the mesh of a shard_map. Inside, each example (block) holds a
value of its own; the batching rule, which sees them all, does the work. `axis_name` is one name:
several are composed of these (lax.parallel).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.primitive import Inapplicable, Primitive
from jacana.core.variance import vary
from jacana.ops.families import LinearMap, move_axis, not_differentiable, spread_axis
from jacana.ops.gather import GatherDimensionNumbers, GatherScatterMode
from jacana.transforms.batch import BatchTrace

between_examples = Inapplicable("its axis_name has to be that of a vmap, or of a mesh")


class Collective(Primitive):
    """An operation over a named axis: `across` does it, for the batch as a whole.

    Within each example, batching by any other vmap adds an axis in front.
    """

    reference = between_examples
    lower = between_examples
    batch = Inapplicable("batch_rule knows the name of the axis")

    # across(x, size, **params) -> result and its batch axis, from examples along axis 0
    across: Any

    def with_front_axis(self, params: dict[str, Any]) -> dict[str, Any]:
        """The params when each example has one more axis in front."""
        return params

    def axis_names(self, params: dict[str, Any]) -> tuple[Any, ...]:
        return (params["axis_name"],)

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[int | None], params: dict[str, Any]
    ) -> tuple[Any, int | None]:
        (x,), (axis,) = values, axes
        if trace.axis_name == params["axis_name"]:
            x = spread_axis(x, trace.size) if axis is None else move_axis(x, axis, 0)
            return self.across(x, trace.size, **params)  # type: ignore[no-any-return]
        assert axis is not None
        return self(move_axis(x, axis, 0), **self.with_front_axis(params)), 0


class PVary(Collective, LinearMap):
    """The operand itself, which counts as different in each example from here on."""

    name = "pvary"
    tells_variance = True

    def type_rule(self, x: ShapedArray, *, axis_name: Any) -> ShapedArray:
        return x.varying(x.vma | {axis_name})

    def transpose(self, ct: Any, x: Any, *, axis_name: Any) -> list[Any]:
        return [psum(ct, axis_name=axis_name)]

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[int | None], params: dict[str, Any]
    ) -> tuple[Any, int | None]:
        if trace.axis_name == params["axis_name"]:
            return values[0], axes[0]
        return self(values[0], **params), axes[0]


class Fold(Collective):
    """Combines the values of all examples into one, which is the same for all of them."""

    tells_variance = True

    def type_rule(self, x: ShapedArray, *, axis_name: Any) -> ShapedArray:
        return x.varying(x.vma - {axis_name})


class PSum(Fold, LinearMap):
    """The sum over all examples."""

    name = "psum"

    def transpose(self, ct: Any, x: Any, *, axis_name: Any) -> list[Any]:
        # Where types say what varies, the cotangent is one of the sum, the same for all examples.
        if axis_name in x.aval.vma:
            return [pvary(ct, axis_name=axis_name)]
        return [self(ct, axis_name=axis_name)]

    def across(self, x: Any, size: int, *, axis_name: Any) -> tuple[Any, None]:
        return ops.reduce_sum(x, axes=(0,)), None

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"axes": (params["axis_name"],), "axis_index_groups": None}


class PExtremum(Fold):
    """The largest (smallest) value of all examples, element by element."""

    transpose = Inapplicable("it is not linear; psum carries its derivative")
    fold: Primitive

    def jvp(self, i: int, t: Any, out: Any, x: Any, *, axis_name: Any) -> Any:
        # Examples that attain the extremum share it.
        chosen = ops.convert_element_type(ops.eq(x, out), new_dtype=t.dtype, weak_type=False)
        count = psum(chosen, axis_name=axis_name)
        return psum(ops.mul(t, ops.div(chosen, count)), axis_name=axis_name)

    def across(self, x: Any, size: int, *, axis_name: Any) -> tuple[Any, None]:
        return self.fold(x, axes=(0,)), None

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"axes": (params["axis_name"],), "axis_index_groups": None}


class PMax(PExtremum):
    """The largest value of all examples, element by element."""

    name = "pmax"
    fold = ops.reduce_max


class PMin(PExtremum):
    """The smallest value of all examples, element by element."""

    name = "pmin"
    fold = ops.reduce_min


class AxisIndex(Collective):
    """The number of the example."""

    name = "axis_index"
    jvp = not_differentiable
    transpose = Inapplicable("it has no operands")

    def type_rule(self, *, axis_name: Any) -> ShapedArray:
        return ShapedArray((), dtypes.int32)

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[int | None], params: dict[str, Any]
    ) -> tuple[Any, int | None]:
        return ops.iota(dtype=dtypes.int32, shape=(trace.size,), dimension=0), 0


class AllGather(Collective, LinearMap):
    """Every example's value, along a new axis."""

    name = "all_gather"

    def type_rule(self, x: ShapedArray, *, dimension: int, axis_size: int, **_: Any) -> ShapedArray:
        return x.update(shape=(*x.shape[:dimension], axis_size, *x.shape[dimension:]))

    def transpose(self, ct: Any, x: Any, *, dimension: int, axis_name: Any, **_: Any) -> list[Any]:
        ct = vary(ct, x.aval.vma)
        return [reduce_scatter(ct, dimension=dimension, axis_name=axis_name)]

    def across(self, x: Any, size: int, *, dimension: int, **_: Any) -> tuple[Any, None]:
        return move_axis(x, 0, dimension), None

    def with_front_axis(self, params: dict[str, Any]) -> dict[str, Any]:
        return {**params, "dimension": params["dimension"] + 1}


class AllGatherInvariant(AllGather):
    """Every example's value, along a new axis, as one value that is the same for all examples."""

    name = "all_gather_invariant"
    tells_variance = True

    def type_rule(
        self, x: ShapedArray, *, dimension: int, axis_size: int, **rest: Any
    ) -> ShapedArray:
        gathered = super().type_rule(x, dimension=dimension, axis_size=axis_size)
        return gathered.varying(x.vma - {rest["axis_name"]})

    def transpose(self, ct: Any, x: Any, *, dimension: int, axis_name: Any, **_: Any) -> list[Any]:
        starts = [np.int32(0)] * len(np.shape(ct))
        starts[dimension] = pvary(axis_index(axis_name=axis_name), axis_name=axis_name)
        sizes = (*x.shape[:dimension], 1, *x.shape[dimension:])
        return [ops.squeeze(
            ops.dynamic_slice(ct, *starts, slice_sizes=sizes), dimensions=(dimension,)
        )]  # fmt: skip


class ReduceScatter(Collective, LinearMap):
    """The sum over all examples, of which example i gets the part i along an axis."""

    name = "reduce_scatter"

    def type_rule(self, x: ShapedArray, *, dimension: int, axis_name: Any) -> ShapedArray:
        return x.update(shape=x.shape[:dimension] + x.shape[dimension + 1 :])

    def transpose(self, ct: Any, x: Any, *, dimension: int, axis_name: Any) -> list[Any]:
        size, ct = x.shape[dimension], vary(ct, x.aval.vma)
        return [all_gather(ct, dimension=dimension, axis_size=size, axis_name=axis_name)]

    def across(self, x: Any, size: int, *, dimension: int, **_: Any) -> tuple[Any, int]:
        return ops.reduce_sum(x, axes=(0,)), dimension

    def with_front_axis(self, params: dict[str, Any]) -> dict[str, Any]:
        return {**params, "dimension": params["dimension"] + 1}


class PPermute(Collective, LinearMap):
    """Example j gets the value of example i for each pair (i, j); the others get zeros."""

    name = "ppermute"

    def type_rule(
        self, x: ShapedArray, *, perm: Sequence[tuple[int, int]], axis_name: Any
    ) -> ShapedArray:
        return x

    def transpose(self, ct: Any, x: Any, *, perm: Any, axis_name: Any) -> list[Any]:
        back = tuple([(j, i) for i, j in perm])
        return [self(vary(ct, x.aval.vma), perm=back, axis_name=axis_name)]

    def across(self, x: Any, size: int, *, perm: Any, axis_name: Any) -> tuple[Any, int]:
        # An index out of bounds reads zeros.
        sources = np.full((size, 1), size, np.int32)
        for i, j in perm:
            sources[j] = i
        numbers = GatherDimensionNumbers(tuple(range(1, np.ndim(x))), (0,), (0,))
        rows = ops.gather(
            x,
            sources,
            dimension_numbers=numbers,
            slice_sizes=(1, *np.shape(x)[1:]),
            mode=GatherScatterMode.FILL_OR_DROP,
            fill_value=0,
        )
        return rows, 0


class AllToAll(Collective, LinearMap):
    """Part i along split_axis goes to example i, which stacks what it gets along concat_axis."""

    name = "all_to_all"

    def type_rule(
        self, x: ShapedArray, *, split_axis: int, concat_axis: int, axis_name: Any
    ) -> ShapedArray:
        shape = list(x.shape)
        shape.insert(concat_axis, shape.pop(split_axis))
        return x.update(shape=tuple(shape))

    def transpose(
        self, ct: Any, x: Any, *, split_axis: int, concat_axis: int, axis_name: Any
    ) -> list[Any]:
        back = {"split_axis": concat_axis, "concat_axis": split_axis}
        return [self(vary(ct, x.aval.vma), **back, axis_name=axis_name)]

    def across(
        self, x: Any, size: int, *, split_axis: int, concat_axis: int, axis_name: Any
    ) -> tuple[Any, int]:
        # Examples and parts change places; then what were examples moves to its axis.
        x = move_axis(x, split_axis + 1, 0)
        return move_axis(x, 1, concat_axis + 1), 0

    def with_front_axis(self, params: dict[str, Any]) -> dict[str, Any]:
        moved = {k: params[k] + 1 for k in ("split_axis", "concat_axis")}
        return {**params, **moved}


pvary = PVary()
psum = PSum()
pmax = PMax()
pmin = PMin()
axis_index = AxisIndex()
all_gather = AllGather()
all_gather_invariant = AllGatherInvariant()
reduce_scatter = ReduceScatter()
ppermute = PPermute()
all_to_all = AllToAll()
