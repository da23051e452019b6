"""What the distributions have in common: compiled programs, dtypes, shapes and parameters."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from jacana.api.jit import jit
from jacana.core import config, dtypes
from jacana.core.trace import Tracer, is_eager
from jacana.numpy.promotion import broadcast_to, check_operands, constant, convert
from jacana.random.keys import as_keys
from jacana.runtime.array import Array, to_array

Shape = tuple[int, ...]


class Program:
    """A function of a key and arrays, compiled once for each combination of its static arguments.

    Called as program(key, *arrays, **static); it gets the key as a typed one.
    """

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.__doc__ = function.__doc__
        self._compiled: dict[Any, Any] = {}

    def __call__(self, key: Any, *arrays: Any, **static: Any) -> Any:
        chosen = tuple(static.items())
        compiled = self._compiled.get(chosen)
        if compiled is None:
            compiled = self._compiled[chosen] = self._compile(static)
        return compiled(key, *arrays)

    def _compile(self, static: dict[str, Any]) -> Any:
        def run(key: Any, *arrays: Any) -> Any:
            return self.function(as_keys(key), *arrays, **static)

        run.__name__ = run.__qualname__ = self.function.__name__
        return jit(run)


def program(function: Callable[..., Any]) -> Program:
    """Decorator: the function as a Program."""
    return Program(function)


def float_dtype(dtype: Any, function: str, complex_too: bool = False) -> Any:
    """The floating-point dtype asked for (float by default); ValueError for others."""
    x64 = config.current().enable_x64
    found = dtypes.requested(float if dtype is None else dtype, x64, function)
    if dtypes.is_float(found) or complex_too and dtypes.is_complex(found):
        return found
    raise ValueError(
        f"dtype argument to `{function}` must be a float{' or complex' if complex_too else ''} "
        f"dtype, got {found}"
    )


def int_dtype(dtype: Any, function: str) -> Any:
    """The integer dtype asked for (int by default); ValueError for others."""
    x64 = config.current().enable_x64
    found = dtypes.requested(int if dtype is None else dtype, x64, function)
    if dtypes.is_integer(found):
        return found
    raise ValueError(f"dtype argument to `{function}` must be an int dtype, got {found}")


def literal(value: float, dtype: Any) -> Any:
    """A constant of a program, in its dtype."""
    return np.asarray(value).astype(dtype)[()]


def parameter(value: Any, dtype: Any, function: str) -> Any:
    """A distribution's parameter as an array of the dtype."""
    check_operands(function, value)
    return as_operand(convert(value, dtype))


def as_operand(value: Any) -> Any:
    """What a program is called with: in eager mode an array, which is kept for scalars."""
    if isinstance(value, Array | Tracer) or not is_eager():
        return value
    return to_array(value) if isinstance(value, np.ndarray) else constant(value, None)


def joint_shape(shape: Any, *parameters: Any) -> Shape:
    """The result's shape: the one given, or the parameters' own; ValueError if they do not fit."""
    shapes = [s for p in parameters if (s := np.shape(p))]
    if shape is None:
        return broadcast_shapes(*shapes)
    given = canonical_shape(shape)
    if shapes and broadcast_shapes(given, *shapes) != given:
        raise ValueError(
            f"the shape {given} is not what parameters of shapes {', '.join(map(str, shapes))} "
            f"broadcast to. Give a shape that holds them."
        )
    return given


def broadcast_shapes(*shapes: Shape) -> Shape:
    try:
        return tuple(np.broadcast_shapes(*shapes))
    except ValueError:
        raise ValueError(f"Incompatible shapes for broadcasting: shapes={list(shapes)}") from None


def batch_shape(shape: Any, batch: Shape) -> Shape:
    """The shape of a batch of vectors: the one given, or their own."""
    if shape is None:
        return batch
    given = canonical_shape(shape)
    if broadcast_shapes(given, batch) != given:
        raise ValueError(f"a batch of shape {batch} does not broadcast to the shape {given}")
    return given


def spread(value: Any, shape: Shape) -> Any:
    """A parameter of the result's shape; rank 0 serves every element as it is."""
    return value if np.ndim(value) == 0 else broadcast_to(value, shape)


def canonical_shape(shape: Any) -> Shape:
    """A shape given as an integer or a sequence of them."""
    if type(shape) is tuple and all(type(n) is int and n >= 0 for n in shape):
        return shape
    try:
        if np.ndim(shape) == 0:
            found: Shape = (operator.index(shape),)
        else:
            found = tuple([operator.index(n) for n in shape])
    except TypeError:
        raise TypeError(
            f"Shapes must be 1D sequences of concrete values of integer type, got {shape!r}. "
            f"Shapes must be known when a function is traced."
        ) from None
    if any(n < 0 for n in found):
        raise ValueError(f"a shape has no negative sizes, got {found}.")
    return found


def is_given(value: Any, number: float) -> bool:
    """Whether a parameter is this Python number."""
    return isinstance(value, int | float) and value == number
