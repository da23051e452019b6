"""Reverse mode at a point: a function's outputs and the pullback of cotangents to its inputs."""

from collections.abc import Callable, Sequence
from typing import Any

from jacana.core import tree
from jacana.core.errors import NotAnArrayError
from jacana.core.evaluate import evaluate
from jacana.core.jaxpr import ClosedJaxpr
from jacana.core.trace import Tracer, is_eager
from jacana.core.values import is_array_like
from jacana.higher_order.call import bind_jit
from jacana.transforms.jvp import has_tangents, zero_tangent
from jacana.transforms.linearize import Linearized, linearize
from jacana.transforms.transpose import transpose, transpose_program


class Pullback:
    """The linear map of a function at a point, run forwards or backwards."""

    __slots__ = ("outs", "_linear", "_inputs")

    def __init__(self, linear: Linearized, inputs: Sequence[Any]):
        self.outs = linear.outs
        self._linear = linear
        self._inputs = inputs

    def pull(self, cotangents: Sequence[Any]) -> list[Any]:
        """Cotangents of the inputs, None where zero, from those of the outputs (None: zero)."""
        # Outputs beyond those that are differentiated have no cotangents.
        cts = [ct for ct, nz in zip(cotangents, self._linear.nonzero, strict=False) if nz]
        found = iter(self._pull_tangents(cts))
        return [next(found) if has_tangents(x) else None for x in self._inputs]

    def _pull_tangents(self, cts: list[Any]) -> list[Any]:
        jaxpr, residuals = self._linear.jaxpr, self._linear.residuals
        given = [ct for ct in cts if ct is not None]
        if not self._runs_as_program(given):
            return transpose(jaxpr, residuals, cts)
        n = len(residuals)
        linear = (False,) * n + (True,) * len(jaxpr.invars)
        nonzero = tuple([ct is not None for ct in cts])
        program, found = transpose_program(jaxpr.with_constvars_as_inputs(), linear, nonzero)
        outs = iter(bind_jit(program, "backward", [*residuals, *given]))
        return [next(outs) if f else None for f in found[n:]]

    def _runs_as_program(self, operands: Sequence[Any]) -> bool:
        """Whether the linear map runs compiled; else it is evaluated under the current trace."""
        if not self._linear.is_shared or not is_eager():
            return False
        return not any(isinstance(x, Tracer) for x in operands)

    def instantiated(self, cotangents: Sequence[Any]) -> list[Any]:
        """Cotangents of the inputs with zeros as arrays (of dtype float0 for integer inputs)."""
        return [
            zero_tangent(x) if ct is None else ct
            for x, ct in zip(self._inputs, self.pull(cotangents), strict=True)
        ]

    def push(self, tangents: Sequence[Any]) -> list[Any]:
        """Tangents of the outputs from those of the inputs."""
        linear = self._linear
        given = [t for t, x in zip(tangents, self._inputs, strict=True) if has_tangents(x)]
        if self._runs_as_program(given):
            program = ClosedJaxpr(linear.jaxpr.with_constvars_as_inputs())
            found = iter(bind_jit(program, "pushforward", [*linear.residuals, *given]))
        else:
            found = iter(evaluate(linear.jaxpr, linear.residuals, given))
        return [
            next(found) if nz else zero_tangent(o)
            for nz, o in zip(linear.nonzero, linear.outs, strict=False)
        ]


def linearize_tree(
    function: Callable[..., Any], leaves: Sequence[Any], has_aux: bool, name: str
) -> tuple[Any, Any, Pullback]:
    """The structure of a function's result, its auxiliary result, and its pullback."""
    structures: list[Any] = []
    auxiliary: list[Any] = []

    def flat(*xs: Any) -> list[Any]:
        out = function(*xs)
        if has_aux:
            if not isinstance(out, tuple) or len(out) != 2:
                raise TypeError(
                    f"expected function with aux output to return a two-element tuple (output, "
                    f"auxiliary data), but {name} returned {type(out).__name__}."
                )
            out, aux = out
            auxiliary[:] = tree.flatten(aux)
        flat_out, structure = tree.flatten(out)
        for x in flat_out:
            if not is_array_like(x):
                raise NotAnArrayError(x, f"a function that is differentiated ({name}) as a result")
        structures.append(structure)
        return [*flat_out, *(auxiliary[0] if has_aux else [])]

    linear = linearize(flat, leaves, outputs=lambda: structures[0].num_leaves)
    count = structures[0].num_leaves
    aux = auxiliary[1].unflatten(linear.outs[count:]) if has_aux else None
    return structures[0], aux, Pullback(linear._replace(outs=linear.outs[:count]), leaves)
