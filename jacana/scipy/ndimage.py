"""jax.scipy.ndimage: map_coordinates."""

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jacana.numpy as jnp
from jacana.core import dtypes
from jacana.numpy.promotion import as_array

Index = Callable[[Any, int], Any]


def mirrored(index: Any, size: int) -> Any:
    """Indices reflected about the centres of the first and last samples."""
    period = max(2 * (size - 1), 1)
    folded = jnp.remainder(index, period)
    return jnp.minimum(folded, period - folded) if size > 1 else 0 * index


def reflected(index: Any, size: int) -> Any:
    """Indices reflected about the outer edges of the first and last samples."""
    folded = jnp.remainder(index, 2 * size)
    return jnp.minimum(folded, 2 * size - 1 - folded)


MODES: dict[str, Index] = {
    "constant": lambda index, size: index,
    "nearest": lambda index, size: jnp.clip(index, 0, size - 1),
    "wrap": lambda index, size: jnp.remainder(index, size),
    "mirror": mirrored,
    "reflect": reflected,
}


def neighbours(coordinate: Any, order: int) -> list[tuple[Any, Any]]:
    """The samples that a coordinate is made of, and their weights."""
    if order == 0:
        return [(jnp.round(coordinate).astype(int), 1)]
    below = jnp.floor(coordinate)
    above = coordinate - below
    index = below.astype(int)
    return [(index, 1 - above), (index + 1, above)]


def map_coordinates(
    input: Any, coordinates: Sequence[Any], order: int, mode: str = "constant", cval: Any = 0.0
) -> Any:
    """The input's values at coordinates between its samples.

    Args:
      input: an array.
      coordinates: one array for each axis of the input, which broadcast against each other.
      order: 0 for the nearest sample, 1 for linear interpolation. NotImplementedError for others.
      mode: what is outside: "constant" (cval), "nearest", "wrap", "mirror" or "reflect".
      cval: the constant.

    >>> import numpy as np
    >>> map_coordinates(np.float32([0, 10, 20]), [np.float32([0.5, 2])], order=1)
    Array([ 5., 20.], dtype=float32)
    """
    x = as_array("map_coordinates", input)
    places = [as_array("map_coordinates", c) for c in coordinates]
    if len(places) != x.ndim:
        raise ValueError(
            f"coordinates must be a sequence of length input.ndim, but {len(places)} != {x.ndim}"
        )
    if mode not in MODES:
        raise NotImplementedError(
            f"jax.scipy.ndimage.map_coordinates does not yet support mode {mode}. Currently "
            f"supported modes are {set(MODES)}."
        )
    if order not in (0, 1):
        raise NotImplementedError("jax.scipy.ndimage.map_coordinates currently requires order<=1")
    fill = jnp.asarray(cval, x.dtype)
    parts = []
    for choice in itertools.product(*[neighbours(c, order) for c in places]):
        indices = [MODES[mode](i, n) for (i, _), n in zip(choice, x.shape)]
        inside = [(i >= 0) & (i < n) for i, n in zip(indices, x.shape)]
        safe = tuple(jnp.clip(i, 0, n - 1) for i, n in zip(indices, x.shape))
        value = jnp.where(functools.reduce(operator.and_, inside, True), x[safe], fill)
        parts.append(functools.reduce(operator.mul, [w for _, w in choice], value))
    total = functools.reduce(operator.add, parts)
    if dtypes.is_integer(x.dtype):
        total = jnp.round(total) if order else total
    return total.astype(x.dtype)
