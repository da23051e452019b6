"""custom_linear_solve: the solution of a linear system by a program that derivatives ignore.

They are those of the system: the tangent of x in A x = b solves A dx = db - dA x, and the cotangent
of b solves the transposed system.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from jacana import ops
from jacana.core.avals import ShapedArray
from jacana.core.evaluate import evaluate, evaluate_reference
from jacana.core.jaxpr import ClosedJaxpr
from jacana.core.primitive import Inapplicable, Primitive
from jacana.higher_order.custom_rule import batched_program
from jacana.ops.shape import zeros
from jacana.transforms.batch import BatchTrace, to_axis
from jacana.transforms.jvp import jvp_program, zero_of


class Programs(NamedTuple):
    """One thing of each of the four programs; each program takes its consts, then a vector."""

    matvec: Any
    vecmat: Any
    solve: Any
    transpose_solve: Any

    def transposed(self) -> "Programs":
        return Programs(self.vecmat, self.matvec, self.transpose_solve, self.solve)


def split_consts(xs: Sequence[Any], lengths: Programs) -> tuple[Programs, list[Any]]:
    """The consts of each program, and the right-hand side."""
    groups, start = [], 0
    for n in lengths:
        groups.append(list(xs[start : start + n]))
        start += n
    return Programs(*groups), list(xs[start:])


class LinearSolve(Primitive):
    """x with matvec(x) = b, then what else `solve` gives of b.

    The programs vecmat and transpose_solve, of the transposed system, may be None.
    """

    name = "custom_linear_solve"
    multiple_results = True
    jvp = Inapplicable("jvp_rule solves for the tangent")
    batch = Inapplicable("batch_rule batches the programs")

    def type_rule(
        self, *xs: ShapedArray, const_lengths: Programs, jaxprs: Programs
    ) -> list[ShapedArray]:
        return list(jaxprs.solve.out_avals)

    def reference(self, *xs: Any, const_lengths: Programs, jaxprs: Programs) -> list[Any]:
        consts, b = split_consts(xs, const_lengths)
        return evaluate_reference(jaxprs.solve, *consts.solve, *b)

    def jvp_rule(
        self, primals: list[Any], tangents: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        lengths, jaxprs = params["const_lengths"], params["jaxprs"]
        outs = self(*primals, **params)
        consts, b = split_consts(primals, lengths)
        const_tangents, rhs = split_consts(tangents, lengths)
        x, n = outs[: len(b)], len(outs)
        if any(t is not None for t in const_tangents.matvec):
            changes = tangent_product(jaxprs.matvec, consts.matvec, const_tangents.matvec, x)
            rhs = [difference(t, c) for t, c in zip(rhs, changes, strict=True)]
        if all(t is None for t in rhs):
            return outs, [None] * n
        full = [zero_of(o) if t is None else t for t, o in zip(rhs, jaxprs.matvec.out_avals)]
        found = self(*[c for group in consts for c in group], *full, **params)
        return outs, [*found[: len(b)], *[None] * (n - len(b))]

    def transpose(
        self, cts: list[Any], *xs: Any, const_lengths: Programs, jaxprs: Programs
    ) -> list[Any]:
        if jaxprs.transpose_solve is None:
            raise TypeError(
                "custom_linear_solve was given no transpose_solve, which reverse-mode "
                "differentiation needs. Pass it, or symmetric=True if the system is."
            )
        consts, b = split_consts(xs, const_lengths)
        full = [
            zeros(v.shape, v.dtype) if ct is None else ct
            for ct, v in zip(cts[: len(b)], jaxprs.matvec.out_avals, strict=True)
        ]
        given = [c for group in consts.transposed() for c in group]
        found = self(
            *given, *full, const_lengths=const_lengths.transposed(), jaxprs=jaxprs.transposed()
        )
        return [*[None] * len(given), *found[: len(b)]]

    def batch_rule(
        self, trace: BatchTrace, values: list[Any], axes: list[Any], params: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        lengths, jaxprs = params["const_lengths"], params["jaxprs"]
        consts, b = split_consts(values, lengths)
        const_axes, b_axes = split_consts(axes, lengths)
        groups, made = [], []
        for jaxpr, given, given_axes in zip(jaxprs, consts, const_axes, strict=True):
            captured: list[Any] = []
            if jaxpr is not None:
                every = (*given_axes, *[0] * len(b))
                jaxpr, captured = batched_program(jaxpr.jaxpr, trace.size, every, trace.axis_name)
            made.append(jaxpr)
            groups.append([*captured, *given])
        rhs = [to_axis(x, a, 0, trace.size) for x, a in zip(b, b_axes, strict=True)]
        outs = self(
            *[c for group in groups for c in group], *rhs,
            const_lengths=Programs(*map(len, groups)), jaxprs=Programs(*made),
        )  # fmt: skip
        return outs, [0] * len(outs)

    def lower(self, build: Any, *xs: Any, const_lengths: Programs, jaxprs: Programs) -> Any:
        consts, b = split_consts(xs, const_lengths)
        return build.call(jaxprs.solve, [*consts.solve, *b])


def tangent_product(
    matvec: ClosedJaxpr, consts: list[Any], tangents: list[Any], x: list[Any]
) -> list[Any]:
    """The tangent of matvec(x) that comes from those of its consts."""
    nonzero = (*[t is not None for t in tangents], *[False] * len(x))
    program, found = jvp_program(matvec.jaxpr, nonzero)
    given = [t for t in tangents if t is not None]
    outs = evaluate(program.jaxpr, program.consts, [*consts, *x, *given])
    rest = iter(outs[len(found) :])
    return [next(rest) if nz else None for nz in found]


def difference(a: Any, b: Any) -> Any:
    if b is None:
        return a
    return ops.neg(b) if a is None else ops.sub(a, b)


linear_solve = LinearSolve()
