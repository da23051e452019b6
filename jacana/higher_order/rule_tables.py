"""The tables of rules that users write to, in JAX's form, and the marks that such rules see.

Rules of jacana's own primitives can be read from the tables, in the same form, but not replaced.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana.core.avals import ShapedArray
from jacana.core.primitive import Linear, Primitive, registry
from jacana.core.values import aval_of
from jacana.transforms.jvp import has_tangents, jvp_by_operand, zero_of

Rule = Callable[..., Any]


class Zero:
    """A tangent or cotangent that is known to be zero."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    @staticmethod
    def from_primal_value(value: Any) -> "Zero":
        """The zero in the tangent space of a value."""
        return Zero(aval_of(value).to_tangent_aval())

    def instantiate(self) -> Any:
        """The zero as an array."""
        return zero_of(self.aval)

    def __repr__(self) -> str:
        return f"Zero({self.aval.str_short()})"


class UndefinedPrimal:
    """Stands in a transpose rule for an operand that the cotangent is wanted of."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval.str_short()})"


class AxisData:
    """The mapped axis that a batching rule is for."""

    __slots__ = ("name", "size")

    def __init__(self, name: Any, size: int):
        self.name, self.size = name, size


def zero_or(tangent: Any, primal: Any) -> Any:
    """A tangent as a user's rule sees it."""
    return Zero.from_primal_value(primal) if tangent is None else tangent


def nonzero(out: Any, tangent: Any) -> Any:
    """A tangent that a user's rule gave; None if it is zero."""
    return None if type(tangent) is Zero or tangent is None or not has_tangents(out) else tangent


class RuleTable(dict[Any, Rule]):
    """Rules by primitive. Those of jacana's own are adapted from the `rule` of their class."""

    def __init__(self, rule: str, adapt: Callable[[Primitive], Rule]):
        super().__init__()
        self._rule, self._adapt = rule, adapt

    def __setitem__(self, primitive: Any, rule: Rule) -> None:
        if is_own(primitive):
            raise NotImplementedError(
                f"the {self._rule} rule of jacana's primitive {primitive} cannot be replaced. "
                f"Define a primitive of your own, or use jax.custom_jvp or jax.custom_vjp."
            )
        super().__setitem__(primitive, rule)

    def __missing__(self, primitive: Any) -> Rule:
        if primitive in self:
            return self._adapt(primitive)
        raise KeyError(primitive)

    def __contains__(self, primitive: Any) -> bool:
        found = super().__contains__(primitive)
        return found or (is_own(primitive) and bool(primitive.has_rule(self._rule)))

    def get(self, primitive: Any, default: Any = None) -> Any:
        try:
            return self[primitive]
        except KeyError:
            return default


def is_own(primitive: Any) -> bool:
    """Whether a primitive is one of jacana's."""
    return isinstance(primitive, Primitive) and registry.get(primitive.name) is primitive


def own_jvp(primitive: Primitive) -> Rule:
    """rule(primals, tangents, **params) -> (out, tangent of out)."""

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        given = [nonzero(p, t) for p, t in zip(primals, tangents, strict=True)]
        if primitive.jvp_rule is not None:
            out, found = primitive.jvp_rule(list(primals), given, params)
        else:
            out, found = jvp_by_operand(primitive, list(primals), given, params)
        if not primitive.multiple_results:
            return out, zero_or(found, out)
        return out, [zero_or(t, o) for o, t in zip(out, found, strict=True)]

    return rule


def own_transpose(primitive: Primitive) -> Rule:
    """rule(ct, *operands, **params) -> cotangents of the operands that are undefined."""

    def rule(ct: Any, *operands: Any, **params: Any) -> Any:
        given = [Linear(x.aval) if type(x) is UndefinedPrimal else x for x in operands]
        if primitive.multiple_results:
            ct = [None if type(c) is Zero else c for c in ct]
        elif type(ct) is Zero:
            return [None] * len(operands)
        return primitive.transpose(ct, *given, **params)

    return rule


def own_batch(primitive: Primitive) -> Rule:
    """rule(operands, axes, **params) -> (out, axis of out)."""

    def rule(operands: Sequence[Any], axes: Sequence[int | None], **params: Any) -> Any:
        size = next(np.shape(x)[a] for x, a in zip(operands, axes, strict=True) if a is not None)
        return primitive.batch(size, list(operands), list(axes), **params)

    return rule


jvp_rules = RuleTable("jvp", own_jvp)
transpose_rules = RuleTable("transpose", own_transpose)
batch_rules = RuleTable("batch", own_batch)
# rule(axis_size, axis_name, trace_type, operands, axes, **params)
axis_batch_rules: dict[Any, Rule] = {}
# rule(axis_data, operands, axes, **params)
axis_data_batch_rules: dict[Any, Rule] = {}
# rule(build, *tensors, **params), as `lower` in ops/lowering.py
lowering_rules: dict[Any, Rule] = {}
