"""The call of a function whose reverse-mode derivative the user gives: `custom_vjp_call`."""

from collections.abc import Callable, Sequence
from typing import Any

from jacana import ops
from jacana.core.avals import ShapedArray
from jacana.core.jaxpr import ClosedJaxpr, Jaxpr
from jacana.core.primitive import Inapplicable, Linear, Primitive
from jacana.core.values import aval_of
from jacana.higher_order.programs import FlatFunction, Traced, batched, traced
from jacana.ops.shape import zeros
from jacana.transforms.batch import BatchTrace
from jacana.transforms.jvp import has_tangents, instantiate


class CustomVJPCall(Primitive):
    """The outputs of `call`, differentiated in reverse mode by `forward` and `backward`.

    forward(*args) -> (residuals, outputs); backward(*residuals, *cotangents) -> cotangents of the
    arguments, None where zero.
    """

    name = "custom_vjp_call"
    multiple_results = True
    reference = Inapplicable("it runs the called program, whose primitives have references")
    jvp = Inapplicable("the user gives the reverse-mode rule only")
    transpose = Inapplicable("custom_linear is transposed in its place")
    batch = Inapplicable("batch_rule batches the function and its rules")

    def type_rule(self, *xs: ShapedArray, call: Traced, **rules: Any) -> list[ShapedArray]:
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
        n, forward, backward = len(consts), params["forward"], params["backward"]
        return [*consts, *args], {
            "call": call,
            "forward": lambda *xs: forward(*xs[n:]),
            "backward": lambda *xs: [None] * n + backward(*xs),
        }

    def jvp_rule(self, primals: list[Any], tangents: list[Any], params: dict[str, Any]) -> Any:
        raise TypeError(
            "can't apply forward-mode differentiation (jvp) to a custom_vjp function. Use reverse "
            "mode (grad, vjp, jacrev), or define the derivative with custom_jvp."
        )

    def linearize_rule(
        self, primals: list[Any], nonzero: list[bool], params: dict[str, Any]
    ) -> tuple[list[Any], Callable[[list[Any]], list[Any]]]:
        residuals, outs = params["forward"](*primals)
        avals = tuple(aval_of(o).to_tangent_aval() for o in outs)
        count = len(residuals)

        def record(tangents: list[Any]) -> list[Any]:
            given = iter(tangents)
            full = [
                instantiate(next(given) if nz else None, p)
                for nz, p in zip(nonzero, primals, strict=True)
                if nz or has_tangents(p)
            ]
            kept = tuple(nz or has_tangents(p) for nz, p in zip(nonzero, primals, strict=True))
            made = custom_linear(
                *residuals, *full, count=count, kept=kept, avals=avals,
                backward=params["backward"],
            )  # fmt: skip
            return [t if has_tangents(o) else None for t, o in zip(made, outs, strict=True)]

        return outs, record

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], int]:
        size, name = trace.size, trace.axis_name
        call, forward, backward = params["call"], params["forward"], params["backward"]
        counts: list[int] = []

        def flat_forward(*args: Any) -> list[Any]:
            residuals, outs = forward(*args)
            counts[:] = [len(residuals)]
            return [*residuals, *outs]

        def batched_forward(*args: Any) -> tuple[list[Any], list[Any]]:
            both = batched(flat_forward, size, axes, name)(*args)
            return both[: counts[0]], both[counts[0] :]

        def batched_backward(*args: Any) -> list[Any]:
            nonzero: list[bool] = []

            def run(*xs: Any) -> list[Any]:
                cts = backward(*xs)
                nonzero[:] = [ct is not None for ct in cts]
                return [ct for ct in cts if ct is not None]

            found = iter(batched(run, size, [0] * len(args), name)(*args))
            cts = [next(found) if nz else None for nz in nonzero]
            return [place(ct, axis) for ct, axis in zip(cts, axes, strict=True)]

        outs = self(
            *values, call=batched(call, size, axes, name), forward=batched_forward,
            backward=batched_backward,
        )  # fmt: skip
        return outs, 0

    def lower(self, build: Any, *operands: Any, call: Traced, **rules: Any) -> Any:
        return build.call(ClosedJaxpr(call.jaxpr), operands)


def place(ct: Any, axis: int | None) -> Any:
    """The cotangent, batched in front, of an operand batched along `axis` (None: unbatched)."""
    if ct is None:
        return None
    return ops.reduce_sum(ct, axes=(0,)) if axis is None else ops.families.move_axis(ct, 0, axis)


class CustomLinear(Primitive):
    """The linear map whose transpose is the user's backward function; it cannot run forwards."""

    name = "custom_linear"
    multiple_results = True
    reference = Inapplicable("only its transpose is known")
    jvp = Inapplicable("only its transpose is known")
    batch = Inapplicable("only its transpose is known")
    lower = Inapplicable("a custom_vjp function has no forward-mode derivative")

    def type_rule(self, *xs: ShapedArray, avals: tuple[ShapedArray, ...], **rest: Any) -> Any:
        return list(avals)

    def transpose(
        self, cts: list[Any], *operands: Any, count: int, kept: tuple[bool, ...],
        avals: tuple[ShapedArray, ...], backward: FlatFunction,
    ) -> list[Any]:  # fmt: skip
        full = [
            zeros(aval.shape, aval.dtype) if ct is None else ct
            for ct, aval in zip(cts, avals, strict=True)
        ]
        found = backward(*operands[:count], *full)
        chosen = [ct for ct, is_kept in zip(found, kept, strict=True) if is_kept]
        return [None] * count + [
            ct if isinstance(x, Linear) else None
            for ct, x in zip(chosen, operands[count:], strict=True)
        ]


custom_vjp_call = CustomVJPCall()
custom_linear = CustomLinear()
