"""custom_linear_solve: solvers of linear systems that are differentiated as what they solve."""

from collections.abc import Callable
from typing import Any

from jacana.api.derivatives import linear_transpose
from jacana.core import tree
from jacana.core.values import aval_of
from jacana.higher_order.linear_solve import Programs, linear_solve
from jacana.lax.control_flow import flatten_operands, traced

Matvec = Callable[[Any], Any]


def custom_linear_solve(
    matvec: Matvec, b: Any, solve: Callable[[Matvec, Any], Any],
    transpose_solve: Callable[[Matvec, Any], Any] | None = None, symmetric: bool = False,
    has_aux: bool = False,
) -> Any:  # fmt: skip
    """solve(matvec, b), the x with matvec(x) = b, which is differentiated as that.

    Derivatives in b and in what matvec captures solve further systems; reverse mode needs
    transpose_solve(vecmat, ct) for the transposed ones, or symmetric=True. With has_aux the solvers
    give pairs (x, aux).

    >>> import numpy as np
    >>> custom_linear_solve(lambda x: 2 * x, np.float32(6), lambda matvec, b: b / 2).item()
    3.0
    """
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    leaves, structure = flatten_operands(b, "custom_linear_solve")
    given, avals = tree.structure((b,)), [aval_of(x).strip_weak_type() for x in leaves]

    def program(function: Any, what: str, pair: bool) -> tuple[Any, list[Any], Any]:
        jaxpr, consts, out = traced(function, given, avals, what)
        found, shape = out, structure
        if pair:
            shape = out.children()[0] if len(out.children()) == 2 else None
            found = structure
        outs = jaxpr.out_avals[: len(avals)]
        fits = found == structure == shape and len(outs) == len(avals)
        if not fits or any(
            (a.shape, a.dtype) != (o.shape, o.dtype) for a, o in zip(avals, outs, strict=True)
        ):
            raise TypeError(
                f"custom_linear_solve needs {what} to give what b is made of, {structure} of "
                f"{[a.str_short() for a in avals]}; it gave {out} of "
                f"{[a.str_short() for a in jaxpr.out_avals]}."
            )
        return jaxpr, consts, out

    def vecmat(x: Any) -> Any:
        return linear_transpose(matvec, b)(x)[0]

    adjoint = matvec if symmetric else vecmat
    parts = [program(matvec, "matvec", False), None,
             program(lambda x: solve(matvec, x), "solve", has_aux), None]  # fmt: skip
    if transpose_solve is not None:
        backward = transpose_solve
        parts[1] = program(adjoint, "the transpose of matvec", False)
        parts[3] = program(lambda x: backward(adjoint, x), "transpose_solve", has_aux)
    jaxprs = Programs(*[None if p is None else p[0] for p in parts])
    consts = [[] if p is None else p[1] for p in parts]
    outs = linear_solve(
        *[c for group in consts for c in group], *leaves,
        const_lengths=Programs(*map(len, consts)), jaxprs=jaxprs,
    )  # fmt: skip
    solved = parts[2]
    assert solved is not None
    return solved[2].unflatten(outs)
