"""Functions compiled once for each choice of their static arguments."""

from collections.abc import Callable
from typing import Any

from jacana.api.jit import jit, static_key


class Program:
    """A function of arrays and of named static arguments; each choice of these is one program.

    Called as program(*arrays, **static). Which program it is costs a dictionary look-up, so that a
    call on arrays seen before is as quick as that of a jitted function without static arguments.
    """

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self._compiled: dict[Any, Any] = {}

    def __call__(self, *arrays: Any, **static: Any) -> Any:
        key = static_key(tuple(static.items()))
        compiled = self._compiled.get(key)
        if compiled is None:
            compiled = self._compiled[key] = self._compile(static)
        return compiled(*arrays)

    def _compile(self, static: dict[str, Any]) -> Any:
        def run(*arrays: Any) -> Any:
            return self.function(*arrays, **static)

        run.__name__ = run.__qualname__ = self.__name__.lstrip("_")
        return jit(run)


def static_axes(axis: Any) -> Any:
    """Axes as they stand in programs: None, a number or a tuple."""
    return tuple(axis) if isinstance(axis, list) else axis


def given(*arrays: Any) -> list[Any]:
    """Optional arrays without the Nones at the end, which programs take as defaults."""
    found = list(arrays)
    while found and found[-1] is None:
        found.pop()
    return found
