"""Values as other dtypes, and their bits; the parts of complex numbers; copies."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.primitive import Linear, Primitive
from jacana.core.values import aval_of
from jacana.kernel import ir
from jacana.kernel.arithmetic import DTYPES, convert as convert_values
from jacana.kernel.expr import Expr
from jacana.kernel.math.complex import Complex
from jacana.ops.families import (
    ANY,
    FLOAT,
    PLAIN,
    Elementwise,
    align_batch,
    gather_in,
    is_linear,
    like,
    not_differentiable,
    not_linear,
    spread,
)
from jacana.ops.lowering import Build, Tensor, Value
from jacana.ops.params import WithDefaults

WIDE = frozenset((dtypes.float32, dtypes.float64))


class ConvertElementType(Elementwise, WithDefaults):
    """The nearest values of another dtype: toward zero and saturating from floats to integers,
    modulo 2**width between integers, and without the imaginary part from complex to real.
    """

    name = "convert_element_type"
    kinds = PLAIN
    defaults = {"weak_type": False}

    def type_rule(self, *xs: ShapedArray, **params: Any) -> ShapedArray:
        (x,), new_dtype = xs, params["new_dtype"]
        if x.dtype != new_dtype and "key" in (dtypes.kind(x.dtype), dtypes.kind(new_dtype)):
            raise ValueError(
                f"Cannot convert_element_type from {dtypes.name(x.dtype)} to "
                f"{dtypes.name(new_dtype)}. jax.random.key_data gives the words of a key."
            )
        return ShapedArray(x.shape, new_dtype, params["weak_type"])

    def reference(self, x: Any, *, new_dtype: Any, weak_type: bool) -> Any:
        if dtypes.is_complex(x.dtype) and not dtypes.is_complex(new_dtype):
            x = (x != 0) if new_dtype == dtypes.bool_ else x.real
        if dtypes.is_complex(new_dtype):
            return x.astype(new_dtype)
        source, target = str(x.dtype), str(new_dtype)
        if source in ir.TYPES and target in ir.TYPES:
            wide = np.atleast_1d(x.astype(DTYPES[source]))
            return convert_values(wide, source, target).reshape(x.shape).astype(new_dtype)
        return x.astype(new_dtype)

    def jvp(self, i: int, t: Any, out: Any, x: Any, *, new_dtype: Any, weak_type: bool) -> Any:
        if not dtypes.is_differentiable(new_dtype):
            return None
        return ops.convert_element_type(t, new_dtype=new_dtype, weak_type=False)

    def transpose(self, ct: Any, x: Linear, *, new_dtype: Any, weak_type: bool) -> list[Any]:
        return [ops.convert_element_type(ct, new_dtype=x.dtype, weak_type=False)]

    def lower(self, build: Build, *operands: Tensor, **params: Any) -> Tensor:
        dtype = params["new_dtype"]
        return build.elementwise(lambda v: build.convert(v, dtype), operands, dtype)


class BitcastConvertType(Primitive):
    """The same bits as another dtype.

    A narrower dtype adds a last axis that holds the parts of an element, lowest bits first; a wider
    one takes that axis away.
    """

    name = "bitcast_convert_type"
    jvp = not_differentiable
    transpose = not_linear

    def type_rule(self, x: ShapedArray, *, new_dtype: Any) -> ShapedArray:
        given, asked = dtypes.kind(x.dtype), dtypes.kind(new_dtype)
        if x.dtype != new_dtype and {given, asked} & {"bool", "complex", "key"}:
            raise TypeError(
                f"lax.bitcast_convert_type does not support bool or complex values unless the "
                f"operand and destination types match. Got operand dtype={dtypes.name(x.dtype)}, "
                f"new_dtype={dtypes.name(new_dtype)}. Use the arr.view() method instead."
            )
        old, new = dtypes.bit_width(x.dtype), dtypes.bit_width(new_dtype)
        if old >= new:
            shape = x.shape if old == new else (*x.shape, old // new)
        elif x.shape and x.shape[-1] * old == new:
            shape = x.shape[:-1]
        else:
            found = x.shape[-1] if x.shape else 1
            raise ValueError(
                f"Attempting to convert array of shape {x.shape} from {x.dtype} of size {old} bits "
                f"to {new_dtype} of size {new} bits, but {found} * {old} != {new}. The last axis "
                f"must hold the parts of one element: reshape to (..., {new // old})."
            )
        return ShapedArray(shape, new_dtype)

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], **params: Any
    ) -> tuple[Any, int]:
        return self(*align_batch(size, operands, axes), **params), 0

    def reference(self, x: Any, *, new_dtype: Any) -> Any:
        old, new = dtypes.bit_width(x.dtype), dtypes.bit_width(new_dtype)
        if min(old, new) < 8:
            return _recut_within_bytes(x, new_dtype, old, new)
        shape = self.type_rule(ShapedArray(x.shape, x.dtype), new_dtype=new_dtype).shape
        return np.frombuffer(np.ascontiguousarray(x).tobytes(), new_dtype).reshape(shape)

    def lower(self, build: Build, x: Tensor, *, new_dtype: Any) -> Tensor:
        old, new = dtypes.bit_width(x.dtype), dtypes.bit_width(new_dtype)
        if x.dtype == new_dtype:
            return x
        target = str(new_dtype)
        if old == new:
            return build.elementwise(lambda v: _as_bits(v).bitcast(target), [x], new_dtype)
        if old > new:

            def part(*index: Expr) -> Value:
                bits = _as_bits(x[index[:-1]])
                shift = (index[-1] * new).convert(bits.type)
                return (bits >> shift).convert(f"uint{new}").bitcast(target)

            return build.compute((*x.shape, old // new), new_dtype, part, [x])

        def whole(*index: Expr) -> Value:
            total: Expr | None = None
            for i in range(new // old):
                bits = _as_bits(x[(*index, build.index(i))]).convert(f"uint{new}") << i * old
                total = bits if total is None else total | bits
            assert total is not None
            return total.bitcast(target)

        return build.compute(x.shape[:-1], new_dtype, whole, [x])


def _as_bits(value: Value) -> Expr:
    """The bits of a value as an unsigned integer."""
    assert isinstance(value, Expr)
    return value.bitcast(f"uint{ir.WIDTH[value.type]}")


def _recut_within_bytes(x: Any, new_dtype: Any, old: int, new: int) -> Any:
    """bitcast_convert_type where a dtype has less than eight bits, for which memory has a byte."""
    narrow = min(old, new)
    mask = (1 << narrow) - 1
    if old < 8:
        bits = np.asarray(x).view(np.uint8) & mask
    else:
        bits = np.asarray(x).view(f"u{old // 8}")
    shifts = np.arange(max(old, new) // narrow, dtype=np.uint64) * np.uint64(narrow)
    bits = bits.astype(np.uint64)
    if old > new:
        bits = bits[..., None] >> shifts & np.uint64(mask)
    if old >= new:
        made = bits.astype(np.uint8)
        return made.view(new_dtype) if dtypes.is_float(new_dtype) else made.astype(new_dtype)
    joined = np.bitwise_or.reduce(bits << shifts, axis=-1)
    if new < 8:
        return joined.astype(np.uint8).astype(new_dtype)
    return joined.astype(f"u{new // 8}").view(new_dtype)


class ReducePrecision(Elementwise):
    """x rounded to the numbers that a float type of fewer bits has, in x's own dtype."""

    name = "reduce_precision"
    kinds = FLOAT

    def check_params(self, *xs: ShapedArray, **params: Any) -> None:
        exponent_bits, mantissa_bits = params["exponent_bits"], params["mantissa_bits"]
        if exponent_bits < 1:
            raise ValueError(
                f"reduce_precision: exponent_bits must be positive; got {exponent_bits}"
            )
        if mantissa_bits < 0:
            raise ValueError(
                f"reduce_precision: mantissa_bits must be non-negative; got {mantissa_bits}"
            )

    def reference(self, x: Any, *, exponent_bits: int, mantissa_bits: int) -> Any:
        if x.dtype.itemsize == 1:
            params = {"exponent_bits": exponent_bits, "mantissa_bits": mantissa_bits}
            return self.reference(x.astype(np.float32), **params).astype(x.dtype)
        width = dtypes.bit_width(x.dtype)
        exponent, mantissa = _stored_bits(x.dtype)
        sign_bit = 1 << width - 1
        made = []
        for bits in np.atleast_1d(x).view(f"u{width // 8}").ravel().tolist():
            size = bits & sign_bit - 1
            if size <= (1 << exponent) - 1 << mantissa:
                size = _fewer_bits(size, mantissa, mantissa_bits)
                size = _narrower(size, exponent, mantissa, exponent_bits)
            made.append(size | bits & sign_bit)
        return np.array(made, f"u{width // 8}").view(x.dtype).reshape(x.shape)

    def jvp(self, i: int, t: Any, out: Any, x: Any, **params: Any) -> Any:
        return ops.reduce_precision(t, **params)

    def transpose(self, ct: Any, x: Any, **params: Any) -> list[Any]:
        return [ops.reduce_precision(ct, **params)]

    def element(self, x: Expr, *, exponent_bits: int, mantissa_bits: int) -> Expr:
        if x.type in ir.SMALL_FLOATS:
            params = {"exponent_bits": exponent_bits, "mantissa_bits": mantissa_bits}
            return self.element(x.convert("float32"), **params).convert(x.type)
        width = ir.WIDTH[x.type]
        exponent, mantissa = _stored_bits(x.type)
        unsigned = f"uint{width}"
        sign = x.bitcast(unsigned) & (1 << width - 1)
        size = abs(x).bitcast(unsigned)
        dropped = mantissa - mantissa_bits
        if dropped > 0:
            half = (1 << dropped - 1) - 1
            size = size + half + ((size >> dropped) & 1)
            size = size & ((1 << width) - (1 << dropped))
        if exponent_bits < exponent:
            bias, narrow = (1 << exponent - 1) - 1, (1 << exponent_bits - 1) - 1
            infinity = ((1 << exponent) - 1) << mantissa
            select = x.graph.select
            size = select(
                size > ((bias + narrow) << mantissa | (1 << mantissa) - 1), infinity, size
            )
            size = select(size < ((bias - narrow + 1) << mantissa), size.const(0), size)
        made = (size | sign).bitcast(x.type)
        return x.graph.select(x.isnan(), x, made)


def _stored_bits(dtype: Any) -> tuple[int, int]:
    """How many bits of exponent and mantissa a float type stores."""
    name = str(dtype)
    return {"float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52)}[name]


def _fewer_bits(size: int, mantissa: int, kept: int) -> int:
    """The bits of a positive float rounded to `kept` bits of mantissa, ties to even bits."""
    dropped = max(mantissa - kept, 0)
    whole, rest = size >> dropped, size & (1 << dropped) - 1
    half = 1 << dropped >> 1
    up = rest > half or (rest == half and dropped > 0 and whole & 1)
    return whole + bool(up) << dropped


def _narrower(size: int, exponent: int, mantissa: int, kept: int) -> int:
    """The bits of a positive float, or of infinity or zero where `kept` exponent bits lack it."""
    if kept >= exponent:
        return size
    bias, narrow = (1 << exponent - 1) - 1, (1 << kept - 1) - 1
    power = size >> mantissa
    if power > bias + narrow:
        return (1 << exponent) - 1 << mantissa
    return size if power > bias - narrow else 0


class Real(Elementwise):
    """The real part."""

    name = "real"
    kinds = frozenset(("complex",))

    def output_dtype(self, *dtypes_: Any) -> Any:
        return dtypes.real_dtype(dtypes_[0])

    def reference(self, x: Any) -> Any:
        return np.real(x).copy()

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.real(t)

    def transpose(self, ct: Any, x: Any) -> list[Any]:
        return [ops.complex(ct, like(0, ct))]

    def element(self, x: Any) -> Any:
        return x.re


class Imag(Elementwise):
    """The imaginary part."""

    name = "imag"
    kinds = frozenset(("complex",))

    def output_dtype(self, *dtypes_: Any) -> Any:
        return dtypes.real_dtype(dtypes_[0])

    def reference(self, x: Any) -> Any:
        return np.imag(x).copy()

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.imag(t)

    def transpose(self, ct: Any, x: Any) -> list[Any]:
        return [ops.complex(like(0, ct), ops.neg(ct))]

    def element(self, x: Any) -> Any:
        return x.im


class ComplexOf(Elementwise):
    """x + i y of real x and y."""

    name = "complex"
    kinds = FLOAT

    def check_dtypes(self, *xs: ShapedArray) -> None:
        super().check_dtypes(*xs)
        if xs[0].dtype not in WIDE:
            raise TypeError(
                f"complex does not accept dtype {dtypes.name(xs[0].dtype)} at position 0. Accepted "
                f"dtypes at position 0 are subtypes of float32, float64. Convert it first."
            )

    def output_dtype(self, *dtypes_: Any) -> Any:
        return dtypes.complex_dtype(dtypes_[0])

    def reference(self, x: Any, y: Any) -> Any:
        out = np.empty(np.broadcast_shapes(x.shape, y.shape), self.output_dtype(x.dtype))
        out.real, out.imag = x, y
        return out

    def jvp(self, i: int, t: Any, out: Any, x: Any, y: Any) -> Any:
        zero = like(0, t)
        return spread(ops.complex(t, zero) if i == 0 else ops.complex(zero, t), out)

    def transpose(self, ct: Any, x: Any, y: Any) -> list[Any]:
        return [
            gather_in(ops.real(ct), x) if is_linear(x) else None,
            gather_in(ops.neg(ops.imag(ct)), y) if is_linear(y) else None,
        ]

    def element(self, x: Any, y: Any) -> Any:
        return Complex(x, y)


class Conj(Elementwise):
    """The complex conjugate, complex also for a real operand, whose dtype is `input_dtype`."""

    name = "conj"
    kinds = frozenset(("float", "complex"))

    def check_dtypes(self, *xs: ShapedArray) -> None:
        super().check_dtypes(*xs)
        if dtypes.is_float(xs[0].dtype) and xs[0].dtype not in WIDE:
            raise TypeError(
                f"conj does not accept dtype {dtypes.name(xs[0].dtype)}. Accepted dtypes are "
                f"subtypes of float32, float64, complexfloating. Convert it first."
            )

    def output_dtype(self, *dtypes_: Any, input_dtype: Any) -> Any:
        return dtypes.complex_dtype(dtypes_[0])

    def reference(self, x: Any, *, input_dtype: Any) -> Any:
        return np.conj(x.astype(dtypes.complex_dtype(x.dtype)))

    def jvp(self, i: int, t: Any, out: Any, x: Any, *, input_dtype: Any) -> Any:
        return ops.conj(t, input_dtype=aval_of(t).dtype)

    def transpose(self, ct: Any, x: Linear, *, input_dtype: Any) -> list[Any]:
        if dtypes.is_complex(x.dtype):
            return [ops.conj(ct, input_dtype=aval_of(ct).dtype)]
        return [ops.real(ct)]

    def element(self, x: Any, *, input_dtype: Any) -> Any:
        if isinstance(x, Complex):
            return Complex(x.re, -x.im)
        return Complex(x, -x.const(0))


class Copy(Elementwise):
    """The operand itself; a program may not merge it with what it copies."""

    name = "copy"
    kinds = ANY

    def reference(self, x: Any) -> Any:
        return np.array(x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.copy(t)

    def transpose(self, ct: Any, x: Any) -> list[Any]:
        return [ct]

    def element(self, x: Any) -> Any:
        return x


convert_element_type = ConvertElementType()
bitcast_convert_type = BitcastConvertType()
reduce_precision = ReducePrecision()
real = Real()
imag = Imag()
complex = ComplexOf()
conj = Conj()
copy = Copy()
