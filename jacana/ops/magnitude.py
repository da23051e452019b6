"""Size and order of values: absolute value, sign, the larger and the smaller, clamping."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.values import aval_of
from jacana.kernel import ir, math
from jacana.kernel.math import complex as complex_math
from jacana.kernel.math.complex import Complex
from jacana.ops.extremes import greater_of, lesser_of
from jacana.ops.families import (
    NUMERIC,
    PLAIN,
    Elementwise,
    Function,
    like,
    not_linear,
    spread,
    spread_axis,
)  # fmt: skip
from jacana.ops.lowering import Build, Tensor, Value
from jacana.ops.wider import in_own_type


class Abs(Elementwise):
    """The absolute value; of a complex number, the real modulus."""

    name = "abs"
    kinds = frozenset(("int", "float", "complex"))
    transpose = not_linear

    def output_dtype(self, *dtypes_: Any) -> Any:
        return dtypes.real_dtype(dtypes_[0])

    def reference(self, x: Any) -> Any:
        if dtypes.is_complex(x.dtype):
            return np.abs(x.astype(np.clongdouble)).astype(dtypes.real_dtype(x.dtype))
        return in_own_type(np.abs, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        if not dtypes.is_complex(aval_of(x).dtype):
            # At zero, where there is no derivative, it counts as 1, as in JAX.
            return ops.select_n(ops.ge(x, like(0, x)), ops.neg(t), t)
        # At zero, where there is no derivative, it counts as 0.
        size = ops.select_n(ops.eq(out, like(0, out)), out, like(1, out))
        direction = ops.div(ops.conj(x, input_dtype=aval_of(x).dtype), complex_of(size))
        return ops.real(ops.mul(t, direction))

    def element(self, x: Any) -> Any:
        return complex_math.abs(x) if isinstance(x, Complex) else x.graph.op("abs", x)


class Sign(Function):
    """-1, 0 or 1, with zeros and nan as they are; of a complex number, x / abs(x)."""

    name = "sign"
    kinds = NUMERIC

    def reference(self, x: Any) -> Any:
        if dtypes.is_complex(x.dtype):
            size = np.abs(x)
            return np.where(size == 0, 0, x / np.where(size == 0, 1, size)).astype(x.dtype)
        if not dtypes.is_float(x.dtype):
            return in_own_type(np.sign, x)
        return np.where((x == 0) | np.isnan(x), x, np.copysign(np.ones_like(x), x))

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        if not dtypes.is_complex(aval_of(x).dtype):
            return None
        # What t turns the direction by: i * out * imag(t / out) / abs(x).
        size = ops.abs(x)
        size = ops.select_n(ops.eq(size, like(0, size)), size, like(1, size))
        turn = ops.div(ops.imag(ops.mul(t, ops.conj(out, input_dtype=aval_of(out).dtype))), size)
        return ops.mul(ops.complex(ops.mul(turn, like(0, turn)), turn), out)

    def element(self, x: Any) -> Any:
        if isinstance(x, Complex):
            return complex_math.sign(x)
        if x.type in ir.FLOATS:
            return math.sign(x)
        one, zero = x.const(1), x.const(0)
        if x.type in ir.UNSIGNED:
            return x.graph.select(x.eq(0), zero, one)
        return x.graph.select(x > 0, one, x.graph.select(x < 0, x.const(-1), zero))


class Max(Elementwise):
    """The larger operand; nan if either is; complex numbers by real part, then imaginary part."""

    name = "max"
    kinds = PLAIN
    transpose = not_linear

    def reference(self, x: Any, y: Any) -> Any:
        return np.where(precedes(x, y, np.greater), x, y)

    def jvp(self, i: int, t: Any, out: Any, x: Any, y: Any) -> Any:
        return shared_tangent(i, t, out, x, y)

    def lower(self, build: Build, *operands: Tensor, **params: Any) -> Tensor:
        return build.elementwise(lambda a, b: greater_of(build, a, b), operands, operands[0].dtype)


class Min(Elementwise):
    """The smaller operand; nan if either is; complex numbers by real part, then imaginary part."""

    name = "min"
    kinds = PLAIN
    transpose = not_linear

    def reference(self, x: Any, y: Any) -> Any:
        return np.where(precedes(x, y, np.less), x, y)

    def jvp(self, i: int, t: Any, out: Any, x: Any, y: Any) -> Any:
        return shared_tangent(i, t, out, x, y)

    def element(self, x: Any, y: Any) -> Any:
        raise NotImplementedError("min is lowered as a whole")

    def lower(self, build: Build, *operands: Tensor, **params: Any) -> Tensor:
        return build.elementwise(lambda a, b: lesser_of(build, a, b), operands, operands[0].dtype)


class Clamp(Elementwise):
    """min(max(x, lower), upper), operands in the order lower, x, upper."""

    name = "clamp"
    kinds = PLAIN
    transpose = not_linear

    def joint_shape(self, xs: Any) -> tuple[int, ...]:
        lower, x, upper = xs
        for bound, name in ((lower, "min"), (upper, "max")):
            if bound.shape and bound.shape != x.shape:
                raise TypeError(
                    f"clamp requires {name} to be a scalar or of the operand's shape, got "
                    f"{name}.shape={bound.shape}, operand.shape={x.shape}. Broadcast it first."
                )
        shape: tuple[int, ...] = x.shape
        return shape

    def type_rule(self, *xs: ShapedArray, **params: Any) -> ShapedArray:
        out: ShapedArray = super().type_rule(*xs)
        return out.update(weak_type=xs[1].weak_type)

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], **params: Any
    ) -> tuple[Any, int]:
        lower, x, upper = operands
        if axes[1] is None:
            # A batched bound gives each element of the batch its own x.
            return super().batch(size, [lower, spread_axis(x, size), upper], [axes[0], 0, axes[2]])
        return super().batch(size, operands, axes)

    def reference(self, lower: Any, x: Any, upper: Any) -> Any:
        raised = np.where(precedes(x, lower, np.greater), x, lower)
        return np.where(precedes(raised, upper, np.less), raised, upper)

    def jvp(self, i: int, t: Any, out: Any, lower: Any, x: Any, upper: Any) -> Any:
        if i == 1:
            active = ops.and_(ops.gt(x, lower), ops.lt(x, upper))
        elif i == 0:
            active = ops.and_(ops.gt(lower, x), ops.lt(lower, upper))
        else:
            active = ops.lt(upper, ops.max(x, lower))
        return ops.select_n(active, like(0, out), spread(t, out))

    def element(self, *values: Any) -> Any:
        raise NotImplementedError("clamp is lowered as a whole")

    def lower(self, build: Build, *operands: Tensor, **params: Any) -> Tensor:
        def element(lower: Value, x: Value, upper: Value) -> Value:
            return lesser_of(build, greater_of(build, x, lower), upper)

        return build.elementwise(element, operands, operands[1].dtype)


def complex_of(x: Any) -> Any:
    """The complex number with this real part."""
    return ops.complex(x, like(0, x))


def precedes(x: Any, y: Any, better: Any) -> Any:
    """Where x is what max (or min) of x and y gives."""
    if dtypes.is_complex(x.dtype):
        nan = np.isnan(x.real) | np.isnan(x.imag)
        first = better(x.real, y.real) | (x.real == y.real) & better(x.imag, y.imag)
        return nan | first
    return better(x, y) | (x != x)


def shared_tangent(i: int, t: Any, out: Any, x: Any, y: Any) -> Any:
    """The tangent of the operand that was chosen; of equal operands, half of each."""
    mine, other = (x, y) if i == 0 else (y, x)
    t = spread(t, out)
    t = ops.select_n(ops.eq(other, out), t, ops.mul(t, like(0.5, t)))
    return ops.select_n(ops.eq(mine, out), like(0, out), t)


abs = Abs()
sign = Sign()
max = Max()
min = Min()
clamp = Clamp()
