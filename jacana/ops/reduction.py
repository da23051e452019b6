"""Reductions: fold some axes away with an associative operator, in the one order that they have."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.dimensions import Dimensions, without_dimensions
from jacana.ops.extremes import (
    greater_of,
    greatest,
    least,
    lesser_of,
    reference_fold,
)
from jacana.ops.families import (
    BITS,
    NUMERIC,
    PLAIN,
    kinds_text,
    not_differentiable,
    not_linear,
)
from jacana.ops.lowering import Build, Tensor, Value
from jacana.ops.params import WithDefaults
from jacana.ops.shape import reshape_to, zeros

Axes = tuple[int, ...]


def without_axes(shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def spread_over(x: Any, shape: Sequence[int], axes: Sequence[int]) -> Any:
    """x, which lacks `axes`, repeated along them."""
    kept = tuple(i for i in range(len(shape)) if i not in axes)
    return ops.broadcast_in_dim(x, shape=tuple(shape), broadcast_dimensions=kept)


class Folding(WithDefaults):
    """Takes `axes` away from its operand's shape."""

    joins = True

    kinds: ClassVar[frozenset[str]] = NUMERIC

    def folded(self, x: ShapedArray, axes: Axes) -> ShapedArray:
        """The type of an output of x's dtype, where x and the axes are as they must be."""
        check_axes(self.name, x, axes)
        check_kind(self.name, x, self.kinds)
        return ShapedArray(without_axes(x.shape, axes), x.dtype, x.weak_type)

    def batch(
        self, size: int, operands: Sequence[Any], batch_axes: Sequence[Any], *, axes: Axes,
        **params: Any,
    ) -> tuple[Any, int]:  # fmt: skip
        a = batch_axes[0]
        moved = tuple(i + (i >= a) for i in axes)
        return self(operands[0], axes=moved, **params), a - sum(i < a for i in moved)

    def spec_rule(
        self, specs: Sequence[Dimensions], avals: Any, outs: Any, params: dict[str, Any]
    ) -> list[Dimensions]:
        return [without_dimensions(specs[0], params["axes"])]


class Reduction(Folding):
    """Subclasses write `combine` and its identity `init`, `reference` and the derivative."""

    def combine(self, build: Build, a: Value, b: Value) -> Value:
        raise NotImplementedError

    def init(self, dtype: Any) -> Any:
        """The identity of `combine`."""
        raise NotImplementedError

    def type_rule(self, x: ShapedArray, *, axes: Axes, **params: Any) -> ShapedArray:
        return self.folded(x, axes)

    def lower(self, build: Build, x: Tensor, *, axes: Axes, **params: Any) -> Tensor:
        def combine(a: Sequence[Value], b: Sequence[Value]) -> list[Value]:
            return [self.combine(build, a[0], b[0])]

        return build.reduce([x], axes, combine, [self.init(x.dtype)])[0]


def check_kind(name: str, x: ShapedArray, kinds: frozenset[str]) -> None:
    if dtypes.kind(x.dtype) not in kinds:
        raise TypeError(
            f"{name} does not accept dtype {dtypes.name(x.dtype)}. Accepted dtypes are subtypes of "
            f"{kinds_text(kinds)}. Convert it first, for example with astype."
        )


def check_axes(name: str, x: ShapedArray, axes: Axes) -> None:
    if len(set(axes)) != len(axes):
        raise ValueError(f"{name} got duplicate axes: {axes}.")
    if any(not 0 <= a < x.ndim for a in axes):
        raise ValueError(f"{name} got axes={axes}, which are not all axes of {x}.")


def accumulation_dtype(dtype: Any) -> Any:
    """The dtype in which sums and products are kept: float32 for narrower floats."""
    if dtypes.is_float(dtype) and dtypes.bit_width(dtype) < 32:
        return dtypes.float32
    return dtype


class Accumulation(Reduction):
    """A reduction by arithmetic: narrow floats are folded in float32 and rounded once."""

    def lower(self, build: Build, x: Tensor, *, axes: Axes, **params: Any) -> Tensor:
        narrow, wide = x.dtype, accumulation_dtype(x.dtype)
        if wide != narrow:
            x = build.elementwise(lambda v: build.convert(v, wide), [x], wide)
        out = super().lower(build, x, axes=axes, **params)
        if wide != narrow:
            return build.elementwise(lambda v: build.convert(v, narrow), [out], narrow)
        return out


class ReduceSum(Accumulation):
    """Sum over `axes`, which disappear from the shape."""

    name = "reduce_sum"
    defaults = {"out_sharding": None}

    def reference(self, x: Any, *, axes: Axes, out_sharding: Any = None) -> Any:
        wide = np.asarray(x, accumulation_dtype(x.dtype))
        return np.asarray(np.sum(wide, axes, dtype=wide.dtype)).astype(x.dtype)

    def jvp(self, i: int, t: Any, out: Any, x: Any, **params: Any) -> Any:
        return self(t, **params)

    def transpose(self, ct: Any, x: Any, *, axes: Axes, out_sharding: Any = None) -> list[Any]:
        return [spread_over(ct, x.shape, axes)]

    def init(self, dtype: Any) -> Any:
        return 0

    def combine(self, build: Build, a: Any, b: Any) -> Value:
        return a + b  # type: ignore[no-any-return]


class ReduceProd(Accumulation):
    """Product over `axes`."""

    name = "reduce_prod"

    def reference(self, x: Any, *, axes: Axes) -> Any:
        wide = np.asarray(x, accumulation_dtype(x.dtype))
        return np.asarray(np.prod(wide, axes, dtype=wide.dtype)).astype(x.dtype)

    def jvp(self, i: int, t: Any, out: Any, x: Any, *, axes: Axes) -> Any:
        return product_tangent(x, t, axes)

    transpose = not_linear

    def init(self, dtype: Any) -> Any:
        return 1

    def combine(self, build: Build, a: Any, b: Any) -> Value:
        return a * b  # type: ignore[no-any-return]


def product_tangent(x: Any, t: Any, axes: Axes) -> Any:
    """The tangent of x's product over axes.

    Halves with products p, q and tangents t, u are joined as (p q, t q + p u): no zero breaks it.
    """
    shape = np.shape(x)
    kept = [a for a in range(len(shape)) if a not in axes]
    rest = tuple(shape[a] for a in kept)
    order, n = (*axes, *kept), int(np.prod([shape[a] for a in axes]))
    if n == 0:
        return zeros(rest, t.dtype)
    x, t = (reshape_to(ops.transpose(v, permutation=order), (n, *rest)) for v in (x, t))
    one, zero = x.dtype.type(1), x.dtype.type(0)
    while n > 1:
        if n % 2:
            config = ((0, 1, 0), *[(0, 0, 0)] * len(rest))
            x = ops.pad(x, one, padding_config=config)
            t = ops.pad(t, zero, padding_config=config)
            n += 1
        n //= 2
        (x, y), (t, u) = (ops.split(v, sizes=(n, n), axis=0) for v in (x, t))
        x, t = ops.mul(x, y), ops.add(ops.mul(t, y), ops.mul(x, u))
    return reshape_to(t, rest)


class Extreme(Reduction):
    """A reduction that gives one of the elements; nan wins."""

    kinds = PLAIN

    transpose = not_linear

    def jvp(self, i: int, t: Any, out: Any, x: Any, *, axes: Axes) -> Any:
        # Elements that tie share the derivative equally.
        shape = np.shape(x)
        chosen = ops.eq(x, spread_over(out, shape, axes))
        weight = ops.convert_element_type(chosen, new_dtype=t.dtype, weak_type=False)
        count = ops.reduce_sum(weight, axes=axes)
        return ops.div(ops.reduce_sum(ops.mul(t, weight), axes=axes), count)


class ReduceMax(Extreme):
    """Maximum over `axes`."""

    name = "reduce_max"

    def reference(self, x: Any, *, axes: Axes) -> Any:
        return reference_fold(np.maximum, x, axes, least(x.dtype))

    def init(self, dtype: Any) -> Any:
        return least(dtype)

    def combine(self, build: Build, a: Value, b: Value) -> Value:
        return greater_of(build, a, b)


class ReduceMin(Extreme):
    """Minimum over `axes`."""

    name = "reduce_min"

    def reference(self, x: Any, *, axes: Axes) -> Any:
        return reference_fold(np.minimum, x, axes, greatest(x.dtype))

    def init(self, dtype: Any) -> Any:
        return greatest(dtype)

    def combine(self, build: Build, a: Value, b: Value) -> Value:
        return lesser_of(build, a, b)


class Bitwise(Reduction):
    """A reduction of booleans or of the bits of integers."""

    kinds = BITS
    ufunc: ClassVar[Any]

    jvp = not_differentiable
    transpose = not_linear

    def reference(self, x: Any, *, axes: Axes) -> Any:
        return reference_fold(self.ufunc, x, axes, self.init(x.dtype))


class ReduceAnd(Bitwise):
    """Bitwise (for booleans: logical) and over `axes`."""

    name = "reduce_and"
    ufunc = np.bitwise_and

    def init(self, dtype: Any) -> Any:
        if dtypes.is_bool(dtype):
            return True
        return -1 if dtypes.is_signed_integer(dtype) else int(dtypes.iinfo(dtype).max)

    def combine(self, build: Build, a: Any, b: Any) -> Value:
        return a & b  # type: ignore[no-any-return]


class ReduceOr(Bitwise):
    """Bitwise (for booleans: logical) or over `axes`."""

    name = "reduce_or"
    ufunc = np.bitwise_or

    def init(self, dtype: Any) -> Any:
        return False if dtypes.is_bool(dtype) else 0

    def combine(self, build: Build, a: Any, b: Any) -> Value:
        return a | b  # type: ignore[no-any-return]


class ReduceXor(Bitwise):
    """Bitwise (for booleans: logical) exclusive or over `axes`."""

    name = "reduce_xor"
    ufunc = np.bitwise_xor

    def init(self, dtype: Any) -> Any:
        return False if dtypes.is_bool(dtype) else 0

    def combine(self, build: Build, a: Any, b: Any) -> Value:
        return a ^ b  # type: ignore[no-any-return]


reduce_sum = ReduceSum()
reduce_prod = ReduceProd()
reduce_max = ReduceMax()
reduce_min = ReduceMin()
reduce_and = ReduceAnd()
reduce_or = ReduceOr()
reduce_xor = ReduceXor()
