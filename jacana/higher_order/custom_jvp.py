"""Functions with a jvp rule of their own (jax.custom_jvp), on flat lists."""

from collections.abc import Callable, Sequence
from typing import Any

from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.evaluate import evaluate_reference
from jacana.core.jaxpr import ClosedJaxpr, Jaxpr
from jacana.core.primitive import Inapplicable
from jacana.core.stage import JaxprTrace
from jacana.core.values import aval_of
from jacana.higher_order.call import transpose_call
from jacana.higher_order.custom_rule import (
    Flat,
    Named,
    batched_function,
    batched_program,
    run,
    run_under,
    staged,
)
from jacana.higher_order.refs import TakesRefs
from jacana.transforms.batch import BatchTrace
from jacana.transforms.jvp import has_tangents, zero_tangent

# rule(primals, tangents) -> (outs, tangents of outs). All tangents are arrays, of dtype float0 for
# integers; with symbolic zeros, None stands for zero.
Rule = Callable[[Sequence[Any], Sequence[Any]], tuple[list[Any], list[Any]]]


class CustomJVP:
    """A flat function and its jvp rule."""

    def __init__(self, name: str, function: Flat, rule: Named, symbolic_zeros: bool = False):
        self.name, self.function, self.rule = name, function, rule
        self.symbolic_zeros = symbolic_zeros

    def __call__(self, *args: Any) -> list[Any]:
        return run(self, args)

    def differentiate(self, primals: list[Any], tangents: list[Any]) -> tuple[list[Any], list[Any]]:
        return apply_rule(self.rule, primals, tangents, self.symbolic_zeros)

    def run_batch(
        self, trace: BatchTrace, values: list[Any], axes: list[int | None]
    ) -> tuple[list[Any], list[int | None]]:
        outs = run_under(trace.parent, self.batched(trace.size, axes, trace.axis_name), values)
        return outs, [0] * len(outs)

    def batched(self, size: int, axes: Sequence[int | None], name: Any) -> "CustomJVP":
        function = batched_function(self.function, size, axes, name)
        rule = batched_rule(self.rule, size, axes, name)
        return CustomJVP(self.name, function, rule, self.symbolic_zeros)

    def record(self, trace: JaxprTrace, args: Sequence[Any]) -> list[Any]:
        jaxpr, consts = staged(self.function, args, self.name)
        return custom_jvp_primitive(  # type: ignore[no-any-return]
            *consts,
            *args,
            name=self.name,
            call_jaxpr=jaxpr,
            jvp=self.rule,
            num_consts=len(consts),
            symbolic_zeros=self.symbolic_zeros,
        )


def apply_rule(
    rule: Rule, primals: Sequence[Any], tangents: Sequence[Any], symbolic_zeros: bool
) -> tuple[list[Any], list[Any]]:
    """The rule's outputs and tangents, with zeros as arrays on its side and None on this one."""
    given = list(tangents)
    if not symbolic_zeros:
        given = [
            zero_tangent(p) if t is None else t for p, t in zip(primals, tangents, strict=True)
        ]
    zeros = [id(g) for g, t in zip(given, tangents, strict=True) if t is None]
    outs, out_tangents = rule(primals, given)
    nonzero = [
        t if t is not None and has_tangents(o) and id(t) not in zeros else None
        for o, t in zip(outs, out_tangents, strict=True)
    ]
    return outs, nonzero


def batched_rule(rule: Named, size: int, axes: Sequence[int | None], name: Any) -> Named:
    """The rule over one more axis, which is the first of every output and tangent."""

    def run_batched(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        n = len(primals)
        given = [t for t in tangents if is_tangent(t)]
        given_axes = [a for a, t in zip(axes, tangents, strict=True) if is_tangent(t)]
        nonzero: list[bool] = []

        def flat(*args: Any) -> list[Any]:
            # Only arrays of numbers are batched; other tangents are made anew on the inside.
            rest = iter(args[n:])
            whole = [
                next(rest) if is_tangent(t) else None if t is None else zero_tangent(p)
                for p, t in zip(args[:n], tangents, strict=True)
            ]
            outs, out_tangents = rule(args[:n], whole)
            nonzero[:] = [is_tangent(t) for t in out_tangents]
            return [*outs, *[t for t in out_tangents if is_tangent(t)]]

        found = batched_function(flat, size, [*axes, *given_axes], name)(*primals, *given)
        rest = iter(found[len(nonzero) :])
        return found[: len(nonzero)], [next(rest) if nz else None for nz in nonzero]

    return Named(run_batched, rule.__name__)


def is_tangent(t: Any) -> bool:
    """Whether it is an array of numbers: neither a symbolic zero nor of dtype float0."""
    return t is not None and aval_of(t).dtype != dtypes.float0


class CustomJVPCall(TakesRefs):
    """The outputs of `call_jaxpr`; what it captured, `num_consts` operands, comes first."""

    name = "custom_jvp_call"
    multiple_results = True

    def type_rule(self, *xs: ShapedArray, call_jaxpr: ClosedJaxpr, **_: Any) -> list[ShapedArray]:
        return call_jaxpr.out_avals

    def reference(self, *xs: Any, call_jaxpr: ClosedJaxpr, **_: Any) -> list[Any]:
        return evaluate_reference(call_jaxpr, *xs)

    jvp = Inapplicable("jvp_rule calls the function's own rule")
    batch = Inapplicable("batch_rule batches the function and its rule")

    def transpose(
        self, cts: list[Any], *operands: Any, call_jaxpr: ClosedJaxpr, name: str, **_: Any
    ) -> list[Any]:
        # Where the function is part of a linear one, it is linear itself.
        return transpose_call(call_jaxpr.jaxpr, name, cts, operands)

    def callee(self, params: dict[str, Any]) -> Jaxpr:
        return params["call_jaxpr"].jaxpr  # type: ignore[no-any-return]

    def jvp_rule(
        self, primals: list[Any], tangents: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        n = params["num_consts"]
        return apply_rule(params["jvp"], primals[n:], tangents[n:], params["symbolic_zeros"])

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        n, size, name = params["num_consts"], trace.size, trace.axis_name
        jaxpr, consts = batched_program(params["call_jaxpr"].jaxpr, size, tuple(axes), name)
        rule = batched_rule(params["jvp"], size, axes[n:], name)
        changed = {"call_jaxpr": jaxpr, "jvp": rule, "num_consts": n + len(consts)}
        outs = self(*consts, *values, **{**params, **changed})
        return outs, [0] * len(outs)

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in params.items() if k != "num_consts" or v}

    def lower(self, build: Any, *operands: Any, call_jaxpr: ClosedJaxpr, **_: Any) -> Any:
        return build.call(call_jaxpr, operands)


custom_jvp_primitive = CustomJVPCall()
