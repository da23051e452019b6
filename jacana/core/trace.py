"""Traces and tracers: who interprets a primitive, decided by the thread's current trace.

Tracing is stackless: `Primitive.bind` asks the current trace alone. A transformation's trace keeps
its parent and hands on what does not concern it; at the bottom the base trace runs the operation.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from jacana.core import errors
from jacana.core.avals import ShapedArray
from jacana.core.source import Source

if TYPE_CHECKING:
    from jacana.core.jaxpr import Jaxpr
    from jacana.core.primitive import Primitive


class Trace:
    """Interprets primitives. `alive` ends with the transformation: a tracer used later leaked."""

    __slots__ = ("alive", "__weakref__")

    def __init__(self) -> None:
        self.alive = True

    @property
    def main(self) -> "Trace":
        """The trace: libraries compare it by JAX's older name for its identity."""
        return self

    def process(self, primitive: "Primitive", args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        """The primitive's output (a list where it has multiple results)."""
        raise NotImplementedError


class Tracer:
    """An abstract array: stands for a value while a function is traced."""

    __slots__ = ("_trace", "aval", "__weakref__")
    __array_priority__ = 1000
    _trace: Trace
    aval: ShapedArray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    @property
    def weak_type(self) -> bool:
        return self.aval.weak_type

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        return self.aval.size

    def origin(self) -> Source | None:
        """The user's line that made the value, where it is known."""
        return None

    def arguments(self) -> str:
        """The arguments of the traced function that the value depends on, where they are known."""
        return ""

    def concrete(self) -> Any:
        """The concrete array behind the tracer, or None: un-jitted jvp and grad have one."""
        return None

    def _concretize(self, error: Callable[["Tracer"], Exception]) -> Any:
        if not self._trace.alive:
            raise errors.UnexpectedTracerError(self)
        value = self.concrete()
        if value is None:
            raise error(self)
        return value

    def __bool__(self) -> bool:
        return bool(self._concretize(errors.TracerBoolConversionError))

    def __int__(self) -> int:
        return int(self._concretize(errors.TracerIntegerConversionError.of_int))

    def __index__(self) -> int:
        value = self._concretize(errors.TracerIntegerConversionError)
        return value.__index__()  # type: ignore[no-any-return]

    def __float__(self) -> float:
        return float(self._concretize(errors.ConcretizationTypeError.of_float))

    def __complex__(self) -> complex:
        return complex(self._concretize(errors.ConcretizationTypeError.of_complex))

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        return format(self._concretize(errors.ConcretizationTypeError.of_format), spec)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._trace.alive:
            raise errors.UnexpectedTracerError(self)
        raise errors.TracerArrayConversionError(self)

    def item(self) -> Any:
        value = self._concretize(errors.ConcretizationTypeError.of_item)
        return value.item() if hasattr(value, "item") else value

    def tolist(self) -> Any:
        value = self._concretize(errors.ConcretizationTypeError.of_tolist)
        return value.tolist() if hasattr(value, "tolist") else value

    def __hash__(self) -> int:
        raise TypeError(
            f"unhashable type: {type(self).__name__!r}. A traced array has no value yet to be the "
            f"key of a dict, the member of a set or a static argument."
        )

    def __len__(self) -> int:
        if not self.aval.shape:
            raise TypeError("len() of unsized object")
        return self.aval.shape[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.aval})"

    def block_until_ready(self) -> "Tracer":
        return self


class RefTracer(Tracer):
    """An abstract reference to an array: stands for one while a function is traced."""

    __slots__ = ()


class _State(threading.local):
    trace: Trace


class BaseTrace(Trace):
    """The bottom: runs each operation at once. `runtime.dispatch` installs how."""

    __slots__ = ()
    evaluate: Callable[["Primitive", tuple[Any, ...], dict[str, Any]], Any]
    # A concrete value as what operations give.
    to_array: Callable[[Any], Any]
    # A program that captures nothing as a function of concrete values.
    compile: Callable[["Jaxpr"], Callable[[list[Any]], list[Any]]]

    def process(self, primitive: "Primitive", args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return BaseTrace.evaluate(primitive, args, params)


base_trace = BaseTrace()
_State.trace = base_trace
_state = _State()


class ConcreteTrace(Trace):
    """Runs operations on concrete values at once while a function is traced.

    Those on traced values are its parent's.
    """

    __slots__ = ("parent",)

    def __init__(self, parent: Trace):
        super().__init__()
        self.parent = parent

    def receiver(self, args: Sequence[Any]) -> Trace:
        """The trace that an operation on these operands is for."""
        return self.parent if any(isinstance(x, Tracer) for x in args) else base_trace

    def process(self, primitive: "Primitive", args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        return self.receiver(args).process(primitive, args, params)


def current() -> Trace:
    return _state.trace


@contextmanager
def set_current(trace: Trace) -> Iterator[None]:
    """`with set_current(trace):` binds primitives to it; the previous trace returns after."""
    previous = _state.trace
    _state.trace = trace
    try:
        yield
    finally:
        _state.trace = previous


def swap_current(trace: Trace) -> Trace:
    """Make `trace` current and return the one that was; for hot paths, in try/finally."""
    previous = _state.trace
    _state.trace = trace
    return previous


def is_eager() -> bool:
    """Whether operations on concrete arrays run at once."""
    return _state.trace is base_trace
