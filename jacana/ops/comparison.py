"""Comparisons, and selection by what they give."""

from typing import Any, ClassVar

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.kernel import ir
from jacana.kernel.expr import Expr
from jacana.kernel.math.complex import Complex
from jacana.ops.families import (
    ANY,
    BITS,
    ORDERED,
    Elementwise,
    gather_in,
    is_linear,
    like,
    not_differentiable,
    not_linear,
    spread,
)
from jacana.ops.lowering import Build, Tensor, Value
from jacana.ops.wider import in_own_type


class Comparison(Elementwise):
    """A boolean from two operands."""

    jvp = not_differentiable
    transpose = not_linear

    def output_dtype(self, *dtypes_: Any) -> Any:
        return dtypes.bool_


class Eq(Comparison):
    """x == y; nan equals nothing."""

    name = "eq"
    kinds = ANY

    def reference(self, x: Any, y: Any) -> Any:
        return in_own_type(np.equal, x, y)

    def element(self, x: Any, y: Any) -> Any:
        if isinstance(x, Complex):
            return x.re.eq(y.re) & x.im.eq(y.im)
        return ~(x ^ y) if x.type == "bool" else x.eq(y)


class Ne(Comparison):
    """x != y; nan differs from everything."""

    name = "ne"
    kinds = ANY

    def reference(self, x: Any, y: Any) -> Any:
        return in_own_type(np.not_equal, x, y)

    def element(self, x: Any, y: Any) -> Any:
        if isinstance(x, Complex):
            return x.re.ne(y.re) | x.im.ne(y.im)
        return x ^ y if x.type == "bool" else x.ne(y)


class Lt(Comparison):
    """x < y; False if either is nan."""

    name = "lt"
    kinds = ORDERED

    def reference(self, x: Any, y: Any) -> Any:
        return in_own_type(np.less, x, y)

    def element(self, x: Expr, y: Expr) -> Expr:
        return ~x & y if x.type == "bool" else x < y


class Le(Comparison):
    """x <= y; False if either is nan."""

    name = "le"
    kinds = ORDERED

    def reference(self, x: Any, y: Any) -> Any:
        return in_own_type(np.less_equal, x, y)

    def element(self, x: Expr, y: Expr) -> Expr:
        return ~x | y if x.type == "bool" else x <= y


class Gt(Comparison):
    """x > y; False if either is nan."""

    name = "gt"
    kinds = ORDERED

    def reference(self, x: Any, y: Any) -> Any:
        return in_own_type(np.greater, x, y)

    def element(self, x: Expr, y: Expr) -> Expr:
        return x & ~y if x.type == "bool" else x > y


class Ge(Comparison):
    """x >= y; False if either is nan."""

    name = "ge"
    kinds = ORDERED

    def reference(self, x: Any, y: Any) -> Any:
        return in_own_type(np.greater_equal, x, y)

    def element(self, x: Expr, y: Expr) -> Expr:
        return x | ~y if x.type == "bool" else x >= y


class TotalComparison(Comparison):
    """A comparison in the total order -nan < -inf < ... < -0 < 0 < ... < inf < nan."""

    kinds = ORDERED
    # The comparison of ranks: integers in the same order as the values.
    ordinary: ClassVar[Comparison]

    def reference(self, x: Any, y: Any) -> Any:
        return self.ordinary.reference(_rank(x), _rank(y))

    def element(self, x: Expr, y: Expr) -> Any:
        return self.ordinary.element(rank_of(x), rank_of(y))


def _rank(x: Any) -> Any:
    if not dtypes.is_float(x.dtype):
        return x
    if x.dtype.itemsize == 1:
        x = x.astype(np.float32)
    bits = np.asarray(x).view(f"i{x.dtype.itemsize}")
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def rank_of(x: Expr) -> Expr:
    """An integer that orders floats totally; other values as they are."""
    if x.type not in ir.FLOATS:
        return x
    if x.type in ir.SMALL_FLOATS:
        x = x.convert("float32")
    bits = x.bitcast(f"int{ir.WIDTH[x.type]}")
    flipped = bits ^ ((1 << ir.WIDTH[x.type] - 1) - 1)
    return x.graph.select(bits < 0, flipped, bits)


class EqTo(TotalComparison):
    """x is y in the total order: the same bits."""

    name = "eq_to"


class LtTo(TotalComparison):
    """x comes before y in the total order."""

    name = "lt_to"


class LeTo(TotalComparison):
    """x is y or comes before it in the total order."""

    name = "le_to"


class SelectN(Elementwise):
    """cases[which], element by element: `which` is bool (two cases) or an integer.

    An integer out of range takes the nearest case. Rank-0 `which` and cases serve every element.
    """

    name = "select_n"
    kinds = ANY

    def type_rule(self, *xs: ShapedArray, **params: Any) -> ShapedArray:
        cases = xs[1:]
        self.check_dtypes(*xs)
        shape = self.joint_shape(xs)
        return ShapedArray(shape, cases[0].dtype, all(c.weak_type for c in cases))

    def check_dtypes(self, *xs: ShapedArray) -> None:
        which, *cases = xs
        if not cases:
            raise TypeError("select must have at least one case")
        if dtypes.kind(which.dtype) not in BITS:
            raise TypeError(
                f"select `which` must be boolean or integer type, got {dtypes.name(which.dtype)}. "
                f"Compare it with something, or convert it first."
            )
        if which.dtype == dtypes.bool_ and len(cases) > 2:
            raise TypeError(
                "select with boolean `which` cannot have > 2 cases. Number them with int32 instead."
            )
        if any(c.dtype != cases[0].dtype for c in cases):
            found = ", ".join(dtypes.name(c.dtype) for c in cases)
            raise TypeError(
                f"lax.select requires arguments to have the same dtypes, got {found}. (Tip: "
                f"jnp.where is a similar function that does automatic type promotion on inputs)."
            )

    def reference(self, which: Any, *cases: Any) -> Any:
        index, *rest = np.broadcast_arrays(which, *cases)
        index = np.clip(index.astype(np.int64), 0, len(cases) - 1)
        out = rest[0].copy()
        for i, case in enumerate(rest):
            np.copyto(out, case, where=index == i)
        return out

    def jvp(self, i: int, t: Any, out: Any, which: Any, *cases: Any) -> Any:
        tangents = [like(0, out)] * len(cases)
        tangents[i - 1] = t
        return spread(ops.select_n(which, *tangents), out)

    def transpose(self, ct: Any, which: Any, *cases: Any) -> list[Any]:
        zero = like(0, ct)
        cotangents: list[Any] = [None]
        for i, case in enumerate(cases):
            parts = [zero] * len(cases)
            parts[i] = ct
            own = gather_in(ops.select_n(which, *parts), case) if is_linear(case) else None
            cotangents.append(own)
        return cotangents

    def lower(self, build: Build, *operands: Tensor, **params: Any) -> Tensor:
        def element(which: Value, *cases: Value) -> Value:
            assert isinstance(which, Expr)
            if which.type == "bool":
                return build.select(which, cases[1], cases[0]) if len(cases) > 1 else cases[0]
            value = cases[-1]
            for i, case in reversed(list(enumerate(cases[:-1]))):
                value = build.select(which <= i, case, value)
            return value

        return build.elementwise(element, operands, operands[1].dtype)


eq = Eq()
ne = Ne()
lt = Lt()
le = Le()
gt = Gt()
ge = Ge()
EqTo.ordinary, LtTo.ordinary, LeTo.ordinary = eq, lt, le
eq_to = EqTo()
lt_to = LtTo()
le_to = LeTo()
select_n = SelectN()
