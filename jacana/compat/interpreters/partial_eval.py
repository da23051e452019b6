"""What programs import from `jax.interpreters.partial_eval`: tracing, and dead code."""

from collections.abc import Callable, Sequence
from typing import Any

from jacana.core.avals import ShapedArray
from jacana.core.jaxpr import Jaxpr
from jacana.core.stage import JaxprTrace as DynamicJaxprTrace, JaxprTracer, stage
from jacana.transforms.dead_code import without_dead_code

DynamicJaxprTracer = JaxprTracer

__all__ = [
    "DynamicJaxprTrace", "DynamicJaxprTracer", "JaxprTracer", "dce_jaxpr", "trace_to_jaxpr_dynamic",
]  # fmt: skip


def trace_to_jaxpr_dynamic(
    fun: Callable[..., Sequence[Any]], in_avals: Sequence[ShapedArray], **_: Any
) -> tuple[Jaxpr, list[ShapedArray], list[Any]]:
    """The jaxpr of a flat function for arguments of these types, its results' types, its consts."""
    call = getattr(fun, "call_wrapped", fun)
    jaxpr, consts = stage(call, in_avals)
    return jaxpr, jaxpr.out_avals, consts


def dce_jaxpr(
    jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool]]:
    """The program of the used outputs alone, and which inputs it takes.

    Inputs that it does not need are left out, but those that `instantiate` says.
    """
    _, used = without_dead_code(jaxpr, used_outputs)
    keep = [instantiate] * len(used) if isinstance(instantiate, bool) else instantiate
    kept = [u or bool(k) for u, k in zip(used, keep, strict=True)]
    made, _ = without_dead_code(jaxpr, used_outputs)
    invars = [v for v, k in zip(made.invars, kept, strict=True) if k]
    return Jaxpr(made.constvars, invars, made.outvars, made.eqns, made.debug_name), kept
