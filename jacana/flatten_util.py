"""ravel_pytree: a pytree of arrays as one vector, and back."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana.core import dtypes, tree
from jacana.core.values import aval_of


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """A vector of all elements of a pytree's arrays, and the function that makes the pytree of one.

    Arrays of different dtypes are promoted to a common one, and converted back. TypeError or
    ValueError of that function for a vector of another dtype or size.

    >>> vector, unravel = ravel_pytree({"a": np.float32([1, 2]), "b": np.float32(3)})
    >>> vector.tolist()
    [1.0, 2.0, 3.0]
    >>> unravel(vector * 2)["b"]
    Array(6., dtype=float32)
    """
    leaves, structure = tree.flatten(pytree)
    vector, unravel = ravel_leaves(leaves)
    return vector, lambda flat: structure.unflatten(unravel(flat))


def ravel_leaves(leaves: list[Any]) -> tuple[Any, Callable[[Any], list[Any]]]:
    if not leaves:
        return jnp.zeros(0), lambda flat: []
    avals = [aval_of(x) for x in leaves]
    dtype = jnp.result_type(*leaves)
    vector = jnp.concatenate([jnp.ravel(x).astype(dtype) for x in leaves])
    ends = np.cumsum([math.prod(a.shape) for a in avals]).tolist()

    def unravel(flat: Any) -> list[Any]:
        found = aval_of(flat)
        if found.shape != (ends[-1],):
            raise ValueError(
                f"The unravel function given by `ravel_pytree` called on an array of shape "
                f"{found.shape}, but expected shape {(ends[-1],)}."
            )
        if found.dtype != dtype:
            raise TypeError(
                f"unravel function given array of dtype {dtypes.name(found.dtype)}, but expected "
                f"dtype {dtypes.name(dtype)}. Convert it first."
            )
        starts = [0, *ends[:-1]]
        parts = [flat[i:j] for i, j in zip(starts, ends)]
        return [jnp.reshape(p, a.shape).astype(a.dtype) for p, a in zip(parts, avals)]

    return vector, unravel
