"""What programs import from `jax.interpreters.ad`: rules for derivatives of primitives."""

from collections.abc import Callable, Sequence
from typing import Any

from jacana import ops
from jacana.core.avals import ShapedArray
from jacana.higher_order.rule_tables import (
    UndefinedPrimal as UndefinedPrimal,
    Zero as Zero,
    jvp_rules,
    transpose_rules,
)
from jacana.transforms.jvp import JVPTrace as JVPTrace, JVPTracer as JVPTracer, zero_of

primitive_jvps = jvp_rules
primitive_transposes = transpose_rules
add_jaxvals = ops.add_any
add_jaxvals_p = ops.add_any

Rule = Callable[..., Any]


def is_undefined_primal(x: Any) -> bool:
    """Whether a transpose rule is asked for the cotangent of this operand."""
    return type(x) is UndefinedPrimal


def instantiate_zeros(tangent: Any) -> Any:
    """The tangent as an array, also where it is a symbolic zero."""
    return tangent.instantiate() if type(tangent) is Zero else tangent


def zeros_like_aval(aval: ShapedArray) -> Any:
    """The array of zeros of a type."""
    return zero_of(aval)


def add_tangents(x: Any, y: Any) -> Any:
    """The sum of two tangents, either of which may be a symbolic zero."""
    if type(x) is Zero:
        return y
    return x if type(y) is Zero else add_jaxvals(x, y)


def get_primitive_transpose(p: Any) -> Rule:
    """The transpose rule of a primitive; NotImplementedError if there is none."""
    if p not in primitive_transposes:
        raise NotImplementedError(
            f"Transpose rule (for reverse-mode differentiation) for '{p}' not implemented"
        )
    return primitive_transposes[p]


def deflinear(primitive: Any, transpose_rule: Rule) -> None:
    """A primitive that is linear in all operands: rule(cotangent, **params) gives theirs."""
    deflinear2(primitive, lambda ct, *_, **params: transpose_rule(ct, **params))


def deflinear2(primitive: Any, transpose_rule: Rule) -> None:
    """A primitive that is linear in all operands: rule(cotangent, *operands, **params)."""

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        out = primitive.bind(*primals, **params)
        if all(type(t) is Zero for t in tangents):
            if primitive.multiple_results:
                return out, [Zero.from_primal_value(o) for o in out]
            return out, Zero.from_primal_value(out)
        return out, primitive.bind(*map(instantiate_zeros, tangents), **params)

    def transpose(ct: Any, *operands: Any, **params: Any) -> Any:
        if type(ct) is Zero:
            return [Zero(x.aval) if type(x) is UndefinedPrimal else None for x in operands]
        return transpose_rule(ct, *operands, **params)

    primitive_jvps[primitive] = jvp
    primitive_transposes[primitive] = transpose


def defjvp(primitive: Any, *jvp_rules: Rule | None) -> None:
    """One rule(tangent, *operands, **params) for each operand; None where it adds nothing."""
    rules = [r and _without_output(r) for r in jvp_rules]
    _define_by_operand(primitive, rules)


def defjvp_with_output(primitive: Any, *jvp_rules: Rule | None) -> None:
    """As defjvp, of rules (tangent, output, *operands, **params)."""
    _define_by_operand(primitive, list(jvp_rules))


defjvp2 = defjvp_with_output


def _without_output(rule: Rule) -> Rule:
    return lambda tangent, out, *operands, **params: rule(tangent, *operands, **params)


def _define_by_operand(primitive: Any, rules: Sequence[Rule | None]) -> None:
    if primitive.multiple_results:
        raise TypeError(
            f"ad.defjvp is for primitives with one result; '{primitive.name}' has several. Set "
            f"ad.primitive_jvps[primitive] to one rule for all of them."
        )

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        out = primitive.bind(*primals, **params)
        total: Any = Zero.from_primal_value(out)
        for rule, t in zip(rules, tangents, strict=True):
            if rule is not None and type(t) is not Zero:
                total = add_tangents(total, rule(t, out, *primals, **params))
        return out, total

    primitive_jvps[primitive] = jvp


def defbilinear(prim: Any, lhs_rule: Rule, rhs_rule: Rule) -> None:
    """A primitive that is linear in each of two operands.

    The rules are lhs_rule(cotangent, x, y, **params) where x is undefined, and rhs_rule likewise.
    """
    defjvp(
        prim,
        lambda t, x, y, **params: prim.bind(t, y, **params),
        lambda t, x, y, **params: prim.bind(x, t, **params),
    )

    def transpose(ct: Any, x: Any, y: Any, **params: Any) -> Any:
        if type(ct) is Zero:
            return [None, None]
        if type(x) is UndefinedPrimal:
            return [lhs_rule(ct, x, y, **params), None]
        return [None, rhs_rule(ct, x, y, **params)]

    primitive_transposes[prim] = transpose
