"""Dispatch: eager evaluation. An operation on concrete arrays is a program of one command.

Importing this module installs it as the base trace.
"""

from collections.abc import Callable
from typing import Any

from jacana.core import errors
from jacana.core.bounded import Bounded
from jacana.core.jaxpr import Jaxpr, JaxprEqn, Var, operation_key
from jacana.core.primitive import Primitive
from jacana.core.trace import BaseTrace, Tracer
from jacana.runtime.array import Array, to_array
from jacana.runtime.executable import Executable, executable_for

# (primitive, operand avals, params) -> executable.
_operations: Bounded[Any, Executable] = Bounded()


def evaluate(primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The primitive's output on concrete operands."""
    arrays = [a if type(a) is Array else _concrete(a) for a in args]
    key = (primitive, tuple([a.aval for a in arrays]), operation_key(params))
    executable = _operations.get(key)
    if executable is None:
        executable = _operations[key] = _compile(primitive, arrays, params)
    out = executable.run(arrays)
    return out if primitive.multiple_results else out[0]


def _concrete(value: Any) -> Array:
    if isinstance(value, Tracer):
        concrete = value.concrete()
        if concrete is None or value._trace.alive is False:
            raise errors.UnexpectedTracerError(value)
        value = concrete
    return to_array(value)


def _compile(primitive: Primitive, arrays: list[Array], params: dict[str, Any]) -> Executable:
    invars = [Var(a.aval) for a in arrays]
    out = primitive.type_rule(*[a.aval for a in arrays], **params)
    outvars = [Var(aval) for aval in (out if primitive.multiple_results else [out])]
    eqn = JaxprEqn(invars, outvars, primitive, params)
    return executable_for(Jaxpr([], invars, outvars, [eqn]))


def run_jaxpr(jaxpr: Jaxpr, consts: list[Any], args: list[Any]) -> list[Any]:
    """The outputs of a jaxpr on concrete values, as one program."""
    arrays = [a if type(a) is Array else _concrete(a) for a in (*consts, *args)]
    return executable_for(jaxpr).run(arrays)


def clear() -> None:
    _operations.clear()


def program(jaxpr: Jaxpr) -> Callable[[list[Any]], list[Any]]:
    """A jaxpr that captures nothing as a function of concrete values."""
    execute = executable_for(jaxpr).run

    def run(args: list[Any]) -> list[Any]:
        return execute([a if type(a) is Array else _concrete(a) for a in args])

    return run


BaseTrace.evaluate = staticmethod(evaluate)
BaseTrace.compile = staticmethod(program)
