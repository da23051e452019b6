"""Functions with a batching rule of their own (jax.custom_batching.custom_vmap), on flat lists."""

from collections.abc import Callable, Sequence
from typing import Any

from jacana.core.avals import ShapedArray
from jacana.core.evaluate import evaluate_reference
from jacana.core.jaxpr import ClosedJaxpr, Jaxpr
from jacana.core.primitive import Inapplicable, Primitive
from jacana.core.stage import JaxprTrace
from jacana.core.trace import Tracer, set_current
from jacana.core.values import aval_of
from jacana.higher_order.custom_rule import Flat, Named, run, run_under, staged
from jacana.ops.families import move_axis, spread_axis
from jacana.transforms.batch import BatchTrace
from jacana.transforms.derived import evaluated
from jacana.transforms.eager_tape import EagerTape
from jacana.transforms.jvp import has_tangents, jvp, zero_tangent
from jacana.transforms.linearize import Tape

# rule(size, batched, *args) -> (outs, which of them are batched); batch axes are the first.
Rule = Callable[..., tuple[list[Any], list[bool]]]


class CustomVmap:
    """A flat function and its batching rule."""

    def __init__(self, name: str, function: Flat, rule: Named):
        self.name, self.function, self.rule = name, function, rule

    def __call__(self, *args: Any) -> list[Any]:
        return run(self, args)

    def differentiate(self, primals: list[Any], tangents: list[Any]) -> tuple[list[Any], list[Any]]:
        return differentiated(self, primals, tangents)

    def run_batch(
        self, trace: BatchTrace, values: list[Any], axes: list[int | None]
    ) -> tuple[list[Any], list[int | None]]:
        if all(a is None for a in axes):
            outs = run_under(trace.parent, self, values)
            return outs, [None] * len(outs)
        with set_current(trace.parent):
            return apply_rule(self.rule, trace.size, values, axes)

    def record(self, trace: JaxprTrace, args: Sequence[Any]) -> list[Any]:
        jaxpr, consts = staged(self.function, args, self.name)
        return custom_vmap_primitive(  # type: ignore[no-any-return]
            *consts, *args, name=self.name, call=jaxpr, rule=self.rule, num_consts=len(consts)
        )


def apply_rule(
    rule: Rule, size: int, values: Sequence[Any], axes: Sequence[int | None]
) -> tuple[list[Any], list[int | None]]:
    """The rule's outputs and their batch axes."""
    moved = [x if a is None else move_axis(x, a, 0) for x, a in zip(values, axes, strict=True)]
    outs, batched = rule(size, [a is not None for a in axes], *moved)
    return outs, [0 if b else None for b in batched]


def differentiated(
    custom: CustomVmap, primals: list[Any], tangents: list[Any]
) -> tuple[list[Any], list[Any]]:
    """Outputs and tangents of outputs, as one function whose rule is the derivative of the rule."""
    refuse_tapes(tangents)
    nonzero = [t is not None for t in tangents]
    kinds: list[bool] = []

    def function(*args: Any) -> list[Any]:
        outs, out_tangents = with_tangents(custom.function, nonzero, args)
        kinds[:] = [t is not None for t in out_tangents]
        return [*outs, *[t for t in out_tangents if t is not None]]

    rule = Named(tangent_rule(custom.rule, nonzero, kinds), custom.rule.__name__)
    given = [*primals, *[t for t in tangents if t is not None]]
    found = CustomVmap(custom.name, function, rule)(*given)
    n = len(kinds)
    rest = iter(found[n:])
    return found[:n], [next(rest) if k else None for k in kinds]


def with_tangents(
    function: Flat, nonzero: Sequence[bool], args: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Outputs, and an array as tangent for each that can have one, of primals and tangents."""
    rest = iter(args[len(nonzero) :])
    tangents = [next(rest) if nz else None for nz in nonzero]
    outs, found = jvp(function, args[: len(nonzero)], tangents)
    full = [
        (zero_tangent(o) if t is None else t) if has_tangents(o) else None
        for o, t in zip(outs, found, strict=True)
    ]
    return outs, full


def tangent_rule(rule: Rule, nonzero: Sequence[bool], kinds: list[bool]) -> Rule:
    """The rule for primals and nonzero tangents; `kinds` gets which outputs have tangents."""

    def run_rule(size: int, batched: Sequence[bool], *args: Any) -> tuple[list[Any], list[bool]]:
        n = len(nonzero)
        places = iter(range(n, len(args)))
        both, given = list(batched[:n]), list(args)
        for i, nz in enumerate(nonzero):
            if not nz:
                continue
            # A value and its tangent are batched alike.
            k = next(places)
            both[i] = batched[i] or batched[k]
            for at in (i, k):
                if both[i] and not batched[at]:
                    given[at] = spread_axis(args[at], size)
        flags: list[bool] = []

        def flat(*primals: Any) -> list[Any]:
            outs, flags[:] = rule(size, both, *primals)
            return outs

        outs, tangents = with_tangents(flat, nonzero, given)
        kinds[:] = [t is not None for t in tangents]
        found = [t for t in tangents if t is not None]
        return [*outs, *found], [*flags, *[f for f, k in zip(flags, kinds, strict=True) if k]]

    return run_rule


def refuse_tapes(tangents: Sequence[Any]) -> None:
    """ValueError for reverse mode, which would part what the rule batches as one."""
    if any(isinstance(t, Tracer) and isinstance(t._trace, Tape | EagerTape) for t in tangents):
        raise ValueError(
            "custom_vmap functions do not support reverse-mode differentiation. Give the function "
            "a rule for that as well: wrap it in custom_vjp, or in custom_jvp; or apply vmap first."
        )


class CustomVmapCall(Primitive):
    """The outputs of `call`; what it captured, `num_consts` operands, comes first."""

    name = "custom_vmap_call"
    multiple_results = True
    jvp = Inapplicable("jvp_rule differentiates the function and its rule")
    transpose = Inapplicable("custom_vmap functions do not support reverse-mode differentiation")
    batch = Inapplicable("batch_rule calls the function's own rule")

    def type_rule(self, *xs: ShapedArray, call: ClosedJaxpr, **_: Any) -> list[ShapedArray]:
        return call.out_avals

    def reference(self, *xs: Any, call: ClosedJaxpr, **_: Any) -> list[Any]:
        return evaluate_reference(call, *xs)

    def callee(self, params: dict[str, Any]) -> Jaxpr:
        return params["call"].jaxpr  # type: ignore[no-any-return]

    def jvp_rule(
        self, primals: list[Any], tangents: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        n = params["num_consts"]
        rule = Named(taking_consts(params["rule"], n, params["name"]), params["rule"].__name__)
        custom = CustomVmap(params["name"], evaluated(params["call"].jaxpr), rule)
        return differentiated(custom, primals, tangents)

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        n = params["num_consts"]
        if all(a is None for a in axes):
            outs = self(*values, **params)
            return outs, [None] * len(outs)
        rule = taking_consts(params["rule"], n, params["name"])
        return apply_rule(rule, trace.size, values, axes)

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in params.items() if k != "num_consts" or v}

    def lower(self, build: Any, *operands: Any, call: ClosedJaxpr, **_: Any) -> Any:
        return build.call(call, operands)


def taking_consts(rule: Rule, count: int, name: str) -> Rule:
    """The rule for operands that begin with what the function captured, which it does not see."""
    if not count:
        return rule

    def run_rule(size: int, batched: Sequence[bool], *args: Any) -> tuple[list[Any], list[bool]]:
        if any(batched[:count]):
            types = ", ".join(aval_of(x).str_short() for x in args[:count])
            raise NotImplementedError(
                f"the custom_vmap function {name} captures arrays that vmap maps ({types}), which "
                f"its rule does not see. Make them arguments."
            )
        return rule(size, batched[count:], *args[count:])

    return run_rule


custom_vmap_primitive = CustomVmapCall()
