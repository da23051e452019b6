"""Programs derived from programs: each is made once, and kept on the one it comes from.

An operation outside of any jaxpr is transformed through a program of one equation, so that its
rules run once for each kind of operands, and one compiled program does what they ask for.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from jacana.core import config
from jacana.core.avals import ShapedArray
from jacana.core.evaluate import evaluate
from jacana.core.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var, operation_key
from jacana.core.primitive import Primitive
from jacana.core.stage import stage
from jacana.core.trace import BaseTrace

Made = TypeVar("Made")

# How many kinds of operations have their transformed programs kept.
LIMIT = 4096


def kept(jaxpr: Jaxpr, key: Any, make: Callable[[], Made]) -> Made:
    """What `make` gives, made once for a program and a key."""
    found: Made | None = jaxpr.derived.get(key)
    if found is None:
        found = jaxpr.derived[key] = make()
    return found


def evaluated(jaxpr: Jaxpr) -> Callable[..., list[Any]]:
    """A program that captures nothing, as a function."""
    return lambda *args: evaluate(jaxpr, (), args)


def closed(function: Callable[..., list[Any]], avals: Sequence[ShapedArray]) -> ClosedJaxpr:
    """The program of a flat function."""
    return ClosedJaxpr(*stage(function, avals))


class Runner:
    """A program that runs at once on concrete values."""

    __slots__ = ("_consts", "_run")

    def __init__(self, program: ClosedJaxpr):
        self._consts = program.consts
        self._run = BaseTrace.compile(program.jaxpr.with_constvars_as_inputs())

    def __call__(self, args: list[Any]) -> list[Any]:
        return self._run([*self._consts, *args] if self._consts else args)


def one_equation(
    primitive: Primitive, avals: Sequence[ShapedArray], params: dict[str, Any]
) -> Jaxpr:
    """The program of one operation on operands of these types."""
    invars = [Var(a) for a in avals]
    out = primitive.type_rule(*avals, **params)
    outvars = [Var(a) for a in (out if primitive.multiple_results else [out])]
    return Jaxpr([], invars, outvars, [JaxprEqn(invars, outvars, primitive, params)])


class Cache:
    """What was made for kinds of operations; it forgets all when there are very many."""

    __slots__ = ("_found", "_make")

    def __init__(self, make: Callable[..., Any]):
        self._found: dict[Any, Any] = {}
        self._make = make
        caches.append(self)

    def get(
        self, primitive: Primitive, avals: tuple[ShapedArray, ...], params: dict[str, Any], how: Any
    ) -> Any:
        """make(primitive, avals, params, how), made once under the current settings."""
        items = operation_key(params) if params else ()
        key = (primitive, avals, items, how, config.current().traced)
        found = self._found.get(key)
        if found is None:
            found = self._make(primitive, avals, params, how)
            if len(self._found) >= LIMIT:
                self._found.clear()
            self._found[key] = found
        return found

    def clear(self) -> None:
        self._found.clear()


caches: list[Cache] = []
