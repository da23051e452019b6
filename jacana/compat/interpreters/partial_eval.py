"""What programs import from `jax.interpreters.partial_eval`: tracing, and dead code."""

from collections.abc import Callable, Sequence
from typing import Any

from jacana.core.avals import ShapedArray
from jacana.core.jaxpr import Jaxpr
from jacana.core.stage import JaxprTrace as DynamicJaxprTrace, JaxprTracer, stage
from jacana.core.trace import current, set_current
from jacana.core.values import aval_of
from jacana.transforms.dead_code import without_dead_code
from jacana.transforms.linearize import Tape

DynamicJaxprTracer = JaxprTracer

__all__ = [
    "DynamicJaxprTrace", "DynamicJaxprTracer", "JaxprTracer", "PartialVal", "dce_jaxpr",
    "trace_to_jaxpr_dynamic", "trace_to_jaxpr_nounits",
]  # fmt: skip


def trace_to_jaxpr_dynamic(
    fun: Callable[..., Sequence[Any]], in_avals: Sequence[ShapedArray], **_: Any
) -> tuple[Jaxpr, list[ShapedArray], list[Any]]:
    """The jaxpr of a flat function for arguments of these types, its results' types, its consts."""
    call = getattr(fun, "call_wrapped", fun)
    jaxpr, consts = stage(call, in_avals)
    return jaxpr, jaxpr.out_avals, consts


class PartialVal(tuple[Any, Any]):
    """(None, value) of a known value, (aval, None) of one of which the type alone is known."""

    @classmethod
    def known(cls, const: Any) -> "PartialVal":
        """A value that is known."""
        return cls((None, const))

    @classmethod
    def unknown(cls, aval: ShapedArray) -> "PartialVal":
        """A value of a known type."""
        return cls((aval, None))

    def is_known(self) -> bool:
        """Whether the value is known."""
        return self[0] is None

    def get_known(self) -> Any:
        """The value, or None if it is not known."""
        return self[1]

    def get_aval(self) -> ShapedArray:
        """The type."""
        return aval_of(self[1]) if self.is_known() else self[0]


def trace_to_jaxpr_nounits(
    fun: Any, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[PartialVal], list[Any]]:
    """The jaxpr of what depends on unknown values, the outputs, and the jaxpr's constants.

    All else is computed while the function is traced. The jaxpr gives the unknown outputs, and
    those known ones that `instantiate` says.
    """
    tape = Tape(parent=current())
    args = [p.get_known() if p.is_known() else tape.add_arg(p.get_aval()) for p in pvals]
    try:
        with set_current(tape):
            outs = list(getattr(fun, "call_wrapped", fun)(*args))
            wanted = [instantiate] * len(outs) if isinstance(instantiate, bool) else instantiate
            is_unknown = [
                bool(w) or (isinstance(o, JaxprTracer) and o._trace is tape)
                for o, w in zip(outs, wanted, strict=True)
            ]
            jaxpr, consts = tape.finish([o for o, u in zip(outs, is_unknown, strict=True) if u])
    finally:
        tape.alive = False
    found = [
        PartialVal.unknown(aval_of(o)) if u else PartialVal.known(o)
        for o, u in zip(outs, is_unknown, strict=True)
    ]
    return jaxpr, found, consts


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
