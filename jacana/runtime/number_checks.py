"""debug_nans and debug_infs: results are looked at, and the operation that made a bad one is found.

Nothing is looked at, and nothing costs time, until one of the two is first asked for.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana.core import config, dtypes
from jacana.core.jaxpr import Jaxpr, Literal, Var
from jacana.core.primitive import Primitive
from jacana.core.source import user_source
from jacana.core.trace import BaseTrace
from jacana.runtime.array import Array
from jacana.runtime.executable import Executable

# How an operation and a program ran before results were looked at.
_plain: list[Any] = []


def install() -> None:
    """From now on un-jitted operations look at the settings after they have run."""
    if not _plain:
        _plain[:] = [BaseTrace.evaluate, BaseTrace.compile]
        BaseTrace.evaluate = staticmethod(evaluate)
        BaseTrace.compile = staticmethod(program)


def is_on() -> bool:
    settings = config.current()
    return settings.debug_nans or settings.debug_infs


def problem(values: Sequence[Any]) -> str | None:
    """What is wrong with one of the values, as far as the settings ask; None if nothing is."""
    settings = config.current()
    for x in values:
        if type(x) is not Array or not dtypes.is_differentiable(x.dtype):
            continue
        array = np.asarray(x)
        if not dtypes.is_complex(x.dtype) and array.dtype.itemsize < 4:
            array = array.astype(np.float32)
        if settings.debug_nans and np.isnan(array).any():
            return "nan"
        if settings.debug_infs and np.isinf(array).any():
            return "inf"
    return None


def error(found: str, operation: str, source: Any) -> FloatingPointError:
    where = f" at {source}" if source is not None else ""
    setting = "jax_debug_nans" if found == "nan" else "jax_debug_infs"
    return FloatingPointError(
        f"invalid value ({found}) encountered in {operation}{where}. It is looked for because "
        f"{setting} is on."
    )


def evaluate(primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """The primitive's output on concrete operands, looked at if the settings ask for it."""
    out = _plain[0](primitive, args, params)
    if is_on():
        found = problem(out if primitive.multiple_results else [out])
        if found is not None:
            callee = primitive.callee(params)
            if callee is not None:
                trace_back(callee, args)
            raise error(found, primitive.name, user_source())
    return out


def program(jaxpr: Jaxpr) -> Callable[[list[Any]], list[Any]]:
    """A jaxpr that captures nothing as a function of concrete values, whose results are checked."""
    run = _plain[1](jaxpr)

    def checked(args: list[Any]) -> list[Any]:
        outs: list[Any] = run(args)
        if is_on():
            check(outs, jaxpr, args)
        return outs

    return checked


def check(outs: Sequence[Any], jaxpr: Jaxpr, args: Sequence[Any]) -> None:
    """Raise what is wrong with the outputs of a program, naming the operation and its line."""
    found = problem(outs)
    if found is not None:
        trace_back(jaxpr, args)
        raise error(found, jaxpr.debug_name or "a compiled program", user_source())


def trace_back(jaxpr: Jaxpr, args: Sequence[Any]) -> list[Any]:
    """Run a program operation by operation, up to the one whose result is bad, and raise."""
    install()
    values: dict[Var, Any] = dict(zip((*jaxpr.constvars, *jaxpr.invars), args, strict=True))
    for eqn in jaxpr.eqns:
        operands = [a.val if isinstance(a, Literal) else values[a] for a in eqn.invars]
        callee = eqn.primitive.callee(eqn.params)
        if callee is not None:
            outs = trace_back(callee, operands)
        else:
            made = _plain[0](eqn.primitive, tuple(operands), eqn.params)
            outs = made if eqn.primitive.multiple_results else [made]
            found = problem(outs)
            if found is not None:
                raise error(found, eqn.primitive.name, eqn.source)
        values.update(zip(eqn.outvars, outs, strict=True))
    return [a.val if isinstance(a, Literal) else values[a] for a in jaxpr.outvars]


class CheckedExecutable:
    """An executable whose results are looked at."""

    __slots__ = ("_jaxpr", "executable")

    def __init__(self, executable: Executable, jaxpr: Jaxpr):
        self.executable, self._jaxpr = executable, jaxpr

    def run(self, arrays: list[Array]) -> list[Any]:
        outs = self.executable.run(arrays)
        check(outs, self._jaxpr, arrays)
        return outs


def checking(executable: Executable, jaxpr: Jaxpr) -> Any:
    """The executable, whose results are looked at if the settings, which jit's keys hold, ask."""
    return CheckedExecutable(executable, jaxpr) if is_on() else executable


if is_on():
    install()
