"""What programs import from `jax.core`: the data of jaxprs, avals and tracers."""

from collections.abc import Callable, Sequence
from typing import Any

from jacana.core.avals import ShapedArray as ShapedArray
from jacana.core.evaluate import evaluate, evaluate_closed
from jacana.core.jaxpr import (
    ClosedJaxpr as ClosedJaxpr,
    Jaxpr as Jaxpr,
    JaxprEqn as JaxprEqn,
    Literal as Literal,
    Var as Var,
)
from jacana.core.primitive import Primitive as Primitive
from jacana.core.trace import Trace as Trace, Tracer as Tracer
from jacana.core.values import aval_of as get_aval

AbstractValue = ShapedArray

__all__ = ["AbstractValue", "eval_jaxpr", "get_aval", "jaxpr_as_fun"]


def eval_jaxpr(
    jaxpr: Jaxpr, consts: Sequence[Any], *args: Any, propagate_source_info: bool = True
) -> list[Any]:
    """The outputs of a jaxpr, by binding its primitives one by one."""
    return evaluate(jaxpr, consts, args)


def jaxpr_as_fun(closed_jaxpr: ClosedJaxpr, *args: Any) -> list[Any] | Callable[..., list[Any]]:
    """The outputs of a jaxpr on the arguments, or without any the jaxpr as a function of them."""
    if args:
        return evaluate_closed(closed_jaxpr, *args)
    return lambda *given: evaluate_closed(closed_jaxpr, *given)
