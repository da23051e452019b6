"""The call of a function whose derivative the user gives: `custom_jvp_call`."""

from collections.abc import Sequence
from typing import Any

from jacana.core.avals import ShapedArray
from jacana.core.jaxpr import ClosedJaxpr, Jaxpr
from jacana.core.primitive import Inapplicable, Primitive
from jacana.core.values import aval_of
from jacana.higher_order.programs import FlatFunction, Traced, batched, traced
from jacana.transforms.batch import BatchTrace
from jacana.transforms.jvp import instantiate


class CustomJVPCall(Primitive):
    """The outputs of `call`; `rule(*primals, *tangents)` gives outputs and their tangents.

    Both are flat functions; in a jaxpr, `call` is traced and `rule` stays the user's function.
    """

    name = "custom_jvp_call"
    multiple_results = True
    reference = Inapplicable("it runs the called program, whose primitives have references")
    jvp = Inapplicable("jvp_rule asks the user's rule")
    transpose = Inapplicable("the user's rule is transposed, not the call")
    batch = Inapplicable("batch_rule batches the function and its rule")

    def type_rule(self, *xs: ShapedArray, call: Traced, rule: FlatFunction) -> list[ShapedArray]:
        return call.jaxpr.out_avals

    def callee(self, params: dict[str, Any]) -> Jaxpr:
        return params["call"].jaxpr  # type: ignore[no-any-return]

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"call_jaxpr": params["call"].jaxpr}

    def eager_rule(self, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
        return params["call"](*args)  # type: ignore[no-any-return]

    def stage_rule(
        self, args: Sequence[Any], params: dict[str, Any]
    ) -> tuple[Sequence[Any], dict[str, Any]]:
        call, consts = traced(params["call"], [aval_of(x) for x in args])
        if not consts:
            return args, {**params, "call": call}
        n, rule = len(consts), params["rule"]

        def rule_of_all(*both: Any) -> list[Any]:
            # What the function captured has no derivative of its own.
            half = len(both) // 2
            return rule(*both[n:half], *both[half + n :])  # type: ignore[no-any-return]

        return [*consts, *args], {"call": call, "rule": rule_of_all}

    def jvp_rule(
        self, primals: list[Any], tangents: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        full = [instantiate(t, p) for t, p in zip(tangents, primals, strict=True)]
        both = params["rule"](*primals, *full)
        n = len(both) // 2
        return both[:n], both[n:]

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], int]:
        call = batched(params["call"], trace.size, axes, trace.axis_name)
        rule = params["rule"]

        def batched_rule(*both: Any) -> list[Any]:
            # Tangents of unbatched operands are unbatched, unless they were batched meanwhile.
            run = batched(rule, trace.size, [*axes, *axes], trace.axis_name)
            return run(*both)

        return self(*values, call=call, rule=batched_rule), 0

    def lower(self, build: Any, *operands: Any, call: Traced, rule: Any) -> Any:
        return build.call(ClosedJaxpr(call.jaxpr), operands)


custom_jvp_call = CustomJVPCall()
