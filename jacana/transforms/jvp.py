"""Forward mode: a trace that carries tangents beside values. Zero tangents are None throughout."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.jaxpr import ClosedJaxpr, Jaxpr
from jacana.core.primitive import Inapplicable, Primitive
from jacana.core.source import Source
from jacana.core.trace import Trace, Tracer, base_trace, current, swap_current
from jacana.core.values import aval_of
from jacana.core.variance import vary_like
from jacana.ops.families import not_differentiable
from jacana.ops.shape import zeros
from jacana.transforms.derived import (
    Cache,
    Runner,
    closed,
    evaluated,
    kept,
    one_equation,
)


class JVPTracer(Tracer):
    """A value with a nonzero tangent."""

    __slots__ = ("primal", "tangent")

    def __init__(self, trace: Trace, primal: Any, tangent: Any):
        self._trace, self.primal, self.tangent = trace, primal, tangent
        self.aval = aval_of(primal)

    def concrete(self) -> Any:
        primal = self.primal
        return primal.concrete() if isinstance(primal, Tracer) else primal

    def origin(self) -> Source | None:
        return self.primal.origin() if isinstance(self.primal, Tracer) else None


class JVPTrace(Trace):
    """Applies jvp rules; values and tangents are computed by the parent trace."""

    __slots__ = ("parent",)

    def __init__(self, parent: Trace):
        super().__init__()
        self.parent = parent

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        primals, tangents, mine = self.split(args)
        if not mine:
            return self.parent.process(primitive, args, params)
        previous = swap_current(self.parent)
        try:
            out, out_tangents = self.apply(primitive, primals, tangents, params)
            # A tangent varies wherever its value does.
            if primitive.multiple_results:
                pairs = zip(out_tangents, out, strict=True)
                out_tangents = [t if t is None else vary_like(t, o) for t, o in pairs]
            elif out_tangents is not None:
                out_tangents = vary_like(out_tangents, out)
        finally:
            swap_current(previous)
        if primitive.multiple_results:
            return self.join(out, out_tangents)
        return self.join([out], [out_tangents])[0]

    def split(self, args: Sequence[Any]) -> tuple[list[Any], list[Any], bool]:
        """Values, tangents (None: zero), and whether there is a tangent at all."""
        primals: list[Any] = []
        tangents: list[Any] = []
        mine = False
        for x in args:
            if type(x) is JVPTracer and x._trace is self:
                primals.append(x.primal)
                tangents.append(x.tangent)
                mine = True
            else:
                primals.append(x)
                tangents.append(None)
        return primals, tangents, mine

    def join(self, outs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        return [
            o if t is None else JVPTracer(self, o, t) for o, t in zip(outs, tangents, strict=True)
        ]

    def call(self, rule: Callable[..., tuple[Any, Any]], args: Sequence[Any]) -> list[Any]:
        """What rule(primals, tangents) makes of the arguments, under the parent trace."""
        primals, tangents, _ = self.split(args)
        previous = swap_current(self.parent)
        try:
            return self.join(*rule(primals, tangents))
        finally:
            swap_current(previous)

    def apply(
        self, primitive: Primitive, primals: list[Any], tangents: list[Any], params: dict[str, Any]
    ) -> tuple[Any, Any]:
        """Output and its tangent (lists of them with multiple results)."""
        rule = primitive.jvp_rule
        if rule is not None:
            return rule(primals, tangents, params)  # type: ignore[no-any-return]
        return jvp_by_operand(primitive, primals, tangents, params)


def jvp_by_operand(
    primitive: Primitive, primals: list[Any], tangents: list[Any], params: dict[str, Any]
) -> tuple[Any, Any]:
    """The sum of what each operand's tangent contributes."""
    out = primitive(*primals, **params)
    rule = type(primitive).jvp
    if isinstance(rule, Inapplicable):
        if rule is not not_differentiable and has_any_tangents(primitive, out):
            raise NotImplementedError(
                f"Differentiation rule for '{primitive.name}' not implemented: {rule.reason}."
            )
        return out, [None] * len(out) if primitive.multiple_results else None
    if primitive.multiple_results:
        total: list[Any] = [None] * len(out)
        for i, t in enumerate(tangents):
            if t is not None:
                parts = primitive.jvp(i, t, out, *primals, **params)
                total = [add_tangents(a, b) for a, b in zip(total, parts, strict=True)]
        kept = [t if has_tangents(o) else None for t, o in zip(total, out, strict=True)]
        return out, kept
    result = None
    if has_tangents(out):
        for i, t in enumerate(tangents):
            if t is not None:
                result = add_tangents(result, primitive.jvp(i, t, out, *primals, **params))
    return out, result


def has_tangents(x: Any) -> bool:
    """Whether values like x can have nonzero tangents."""
    return aval_of(x).is_differentiable


def has_any_tangents(primitive: Primitive, out: Any) -> bool:
    outs = out if primitive.multiple_results else [out]
    return any(has_tangents(o) for o in outs)


def add_tangents(a: Any, b: Any) -> Any:
    if a is None:
        return b
    return a if b is None else ops.add_any(a, b)


def zero_tangent(like: Any) -> Any:
    """The zero in the tangent space of a value."""
    return zero_of(aval_of(like).to_tangent_aval())


def zero_of(aval: ShapedArray) -> Any:
    """The zero of a tangent aval; a NumPy array where its dtype is float0."""
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    zero = zeros(aval.shape, aval.dtype)
    if not aval.weak_type:
        return zero
    return ops.convert_element_type(zero, new_dtype=aval.dtype, weak_type=True)


def jvp(
    function: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Outputs of a flat function and their tangents, None where zero, as the tangents given."""
    parent = current()
    trace = EagerJVPTrace(parent) if parent is base_trace else JVPTrace(parent)
    args = [
        p if t is None else JVPTracer(trace, p, t) for p, t in zip(primals, tangents, strict=True)
    ]
    return run_jvp(trace, function, args)


def run_jvp(
    trace: JVPTrace, function: Callable[..., Sequence[Any]], args: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    previous = swap_current(trace)
    try:
        outs = function(*args)
    finally:
        swap_current(previous)
        trace.alive = False
    primals_out, tangents_out, _ = trace.split(outs)
    return primals_out, tangents_out


def jvp_program(jaxpr: Jaxpr, nonzero: tuple[bool, ...]) -> tuple[ClosedJaxpr, list[bool]]:
    """(primals, nonzero tangents) -> (outs, nonzero tangents of outs), and which those are."""

    def make() -> tuple[ClosedJaxpr, list[bool]]:
        n = len(jaxpr.invars)
        out_nonzero: list[bool] = []

        def run(*args: Any) -> list[Any]:
            rest = iter(args[n:])
            tangents = [next(rest) if nz else None for nz in nonzero]
            outs, out_tangents = jvp(evaluated(jaxpr), args[:n], tangents)
            out_nonzero[:] = [t is not None for t in out_tangents]
            return [*outs, *[t for t in out_tangents if t is not None]]

        chosen = [a.to_tangent_aval() for a, nz in zip(jaxpr.in_avals, nonzero, strict=True) if nz]
        return closed(run, [*jaxpr.in_avals, *chosen]), out_nonzero

    return kept(jaxpr, ("jvp", nonzero), make)


# --- un-jitted code ---


class DifferentiatedOperation:
    """One operation on operands of certain types and its jvp, as a program that runs at once."""

    __slots__ = ("nonzero", "run")

    def __init__(
        self,
        primitive: Primitive,
        avals: tuple[ShapedArray, ...],
        params: dict[str, Any],
        nonzero: tuple[bool, ...],
    ):
        program, self.nonzero = jvp_program(one_equation(primitive, avals, params), nonzero)
        self.run = Runner(program)


differentiated_operations = Cache(DifferentiatedOperation)


class EagerJVPTrace(JVPTrace):
    """Forward mode of un-jitted code."""

    __slots__ = ()

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        primals, tangents, mine = self.split(args)
        if not mine:
            return base_trace.process(primitive, args, params)
        avals = tuple([aval_of(x) for x in args])
        mask = tuple([t is not None for t in tangents])
        how = differentiated_operations.get(primitive, avals, params, mask)
        values = how.run(primals + [t for t in tangents if t is not None])
        k = len(how.nonzero)
        results = []
        for out, nz in zip(values, how.nonzero):
            if nz:
                out = JVPTracer(self, out, values[k])
                k += 1
            results.append(out)
        return results if primitive.multiple_results else results[0]
