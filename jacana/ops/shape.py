"""Shape: the same elements at other indices, and arrays made of an index."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.dimensions import Dimensions, placed_at, replicated, without_dimensions
from jacana.core.primitive import Inapplicable, Primitive
from jacana.kernel.expr import Expr
from jacana.ops.families import LinearMap, align_batch, move_axis
from jacana.ops.indexing import join_index, reshape_groups, split_index
from jacana.ops.lowering import Build, Index, Tensor
from jacana.ops.params import WithDefaults, without_none

Shape = tuple[int, ...]


def zeros(shape: Sequence[int], dtype: Any) -> Any:
    """Zeros of a shape and dtype."""
    return full(shape, 0, dtype)


def full(shape: Sequence[int], value: Any, dtype: Any) -> Any:
    """One number at every index."""
    scalar = np.asarray(value).astype(dtype)[()]
    if not shape:
        # A literal is no operand of a transformation: copies of it are.
        return ops.broadcast_in_dim(scalar, shape=(), broadcast_dimensions=())
    return ops.broadcast_in_dim(scalar, shape=tuple(shape), broadcast_dimensions=())


def zero_of(x: Any) -> Any:
    """0 in the dtype of an array, as a literal of the program."""
    return x.dtype.type(0)


class BroadcastInDim(WithDefaults, LinearMap):
    """Axis k of x becomes axis broadcast_dimensions[k]; x is repeated along all other axes."""

    joins = True

    name = "broadcast_in_dim"
    defaults = {"sharding": None}

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        shown = {"broadcast_dimensions": params["broadcast_dimensions"] or None}
        return without_none({**shown, "sharding": params["sharding"]}, *params)

    def type_rule(
        self, x: ShapedArray, *, shape: Shape, broadcast_dimensions: Shape, sharding: Any = None
    ) -> ShapedArray:
        dims = broadcast_dimensions
        if len(dims) != x.ndim:
            raise TypeError(
                f"broadcast_in_dim needs one broadcast dimension for each axis of its operand, got "
                f"broadcast_dimensions={dims} for {x}."
            )
        if any(not 0 <= d < len(shape) for d in dims):
            raise TypeError(
                f"broadcast_in_dim got broadcast_dimensions={dims}, which are not all axes of the "
                f"result's shape {shape}."
            )
        if any(a >= b for a, b in itertools.pairwise(dims)):
            raise TypeError(
                f"broadcast_in_dim got broadcast_dimensions={dims}; they must be strictly "
                f"increasing. Transpose the operand first."
            )
        if any(n != 1 and n != shape[d] for n, d in zip(x.shape, dims)):
            raise TypeError(
                f"broadcast_in_dim got operand {x} with broadcast_dimensions={dims} and shape="
                f"{shape}: every axis of the operand must be 1 or equal the axis it becomes."
            )
        return ShapedArray(shape, x.dtype, x.weak_type)

    def reference(
        self, x: Any, *, shape: Shape, broadcast_dimensions: Shape, sharding: Any = None
    ) -> Any:
        spread = [1] * len(shape)
        for n, d in zip(np.shape(x), broadcast_dimensions, strict=True):
            spread[d] = n
        return np.broadcast_to(np.reshape(x, spread), shape).copy()

    def transpose(
        self, ct: Any, x: Any, *, shape: Shape, broadcast_dimensions: Shape, sharding: Any = None
    ) -> list[Any]:
        kept = [
            d for n, d in zip(x.shape, broadcast_dimensions) if n != 1 or shape[d] == 1
        ]  # fmt: skip
        summed = tuple(d for d in range(len(shape)) if d not in kept)
        ct = ops.reduce_sum(ct, axes=summed) if summed else ct
        return [reshape_to(ct, x.shape)]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], *,
        shape: Shape, broadcast_dimensions: Shape, sharding: Any = None,
    ) -> tuple[Any, int]:  # fmt: skip
        x = align_batch(size, operands, axes)[0]
        dims = (0, *(d + 1 for d in broadcast_dimensions))
        return self(x, shape=(size, *shape), broadcast_dimensions=dims), 0

    def lower(
        self, build: Build, x: Tensor, *, shape: Shape, broadcast_dimensions: Shape,
        sharding: Any = None,
    ) -> Tensor:  # fmt: skip
        def index(*i: Expr) -> Index:
            return [0 if n == 1 else i[d] for n, d in zip(x.shape, broadcast_dimensions)]

        return build.view(x, shape, index)

    def spec_rule(
        self, specs: Sequence[Dimensions], avals: Any, outs: Sequence[ShapedArray], params: Any
    ) -> list[Dimensions]:
        return [placed_at(specs[0], params["broadcast_dimensions"], outs[0].ndim)]


def reshape_to(x: Any, shape: Sequence[int]) -> Any:
    """x reshaped, if it has another shape."""
    if np.shape(x) == tuple(shape):
        return x
    return ops.reshape(x, new_sizes=tuple(shape))


class Reshape(WithDefaults, LinearMap):
    """The elements in row-major order under another shape."""

    joins = True

    name = "reshape"
    defaults = {"dimensions": None, "sharding": None}

    def type_rule(
        self, x: ShapedArray, *, new_sizes: Shape, dimensions: None = None, sharding: Any = None
    ) -> ShapedArray:
        if any(n < 0 for n in new_sizes):
            raise TypeError(
                f"reshape needs sizes that are not negative, got {new_sizes} for {x}. Only "
                f"jnp.reshape works out a size of -1."
            )
        if math.prod(new_sizes) != x.size:
            raise TypeError(
                f"reshape total size must be unchanged, got new_sizes {new_sizes} (size "
                f"{math.prod(new_sizes)}) for {x} (size {x.size})."
            )
        return ShapedArray(new_sizes, x.dtype, x.weak_type)

    def reference(
        self, x: Any, *, new_sizes: Shape, dimensions: None = None, sharding: Any = None
    ) -> Any:
        return np.reshape(x, new_sizes)

    def transpose(self, ct: Any, x: Any, **params: Any) -> list[Any]:
        return [ops.reshape(ct, new_sizes=x.shape)]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], *,
        new_sizes: Shape, dimensions: None = None, sharding: Any = None,
    ) -> tuple[Any, int]:  # fmt: skip
        return self(align_batch(size, operands, axes)[0], new_sizes=(size, *new_sizes)), 0

    def lower(
        self, build: Build, x: Tensor, *, new_sizes: Shape, dimensions: None = None,
        sharding: Any = None,
    ) -> Tensor:  # fmt: skip
        if 0 in new_sizes:
            return build.view(x, new_sizes, lambda *i: [0] * x.ndim)
        groups = reshape_groups(x.shape, new_sizes)

        def index(*i: Expr) -> Index:
            made: list[Expr | int] = []
            for source, target in groups:
                shape = [new_sizes[a] for a in target]
                at = join_index(build, [i[a] for a in target], shape)
                made += split_index(at, [x.shape[a] for a in source])
            return made

        return build.view(x, new_sizes, index)

    def spec_rule(
        self, specs: Sequence[Dimensions], avals: Any, outs: Sequence[ShapedArray], params: Any
    ) -> list[Dimensions]:
        # Of dimensions that are joined or split, the first one is what is divided.
        found = list(replicated(outs[0].ndim))
        if outs[0].size:
            for source, target in reshape_groups(avals[0].shape, outs[0].shape):
                first = [a for a in source if avals[0].shape[a] > 1][:1]
                for place in [a for a in target if outs[0].shape[a] > 1][: len(first)]:
                    found[place] = specs[0][first[0]]
        return [tuple(found)]


class Transpose(LinearMap):
    """Axis k of the output is axis permutation[k] of x."""

    joins = True

    name = "transpose"

    def type_rule(self, x: ShapedArray, *, permutation: Shape) -> ShapedArray:
        if sorted(permutation) != list(range(x.ndim)):
            raise TypeError(
                f"transpose permutation isn't a permutation of operand dimensions, got "
                f"{permutation} for {x}."
            )
        return ShapedArray(tuple(x.shape[p] for p in permutation), x.dtype, x.weak_type)

    def reference(self, x: Any, *, permutation: Shape) -> Any:
        return np.transpose(x, permutation)

    def transpose(self, ct: Any, x: Any, *, permutation: Shape) -> list[Any]:
        inverse = tuple(int(p) for p in np.argsort(permutation))
        return [ops.transpose(ct, permutation=inverse)]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[Any], *, permutation: Shape
    ) -> tuple[Any, int]:
        a = axes[0]
        rest = (p + (p >= a) for p in permutation)
        return self(operands[0], permutation=(a, *rest)), 0

    def lower(self, build: Build, x: Tensor, *, permutation: Shape) -> Tensor:
        def index(*i: Expr) -> Index:
            return [i[permutation.index(axis)] for axis in range(x.ndim)]

        return build.view(x, [x.shape[p] for p in permutation], index)

    def spec_rule(
        self, specs: Sequence[Dimensions], avals: Any, outs: Any, params: dict[str, Any]
    ) -> list[Dimensions]:
        return [tuple([specs[0][p] for p in params["permutation"]])]


class Squeeze(LinearMap):
    """x without the axes `dimensions`, which have extent 1."""

    joins = True

    name = "squeeze"

    def type_rule(self, x: ShapedArray, *, dimensions: Shape) -> ShapedArray:
        if any(not 0 <= d < x.ndim for d in dimensions) or len(set(dimensions)) < len(dimensions):
            raise ValueError(
                f"squeeze got dimensions={dimensions}, which are not distinct axes of {x}."
            )
        if any(x.shape[d] != 1 for d in dimensions):
            raise ValueError(
                f"cannot select an axis to squeeze out which has size not equal to one, got "
                f"dimensions={dimensions} of {x}."
            )
        shape = tuple(n for d, n in enumerate(x.shape) if d not in dimensions)
        return ShapedArray(shape, x.dtype, x.weak_type)

    def reference(self, x: Any, *, dimensions: Shape) -> Any:
        return np.squeeze(x, dimensions)

    def transpose(self, ct: Any, x: Any, *, dimensions: Shape) -> list[Any]:
        kept = tuple(d for d in range(len(x.shape)) if d not in dimensions)
        return [ops.broadcast_in_dim(ct, shape=x.shape, broadcast_dimensions=kept)]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], *, dimensions: Shape
    ) -> tuple[Any, int]:
        x = align_batch(size, operands, axes)[0]
        return self(x, dimensions=tuple(d + 1 for d in dimensions)), 0

    def lower(self, build: Build, x: Tensor, *, dimensions: Shape) -> Tensor:
        kept = [d for d in range(x.ndim) if d not in dimensions]

        def index(*i: Expr) -> Index:
            return [i[kept.index(d)] if d in kept else 0 for d in range(x.ndim)]

        return build.view(x, [x.shape[d] for d in kept], index)

    def spec_rule(
        self, specs: Sequence[Dimensions], avals: Any, outs: Any, params: dict[str, Any]
    ) -> list[Dimensions]:
        return [without_dimensions(specs[0], params["dimensions"])]


class Rev(LinearMap):
    """x with the axes `dimensions` in reversed order."""

    joins = True

    name = "rev"

    def type_rule(self, x: ShapedArray, *, dimensions: Shape) -> ShapedArray:
        if len(set(dimensions)) != len(dimensions):
            raise TypeError(f"rev dimensions must be unique, got {dimensions}.")
        if any(not 0 <= d < x.ndim for d in dimensions):
            raise TypeError(f"rev got dimensions={dimensions}, which are not all axes of {x}.")
        return x

    def reference(self, x: Any, *, dimensions: Shape) -> Any:
        return np.flip(x, dimensions)

    def transpose(self, ct: Any, x: Any, *, dimensions: Shape) -> list[Any]:
        return [ops.rev(ct, dimensions=dimensions)]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[Any], *, dimensions: Shape
    ) -> tuple[Any, int]:
        a = axes[0]
        return self(operands[0], dimensions=tuple(d + (d >= a) for d in dimensions)), a

    def lower(self, build: Build, x: Tensor, *, dimensions: Shape) -> Tensor:
        def index(*i: Expr) -> Index:
            return [x.shape[d] - 1 - i[d] if d in dimensions else i[d] for d in range(x.ndim)]

        return build.view(x, x.shape, index)


class Iota(WithDefaults):
    """The index along `dimension`, as an array."""

    joins = True

    name = "iota"
    defaults = {"sharding": None}

    def type_rule(
        self, *, dtype: Any, shape: Shape, dimension: int, sharding: Any = None
    ) -> ShapedArray:
        if dtypes.kind(dtype) not in ("int", "uint", "float", "complex"):
            raise TypeError(f"iota does not accept dtype {dtype}. Accepted are numeric dtypes.")
        if not 0 <= dimension < len(shape):
            raise ValueError(f"iota dimension must be an axis of shape {shape}, got {dimension}.")
        return ShapedArray(shape, dtype)

    def reference(self, *, dtype: Any, shape: Shape, dimension: int, sharding: Any = None) -> Any:
        along = np.arange(shape[dimension]).astype(dtype)
        spread = [-1 if d == dimension else 1 for d in range(len(shape))]
        return np.broadcast_to(along.reshape(spread), shape).copy()

    jvp = Inapplicable("iota has no operands")
    transpose = Inapplicable("iota has no operands")
    batch = Inapplicable("iota has no operands")

    def lower(
        self, build: Build, *, dtype: Any, shape: Shape, dimension: int, sharding: Any = None
    ) -> Tensor:
        return build.compute(shape, dtype, lambda *i: build.convert(i[dimension], dtype))


class Split(Primitive):
    """Consecutive pieces of x along `axis`, of the given sizes."""

    joins = True

    name = "split"
    multiple_results = True

    def type_rule(self, x: ShapedArray, *, sizes: Shape, axis: int) -> tuple[ShapedArray, ...]:
        if not 0 <= axis < x.ndim:
            raise ValueError(f"split needs an axis of its operand, got axis={axis} for {x}.")
        if sum(sizes) != x.shape[axis]:
            raise ValueError(
                f"split needs sizes that sum to the axis' extent {x.shape[axis]}, got {sizes} of "
                f"sum {sum(sizes)} for axis {axis} of {x}."
            )
        shapes = [(*x.shape[:axis], n, *x.shape[axis + 1 :]) for n in sizes]
        return tuple(ShapedArray(s, x.dtype, x.weak_type) for s in shapes)

    def reference(self, x: Any, *, sizes: Shape, axis: int) -> list[Any]:
        return list(np.split(x, np.cumsum(sizes)[:-1], axis))

    def jvp(
        self, i: int, t: Any, outs: Sequence[Any], x: Any, *, sizes: Shape, axis: int
    ) -> list[Any]:
        return list(self(t, sizes=sizes, axis=axis))

    def transpose(self, cts: Sequence[Any], x: Any, *, sizes: Shape, axis: int) -> list[Any]:
        pieces = [
            zeros((*x.shape[:axis], n, *x.shape[axis + 1 :]), x.dtype) if ct is None else ct
            for ct, n in zip(cts, sizes, strict=True)
        ]
        return [ops.concatenate(*pieces, dimension=axis)]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[Any], *, sizes: Shape, axis: int
    ) -> tuple[list[Any], list[int]]:
        x = move_axis(operands[0], axes[0], 0)
        return list(self(x, sizes=sizes, axis=axis + 1)), [0] * len(sizes)

    def lower(self, build: Build, x: Tensor, *, sizes: Shape, axis: int) -> list[Tensor]:
        def piece(start: int, n: int) -> Tensor:
            def index(*i: Expr) -> Index:
                return [k + start if d == axis else k for d, k in enumerate(i)]

            return build.view(x, [*x.shape[:axis], n, *x.shape[axis + 1 :]], index)

        starts = np.cumsum([0, *sizes])
        return [piece(int(start), n) for start, n in zip(starts, sizes)]

    def spec_rule(
        self, specs: Sequence[Dimensions], avals: Any, outs: Sequence[ShapedArray], params: Any
    ) -> list[Dimensions]:
        return [specs[0]] * len(outs)


broadcast_in_dim = BroadcastInDim()
reshape = Reshape()
transpose = Transpose()
squeeze = Squeeze()
rev = Rev()
iota = Iota()
split = Split()
