"""Primitives that users define, with rules in JAX's form: in tables, set after the fact.

Outside of a jaxpr every rule runs as plain Python, so it may look at concrete values; staging makes
an equation. Rules see symbolic zeros (`Zero`) and operands without value (`UndefinedPrimal`), which
inside of jacana are None and `Linear`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana.core.avals import ShapedArray
from jacana.core.primitive import Inapplicable, Linear, Primitive
from jacana.core.stage import JaxprTrace
from jacana.core.trace import ConcreteTrace, Trace, Tracer, current, set_current
from jacana.core.values import aval_of
from jacana.higher_order.rule_tables import (
    AxisData,
    Rule,
    UndefinedPrimal,
    Zero,
    axis_batch_rules,
    axis_data_batch_rules,
    batch_rules,
    jvp_rules,
    lowering_rules,
    nonzero,
    transpose_rules,
)
from jacana.transforms.batch import BatchTrace, BatchTracer
from jacana.transforms.eager_tape import EagerTape
from jacana.transforms.jvp import JVPTrace
from jacana.transforms.linearize import Tape


def missing(what: str, primitive: Primitive, repair: str) -> NotImplementedError:
    return NotImplementedError(f"{what} for '{primitive.name}' not implemented. {repair}")


class UserPrimitive(Primitive):
    """A primitive whose rules are set one by one, and asked for when they are needed.

    >>> double = UserPrimitive("double")
    >>> @double.def_impl
    ... def double_impl(x):
    ...     return 2 * x
    >>> double.bind(3)
    6
    """

    # Its rules are the user's Python.
    calls_python = True
    call_primitive = False
    map_primitive = False

    reference = Inapplicable("its meaning is the user's impl, which need not be NumPy")
    jvp = Inapplicable("jvp_rule asks the user's rule")
    batch = Inapplicable("batch_rule asks the user's rule")

    def __init__(self, name: str):
        # Not in the registry: names of user primitives need not differ.
        self.name = name
        self._impl: Rule | None = None
        self._abstract_eval: Rule | None = None

    # --- definition ---

    def def_impl(self, impl: Rule) -> Rule:
        """Set impl(*operands, **params): what happens outside of jit, on concrete values."""
        self._impl = impl
        return impl

    def def_abstract_eval(self, abstract_eval: Rule) -> Rule:
        """Set abstract_eval(*avals, **params): the aval, or avals, of the result."""
        self._abstract_eval = abstract_eval
        return abstract_eval

    def def_effectful_abstract_eval(self, abstract_eval: Rule) -> Rule:
        """As def_abstract_eval, of a rule that gives (avals, effects); there can be no effects."""

        def without_effects(*avals: Any, **params: Any) -> Any:
            out, effects = abstract_eval(*avals, **params)
            if effects:
                raise NotImplementedError(
                    f"'{self.name}' has the effects {effects}: primitives that users define have "
                    f"none here. Call Python with jax.experimental.io_callback instead."
                )
            return out

        self._abstract_eval = without_effects
        return abstract_eval

    def def_lowering(self, rule: Rule) -> Rule:
        """Set rule(build, *tensors, **params), which gives the tensors of the result.

        See `Build` in jacana/ops/lowering.py for what the rule can do.
        """
        lowering_rules[self] = rule
        return rule

    def def_custom_bind(self, bind: Rule) -> Rule:
        """Set what `bind` does."""
        self.bind = bind  # type: ignore[method-assign]
        return bind

    # --- use ---

    @property
    def impl(self) -> Rule:
        """What happens outside of jit."""
        if self._impl is None:
            raise missing("Evaluation rule", self, "Give it one with def_impl.")
        return self._impl

    def abstract_eval(self, *avals: Any, **params: Any) -> tuple[Any, frozenset[str]]:
        """The type of the result, and its effects, of which there are none."""
        return self.type_rule(*avals, **params), frozenset()

    def __call__(self, *args: Any, **params: Any) -> Any:
        return apply(current(), self, args, params)

    bind = __call__

    def type_rule(self, *avals: ShapedArray, **params: Any) -> Any:
        if self._abstract_eval is None:
            raise missing("Abstract evaluation", self, "Give it one with def_abstract_eval.")
        out = self._abstract_eval(*avals, **params)
        return [shaped(a) for a in out] if self.multiple_results else shaped(out)

    def jvp_rule(self, primals: list[Any], tangents: list[Any], params: dict[str, Any]) -> Any:
        rule = jvp_rules.get(self)
        if rule is None:
            raise missing("Differentiation rule", self, "Set ad.primitive_jvps[primitive].")
        given = [
            Zero.from_primal_value(p) if t is None else t
            for p, t in zip(primals, tangents, strict=True)
        ]
        out, out_tangents = rule(tuple(primals), tuple(given), **params)
        if not self.multiple_results:
            return out, nonzero(out, out_tangents)
        return list(out), [nonzero(o, t) for o, t in zip(out, out_tangents, strict=True)]

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any]
    ) -> tuple[Any, Any]:
        if self in axis_data_batch_rules:
            data = AxisData(trace.axis_name, trace.size)
            out, out_axes = axis_data_batch_rules[self](data, values, axes, **params)
        elif self in axis_batch_rules:
            given = (trace.size, trace.axis_name, None, values, axes)
            out, out_axes = axis_batch_rules[self](*given, **params)
        elif self in batch_rules:
            out, out_axes = batch_rules[self](tuple(values), tuple(axes), **params)
        else:
            raise missing("Batching rule", self, "Set batching.primitive_batchers[primitive].")
        return out, out_axes

    def transpose(self, ct: Any, *operands: Any, **params: Any) -> Any:
        rule = transpose_rules.get(self)
        if rule is None:
            raise missing(
                "Transpose rule (for reverse-mode differentiation)", self,
                "Set ad.primitive_transposes[primitive].",
            )  # fmt: skip
        given = [UndefinedPrimal(x.aval) if isinstance(x, Linear) else x for x in operands]
        if self.multiple_results:
            avals = self.type_rule(*[aval_of(x) for x in operands], **params)
            ct = [Zero(a.to_tangent_aval()) if c is None else c for a, c in zip(avals, ct)]
        found = rule(ct, *given, **params)
        if found is None:
            return [None] * len(operands)
        return [
            None if c is None or type(c) is Zero or not isinstance(x, Linear) else c
            for x, c in zip(operands, found, strict=True)
        ]

    def lower(self, build: Any, *operands: Any, **params: Any) -> Any:
        rule = lowering_rules.get(self)
        if rule is None:
            raise NotImplementedError(
                f"MLIR translation rule for primitive '{self.name}' not found for platform cpu. "
                f"Set one with mlir.register_lowering(p, mlir.lower_fun(f, multiple_results=False))"
                f" where f is written with jax.numpy, or with p.def_lowering."
            )
        return rule(build, *operands, **params)


def shaped(aval: Any) -> ShapedArray:
    """The aval that a user's rule gave: an aval, or anything with a shape and a dtype."""
    if isinstance(aval, ShapedArray):
        return aval
    return ShapedArray(aval.shape, aval.dtype, getattr(aval, "weak_type", False))


def apply(trace: Trace, primitive: UserPrimitive, args: Sequence[Any], params: Any) -> Any:
    """The primitive's output under a trace; rules run with concrete values where there are any."""
    mine = any(isinstance(x, Tracer) and x._trace is trace for x in args)
    if isinstance(trace, JVPTrace):
        if not mine:
            return apply(trace.parent, primitive, args, params)
        primals, tangents, _ = trace.split(args)
        with set_current(trace.parent):
            out, out_tangents = primitive.jvp_rule(primals, tangents, params)
        if primitive.multiple_results:
            return trace.join(out, out_tangents)
        return trace.join([out], [out_tangents])[0]
    if isinstance(trace, BatchTrace):
        return apply_batched(trace, primitive, args, params, mine)
    if isinstance(trace, Tape | EagerTape) and not mine:
        return apply(trace.parent, primitive, args, params)
    if isinstance(trace, ConcreteTrace):
        return apply(trace.receiver(args), primitive, args, params)
    if isinstance(trace, JaxprTrace | EagerTape):
        return trace.process(primitive, tuple(args), params)
    with set_current(trace):
        return primitive.impl(*args, **params)


def apply_batched(
    trace: BatchTrace, primitive: UserPrimitive, args: Sequence[Any], params: Any, mine: bool
) -> Any:
    if not mine:
        return apply(trace.parent, primitive, args, params)
    values, axes = trace.split(args)
    with set_current(trace.parent):
        out, out_axes = primitive.batch_rule(trace, values, axes, params)
    if not primitive.multiple_results:
        return out if out_axes is None else BatchTracer(trace, out, front(out, out_axes))
    if out_axes is None or isinstance(out_axes, int):
        out_axes = [out_axes] * len(out)
    return [
        o if a is None else BatchTracer(trace, o, front(o, a))
        for o, a in zip(out, out_axes, strict=True)
    ]


def front(value: Any, axis: int) -> int:
    """The batch axis that a user's rule gave, counted from the front."""
    return axis % np.ndim(value)
