"""What programs import from `jax.extend.linear_util`: functions with transformations around them.

A transformation is a generator: it yields the arguments of the function, is sent its result, and
yields its own.
"""

from collections.abc import Callable
from typing import Any


class StoreException(Exception):
    """A value was asked for before there was one, or set twice."""


class Store:
    """A value that a transformation gives besides the result, once it has run."""

    def __init__(self) -> None:
        self._values: list[Any] = []

    def store(self, value: Any) -> None:
        self._values[:] = [value]

    def __call__(self) -> Any:
        if not self._values:
            raise StoreException("the function that gives this value was not called yet")
        return self._values[0]


class WrappedFun:
    """A function with fixed keyword arguments; `call_wrapped` runs it."""

    def __init__(self, f: Callable[..., Any], params: dict[str, Any]):
        self.f, self.params = f, params
        self.__name__ = getattr(f, "__name__", "<unnamed wrapped function>")

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result."""
        return self.f(*args, **{**self.params, **kwargs})


def wrap_init(
    f: Callable[..., Any], params: dict[str, Any] | None = None, *, debug_info: Any = None
) -> WrappedFun:
    """The function, for transformations."""
    return WrappedFun(f, params or {})


def transformation(gen: Callable[..., Any], fun: WrappedFun | None = None, *given: Any) -> Any:
    """The function inside of a generator gen(*given, *args)."""
    if fun is None:
        return lambda f, *rest: transformation(gen, f, *rest)

    def run(*args: Any, **kwargs: Any) -> Any:
        steps = gen(*given, *args, **kwargs)
        inner_args, inner_kwargs = next(steps)
        return steps.send(fun.call_wrapped(*inner_args, **inner_kwargs))

    return WrappedFun(run, {})


def transformation_with_aux(
    gen: Callable[..., Any], fun: WrappedFun | None = None, *given: Any
) -> Any:
    """As transformation, of a generator that yields a pair; the second is for who asks for it."""
    if fun is None:
        return lambda f, *rest: transformation_with_aux(gen, f, *rest)
    store = Store()

    def run(*args: Any, **kwargs: Any) -> Any:
        steps = gen(*given, *args, **kwargs)
        inner_args, inner_kwargs = next(steps)
        out, aux = steps.send(fun.call_wrapped(*inner_args, **inner_kwargs))
        store.store(aux)
        return out

    return WrappedFun(run, {}), store
