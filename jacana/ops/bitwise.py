"""Operations on the bits of integers, and the logic of booleans."""

from typing import Any

import numpy as np

from jacana.core import dtypes
from jacana.kernel import ir
from jacana.kernel.expr import Expr
from jacana.ops.families import BITS, INTEGER, Elementwise, not_differentiable, not_linear
from jacana.ops.wider import in_own_type


class Bitwise(Elementwise):
    """A function of the bits of integers or booleans."""

    kinds = BITS
    jvp = not_differentiable
    transpose = not_linear


class And(Bitwise):
    """Bits set in both."""

    name = "and"

    def reference(self, x: Any, y: Any) -> Any:
        return in_own_type(np.bitwise_and, x, y)

    def element(self, x: Expr, y: Expr) -> Expr:
        return x & y


class Or(Bitwise):
    """Bits set in either."""

    name = "or"

    def reference(self, x: Any, y: Any) -> Any:
        return in_own_type(np.bitwise_or, x, y)

    def element(self, x: Expr, y: Expr) -> Expr:
        return x | y


class Xor(Bitwise):
    """Bits set in exactly one."""

    name = "xor"

    def reference(self, x: Any, y: Any) -> Any:
        return in_own_type(np.bitwise_xor, x, y)

    def element(self, x: Expr, y: Expr) -> Expr:
        return x ^ y


class Not(Bitwise):
    """Every bit flipped."""

    name = "not"

    def reference(self, x: Any) -> Any:
        return in_own_type(np.invert, x)

    def element(self, x: Expr) -> Expr:
        return ~x


class Shift(Bitwise):
    """A shift by y bits; all bits are shifted out for y >= the width, or y < 0."""

    kinds = INTEGER


class ShiftLeft(Shift):
    """x * 2**y, modulo 2**width."""

    name = "shift_left"

    def reference(self, x: Any, y: Any) -> Any:
        return from_integers(lambda a, b, width: a << b if 0 <= b < width else 0, x, y)

    def element(self, x: Expr, y: Expr) -> Expr:
        return x << y


class ShiftRightLogical(Shift):
    """The bits moved down, with zeros coming in at the top."""

    name = "shift_right_logical"

    def reference(self, x: Any, y: Any) -> Any:
        def shift(a: int, b: int, width: int) -> int:
            return (a & (1 << width) - 1) >> b if 0 <= b < width else 0

        return from_integers(shift, x, y)

    def element(self, x: Expr, y: Expr) -> Expr:
        unsigned = x.type.replace("int", "uint") if x.type in ir.SIGNED else x.type
        return (x.convert(unsigned) >> y.convert(unsigned)).convert(x.type)


class ShiftRightArithmetic(Shift):
    """The bits moved down, with copies of the top bit coming in: floor(x / 2**y) of signed x."""

    name = "shift_right_arithmetic"

    def reference(self, x: Any, y: Any) -> Any:
        def shift(a: int, b: int, width: int) -> int:
            a &= (1 << width) - 1
            signed = a - (a >> width - 1 << width)
            return signed >> (b if 0 <= b < width else width)

        return from_integers(shift, x, y)

    def element(self, x: Expr, y: Expr) -> Expr:
        signed = x.type.replace("uint", "int")
        return (x.convert(signed) >> y.convert(signed)).convert(x.type)


class PopulationCount(Bitwise):
    """How many bits are set."""

    name = "population_count"
    kinds = INTEGER

    def reference(self, x: Any) -> Any:
        return from_integers(lambda a, _, width: (a & (1 << width) - 1).bit_count(), x, x)

    def element(self, x: Expr) -> Expr:
        return x.graph.op("popcount", x)


class Clz(Bitwise):
    """How many zeros stand before the first bit that is set; the width for 0."""

    name = "clz"
    kinds = INTEGER

    def reference(self, x: Any) -> Any:
        def zeros(a: int, _: int, width: int) -> int:
            return width - (a & (1 << width) - 1).bit_length()

        return from_integers(zeros, x, x)

    def element(self, x: Expr) -> Expr:
        return x.graph.op("clz", x)


def from_integers(f: Any, x: Any, y: Any) -> Any:
    """f(a, b, width) of pairs of Python integers, reduced modulo 2**width."""
    dtype = x.dtype
    x, y = np.broadcast_arrays(x, y)
    width = dtypes.bit_width(dtype)
    signed = dtypes.is_signed_integer(dtype)
    values = []
    for a, b in zip(x.ravel(), y.ravel(), strict=True):
        bits = f(int(a), int(b), width) & (1 << width) - 1
        values.append(bits - (bits >> width - 1 << width) if signed else bits)
    return np.array(values, object).astype(dtype).reshape(x.shape)


and_ = And()
or_ = Or()
xor = Xor()
not_ = Not()
shift_left = ShiftLeft()
shift_right_logical = ShiftRightLogical()
shift_right_arithmetic = ShiftRightArithmetic()
population_count = PopulationCount()
clz = Clz()
