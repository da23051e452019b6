"""A function at a point: its outputs, and its derivative there as a program run either way."""

from collections.abc import Callable, Sequence
from typing import Any

from jacana.core import dtypes, tree
from jacana.core.errors import NotAnArrayError
from jacana.core.evaluate import evaluate
from jacana.core.jaxpr import ClosedJaxpr, Jaxpr
from jacana.core.stage import JaxprTrace
from jacana.core.trace import Tracer, current
from jacana.core.values import aval_of, is_array_like
from jacana.higher_order.call import bind_jit
from jacana.transforms.derived import Runner, closed
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
        if not runs_as_program(jaxpr, self._is_shared):
            return transpose(jaxpr, residuals, cts)
        n = len(residuals)
        linear = (False,) * n + (True,) * len(jaxpr.invars)
        nonzero = tuple([ct is not None for ct in cts])
        program, found = transpose_program(jaxpr.with_constvars_as_inputs(), linear, nonzero)
        given = [ct for ct in cts if ct is not None]
        outs = iter(bind_jit(program, "backward", [*residuals, *given]))
        return [next(outs) if f else None for f in found[n:]]

    def push(self, residuals: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        """Tangents of the outputs from those of the inputs."""
        given = [
            t for t, a in zip(tangents, self.in_avals, strict=True) if a.dtype != dtypes.float0
        ]
        if runs_as_program(self._jaxpr, self._is_shared):
            program = ClosedJaxpr(self._jaxpr.with_constvars_as_inputs())
            found = iter(bind_jit(program, "pushforward", [*residuals, *given]))
        else:
            found = iter(evaluate(self._jaxpr, residuals, given))
        return [
            next(found) if nz else zero_of(a)
            for nz, a in zip(self._nonzero, self.out_avals, strict=True)
        ]


def runs_as_program(jaxpr: Jaxpr, is_shared: bool) -> bool:
    """Whether a linear map runs as one compiled program, not equation by equation.

    Staged code shows the equations; and a form that was never met before may never be met
    again, so compiling it could cost more than it saves.
    """
    if not is_shared or isinstance(current(), JaxprTrace):
        return False
    uses: int = jaxpr.derived.get("uses", 0)
    jaxpr.derived["uses"] = uses + 1
    return uses > 0


def or_zero(ct: Any, aval: Any) -> Any:
    return zero_of(aval) if ct is None else ct


# What is made of a linear map and its residuals: a flat list of arrays.
Use = Callable[[LinearMap, Sequence[Any]], list[Any]]


class Pullback:
    """A function's outputs at a point, and its derivative there."""

    __slots__ = ("outs", "residuals", "_linear", "_inputs", "_map")

    def __init__(self, linear: Linearized, inputs: Sequence[Any]):
        self.outs = linear.outs[: len(linear.nonzero)]
        self.residuals = linear.residuals
        self._linear, self._inputs = linear, inputs
        self._map: LinearMap | None = None

    @property
    def map(self) -> LinearMap:
        if self._map is None:
            self._map = LinearMap(self._linear, self._inputs)
        return self._map

    def apply(self, use: Use) -> list[Any]:
        """use(map, residuals); for a form met before, one program of the residuals.

        It is asked under the trace that the function ran under.
        """
        linear = self._linear
        jaxpr = linear.jaxpr
        key = (use, len(self._inputs), *linear.nonzero, *[aval_of(x) for x in self.outs])
        run: Runner | None = jaxpr.derived.get(key) if linear.is_shared else None
        if run is not None:
            return run(self.residuals)
        # Inputs without tangents have zeros that are no arrays.
        is_whole = len(jaxpr.invars) == len(self._inputs)
        if not is_whole or not runs_as_program(jaxpr, linear.is_shared):
            return use(self.map, self.residuals)
        linear_map, avals = self.map, [v.aval for v in jaxpr.constvars]
        run = Runner(closed(lambda *residuals: use(linear_map, residuals), avals))
        jaxpr.derived[key] = run
        return run(self.residuals)


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
        elif isinstance(out, Tracer):
            structures.append(tree.LEAF)
            return [out]
        flat_out, structure = tree.flatten(out)
        for x in flat_out:
            if not is_array_like(x):
                raise NotAnArrayError(x, f"a function that is differentiated ({name}) as a result")
        structures.append(structure)
        return [*flat_out, *(auxiliary[0] if has_aux else [])]

    if not has_aux:
        linear = linearize(flat, leaves)
        return structures[0], None, Pullback(linear, leaves)
    linear = linearize(flat, leaves, outputs=lambda: structures[0].num_leaves)
    aux = auxiliary[1].unflatten(linear.outs[structures[0].num_leaves :])
    return structures[0], aux, Pullback(linear, leaves)
