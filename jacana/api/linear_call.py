"""linear_call: linear functions with a transpose of their own."""

from collections.abc import Callable, Sequence
from typing import Any

from jacana.api.arguments import check_callable, flatten_arrays, name_of
from jacana.api.custom import flat_output
from jacana.core.avals import ShapedArray
from jacana.core.evaluate import evaluate
from jacana.core.jaxpr import ClosedJaxpr
from jacana.core.stage import stage
from jacana.core.values import aval_of
from jacana.higher_order.linear_call import linear_call as linear_call_primitive
from jacana.transforms.derived import closed


def linear_call(
    fun: Callable[..., Any], fun_transpose: Callable[..., Any], residual_args: Any, linear_args: Any
) -> Any:
    """fun(residual_args, linear_args), whose transpose is fun_transpose(residual_args, ct).

    fun is linear in the second argument, fun_transpose gives what that is made of. Each is the
    transpose of the other.

    >>> from jacana.api.derivatives import linear_transpose
    >>> def halve(x):
    ...     return linear_call(lambda r, x: x / r, lambda r, ct: 10 * ct, 2.0, x)
    >>> float(halve(1.0)), float(linear_transpose(halve, 1.0)(1.0)[0])
    (0.5, 10.0)
    """
    check_callable(fun, "linear_call")
    check_callable(fun_transpose, "linear_call")
    residuals, residual_tree = flatten_arrays(residual_args, f"linear_call of {name_of(fun)}")
    linear, linear_tree = flatten_arrays(linear_args, f"linear_call of {name_of(fun)}")
    known, given = [aval_of(x) for x in residuals], [aval_of(x) for x in linear]
    callee, consts, out_tree = _program(fun, known, residual_tree, given, linear_tree)
    adjoint, more, back_tree = _program(
        fun_transpose, known, residual_tree, callee.out_avals, out_tree
    )
    found = [(a.shape, a.dtype) for a in adjoint.out_avals]
    if back_tree != linear_tree or found != [(a.shape, a.dtype) for a in given]:
        raise TypeError(
            f"linear_call: the transpose {name_of(fun_transpose)} must give what the linear "
            f"argument of {name_of(fun)} is made of, {linear_tree} of "
            f"{[a.str_short() for a in given]}; it gave {back_tree} of "
            f"{[a.str_short() for a in adjoint.out_avals]}."
        )
    captured = [*consts, *more]
    avals, n = [aval_of(c) for c in captured], len(consts)
    outs = linear_call_primitive(
        *captured, *residuals, *linear, callee=_taking(callee, avals, 0, n),
        adjoint=_taking(adjoint, avals, n, len(captured)), num_res=len(captured) + len(residuals),
    )  # fmt: skip
    return out_tree.unflatten(outs)


def _program(
    fun: Callable[..., Any], known: Sequence[ShapedArray], known_tree: Any,
    linear: Sequence[ShapedArray], linear_tree: Any,
) -> tuple[ClosedJaxpr, list[Any], Any]:  # fmt: skip
    """The function's program of (captured, residuals, linear), what it captured, its result."""
    structures: list[Any] = []

    def flat(*xs: Any) -> list[Any]:
        n = len(known)
        out = fun(known_tree.unflatten(xs[:n]), linear_tree.unflatten(xs[n:]))
        outs, structure = flat_output(out, name_of(fun))
        structures.append(structure)
        return outs

    jaxpr, consts = stage(flat, [*known, *linear], name_of(fun))
    return ClosedJaxpr(jaxpr.with_constvars_as_inputs()), consts, structures[0]


def _taking(
    program: ClosedJaxpr, captured: Sequence[ShapedArray], start: int, stop: int
) -> ClosedJaxpr:
    """The program as one of everything that both have captured; its own is from start to stop."""
    jaxpr, total = program.jaxpr, len(captured)

    def run(*args: Any) -> list[Any]:
        return evaluate(jaxpr, (), [*args[start:stop], *args[total:]])

    return closed(run, [*captured, *program.in_avals[stop - start :]])
