"""linear_call: a linear function and its transpose, which is given and not derived."""

from typing import Any

from jacana.core.avals import ShapedArray
from jacana.core.evaluate import evaluate_closed, evaluate_reference
from jacana.core.jaxpr import ClosedJaxpr
from jacana.core.primitive import Inapplicable, Linear, Primitive
from jacana.higher_order.custom_rule import batched_program
from jacana.ops.shape import zeros
from jacana.transforms.batch import BatchTrace, to_axis
from jacana.transforms.jvp import add_tangents, jvp_program


class LinearCall(Primitive):
    """The outputs of `callee`, linear in its last operands; `adjoint` is the transposed program.

    The first num_res operands, which both programs take first, are not linear.
    """

    name = "linear_call"
    multiple_results = True
    jvp = Inapplicable(
        "jvp_rule is the call on tangents, and the callee's own in what is not linear"
    )
    batch = Inapplicable("batch_rule batches both programs")

    def type_rule(self, *xs: ShapedArray, callee: ClosedJaxpr, **_: Any) -> list[ShapedArray]:
        return callee.out_avals

    def reference(self, *xs: Any, callee: ClosedJaxpr, **_: Any) -> list[Any]:
        return evaluate_reference(callee, *xs)

    def jvp_rule(
        self, primals: list[Any], tangents: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        n, callee = params["num_res"], params["callee"]
        outs = self(*primals, **params)
        linear = self._of_tangents(primals, tangents, params)
        nonzero = (*[t is not None for t in tangents[:n]], *[False] * (len(primals) - n))
        if not any(nonzero):
            return outs, linear
        program, found = jvp_program(callee.jaxpr, nonzero)
        given = [t for t in tangents[:n] if t is not None]
        made = iter(evaluate_closed(program, *primals, *given)[len(outs) :])
        rest = [next(made) if nz else None for nz in found]
        return outs, [add_tangents(a, b) for a, b in zip(linear, rest, strict=True)]

    def _of_tangents(
        self, primals: list[Any], tangents: list[Any], params: dict[str, Any]
    ) -> list[Any]:
        n, callee = params["num_res"], params["callee"]
        if all(t is None for t in tangents[n:]):
            return [None] * len(callee.out_avals)
        given = [
            zeros(a.shape, a.dtype) if t is None else t
            for t, a in zip(tangents[n:], callee.in_avals[n:], strict=True)
        ]
        return self(*primals[:n], *given, **params)  # type: ignore[no-any-return]

    def transpose(
        self, cts: list[Any], *xs: Any, callee: ClosedJaxpr, adjoint: ClosedJaxpr, num_res: int
    ) -> list[Any]:
        assert all(isinstance(x, Linear) for x in xs[num_res:])
        full = [
            zeros(a.shape, a.dtype) if ct is None else ct
            for ct, a in zip(cts, callee.out_avals, strict=True)
        ]
        outs = self(*xs[:num_res], *full, callee=adjoint, adjoint=callee, num_res=num_res)
        return [*[None] * num_res, *outs]

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        n, size, name = params["num_res"], trace.size, trace.axis_name
        linear = [to_axis(x, a, 0, size) for x, a in zip(values[n:], axes[n:], strict=True)]
        made, consts = [], []
        for program in (params["callee"], params["adjoint"]):
            count = len(program.in_avals) - n
            batched, captured = batched_program(
                program.jaxpr, size, (*axes[:n], *[0] * count), name
            )
            made.append(batched)
            consts.append(captured)
        assert not any(consts), "both programs captured nothing"
        outs = self(*values[:n], *linear, callee=made[0], adjoint=made[1], num_res=n)
        return outs, [0] * len(outs)

    def lower(self, build: Any, *xs: Any, callee: ClosedJaxpr, **_: Any) -> Any:
        return build.call(callee, xs)


linear_call = LinearCall()
