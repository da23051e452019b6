"""What programs import from `jax.core` and `jax.extend.core`: jaxprs, avals, primitives."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from jacana.api.scopes import ensure_compile_time_eval as ensure_compile_time_eval
from jacana.compat.extend import primitives as primitives
from jacana.core.avals import ShapedArray as ShapedArray
from jacana.core.check import check_jaxpr as check_jaxpr
from jacana.core.errors import (
    InconclusiveDimensionOperation as InconclusiveDimensionOperation,
    JaxprTypeError as JaxprTypeError,
)
from jacana.core.evaluate import evaluate, evaluate_closed
from jacana.core.jaxpr import (
    Atom as Atom,
    ClosedJaxpr as ClosedJaxpr,
    DropVar as DropVar,
    Jaxpr as Jaxpr,
    JaxprEqn as JaxprEqn,
    Literal as Literal,
    Var as Var,
    subjaxprs as subjaxprs_of_params,
)
from jacana.core.primitive import Primitive as AnyPrimitive
from jacana.core.trace import Trace as Trace, Tracer as Tracer, current, set_current
from jacana.core.values import aval_of as get_aval, is_array_like
from jacana.higher_order.user_primitive import UserPrimitive
from jacana.transforms.batch import with_axis, without_axis

AbstractValue = ShapedArray
Effect = str
Effects = frozenset
no_effects: frozenset[str] = frozenset()
array_types = {np.ndarray, np.generic}
Value = Any
ParamDict = dict[str, Any]

__all__ = [
    "AbstractValue", "Effect", "Effects", "ParamDict", "Primitive", "Value", "array_types",
    "concrete_or_error", "eval_jaxpr", "find_top_trace", "gensym", "get_aval",
    "get_opaque_trace_state", "jaxpr_as_fun", "jaxprs_in_params", "mapped_aval", "max_dim",
    "min_dim", "no_effects", "primal_dtype_to_tangent_dtype", "raise_to_shaped",
    "set_current_trace", "subjaxprs", "take_current_trace", "unmapped_aval", "valid_jaxtype",
]  # fmt: skip


class PrimitiveMeta(type):
    """All primitives are instances of `Primitive`, which makes those that users define."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, AnyPrimitive)


class Primitive(UserPrimitive, metaclass=PrimitiveMeta):
    """`Primitive(name)`: an operation whose rules the program sets itself."""


# --- jaxprs ---


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


def jaxprs_in_params(params: dict[str, Any]) -> Iterator[Jaxpr]:
    """The jaxprs among an equation's params."""
    return subjaxprs_of_params(params)


def subjaxprs(jaxpr: Jaxpr) -> Iterator[Jaxpr]:
    """The jaxprs that the equations of a jaxpr hold."""
    for eqn in jaxpr.eqns:
        yield from subjaxprs_of_params(eqn.params)


def new_jaxpr_eqn(
    invars: Sequence[Atom],
    outvars: Sequence[Var],
    primitive: Any,
    params: dict[str, Any],
    effects: Any = no_effects,
    source_info: Any = None,
    ctx: Any = None,
) -> JaxprEqn:
    """An equation; its effects are those of the primitive."""
    return JaxprEqn(invars, outvars, primitive, params, source_info)


def gensym(*_: Any) -> Callable[[ShapedArray], Var]:
    """A function that makes variables of given types, each one another."""
    return Var


# --- types and values ---


def mapped_aval(size: int, axis: int | None, aval: ShapedArray) -> ShapedArray:
    """The type of one example of a batch."""
    return aval if axis is None else without_axis(aval, axis)


def unmapped_aval(
    size: int, axis: int | None, aval: ShapedArray, explicit_mesh_axis: Any = None
) -> ShapedArray:
    """The type of a batch of examples."""
    return with_axis(aval, size, axis)


def raise_to_shaped(aval: ShapedArray, weak_type: bool | None = None) -> ShapedArray:
    """The aval, for programs written for JAX before it had this one kind."""
    return aval if weak_type is None else aval.update(weak_type=weak_type)


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> Any:
    """The dtype of tangents of values of a dtype."""
    return ShapedArray((), primal_dtype).to_tangent_aval().dtype


def valid_jaxtype(x: Any) -> bool:
    """Whether a value is an array, or may be one."""
    return is_array_like(x) and not (isinstance(x, np.ndarray) and x.dtype.kind in "OSU")


def concrete_or_error(force: Callable[[Any], Any], val: Any, context: str = "") -> Any:
    """force(val); ConcretizationTypeError if the value is traced."""
    return force(val)


def max_dim(d1: int, d2: int) -> int:
    """The greater of two sizes."""
    return max(d1, d2)


def min_dim(d1: int, d2: int) -> int:
    """The lesser of two sizes."""
    return min(d1, d2)


# --- traces ---


class OpaqueTraceState:
    """Which trace was current; equal ones are the same trace."""

    def __init__(self, trace: Trace):
        self._trace = trace

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OpaqueTraceState) and self._trace is other._trace

    def __hash__(self) -> int:
        return id(self._trace)


def get_opaque_trace_state(convention: Any = None) -> OpaqueTraceState:
    """Something to compare: whether two points of a program are in the same trace."""
    return OpaqueTraceState(current())


def find_top_trace(_: Any) -> Trace:
    """The trace that is current."""
    return current()


take_current_trace = current
set_current_trace = set_current
eval_context = ensure_compile_time_eval
