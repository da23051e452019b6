"""What programs import from `jax.core`: the data of jaxprs, avals and tracers."""

from jacana.core.avals import ShapedArray as ShapedArray
from jacana.core.evaluate import evaluate as eval_jaxpr, jaxpr_as_fun as jaxpr_as_fun
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

__all__ = ["AbstractValue", "eval_jaxpr", "get_aval"]
