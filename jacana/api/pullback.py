"""Reverse mode at a point: a function's outputs and the pullback of cotangents to its inputs."""

from collections.abc import Callable, Sequence
from typing import Any

from jacana.core import dtypes, tree
from jacana.core.avals import ShapedArray
from jacana.core.errors import NotAnArrayError
from jacana.core.evaluate import evaluate
from jacana.core.jaxpr import ClosedJaxpr
from jacana.core.stage import JaxprTrace
from jacana.core.trace import current
from jacana.core.values import aval_of, is_array_like
from jacana.higher_order.call import bind_jit
from jacana.transforms.jvp import zero_of
from jacana.transforms.linearize import Linearized, linearize
from jacana.transforms.transpose import transpose, transpose_program


class LinearMap:
    """The form of a function's derivative at a point, without the residuals: run either way."""

    __slots__ = ("in_avals", "out_avals", "_jaxpr", "_nonzero", "_is_shared")

    def __init__(self, linear: Linearized, inputs: Sequence[Any]):
        self.in_avals = [aval_of(x).to_tangent_aval() for x in inputs]
        self.out_avals = [aval_of(o).to_tangent_aval() for o in linear.outs[: len(linear.nonzero)]]
        self._jaxpr, self._nonzero = linear.jaxpr, linear.nonzero
        self._is_shared = linear.is_shared

    def pull(self, residuals: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        """Cotangents of the inputs from those of the outputs (None: zero)."""
        cts = [ct for ct, nz in zip(cotangents, self._nonzero, strict=True) if nz]
        found = iter(self._pull_nonzero(residuals, cts))
        return [
            zero_of(a) if a.dtype == dtypes.float0 else or_zero(next(found), a)
            for a in self.in_avals
        ]

    def _pull_nonzero(self, residuals: Sequence[Any], cts: list[Any]) -> list[Any]:
        jaxpr = self._jaxpr
        if not self._runs_as_program():
            return transpose(jaxpr, residuals, cts)
        n = len(residuals)
        linear = (False,) * n + (True,) * len(jaxpr.invars)
        nonzero = tuple([ct is not None for ct in cts])
        program, found = transpose_program(jaxpr.with_constvars_as_inputs(), linear, nonzero)
        given = [ct for ct in cts if ct is not None]
        outs = iter(bind_jit(program, "backward", [*residuals, *given]))
        return [next(outs) if f else None for f in found[n:]]

    def _runs_as_program(self) -> bool:
        """Whether it runs as one compiled program, not equation by equation.

        Staged code shows the equations; and a form that was never met before may never be met
        again, so compiling it could cost more than it saves.
        """
        if not self._is_shared or isinstance(current(), JaxprTrace):
            return False
        uses: int = self._jaxpr.derived.get("uses", 0)
        self._jaxpr.derived["uses"] = uses + 1
        return uses > 0

    def push(self, residuals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        """Tangents of the outputs from those of the inputs."""
        given = [
            t for t, a in zip(tangents, self.in_avals, strict=True) if a.dtype != dtypes.float0
        ]
        if self._runs_as_program():
            program = ClosedJaxpr(self._jaxpr.with_constvars_as_inputs())
            found = iter(bind_jit(program, "pushforward", [*residuals, *given]))
        else:
            found = iter(evaluate(self._jaxpr, residuals, given))
        return [
            next(found) if nz else zero_of(a)
            for nz, a in zip(self._nonzero, self.out_avals, strict=True)
        ]


def or_zero(ct: Any, aval: ShapedArray) -> Any:
    return zero_of(aval) if ct is None else ct


class Pullback:
    """A function's outputs at a point, and its derivative there."""

    __slots__ = ("map", "outs", "residuals")

    def __init__(self, linear: Linearized, inputs: Sequence[Any]):
        self.map = LinearMap(linear, inputs)
        self.outs = linear.outs[: len(linear.nonzero)]
        self.residuals = linear.residuals

    def pull(self, cotangents: Sequence[Any]) -> list[Any]:
        return self.map.pull(self.residuals, cotangents)

    def push(self, tangents: Sequence[Any]) -> list[Any]:
        return self.map.push(self.residuals, tangents)


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
    return structures[0], aux, Pullback(linear, leaves)
