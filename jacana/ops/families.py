"""Families of primitives: the rules that follow from being of the family, written once."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.primitive import Inapplicable, Linear, Primitive
from jacana.core.values import aval_of
from jacana.ops.lowering import Build, Tensor

not_linear = Inapplicable("the primitive is not linear in any operand")
not_differentiable = Inapplicable("outputs are integers or booleans, or constant where defined")

# Kinds of dtype that primitives accept.
FLOAT = frozenset(("float",))
INEXACT = FLOAT | {"complex"}
INTEGER = frozenset(("int", "uint"))
BITS = INTEGER | {"bool"}
REAL = INTEGER | FLOAT
NUMERIC = REAL | {"complex"}
ORDERED = REAL | {"bool"}
PLAIN = NUMERIC | {"bool"}
ANY = PLAIN | {"key"}

KIND_NAMES = {
    "int": "signedinteger", "uint": "unsignedinteger", "float": "floating",
    "complex": "complexfloating", "bool": "bool", "key": "prng_key",
}  # fmt: skip


def kinds_text(kinds: frozenset[str]) -> str:
    """Kinds of dtype in words, for messages: "integer, floating, bool"."""
    names = ["integer"] if kinds >= INTEGER else []
    rest = kinds - INTEGER if names else kinds
    return ", ".join(names + [name for kind, name in KIND_NAMES.items() if kind in rest])


def move_axis(x: Any, source: int, destination: int) -> Any:
    """x with one axis moved."""
    if source == destination:
        return x
    order = [i for i in range(len(x.shape)) if i != source]
    order.insert(destination, source)
    return ops.transpose(x, permutation=tuple(order))


def align_batch(
    size: int, operands: Sequence[Any], axes: Sequence[int | None], broadcast: bool = True
) -> list[Any]:
    """Operands with their batch axis in front; unbatched ones broadcast over it if asked."""
    return [
        move_axis(x, a, 0) if a is not None else spread_axis(x, size) if broadcast else x
        for x, a in zip(operands, axes, strict=True)
    ]


def spread_axis(x: Any, size: int) -> Any:
    """x repeated along a new leading axis."""
    shape = np.shape(x)
    dims = tuple(range(1, len(shape) + 1))
    return ops.broadcast_in_dim(x, shape=(size, *shape), broadcast_dimensions=dims)


class Elementwise(Primitive):
    """Output element = function of the operands' elements at the same index.

    Operands have one shape, apart from rank-0 ones which serve every element, and (unless the class
    says otherwise) one dtype. Subclasses write `reference`, `jvp`, `transpose` and `element`.
    """

    joins = True

    # Kinds of dtype accepted (core.dtypes.Kind).
    kinds: ClassVar[frozenset[str]] = NUMERIC

    # element(*values, **params): the scalar meaning in kernel language, on Exprs (or Complexes).
    element: Any

    def output_dtype(self, *dtypes_: Any, **params: Any) -> Any:
        return dtypes_[0]

    def type_rule(self, *xs: ShapedArray, **params: Any) -> ShapedArray:
        self.check_params(*xs, **params)
        self.check_dtypes(*xs)
        shape = self.joint_shape(xs)
        weak = all(x.weak_type for x in xs)
        return ShapedArray(shape, self.output_dtype(*[x.dtype for x in xs], **params), weak)

    def check_params(self, *xs: ShapedArray, **params: Any) -> None:
        """Raise for params that make no sense for these operands."""

    def check_dtypes(self, *xs: ShapedArray) -> None:
        for i, x in enumerate(xs):
            self.check_kind(xs, i, self.kinds)
            if x.dtype != xs[0].dtype:
                found = ", ".join(dtypes.name(y.dtype) for y in xs)
                raise TypeError(
                    f"lax.{self.name} requires arguments to have the same dtypes, got {found}. "
                    f"Convert one of them first, for example with astype, or use the jnp function, "
                    f"which promotes dtypes."
                )

    def check_kind(self, xs: Sequence[ShapedArray], i: int, kinds: frozenset[str]) -> None:
        """Raise TypeError unless operand i is of one of these kinds of dtype."""
        if dtypes.kind(xs[i].dtype) in kinds:
            return
        where = f" at position {i}" if len(xs) > 1 else ""
        raise TypeError(
            f"{self.name} does not accept dtype {dtypes.name(xs[i].dtype)}{where}. Accepted dtypes"
            f"{where} are subtypes of {kinds_text(kinds)}. Convert it first, for example with "
            f"astype."
        )

    def joint_shape(self, xs: Sequence[ShapedArray]) -> tuple[int, ...]:
        shape: tuple[int, ...] = ()
        for x in xs:
            if x.shape and x.shape != shape:
                if shape:
                    found = ", ".join(str(y.shape) for y in xs)
                    raise TypeError(
                        f"{self.name} got incompatible shapes for broadcasting: {found}. Shapes "
                        f"must be equal; broadcast first, or use the jnp function."
                    )
                shape = x.shape
        return shape

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], **params: Any
    ) -> tuple[Any, int]:
        ranks = [np.ndim(x) - (a is not None) for x, a in zip(operands, axes, strict=True)]
        rank = max(ranks)
        aligned = []
        for x, axis, r in zip(operands, axes, ranks, strict=True):
            if axis is None:
                # An unbatched scalar serves every element as it is.
                aligned.append(x if r == 0 else spread_axis(x, size))
                continue
            x = move_axis(x, axis, 0)
            if r < rank:
                shape = next(
                    _unbatched_shape(y, a) for y, a in zip(operands, axes, strict=True)
                    if np.ndim(y) - (a is not None) == rank
                )  # fmt: skip
                x = ops.broadcast_in_dim(x, shape=(size, *shape), broadcast_dimensions=(0,))
            aligned.append(x)
        return self(*aligned, **params), 0

    def lower(self, build: Build, *operands: Tensor, **params: Any) -> Tensor:
        dtype = self.output_dtype(*[x.dtype for x in operands], **params)
        return build.elementwise(lambda *xs: self.element(*xs, **params), operands, dtype)


def _unbatched_shape(x: Any, axis: int | None) -> tuple[int, ...]:
    shape: tuple[int, ...] = np.shape(x)
    return shape if axis is None else shape[:axis] + shape[axis + 1 :]


class Function(Elementwise):
    """An elementwise function that is linear in no operand; `jvp` is all there is to say of it."""

    kinds = INEXACT
    transpose = not_linear


def like(value: complex, x: Any) -> Any:
    """A scalar of x's dtype, weakly typed if x is, which programs hold as a literal."""
    aval = aval_of(x)
    scalar = aval.dtype.type(value)
    if aval.weak_type:
        weak = scalar.item()
        if aval_of(weak).dtype == aval.dtype:
            return weak
    return scalar


def spread(t: Any, out: Any) -> Any:
    """A tangent of a rank-0 operand as a tangent of the output."""
    if np.shape(t) == np.shape(out):
        return t
    return ops.broadcast_in_dim(t, shape=np.shape(out), broadcast_dimensions=())


def gather_in(ct: Any, x: Any) -> Any:
    """The adjoint of `spread`: the cotangent of an operand that served every element."""
    if np.shape(ct) == x.shape:
        return ct
    return ops.reduce_sum(ct, axes=tuple(range(np.ndim(ct))))


class LinearMap(Primitive):
    """Linear in its only differentiable operand, the first: jvp applies the map to the tangent."""

    def jvp(self, i: int, t: Any, out: Any, x: Any, *rest: Any, **params: Any) -> Any:
        return self(t, *rest, **params)


class Bilinear(Primitive):
    """Linear in each of two operands."""

    def jvp(self, i: int, t: Any, out: Any, x: Any, y: Any, **params: Any) -> Any:
        return self(t, y, **params) if i == 0 else self(x, t, **params)


def is_linear(x: Any) -> bool:
    """Whether a transposition rule is asked for this operand's cotangent."""
    return isinstance(x, Linear)


__all__ = [
    "ANY", "BITS", "FLOAT", "INEXACT", "INTEGER", "NUMERIC", "ORDERED", "PLAIN", "REAL",
    "Bilinear", "Elementwise", "Function", "LinearMap", "align_batch", "gather_in", "is_linear",
    "kinds_text", "like", "move_axis", "not_differentiable", "not_linear", "spread", "spread_axis",
]  # fmt: skip
