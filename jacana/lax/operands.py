"""What operands of lax functions become: arrays and tracers; sizes and axes as Python integers."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import config, dtypes
from jacana.core.errors import NotAnArrayError, TracerIntegerConversionError
from jacana.core.trace import Tracer
from jacana.core.values import is_array_like
from jacana.runtime.array import Array, to_array


def as_array(function: str, x: Any, position: int = 0) -> Any:
    """x as an array or tracer; TypeError for lists and all that is no array or number."""
    if type(x) is Array or isinstance(x, Tracer):
        return x
    if not is_array_like(x):
        raise NotAnArrayError(x, f"lax.{function}", str(position))
    return to_array(x)


def operand(function: str, x: Any, position: int = 0) -> Any:
    """x as an operand: a number stays one, so that programs hold it as a literal."""
    if not is_array_like(x):
        raise NotAnArrayError(x, f"lax.{function}", str(position))
    return x


def integers(function: str, what: str, values: Any) -> tuple[int, ...]:
    """A sequence of sizes, axes or the like as Python integers."""
    try:
        return tuple([operator.index(v) for v in values])
    except TracerIntegerConversionError:
        raise
    except TypeError:
        raise TypeError(
            f"lax.{function} needs {what} to be a sequence of integers, got {values!r}."
        ) from None


def sizes(function: str, shape: Any) -> tuple[int, ...]:
    """A shape: integers that are not negative."""
    found = integers(function, "shape", shape)
    if any(n < 0 for n in found):
        raise TypeError(
            f"lax.{function}: shape must have every element be nonnegative, got {found}."
        )
    return found


def axis_of(axis: Any, rank: int) -> int:
    """The axis counted from the front; ValueError if there is none such."""
    found = operator.index(axis)
    if not -rank <= found < rank:
        raise ValueError(f"axis {found} is out of bounds for array of dimension {rank}")
    return found % rank


def axes_of(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    return tuple([axis_of(a, rank) for a in axes])


def requested_dtype(function: str, dtype: Any) -> Any:
    """The dtype that a user asked for, in the widths that the configuration has."""
    return dtypes.requested(dtype, config.current().enable_x64, function)


# --- elementwise functions ------------------------------------------------------------------------


def check(function: str, *xs: Any) -> None:
    """Raise TypeError for what is neither array nor scalar: lists are not converted."""
    for i, x in enumerate(xs):
        operand(function, x, i)


def unary(primitive: Any, x: Any, **params: Any) -> Any:
    """The primitive of an operand that is checked to be an array."""
    operand(primitive.name, x)
    return primitive(x, **params)


def nary(primitive: Any, *xs: Any) -> Any:
    """The primitive of operands whose axes of extent 1 are repeated to match."""
    check(primitive.name, *xs)
    shapes = {np.shape(x) for x in xs} - {()}
    if len(shapes) <= 1:
        return primitive(*xs)
    if len({len(s) for s in shapes}) > 1:
        ranks = sorted({len(s) for s in shapes})
        raise TypeError(
            f"{primitive.name}: arrays must have the same number of dimensions, got "
            f"{', '.join(map(str, ranks))}. Reshape one first, or use the jnp function, which "
            f"broadcasts."
        )
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        return primitive(*xs)  # its type rule says what does not fit
    return primitive(*[_repeated(x, shape) for x in xs])


def _repeated(x: Any, shape: tuple[int, ...]) -> Any:
    if np.shape(x) in ((), shape):
        return x
    dims = tuple(range(len(shape)))
    return ops.broadcast_in_dim(x, shape=shape, broadcast_dimensions=dims)
