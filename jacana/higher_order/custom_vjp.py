"""Functions with a backward pass of their own (jax.custom_vjp), on flat lists.

Differentiating one runs `forward`, and records the linear map whose transpose is `backward`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from jacana.core.avals import ShapedArray
from jacana.core.evaluate import evaluate_reference
from jacana.core.jaxpr import ClosedJaxpr, Jaxpr
from jacana.core.primitive import Inapplicable, Linear, Primitive
from jacana.core.stage import JaxprTrace
from jacana.core.values import aval_of
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
from jacana.ops import reduce_sum
from jacana.ops.families import move_axis
from jacana.transforms.batch import BatchTrace
from jacana.transforms.jvp import has_tangents

# forward(*args, perturbed=flags) -> (outs, residuals), where flags tell which arguments have
# tangents; backward(residuals, cotangents) -> cotangents of args. None is a zero cotangent.
Forward = Callable[..., tuple[list[Any], list[Any]]]
Backward = Callable[[Sequence[Any], Sequence[Any]], list[Any]]


class CustomVJP:
    """A flat function with its forward and backward passes."""

    def __init__(self, name: str, function: Flat, forward: Named, backward: Named):
        self.name, self.function = name, function
        self.forward, self.backward = forward, backward

    def __call__(self, *args: Any) -> list[Any]:
        return run(self, args)

    def differentiate(self, primals: list[Any], tangents: list[Any]) -> tuple[list[Any], list[Any]]:
        return apply_forward(self.forward, self.backward, primals, tangents)

    def run_batch(
        self, trace: BatchTrace, values: list[Any], axes: list[int | None]
    ) -> tuple[list[Any], list[int | None]]:
        outs = run_under(trace.parent, self.batched(trace.size, axes, trace.axis_name), values)
        return outs, [0] * len(outs)

    def batched(self, size: int, axes: Sequence[int | None], name: Any) -> "CustomVJP":
        function = batched_function(self.function, size, axes, name)
        passes = batched_passes(self.forward, self.backward, size, axes, name)
        return CustomVJP(self.name, function, *passes)

    def record(self, trace: JaxprTrace, args: Sequence[Any]) -> list[Any]:
        jaxpr, consts = staged(self.function, args, self.name)
        return custom_vjp_primitive(  # type: ignore[no-any-return]
            *consts,
            *args,
            name=self.name,
            call_jaxpr=jaxpr,
            fwd=self.forward,
            bwd=self.backward,
            num_consts=len(consts),
            symbolic_zeros=False,
        )


def apply_forward(
    forward: Forward, backward: Backward, primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """The outputs of the forward pass, and tangents that only the backward pass can make use of."""
    outs, residuals = forward(*primals, perturbed=tuple([t is not None for t in tangents]))
    given = [t for t in tangents if t is not None]
    if not given or not any(has_tangents(o) for o in outs):
        return outs, [None] * len(outs)
    found = custom_linear_map(
        *residuals,
        *given,
        backward=backward,
        num_residuals=len(residuals),
        nonzero=tuple([t is not None for t in tangents]),
        out_avals=tuple([aval_of(o).to_tangent_aval() for o in outs]),
    )
    return outs, [t if has_tangents(o) else None for o, t in zip(outs, found, strict=True)]


def batched_passes(
    forward: Named, backward: Named, size: int, axes: Sequence[int | None], name: Any
) -> tuple[Named, Named]:
    """Both passes over one more axis, the first of every output, residual and cotangent."""

    def batched_forward(*args: Any, perturbed: tuple[bool, ...]) -> tuple[list[Any], list[Any]]:
        count: list[int] = []

        def flat(*xs: Any) -> list[Any]:
            outs, residuals = forward(*xs, perturbed=perturbed)
            count[:] = [len(outs)]
            return [*outs, *residuals]

        found = batched_function(flat, size, axes, name)(*args)
        return found[: count[0]], found[count[0] :]

    def batched_backward(residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        nonzero: list[bool] = []
        given = [ct for ct in cotangents if ct is not None]

        def flat(*xs: Any) -> list[Any]:
            rest = iter(xs[len(residuals) :])
            cts = [None if ct is None else next(rest) for ct in cotangents]
            results = backward(xs[: len(residuals)], cts)
            nonzero[:] = [ct is not None for ct in results]
            return [ct for ct in results if ct is not None]

        every = [0] * (len(residuals) + len(given))
        found = iter(batched_function(flat, size, every, name)(*residuals, *given))
        results = [next(found) if nz else None for nz in nonzero]
        return [like_argument(ct, a) for ct, a in zip(results, axes, strict=True)]

    return Named(batched_forward, forward.__name__), Named(batched_backward, backward.__name__)


def like_argument(ct: Any, axis: int | None) -> Any:
    """The cotangent, batched in front, of an argument that is batched along `axis`.

    An argument that all examples share gets the sum of theirs.
    """
    if ct is None:
        return None
    return reduce_sum(ct, axes=(0,)) if axis is None else move_axis(ct, 0, axis)


class CustomVJPCall(TakesRefs):
    """The outputs of `call_jaxpr`; what it captured, `num_consts` operands, comes first."""

    name = "custom_vjp_call"
    multiple_results = True

    def type_rule(self, *xs: ShapedArray, call_jaxpr: ClosedJaxpr, **_: Any) -> list[ShapedArray]:
        return call_jaxpr.out_avals

    def reference(self, *xs: Any, call_jaxpr: ClosedJaxpr, **_: Any) -> list[Any]:
        return evaluate_reference(call_jaxpr, *xs)

    jvp = Inapplicable("jvp_rule runs the function's own forward pass")
    transpose = Inapplicable("it is differentiated by its own rule, which leaves no call of it")
    batch = Inapplicable("batch_rule batches the function and its passes")

    def callee(self, params: dict[str, Any]) -> Jaxpr:
        return params["call_jaxpr"].jaxpr  # type: ignore[no-any-return]

    def jvp_rule(
        self, primals: list[Any], tangents: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        n = params["num_consts"]
        return apply_forward(params["fwd"], params["bwd"], primals[n:], tangents[n:])

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        n, size, name = params["num_consts"], trace.size, trace.axis_name
        jaxpr, consts = batched_program(params["call_jaxpr"].jaxpr, size, tuple(axes), name)
        forward, backward = batched_passes(params["fwd"], params["bwd"], size, axes[n:], name)
        changed = {"call_jaxpr": jaxpr, "num_consts": n + len(consts)}
        passes = {"fwd": forward, "bwd": backward}
        outs = self(*consts, *values, **{**params, **changed, **passes})
        return outs, [0] * len(outs)

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in params.items() if k != "num_consts" or v}

    def lower(self, build: Any, *operands: Any, call_jaxpr: ClosedJaxpr, **_: Any) -> Any:
        return build.call(call_jaxpr, operands)


class CustomLinearMap(Primitive):
    """The derivative of a custom_vjp function: known by its transpose alone.

    Operands are residuals, then the tangents of the inputs with `nonzero`.
    """

    name = "custom_lin"
    multiple_results = True
    calls_python = True
    takes_refs = True

    def type_rule(
        self, *xs: ShapedArray, out_avals: tuple[ShapedArray, ...], **_: Any
    ) -> list[ShapedArray]:
        return list(out_avals)

    def reference(self, *xs: Any, **_: Any) -> Any:
        raise TypeError(
            "can't apply forward-mode differentiation (jvp) to a custom_vjp function. Use reverse "
            "mode (grad, vjp, jacrev), or give the function a jvp rule with custom_jvp."
        )

    def jvp_rule(self, primals: Any, tangents: Any, params: Any) -> Any:
        self.reference()

    def batch_rule(self, trace: Any, values: Any, axes: Any, params: Any) -> Any:
        self.reference()

    def lower(self, build: Any, *operands: Any, **_: Any) -> Any:
        self.reference()

    jvp = Inapplicable("its value is not known forwards")
    batch = Inapplicable("its value is not known forwards")

    def transpose(
        self,
        cts: list[Any],
        *operands: Any,
        backward: Backward,
        num_residuals: int,
        nonzero: tuple[bool, ...],
        out_avals: tuple[ShapedArray, ...],
    ) -> list[Any]:
        results = backward(operands[:num_residuals], cts)
        kept = [ct for ct, nz in zip(results, nonzero, strict=True) if nz]
        assert all(isinstance(x, Linear) for x in operands[num_residuals:])
        return [*[None] * num_residuals, *kept]

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        return {"num_res": params["num_residuals"], "bwd": params["backward"]}


custom_vjp_primitive = CustomVJPCall()
custom_linear_map = CustomLinearMap()
