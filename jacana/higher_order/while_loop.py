"""while_loop: repeat a body as long as a condition holds."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core.avals import ShapedArray
from jacana.core.evaluate import evaluate, evaluate_reference
from jacana.core.jaxpr import ClosedJaxpr, Jaxpr
from jacana.core.primitive import Inapplicable, Primitive
from jacana.higher_order.choices import spread_like
from jacana.higher_order.tangents import instantiate_flags
from jacana.transforms.batch import BatchTrace, batch, batch_program, to_axis, with_axis
from jacana.transforms.derived import closed, evaluated, kept
from jacana.transforms.jvp import jvp_program


class WhileLoop(Primitive):
    """The carry for which `cond` is false; operands are cond's consts, body's consts, the carry."""

    name = "while"
    multiple_results = True
    jvp = Inapplicable("jvp_rule differentiates the body")
    batch = Inapplicable("batch_rule batches condition and body")
    transpose = Inapplicable(
        "the number of steps is not known when reverse mode needs room for them; use scan, "
        "fori_loop with static bounds, or forward mode"
    )

    def __call__(self, *xs: Any, **params: Any) -> Any:
        # What derived programs captured (a user's rule may bring arrays of its own) are operands.
        cond, body, n = params["cond_jaxpr"], params["body_jaxpr"], params["cond_nconsts"]
        if cond.consts or body.consts:
            xs = (*cond.consts, *xs[:n], *body.consts, *xs[n:])
            params["cond_nconsts"] += len(cond.consts)
            params["body_nconsts"] += len(body.consts)
            params["cond_jaxpr"] = ClosedJaxpr(cond.jaxpr.with_constvars_as_inputs())
            params["body_jaxpr"] = ClosedJaxpr(body.jaxpr.with_constvars_as_inputs())
        return super().__call__(*xs, **params)

    bind = __call__

    def type_rule(
        self, *xs: ShapedArray, cond_nconsts: int, cond_jaxpr: ClosedJaxpr, body_nconsts: int,
        body_jaxpr: ClosedJaxpr,
    ) -> list[ShapedArray]:  # fmt: skip
        return body_jaxpr.out_avals

    def reference(
        self, *xs: Any, cond_nconsts: int, cond_jaxpr: ClosedJaxpr, body_nconsts: int,
        body_jaxpr: ClosedJaxpr,
    ) -> list[Any]:  # fmt: skip
        cond_consts = xs[:cond_nconsts]
        body_consts = xs[cond_nconsts : cond_nconsts + body_nconsts]
        carry = list(xs[cond_nconsts + body_nconsts :])
        while evaluate_reference(cond_jaxpr, *cond_consts, *carry)[0]:
            carry = evaluate_reference(body_jaxpr, *body_consts, *carry)
        return carry

    def jvp_rule(
        self, primals: list[Any], tangents: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        n, m = params["cond_nconsts"], params["body_nconsts"]
        body = params["body_jaxpr"].jaxpr
        const_tangents, carry_tangents = tangents[n : n + m], tangents[n + m :]
        const_nonzero = [t is not None for t in const_tangents]
        nonzero = [t is not None for t in carry_tangents]
        while True:
            _, out = jvp_program(body, (*const_nonzero, *nonzero))
            grown = [a or b for a, b in zip(nonzero, out, strict=True)]
            if grown == nonzero:
                break
            nonzero = grown
        carry = primals[n + m :]
        carry_tangents = instantiate_flags(carry_tangents, carry, nonzero)
        given = [t for t in carry_tangents if t is not None]
        consts = [t for t in const_tangents if t is not None]
        cond = ignoring_last(params["cond_jaxpr"].jaxpr, [a.aval for a in map(with_aval, given)])
        outs = self(
            *primals[:n], *primals[n : n + m], *consts, *carry, *given,
            cond_nconsts=n, cond_jaxpr=cond, body_nconsts=m + len(consts),
            body_jaxpr=jvp_body(body, m, tuple(const_nonzero), tuple(nonzero)),
        )  # fmt: skip
        rest = iter(outs[len(carry) :])
        return outs[: len(carry)], [next(rest) if nz else None for nz in nonzero]

    def linearize_rule(self, primals: list[Any], nonzero: list[bool], params: Any) -> Any:
        raise ValueError(
            "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with "
            "dynamic start/stop values. Try using lax.scan, or lax.fori_loop with static "
            "start/stop."
        )

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        n, m, size = params["cond_nconsts"], params["body_nconsts"], trace.size
        cond, body = params["cond_jaxpr"].jaxpr, params["body_jaxpr"].jaxpr
        name = trace.axis_name
        cond_axes, body_axes = tuple(axes[:n]), tuple(axes[n : n + m])
        batched = [a is not None for a in axes[n + m :]]
        while True:
            carry_axes = tuple(0 if b else None for b in batched)
            is_batched = (
                batch_program(cond, size, (*cond_axes, *carry_axes), name)[1][0] is not None
            )
            out = batch_program(body, size, (*body_axes, *carry_axes), name)[1]
            grown = [b or is_batched or a is not None for b, a in zip(batched, out, strict=True)]
            if grown == batched:
                break
            batched = grown
        carry = [
            to_axis(x, a, 0, size) if b else x
            for x, a, b in zip(values[n + m :], axes[n + m :], batched, strict=True)
        ]
        carry_axes = tuple(0 if b else None for b in batched)
        made = batched_loop(cond, body, size, (cond_axes, body_axes, carry_axes), name, is_batched)
        # Where the condition is batched the body asks it again, so it needs cond's consts too.
        consts = [*values[:n], *values[: n + m]] if is_batched else values[: n + m]
        outs = self(
            *consts, *carry, cond_nconsts=n, cond_jaxpr=made[0],
            body_nconsts=len(consts) - n, body_jaxpr=made[1],
        )  # fmt: skip
        return outs, list(carry_axes)

    def work(
        self, operands: list[ShapedArray], outs: list[ShapedArray], params: dict[str, Any]
    ) -> float:
        # On operands that are not meant for it, it might never end.
        return float("inf")

    def lower(self, build: Any, *xs: Any, cond_nconsts: int, cond_jaxpr: ClosedJaxpr,
              body_nconsts: int, body_jaxpr: ClosedJaxpr) -> Any:  # fmt: skip
        consts = cond_nconsts + body_nconsts
        return build.while_loop(cond_jaxpr, body_jaxpr, xs[:consts], xs[consts:])


def with_aval(x: Any) -> Any:
    return x if hasattr(x, "aval") else np.asarray(x)


def ignoring_last(jaxpr: Jaxpr, avals: list[ShapedArray]) -> ClosedJaxpr:
    """The program with more inputs, which it does not use."""
    n = len(jaxpr.invars)
    key = ("ignoring", tuple(avals))
    return kept(
        jaxpr,
        key,
        lambda: closed(lambda *xs: evaluate(jaxpr, (), xs[:n]), [*jaxpr.in_avals, *avals]),
    )


def jvp_body(
    body: Jaxpr, consts: int, const_nonzero: tuple[bool, ...], nonzero: tuple[bool, ...]
) -> ClosedJaxpr:
    """(consts, their tangents, carry, its tangents) -> (carry, its tangents)."""
    program, out_nonzero = jvp_program(body, (*const_nonzero, *nonzero))
    n, k = len(nonzero), sum(const_nonzero)

    def run(*args: Any) -> list[Any]:
        const, const_tangents = args[:consts], args[consts : consts + k]
        carry, tangents = args[consts + k : consts + k + n], args[consts + k + n :]
        outs = evaluate(program.jaxpr, program.consts, [*const, *carry, *const_tangents, *tangents])
        given = iter(outs[n:])
        found = [next(given) if nz else None for nz in out_nonzero]
        full = instantiate_flags(found, outs[:n], nonzero)
        return [*outs[:n], *[t for t in full if t is not None]]

    in_avals = body.in_avals
    const_avals = [a.to_tangent_aval() for a, nz in zip(in_avals, const_nonzero) if nz]
    carry_avals = in_avals[consts:]
    avals = [a.to_tangent_aval() for a, nz in zip(carry_avals, nonzero, strict=True) if nz]
    every = [*in_avals[:consts], *const_avals, *carry_avals, *avals]
    return kept(body, ("jvp body", const_nonzero, nonzero), lambda: closed(run, every))


def batched_loop(
    cond: Jaxpr, body: Jaxpr, size: int, axes: Any, name: Any, is_batched: bool
) -> tuple[ClosedJaxpr, ClosedJaxpr]:
    """Condition and body over a batch; elements whose condition is false keep their carry."""
    cond_axes, body_axes, carry_axes = axes
    n, carry_avals = len(cond_axes), body.in_avals[len(body_axes) :]

    def holds(*args: Any) -> Any:
        (out,), (axis,) = batch(evaluated(cond), size, args, (*cond_axes, *carry_axes), name)
        return to_axis(out, axis, 0, size) if is_batched else out

    def batched_cond(*args: Any) -> list[Any]:
        return [ops.reduce_or(holds(*args), axes=(0,)) if is_batched else holds(*args)]

    def batched_body(*args: Any) -> list[Any]:
        cond_consts, rest = (args[:n], args[n:]) if is_batched else ((), args)
        carry = rest[len(body_axes) :]
        outs, found = batch(evaluated(body), size, rest, (*body_axes, *carry_axes), name)
        placed = [
            to_axis(o, a, 0, size) if c == 0 else o
            for o, a, c in zip(outs, found, carry_axes, strict=True)
        ]
        if not is_batched:
            return placed
        go = holds(*cond_consts, *carry)
        return [
            ops.select_n(spread_like(go, o), old, o) for o, old in zip(placed, carry, strict=True)
        ]

    def types(avals: Sequence[ShapedArray], along: Sequence[int | None]) -> list[ShapedArray]:
        return [with_axis(a, size, axis) for a, axis in zip(avals, along, strict=True)]

    carry_types = types(carry_avals, carry_axes)
    cond_types = types(cond.in_avals[:n], cond_axes)
    body_types = types(body.in_avals[: len(body_axes)], body_axes)
    extra = cond_types if is_batched else []
    key = ("batched loop", id(cond), size, axes, name)
    made: tuple[ClosedJaxpr, ClosedJaxpr] = kept(
        body, key, lambda: (
            closed(batched_cond, [*cond_types, *carry_types]),
            closed(batched_body, [*extra, *body_types, *carry_types]),
        )
    )  # fmt: skip
    return made


while_loop = WhileLoop()
