"""while_loop: repeat a body as long as a condition holds, for a batch each element for itself."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.dimensions import Dimensions
from jacana.core.evaluate import evaluate, evaluate_reference
from jacana.core.jaxpr import ClosedJaxpr, Jaxpr
from jacana.core.primitive import Inapplicable
from jacana.core.stage import stage_closed
from jacana.higher_order.at_length import Lengths, at_length
from jacana.higher_order.choices import (
    REPEATED_WORK,
    joined_batch,
    mapped_operands,
    multiplies_shared,
    parted_batch,
    spread_like,
)
from jacana.higher_order.cond import cond as cond_primitive
from jacana.higher_order.refs import TakesRefs, refuse_batch
from jacana.higher_order.scan import one_by_one, scan
from jacana.higher_order.tangents import instantiate_flags
from jacana.ops.shape import zeros
from jacana.transforms.batch import (
    BatchTrace,
    batch,
    batch_program,
    batch_program_to,
    to_axis,
    with_axis,
)
from jacana.transforms.derived import closed, evaluated, kept
from jacana.transforms.discharge import discharged
from jacana.transforms.jvp import jvp_program

# A loop is taken to run this often, where its work decides something.
GUESSED_STEPS = 32


class WhileLoop(TakesRefs):
    """The carry for which `cond` is false; operands are cond's consts, body's consts, the carry.

    The carry may be a batch, all parts of it having one more axis, the first, than the programs
    take; then each element stops for itself. Consts may be batches along the same axis or not.
    """

    name = "while"
    multiple_results = True
    is_total = False
    jvp = Inapplicable("jvp_rule differentiates the body")
    batch = Inapplicable("batch_rule batches condition and body, or the loop")
    transpose = Inapplicable(
        "the number of steps is not known when reverse mode needs room for them; use scan, "
        "fori_loop with static bounds, forward mode, or reverse_differentiable=True"
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

    def type_rule(self, *xs: ShapedArray, **params: Any) -> list[ShapedArray]:
        outs: list[ShapedArray] = params["body_jaxpr"].out_avals
        if not is_batch(xs, params):
            return outs
        size = xs[-1].shape[0]
        return [a.update(shape=(size, *a.shape)) for a in outs]

    def reference(self, *xs: Any, **params: Any) -> list[Any]:
        if is_batch(xs, params):
            mapped, size = mapped_operands(xs, operand_avals(params)), len(xs[-1])
            rows = [
                self.reference(*[x[i] if m else x for x, m in zip(xs, mapped)], **params)
                for i in range(size)
            ]
            outs = params["body_jaxpr"].out_avals
            return [
                np.stack([row[k] for row in rows]) if rows else np.zeros((0, *a.shape), a.dtype)
                for k, a in enumerate(outs)
            ]
        n, m = params["cond_nconsts"], params["body_nconsts"]
        carry = list(xs[n + m :])
        while evaluate_reference(params["cond_jaxpr"], *xs[:n], *carry)[0]:
            carry = evaluate_reference(params["body_jaxpr"], *xs[n : n + m], *carry)
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
        avals = [a.to_tangent_aval() for a, nz in zip(body.in_avals[m:], nonzero) if nz]
        changed = {
            "cond_jaxpr": ignoring_last(params["cond_jaxpr"].jaxpr, avals),
            "body_jaxpr": jvp_body(body, m, tuple(const_nonzero), tuple(nonzero)),
            "body_nconsts": m + len(consts),
        }
        outs = self(*primals[: n + m], *consts, *carry, *given, **{**params, **changed})
        rest = iter(outs[len(carry) :])
        return outs[: len(carry)], [next(rest) if nz else None for nz in nonzero]

    def linearize_rule(
        self, primals: list[Any], nonzero: list[bool], params: dict[str, Any]
    ) -> tuple[list[Any], Callable[[list[Any]], list[Any]]]:
        n, body = params["cond_nconsts"], params["body_jaxpr"].jaxpr
        if not any(nonzero[n:]):
            outs = self(*primals, **params)
            return outs, lambda _: [None] * len(outs)
        if not params["reverse_differentiable"]:
            raise ValueError(
                "Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop "
                "with dynamic start/stop values. Try using lax.scan, or lax.fori_loop with static "
                "start/stop. Or give the loop reverse_differentiable=True: reverse mode then runs "
                "it a second time and remembers each step."
            )
        mapped = mapped_operands(primals, operand_avals(params))
        shape = np.shape(primals[-1])[:1] if is_batch(primals, params) else ()
        counting = {
            "cond_jaxpr": ignoring_last(params["cond_jaxpr"].jaxpr, [COUNT]),
            "body_jaxpr": counting_body(body),
        }
        *outs, count = self(*primals, zeros(shape, COUNT.dtype), **{**params, **counting})
        key = ("steps", tuple(mapped[n:]), shape)
        programs = kept(body, key, lambda: Lengths(partial(steps, body, params["body_nconsts"],
                                                           tuple(mapped[n:]), shape)))  # fmt: skip
        known = [count, *primals[n:]]

        def record(tangents: list[Any]) -> list[Any]:
            given = tangents[sum(nonzero[:n]) :]
            return at_length.record(programs, known, (False, *nonzero[n:]), given)

        return outs, record

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        size, name, consts = trace.size, trace.axis_name, params["cond_nconsts"]
        cond, body = params["cond_jaxpr"].jaxpr, params["body_jaxpr"].jaxpr
        batched, stops_apart = batched_carry(cond, body, consts, axes, size, name)
        if not stops_apart:
            return self._batch_programs(trace, values, axes, params, batched)
        consts += params["body_nconsts"]
        mapped = mapped_operands(values, operand_avals(params), axes)
        # Collectives speak of elements that are done too.
        speaks = name is not None and name in (*cond.axis_names, *body.axis_names)
        if any(mapped[consts:]):
            if speaks:
                function = partial(self._together, params=params, name=None)
                return batch(function, size, values, axes, name)
            count = np.shape(values[-1])[int(axes[-1] == 0)]
            joined = joined_batch(values, axes, mapped, size, count)
            outs = parted_batch(self(*joined, **params), size, count)
            return outs, [0] * len(outs)
        moved = [
            x if a is None and i < consts else to_axis(x, a, 0, size)
            for i, (x, a) in enumerate(zip(values, axes, strict=True))
        ]
        is_mapped = [a is not None or i >= consts for i, a in enumerate(axes)]
        shares = body.is_total and multiplies_shared(body, is_mapped[params["cond_nconsts"] :])
        if speaks or shares:
            outs = self._together(*moved, params=params, name=name)
        else:
            outs = self(*moved, **params)
        return outs, [0] * len(outs)

    def _batch_programs(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any],
        batched: Sequence[bool],
    ) -> tuple[list[Any], list[Any]]:  # fmt: skip
        """One condition for the whole batch. The axis of an inner batch stays the first."""
        n, m, size = params["cond_nconsts"], params["body_nconsts"], trace.size
        cond, body = params["cond_jaxpr"].jaxpr, params["body_jaxpr"].jaxpr
        mapped = mapped_operands(values, operand_avals(params), axes)
        given = [a is not None for a in axes[: n + m]] + list(batched)
        moved = [
            to_axis(x, a, int(i), size) if g else x
            for x, a, i, g in zip(values, axes, mapped, given, strict=True)
        ]
        places = split([0 if g else None for g in given], n, m)
        made = batched_loop(cond, body, size, places, trace.axis_name, False)
        outs = self(*moved, **{**params, "cond_jaxpr": made[0], "body_jaxpr": made[1]})
        at = int(any(mapped[n + m :]))
        return outs, [at if b else None for b in batched]

    def _together(self, *xs: Any, params: dict[str, Any], name: Any) -> list[Any]:
        """A batch of loops as one that goes on until all are done; who is keeps what it has."""
        n, m, size = params["cond_nconsts"], params["body_nconsts"], np.shape(xs[-1])[0]
        cond, body = params["cond_jaxpr"].jaxpr, params["body_jaxpr"].jaxpr
        axes = [0 if i else None for i in mapped_operands(xs, operand_avals(params))]
        made = batched_loop(cond, body, size, split(axes, n, m), name, True)
        # The body asks the condition again, so it needs its consts too.
        changed = {"cond_jaxpr": made[0], "body_jaxpr": made[1], "body_nconsts": n + m}
        return self(*xs[:n], *xs, **{**params, **changed})  # type: ignore[no-any-return]

    def work(
        self, operands: list[ShapedArray], outs: list[ShapedArray], params: dict[str, Any]
    ) -> float:
        step: float = params["cond_jaxpr"].jaxpr.work + params["body_jaxpr"].jaxpr.work
        return GUESSED_STEPS * step

    def discharge_rule(
        self, values: list[Any], refs: Sequence[Any], params: dict[str, Any], final: bool
    ) -> tuple[list[Any], list[Any]]:
        n, m = params["cond_nconsts"], params["body_nconsts"]
        cond = discharged(params["cond_jaxpr"].jaxpr, final)
        body = discharged(params["body_jaxpr"].jaxpr, final)
        if any(cond.written):
            raise NotImplementedError(
                "the condition of a while_loop writes to a reference; write to it in the body."
            )
        if is_batch(values, params):
            refuse_batch(body.written[:m], refs[n : n + m])
        # What the body writes is carried, and the condition reads it from there.
        written = [j for j in range(m) if body.written[j]]
        sources = [
            next((k for k, j in enumerate(written) if refs[i] and refs[i] is refs[n + j]), None)
            for i in range(n)
        ]
        made = loop_carrying(cond.program.jaxpr, body.program.jaxpr, m, written, sources)
        kept_cond = [values[i] for i in range(n) if sources[i] is None]
        kept_body = [values[n + j] for j in range(m) if j not in written]
        changed = {"cond_nconsts": len(kept_cond), "cond_jaxpr": made[0],
                   "body_nconsts": len(kept_body), "body_jaxpr": made[1]}  # fmt: skip
        outs = self(
            *kept_cond, *kept_body, *[values[n + j] for j in written], *values[n + m :],
            **{**params, **changed},
        )  # fmt: skip
        changes = [None] * len(values)
        for k, j in enumerate(written):
            changes[n + j] = outs[k]
        return outs[len(written) :], changes

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        return {k: v for k, v in params.items() if k != "reverse_differentiable" or v}

    def lower(self, build: Any, *xs: Any, **params: Any) -> Any:
        cond, body = params["cond_jaxpr"], params["body_jaxpr"]
        if not is_batch(xs, params):
            consts = params["cond_nconsts"] + params["body_nconsts"]
            return build.while_loop(cond, body, xs[:consts], xs[consts:])
        effects = cond.jaxpr.effects or body.jaxpr.effects
        if effects or body.jaxpr.work > REPEATED_WORK:
            mapped = mapped_operands(xs, operand_avals(params))
            run = partial(one_by_one, partial(self, **params), mapped)
        else:
            run = partial(self._together, params=params, name=None)
        return build.call(stage_closed(run, [ShapedArray(x.shape, x.dtype) for x in xs]), xs)

    def spec_rule(
        self, specs: Sequence[Dimensions], avals: Any, outs: Any, params: dict[str, Any]
    ) -> list[Dimensions]:
        return list(specs[len(specs) - len(outs) :])


# How many steps a loop made.
COUNT = ShapedArray((), dtypes.int32)


def operand_avals(params: dict[str, Any]) -> list[ShapedArray]:
    """The types of the operands of one loop."""
    consts = params["cond_jaxpr"].in_avals[: params["cond_nconsts"]]
    return [*consts, *params["body_jaxpr"].in_avals]


def is_batch(xs: Sequence[Any], params: dict[str, Any]) -> bool:
    avals = operand_avals(params)
    return bool(avals) and len(np.shape(xs[-1])) > avals[-1].ndim


def split(axes: Sequence[int | None], n: int, m: int) -> tuple[tuple[int | None, ...], ...]:
    """Of the consts of the condition, those of the body, the carry."""
    return tuple(axes[:n]), tuple(axes[n : n + m]), tuple(axes[n + m :])


def batched_carry(
    cond: Jaxpr, body: Jaxpr, n: int, axes: Sequence[int | None], size: int, name: Any
) -> tuple[list[bool], bool]:
    """Which parts of the carry are batched, and whether the condition is."""
    given = [None if a is None else 0 for a in axes]
    m = len(body.invars) - (len(cond.invars) - n)
    batched = [a is not None for a in given[n + m :]]
    while True:
        carry = [0 if b else None for b in batched]
        _, of_cond = batch_program(cond, size, (*given[:n], *carry), name)
        _, of_body = batch_program(body, size, (*given[n : n + m], *carry), name)
        stops_apart = of_cond[0] is not None
        grown = [b or stops_apart or a is not None for b, a in zip(batched, of_body, strict=True)]
        if grown == batched:
            return batched, stops_apart
        batched = grown


def ignoring_last(jaxpr: Jaxpr, avals: list[ShapedArray]) -> ClosedJaxpr:
    """The program with more inputs, which it does not use."""
    n = len(jaxpr.invars)
    key = ("ignoring", tuple(avals))
    return kept(
        jaxpr,
        key,
        lambda: closed(lambda *xs: evaluate(jaxpr, (), xs[:n]), [*jaxpr.in_avals, *avals]),
    )


def counting_body(body: Jaxpr) -> ClosedJaxpr:
    """The body with the number of steps at the end of the carry."""

    def run(*args: Any) -> list[Any]:
        return [*evaluate(body, (), args[:-1]), ops.add(args[-1], np.int32(1))]

    return kept(body, "counting body", lambda: closed(run, [*body.in_avals, COUNT]))


def steps(
    body: Jaxpr, consts: int, mapped: tuple[bool, ...], shape: tuple[int, ...], length: int
) -> ClosedJaxpr:
    """(count, consts, carry) -> carry after as many steps as the count says, at most `length`.

    With a shape (size,), counts and mapped operands are batches of that size.
    """
    carried = len(body.outvars)
    stay = stage_closed(lambda *xs: list(xs[consts:]), body.in_avals)

    def step(count: Any, *args: Any) -> list[Any]:
        *xs, index = args
        goes_on = ops.convert_element_type(
            ops.lt(index, count), new_dtype=COUNT.dtype, weak_type=False
        )
        return cond_primitive(  # type: ignore[no-any-return]
            goes_on, *xs, branches=(stay, ClosedJaxpr(body))
        )

    one = stage_closed(step, [COUNT, *body.in_avals, COUNT])

    def run(*args: Any) -> list[Any]:
        indices = ops.iota(dtype=COUNT.dtype, shape=(length,), dimension=0)
        return scan(  # type: ignore[no-any-return]
            *args, indices, jaxpr=one, length=length, num_consts=1 + consts, num_carry=carried,
            reverse=False, unroll=1,
        )  # fmt: skip

    program = stage_closed(run, [COUNT, *body.in_avals])
    if not shape:
        return program
    axes = (0, *[0 if m else None for m in mapped])
    return batch_program_to(program.jaxpr, shape[0], axes, None, (True,) * carried)


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


def loop_carrying(
    cond: Jaxpr, body: Jaxpr, m: int, written: Sequence[int], sources: Sequence[int | None]
) -> tuple[ClosedJaxpr, ClosedJaxpr]:
    """Condition and body where the body's consts `written` begin the carry.

    The body gives their new values last; sources[i] is which of them cond's const i is.
    """
    n, k = len(sources), len(written)
    fixed = [j for j in range(m) if j not in written]

    def holds(*args: Any) -> list[Any]:
        own = iter(args[: n - sum(s is not None for s in sources)])
        rest = args[n - sum(s is not None for s in sources) :]
        consts = [next(own) if s is None else rest[s] for s in sources]
        return evaluate(cond, (), [*consts, *rest[k:]])

    def step(*args: Any) -> list[Any]:
        consts = dict(zip([*fixed, *written], args[:m], strict=True))
        outs = evaluate(body, (), [*[consts[j] for j in range(m)], *args[m:]])
        end = len(outs) - k
        return [*outs[end:], *outs[:end]]

    carry = [*[body.in_avals[j] for j in written], *body.in_avals[m:]]
    cond_avals = [a for a, s in zip(cond.in_avals, sources) if s is None]
    return (
        closed(holds, [*cond_avals, *carry]),
        closed(step, [*[body.in_avals[j] for j in fixed], *carry]),
    )


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
