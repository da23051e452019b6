"""How elementwise functions apply a primitive: to operands of shapes that agree or are 1."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.core.errors import NotAnArrayError
from jacana.core.values import is_array_like


def check(function: str, *xs: Any) -> None:
    """Raise TypeError for what is neither array nor scalar: lists are not converted."""
    for i, x in enumerate(xs):
        if not is_array_like(x):
            raise NotAnArrayError(x, f"lax.{function}", str(i))


def unary(primitive: Any, x: Any, **params: Any) -> Any:
    """The primitive of an operand that is checked to be an array."""
    check(primitive.name, x)
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
