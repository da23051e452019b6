"""checkpoint: a program whose linearization keeps its inputs and computes the rest again."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jacana import ops
from jacana.core.avals import ShapedArray
from jacana.core.evaluate import evaluate, evaluate_reference
from jacana.core.jaxpr import Atom, ClosedJaxpr, Jaxpr, Literal, Var
from jacana.core.primitive import Inapplicable, Linear
from jacana.core.stage import stage
from jacana.higher_order.refs import TakesRefs, bind_on_values
from jacana.transforms.batch import BatchTrace, batch_program
from jacana.transforms.dead_code import without_dead_code
from jacana.transforms.derived import closed, kept
from jacana.transforms.discharge import discharged, has_state, split_changes
from jacana.transforms.jvp import jvp_program
from jacana.transforms.linearize import Halves, linearize_programs
from jacana.transforms.transpose import transpose_program

# policy(primitive, *avals, **params): whether an operation's results are kept.
Policy = Callable[..., Any]


class Checkpoint(TakesRefs):
    """The outputs of `jaxpr`, which captures nothing, on the operands.

    Derivatives keep the operands and what `policy` asks for; `prevent_cse` keeps the compiler from
    taking values of the first run in place of computing them again.
    """

    name = "remat2"
    multiple_results = True
    is_plain_call = True
    jvp = Inapplicable("jvp_rule differentiates the program as a whole")
    batch = Inapplicable("batch_rule batches the program")

    def __call__(self, *xs: Any, **params: Any) -> Any:
        # What is computed again must not write again.
        if has_state(params["jaxpr"].jaxpr):
            return bind_on_values(self, xs, params)
        return super().__call__(*xs, **params)

    bind = __call__

    def type_rule(self, *xs: ShapedArray, jaxpr: ClosedJaxpr, **_: Any) -> list[ShapedArray]:
        return jaxpr.out_avals

    def reference(self, *xs: Any, jaxpr: ClosedJaxpr, **_: Any) -> list[Any]:
        return evaluate_reference(jaxpr, *xs)

    def callee(self, params: dict[str, Any]) -> Jaxpr:
        return params["jaxpr"].jaxpr  # type: ignore[no-any-return]

    def jvp_rule(
        self, primals: list[Any], tangents: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        jaxpr = params["jaxpr"].jaxpr
        program, out_nonzero = jvp_program(jaxpr, tuple(t is not None for t in tangents))
        given = [*primals, *[t for t in tangents if t is not None]]
        outs = bind_checkpoint(program, given, params)
        n = len(jaxpr.outvars)
        rest = iter(outs[n:])
        return outs[:n], [next(rest) if nz else None for nz in out_nonzero]

    def linearize_rule(
        self, primals: list[Any], nonzero: list[bool], params: dict[str, Any]
    ) -> tuple[list[Any], Callable[[list[Any]], list[Any]]]:
        jaxpr = params["jaxpr"].jaxpr
        parts = checkpointed(jaxpr, tuple(nonzero), params["policy"])
        outs = bind_checkpoint(parts.first, primals, params)
        n = len(jaxpr.outvars)
        known = [x for x, used in zip(primals, parts.used, strict=True) if used]

        def record(tangents: list[Any]) -> list[Any]:
            if not any(parts.nonzero):
                return [None] * n
            changed = {**params, "differentiated": True}
            given = [*known, *outs[n:], *tangents]
            found = iter(bind_checkpoint(parts.second, given, changed))
            return [next(found) if nz else None for nz in parts.nonzero]

        return outs[:n], record

    def transpose(
        self, cts: list[Any], *operands: Any, jaxpr: ClosedJaxpr, prevent_cse: bool, **params: Any
    ) -> list[Any]:
        linear = tuple(isinstance(x, Linear) for x in operands)
        program, found = transpose_program(
            jaxpr.jaxpr, linear, tuple(ct is not None for ct in cts)
        )  # fmt: skip
        known = [x for x, is_linear in zip(operands, linear, strict=True) if not is_linear]
        if prevent_cse and known:
            known = ops.optimization_barrier(*known)
        given = [*known, *[ct for ct in cts if ct is not None]]
        outs = iter(bind_checkpoint(program, given, {"prevent_cse": prevent_cse, **params}))
        return [next(outs) if f else None for f in found]

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        program, out_axes = batch_program(
            params["jaxpr"].jaxpr, trace.size, tuple(axes), trace.axis_name
        )
        return bind_checkpoint(program, values, params), list(out_axes)

    def discharge_rule(
        self, values: list[Any], refs: Sequence[Any], params: dict[str, Any], final: bool
    ) -> tuple[list[Any], list[Any]]:
        jaxpr = params["jaxpr"].jaxpr
        program, written = discharged(jaxpr, final)
        return split_changes(bind_checkpoint(program, values, params), len(jaxpr.outvars), written)

    def lower(self, build: Any, *operands: Any, jaxpr: ClosedJaxpr, **_: Any) -> Any:
        return build.call(jaxpr, operands)


checkpoint_primitive = Checkpoint()


def bind_checkpoint(jaxpr: ClosedJaxpr, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """The outputs of a program under the current trace; consts go in as operands."""
    if jaxpr.consts:
        args = [*jaxpr.consts, *args]
        jaxpr = ClosedJaxpr(jaxpr.jaxpr.with_constvars_as_inputs())
    return checkpoint_primitive(*args, **{**params, "jaxpr": jaxpr})  # type: ignore[no-any-return]


class Parts(NamedTuple):
    """The linearization of a checkpointed program."""

    first: ClosedJaxpr
    """Inputs -> outputs, then the values that are kept."""
    second: ClosedJaxpr
    """The inputs that are used, values kept, tangents -> nonzero tangents of outputs."""
    used: list[bool]
    """Which inputs the second reads."""
    nonzero: list[bool]
    """Which outputs have tangents."""


def checkpointed(jaxpr: Jaxpr, nonzero: tuple[bool, ...], policy: Policy | None) -> Parts:
    """A program linearized in the inputs with nonzero tangents, keeping what the policy says."""

    def make() -> Parts:
        halves = linearize_programs(jaxpr, nonzero)
        flat = inlined(halves.primal)
        n = len(jaxpr.outvars)
        values: list[Atom] = [*flat.invars, *flat.outvars]
        residuals = [values[place] for place in halves.places]
        saved = saved_values(flat, policy)
        again = recomputation(flat, saved, residuals)
        saved = [v for v, used in zip(saved, again.saved_used, strict=True) if used]
        first = Jaxpr([], flat.invars, [*flat.outvars[:n], *saved], flat.eqns, flat.debug_name)
        second = second_part(jaxpr, nonzero, halves, again)
        return Parts(ClosedJaxpr(first), second, again.inputs_used, halves.nonzero)

    return kept(jaxpr, ("checkpoint", nonzero, policy), make)


def inlined(program: ClosedJaxpr) -> Jaxpr:
    """The program with its calls replaced by what they call, so that a policy sees operations."""

    def run(jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
        values: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
        values.update(zip(jaxpr.invars, args, strict=True))
        for eqn in jaxpr.eqns:
            operands = [a.val if isinstance(a, Literal) else values[a] for a in eqn.invars]
            callee = eqn.primitive.callee(eqn.params)
            if callee is not None:
                outs = run(callee, (), operands)
            else:
                made = eqn.primitive(*operands, **eqn.params)
                outs = made if eqn.primitive.multiple_results else [made]
            values.update(zip(eqn.outvars, outs, strict=True))
        return [a.val if isinstance(a, Literal) else values[a] for a in jaxpr.outvars]

    jaxpr = program.jaxpr
    found, consts = stage(
        lambda *args: run(jaxpr, program.consts, args), jaxpr.in_avals, jaxpr.debug_name
    )
    assert not consts, "a checkpointed program captures nothing"
    return found


def saved_values(jaxpr: Jaxpr, policy: Policy | None) -> list[Var]:
    """The results of the operations that the policy asks to keep."""
    if policy is None:
        return []
    return [
        v
        for e in jaxpr.eqns
        if asks_to_save(policy(e.primitive, *[a.aval for a in e.invars], **e.params))
        for v in e.outvars
    ]


def asks_to_save(answer: Any) -> bool:
    """What a policy's answer means: a bool, or one of JAX's objects Saveable and Recompute."""
    return answer if isinstance(answer, bool) else type(answer).__name__ != "RecomputeType"


class Again(NamedTuple):
    """(inputs used, saved values used) -> residuals."""

    program: Jaxpr
    inputs_used: list[bool]
    saved_used: list[bool]


def recomputation(jaxpr: Jaxpr, saved: Sequence[Var], residuals: Sequence[Atom]) -> Again:
    """The part of a program that computes its residuals from inputs and saved values."""
    known = set(saved)
    eqns = [e for e in jaxpr.eqns if not all(v in known for v in e.outvars) or not e.outvars]
    # Results of one operation that are kept in part are made again under names of their own.
    eqns = [e.replace(outvars=[Var(v.aval) if v in known else v for v in e.outvars]) for e in eqns]
    whole = Jaxpr([], [*jaxpr.invars, *saved], residuals, eqns, jaxpr.debug_name)
    program, used = without_dead_code(whole, keep_inputs=False)
    n = len(jaxpr.invars)
    return Again(program, used[:n], used[n:])


def second_part(
    jaxpr: Jaxpr, nonzero: tuple[bool, ...], halves: Halves, again: Again
) -> ClosedJaxpr:
    """The residuals computed again, and the linear program on them."""
    count = len(again.program.invars)

    def run(*args: Any) -> list[Any]:
        residuals = evaluate(again.program, (), args[:count])
        given = [*residuals, *args[count:]]
        return evaluate(halves.tangent.jaxpr, halves.tangent.consts, given)

    tangents = [a.to_tangent_aval() for a, nz in zip(jaxpr.in_avals, nonzero, strict=True) if nz]
    return closed(run, [*again.program.in_avals, *tangents])
