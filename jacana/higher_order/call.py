"""The call of a jitted function: one equation `jit[name jaxpr]`, transformed as a whole.

Transformed programs are kept by the program and what is asked of it, so that a function that is
called often is differentiated or batched once.
"""

from collections.abc import Callable, Sequence
from typing import Any

from jacana.core.avals import ShapedArray
from jacana.core.evaluate import evaluate, evaluate_reference
from jacana.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, Literal
from jacana.core.primitive import Inapplicable, Linear, Primitive
from jacana.core.stage import stage
from jacana.transforms.batch import BatchTrace, batch, to_axis
from jacana.transforms.jvp import jvp
from jacana.transforms.linearize import linearize
from jacana.transforms.transpose import backward_pass


class Call(Primitive):
    """The outputs of `jaxpr`, which captures nothing, on the operands."""

    name = "jit"
    multiple_results = True

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
        linear = tuple(isinstance(x, Linear) for x in operands)
        nonzero = tuple(ct is not None for ct in cts)
        program, found = transpose_program(jaxpr.jaxpr, linear, nonzero)
        known = [x for x, is_linear in zip(operands, linear, strict=True) if not is_linear]
        outs = iter(bind_jit(program, name, [*known, *[ct for ct in cts if ct is not None]]))
        return [next(outs) if f else None for f in found]

    def batch(self, *args: Any, **params: Any) -> Any:
        raise AssertionError("batch_rule is used")

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        program, out_axes = batch_program(
            params["jaxpr"].jaxpr, trace.size, tuple(axes), trace.axis_name
        )
        return bind_jit(program, params["name"], values), list(out_axes)

    def effects(self, params: dict[str, Any]) -> frozenset[str]:
        return params["jaxpr"].effects  # type: ignore[no-any-return]

    def lower(self, build: Any, *operands: Any, name: str, jaxpr: ClosedJaxpr) -> Any:
        return build.call(jaxpr, operands)


jit_primitive = Call()


def bind_jit(jaxpr: ClosedJaxpr, name: str, args: Sequence[Any]) -> list[Any]:
    """The outputs of a called program under the current trace; consts go in as operands."""
    if jaxpr.consts:
        args = [*jaxpr.consts, *args]
        jaxpr = ClosedJaxpr(jaxpr.jaxpr.with_constvars_as_inputs())
    return jit_primitive(*args, name=name, jaxpr=jaxpr)  # type: ignore[no-any-return]


# --- transformed programs, kept on the program they come from ---


def kept(jaxpr: Jaxpr, key: Any, make: Callable[[], Any]) -> Any:
    found = jaxpr.derived.get(key)
    if found is None:
        found = jaxpr.derived[key] = make()
    return found


def evaluated(jaxpr: Jaxpr) -> Callable[..., list[Any]]:
    return lambda *args: evaluate(jaxpr, (), args)


def closed(function: Callable[..., list[Any]], avals: Sequence[ShapedArray]) -> ClosedJaxpr:
    return ClosedJaxpr(*stage(function, avals))


def jvp_program(jaxpr: Jaxpr, nonzero: tuple[bool, ...]) -> tuple[ClosedJaxpr, list[bool]]:
    """(primals, nonzero tangents) -> (outs, nonzero tangents of outs), and which those are."""

    def make() -> tuple[ClosedJaxpr, list[bool]]:
        n = len(jaxpr.invars)
        out_nonzero: list[bool] = []

        def run(*args: Any) -> list[Any]:
            rest = iter(args[n:])
            tangents = [next(rest) if nz else None for nz in nonzero]
            outs, out_tangents = jvp(evaluated(jaxpr), args[:n], tangents)
            out_nonzero[:] = [t is not None for t in out_tangents]
            return [*outs, *[t for t in out_tangents if t is not None]]

        chosen = [a.to_tangent_aval() for a, nz in zip(jaxpr.in_avals, nonzero, strict=True) if nz]
        return closed(run, [*jaxpr.in_avals, *chosen]), out_nonzero

    return kept(jaxpr, ("jvp", nonzero), make)  # type: ignore[no-any-return]


def linearize_programs(
    jaxpr: Jaxpr, nonzero: tuple[bool, ...]
) -> tuple[ClosedJaxpr, ClosedJaxpr, list[bool], list[int]]:
    """A program's two halves, and how they fit.

    primals -> (outs, residuals); (residuals, tangents) -> nonzero tangents; which those are; and
    where each residual is among the first program's inputs and outputs: none is returned twice.
    """

    def make() -> tuple[ClosedJaxpr, ClosedJaxpr, list[bool], list[int]]:
        tangent: list[Any] = []

        def run(*args: Any) -> list[Any]:
            result = linearize(evaluated(jaxpr), args, nonzero)
            tangent[:] = [result.jaxpr, result.nonzero]
            return [*result.outs, *result.residuals]

        primal, places = without_repeats(closed(run, jaxpr.in_avals).jaxpr, len(jaxpr.outvars))
        second = ClosedJaxpr(tangent[0].with_constvars_as_inputs())
        return ClosedJaxpr(primal), second, tangent[1], places

    return kept(jaxpr, ("linearize", nonzero), make)  # type: ignore[no-any-return]


def without_repeats(jaxpr: Jaxpr, count: int) -> tuple[Jaxpr, list[int]]:
    """The program without the outputs after `count` that are inputs or other outputs already.

    Also where each of those outputs is among the inputs and outputs that are left.
    """
    outs = jaxpr.outvars[:count]
    place_of: dict[Atom, int] = {}
    for place, atom in enumerate((*jaxpr.invars, *outs)):
        place_of.setdefault(atom, place)
    places = []
    for atom in jaxpr.outvars[count:]:
        if isinstance(atom, Literal) or atom not in place_of:
            place_of[atom] = len(jaxpr.invars) + len(outs)
            outs.append(atom)
        places.append(place_of[atom])
    return Jaxpr(jaxpr.constvars, jaxpr.invars, outs, jaxpr.eqns, jaxpr.debug_name), places


def transpose_program(
    jaxpr: Jaxpr, linear: tuple[bool, ...], nonzero: tuple[bool, ...]
) -> tuple[ClosedJaxpr, list[bool]]:
    """(known operands, cotangents) -> nonzero cotangents of operands, and which those are."""

    def make() -> tuple[ClosedJaxpr, list[bool]]:
        found: list[bool] = []
        known = [v for v, is_linear in zip(jaxpr.invars, linear, strict=True) if not is_linear]

        def run(*args: Any) -> list[Any]:
            values = dict(zip(known, args[: len(known)], strict=True))
            rest = iter(args[len(known) :])
            cts = backward_pass(jaxpr, values, [next(rest) if nz else None for nz in nonzero])
            results = [
                cts.get(v) if is_linear else None
                for v, is_linear in zip(jaxpr.invars, linear, strict=True)
            ]
            found[:] = [ct is not None for ct in results]
            return [ct for ct in results if ct is not None]

        cts = [a.to_tangent_aval() for a, nz in zip(jaxpr.out_avals, nonzero, strict=True) if nz]
        return closed(run, [*[v.aval for v in known], *cts]), found

    return kept(jaxpr, ("transpose", linear, nonzero), make)  # type: ignore[no-any-return]


def batch_program(
    jaxpr: Jaxpr, size: int, axes: tuple[int | None, ...], axis_name: Any
) -> tuple[ClosedJaxpr, list[int | None]]:
    """The batched program and the batch axes of its outputs."""

    def make() -> tuple[ClosedJaxpr, list[int | None]]:
        out_axes: list[int | None] = []

        def run(*args: Any) -> list[Any]:
            outs, found = batch(evaluated(jaxpr), size, args, axes, axis_name)
            out_axes[:] = [None if a is None else 0 for a in found]
            return [
                to_axis(o, a, None if a is None else 0, size)
                for o, a in zip(outs, found, strict=True)
            ]

        avals = [
            v if a is None else v.update(shape=(*v.shape[:a], size, *v.shape[a:]))
            for v, a in zip(jaxpr.in_avals, axes, strict=True)
        ]
        return closed(run, avals), out_axes

    return kept(jaxpr, ("batch", size, axes, axis_name), make)  # type: ignore[no-any-return]
