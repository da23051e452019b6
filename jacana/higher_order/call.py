"""The call of a jitted function: one equation `jit[name jaxpr]`, transformed as a whole."""

from collections.abc import Callable, Sequence
from typing import Any

from jacana.core.avals import ShapedArray
from jacana.core.evaluate import evaluate_reference
from jacana.core.jaxpr import ClosedJaxpr, Jaxpr
from jacana.core.primitive import Inapplicable, Linear
from jacana.higher_order.refs import TakesRefs
from jacana.transforms.batch import BatchTrace, batch_program
from jacana.transforms.discharge import discharged, split_changes
from jacana.transforms.jvp import jvp_program
from jacana.transforms.linearize import linearize_programs
from jacana.transforms.transpose import transpose_program


class Call(TakesRefs):
    """The outputs of `jaxpr`, which captures nothing, on the operands."""

    name = "jit"
    multiple_results = True
    is_plain_call = True

    def type_rule(self, *xs: ShapedArray, name: str, jaxpr: ClosedJaxpr) -> list[ShapedArray]:
        return jaxpr.out_avals

    def reference(self, *xs: Any, name: str, jaxpr: ClosedJaxpr) -> list[Any]:
        return evaluate_reference(jaxpr, *xs)

    jvp = Inapplicable("jvp_rule differentiates the called program as a whole")

    def callee(self, params: dict[str, Any]) -> Jaxpr:
        return params["jaxpr"].jaxpr  # type: ignore[no-any-return]

    def jvp_rule(
        self, primals: list[Any], tangents: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        name, jaxpr = params["name"], params["jaxpr"].jaxpr
        nonzero = tuple(t is not None for t in tangents)
        program, out_nonzero = jvp_program(jaxpr, nonzero)
        given = [*primals, *[t for t in tangents if t is not None]]
        outs = bind_jit(program, name, given)
        n = len(jaxpr.outvars)
        rest = iter(outs[n:])
        return outs[:n], [next(rest) if nz else None for nz in out_nonzero]

    def linearize_rule(
        self, primals: list[Any], nonzero: list[bool], params: dict[str, Any]
    ) -> tuple[list[Any], Callable[[list[Any]], list[Any]]]:
        name, jaxpr = params["name"], params["jaxpr"].jaxpr
        primal, tangent, out_nonzero, places = linearize_programs(jaxpr, tuple(nonzero))
        outs = bind_jit(primal, name, primals)
        n = len(jaxpr.outvars)
        values = [*primals, *outs]
        residuals = [values[place] for place in places]

        def record(tangents: list[Any]) -> list[Any]:
            if not any(out_nonzero):
                return [None] * n
            found = iter(bind_jit(tangent, name, [*residuals, *tangents]))
            return [next(found) if nz else None for nz in out_nonzero]

        return outs[:n], record

    def transpose(self, cts: list[Any], *operands: Any, name: str, jaxpr: ClosedJaxpr) -> list[Any]:
        return transpose_call(jaxpr.jaxpr, name, cts, operands)

    def batch(self, *args: Any, **params: Any) -> Any:
        raise AssertionError("batch_rule is used")

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        program, out_axes = batch_program(
            params["jaxpr"].jaxpr, trace.size, tuple(axes), trace.axis_name
        )
        return bind_jit(program, params["name"], values), list(out_axes)

    def discharge_rule(
        self, values: list[Any], refs: Sequence[Any], params: dict[str, Any], final: bool
    ) -> tuple[list[Any], list[Any]]:
        jaxpr = params["jaxpr"].jaxpr
        program, written = discharged(jaxpr, final)
        return split_changes(bind_jit(program, params["name"], values), len(jaxpr.outvars), written)

    def lower(self, build: Any, *operands: Any, name: str, jaxpr: ClosedJaxpr) -> Any:
        return build.call(jaxpr, operands)


jit_primitive = Call()


def transpose_call(
    jaxpr: Jaxpr, name: str, cts: Sequence[Any], operands: Sequence[Any]
) -> list[Any]:
    """The cotangents of the Linear operands of a called program that captures nothing."""
    linear = tuple(isinstance(x, Linear) for x in operands)
    nonzero = tuple(ct is not None for ct in cts)
    program, found = transpose_program(jaxpr, linear, nonzero)
    known = [x for x, is_linear in zip(operands, linear, strict=True) if not is_linear]
    outs = iter(bind_jit(program, name, [*known, *[ct for ct in cts if ct is not None]]))
    return [next(outs) if f else None for f in found]


def bind_jit(jaxpr: ClosedJaxpr, name: str, args: Sequence[Any]) -> list[Any]:
    """The outputs of a called program under the current trace; consts go in as operands."""
    if jaxpr.consts:
        args = [*jaxpr.consts, *args]
        jaxpr = ClosedJaxpr(jaxpr.jaxpr.with_constvars_as_inputs())
    return jit_primitive(*args, name=name, jaxpr=jaxpr)  # type: ignore[no-any-return]
