"""Dispatch: eager evaluation. An operation on concrete arrays is a program of one command.

Elementwise work on large arrays is put off: see runtime.lazy.

Importing this module installs it as the base trace.
"""

from collections.abc import Callable
from typing import Any

from jacana.core import errors
from jacana.core.avals import ShapedArray
from jacana.core.bounded import Bounded
from jacana.core.jaxpr import Jaxpr, operation_key
from jacana.core.primitive import Primitive
from jacana.core.trace import BaseTrace, Tracer
from jacana.runtime import lazy
from jacana.runtime.array import Array, to_array
from jacana.runtime.executable import executable_for
from jacana.runtime.operations import Operation
from jacana.runtime.placement import Run, Shardings, placed_run, shardings_of
from jacana.runtime.ref import Ref, memory

# (primitive, operand avals, params) -> operation.
_operations: Bounded[Any, Operation] = Bounded()


def evaluate(primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The primitive's output on concrete operands."""
    arrays = [a if type(a) is Array else _concrete(a) for a in args]
    avals = tuple([a.aval for a in arrays])
    key = (primitive, avals, operation_key(params))
    operation = _operations.get(key)
    if operation is None:
        operation = _operations[key] = Operation(primitive, avals, params)
    out = lazy.put_off(operation, arrays) if operation.joins else None
    if out is None:
        out = operation.run(arrays)
    return out if primitive.multiple_results else out[0]


def _concrete(value: Any) -> Any:
    """A concrete operand: an Array or a Ref."""
    if type(value) is Ref:
        return value
    if isinstance(value, Tracer):
        concrete = value.concrete()
        if concrete is None or value._trace.alive is False:
            raise errors.UnexpectedTracerError(value)
        value = concrete
    return to_array(value)


def run_jaxpr(jaxpr: Jaxpr, consts: list[Any], args: list[Any]) -> list[Any]:
    """The outputs of a jaxpr on concrete values, as one program."""
    arrays = [a if type(a) is Array else memory(_concrete(a)) for a in (*consts, *args)]
    return executable_for(jaxpr).run(arrays)


def clear() -> None:
    _operations.clear()
    lazy.programs.clear()


def program(jaxpr: Jaxpr) -> Callable[[list[Any]], list[Any]]:
    """A jaxpr that captures nothing as a function of concrete values."""
    name = jaxpr.debug_name or "the program"
    execute = placed_run(jaxpr, (None,) * len(jaxpr.invars), name)
    placed: dict[Shardings, Run] = {}

    def run(args: list[Any]) -> list[Any]:
        arrays = [a if type(a) is Array else memory(_concrete(a)) for a in args]
        shardings = shardings_of(arrays) if ShapedArray.any_placed() else None
        if shardings is None:
            return execute(arrays)
        if shardings not in placed:
            placed[shardings] = placed_run(jaxpr, shardings, name)
        return placed[shardings](arrays)

    return run


BaseTrace.evaluate = staticmethod(evaluate)
BaseTrace.to_array = staticmethod(to_array)
BaseTrace.compile = staticmethod(program)
