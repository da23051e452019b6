"""custom_root: roots that are differentiated as what they solve, by the implicit function."""

from collections.abc import Callable, Sequence
from typing import Any

from jacana import ops
from jacana.core import tree
from jacana.core.evaluate import evaluate
from jacana.core.jaxpr import Jaxpr
from jacana.core.values import aval_of
from jacana.higher_order.custom_jvp import CustomJVP
from jacana.higher_order.custom_rule import Named
from jacana.lax.control_flow import flatten_operands, traced
from jacana.transforms.derived import evaluated
from jacana.transforms.jvp import has_tangents, jvp, zero_tangent

Function = Callable[[Any], Any]


def custom_root(
    f: Function, initial_guess: Any, solve: Callable[[Function, Any], Any],
    tangent_solve: Callable[[Function, Any], Any], has_aux: bool = False,
) -> Any:  # fmt: skip
    """solve(f, initial_guess), an x with f(x) = 0, which is differentiated as that.

    Derivatives, to any order and in both modes, are in what f captures; tangent_solve(g, y) gives
    the x with g(x) = y for the linear g that f is at the root. With has_aux, solve gives a pair of
    the root and other results, which derivatives take for constants.

    >>> from jacana.api.grad import grad
    >>> def root(a):
    ...     def newton(f, x):
    ...         for _ in range(6):
    ...             x = x - f(x) / grad(f)(x)
    ...         return x
    ...     return custom_root(lambda x: x**2 - a, 1.0, newton, lambda g, y: y / g(1.0))
    >>> float(root(4.0)), float(grad(root)(4.0))
    (2.0, 0.25)
    """
    guess, structure = flatten_operands(initial_guess, "custom_root")
    avals = [aval_of(x) for x in guess]
    equation, consts, out = traced(f, tree.structure((initial_guess,)), avals, "custom_root")
    _check_structure("f()", out, "initial_guess", structure)
    implicit = Implicit(equation.jaxpr, structure, tangent_solve)

    def solving(captured: Sequence[Any], x: Any) -> Any:
        return solve(implicit.on_trees(implicit.equation(captured)), x)

    both = tree.structure((list(consts), initial_guess))
    types = [*[aval_of(c) for c in consts], *avals]
    program, more, found = traced(solving, both, types, "custom_root (solve)")
    solution = found.children()[0] if has_aux else found
    _check_structure("solve()", solution, "initial_guess", structure)
    # Operands: what solve captured, what f captured, the guess.
    chosen = slice(len(more), len(more) + len(consts))

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        outs = root(*primals)
        dx = implicit.tangent(primals[chosen], tangents[chosen], outs[: len(guess)])
        return outs, [*dx, *[None] * (len(outs) - len(dx))]

    function, named = evaluated(program.jaxpr), Named(rule, "custom_root")
    root = CustomJVP("custom_root", function, named, symbolic_zeros=True)
    return found.unflatten(root(*more, *consts, *guess))


class Implicit:
    """An equation f(captured, x) = 0, and how a root changes with what f captures."""

    def __init__(self, jaxpr: Jaxpr, structure: Any, tangent_solve: Callable[[Function, Any], Any]):
        self._jaxpr, self._structure, self._solve = jaxpr, structure, tangent_solve

    def equation(self, captured: Sequence[Any]) -> Callable[..., list[Any]]:
        return lambda *x: evaluate(self._jaxpr, (), [*captured, *x])

    def on_trees(self, flat: Callable[..., list[Any]]) -> Function:
        return lambda x: self._structure.unflatten(flat(*tree.leaves(x)))

    def tangent(
        self, captured: Sequence[Any], tangents: Sequence[Any], x: Sequence[Any]
    ) -> list[Any]:
        """The tangent of the root x, from those of what is captured (None: zero)."""
        _, change = jvp(lambda *cs: self.equation(cs)(*x), captured, tangents)
        if all(t is None for t in change):
            return [None] * len(x)
        wanted = [
            zero_tangent(v) if t is None else ops.neg(t) for t, v in zip(change, x, strict=True)
        ]

        def linear(*dx: Any) -> list[Any]:
            values, slopes = jvp(self.equation(captured), x, dx)
            return [
                zero_tangent(v) if t is None else t for v, t in zip(values, slopes, strict=True)
            ]

        found = self._solve(self.on_trees(linear), self._structure.unflatten(wanted))
        solved, shape = tree.flatten(found)
        _check_structure("tangent_solve()", shape, "x", self._structure)
        return [t if has_tangents(v) else None for t, v in zip(solved, x, strict=True)]


def _check_structure(what: str, found: Any, of: str, wanted: Any) -> None:
    if found != wanted:
        raise TypeError(
            f"custom_root: {what} output pytree structure must match {of}, got {found} and "
            f"{wanted}."
        )
