"""What programs import from `jax.core`: the data of jaxprs, avals and tracers."""
from jacana.core.avals import ShapedArray as ShapedArray
from jacana.core.evaluate import evaluate as eval_jaxpr
from jacana.core.evaluate import jaxpr_as_fun as jaxpr_as_fun
from jacana.core.jaxpr import ClosedJaxpr as ClosedJaxpr
from jacana.core.jaxpr import Jaxpr as Jaxpr
from jacana.core.jaxpr import JaxprEqn as JaxprEqn
from jacana.core.jaxpr import Literal as Literal
from jacana.core.jaxpr import Var as Var
from jacana.core.primitive import Primitive as Primitive
from jacana.core.trace import Trace as Trace
from jacana.core.trace import Tracer as Tracer
from jacana.core.values import aval_of as get_aval

AbstractValue = ShapedArray

__all__ = ["AbstractValue", "eval_jaxpr", "get_aval"]
