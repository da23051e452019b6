"""standardize and one_hot."""

import operator
from typing import Any

import jacana.numpy as jnp
from jacana import lax
from jacana.core import config, dtypes
from jacana.nn.programs import Program, given, static_axes
from jacana.numpy.promotion import as_array, normalized_axis, promote_args_inexact


def standardize(
    x: Any,
    axis: Any = -1,
    mean: Any = None,
    variance: Any = None,
    epsilon: Any = 1e-5,
    where: Any = None,
    *,
    algorithm: str = "fast",
) -> Any:
    """(x - mean) / sqrt(variance + epsilon), of moments along an axis or several.

    Args:
      x: floats, or integers, which become floats.
      axis: the axes that moments are taken over.
      mean: the mean to use instead, broadcast against x.
      variance: the variance to use instead, broadcast against x.
      epsilon: what keeps a small variance from dividing.
      where: the elements that the moments are taken of.
      algorithm: "fast" or "stable"; both take the variance from the mean, which is stable.

    >>> import numpy as np
    >>> standardize(np.float32([1, 2, 3]))
    Array([-1.2247356,  0.       ,  1.2247356], dtype=float32)
    """
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"Unknown algorithm {algorithm!r}. Expected 'fast' or 'stable'.")
    return _standardize(x, epsilon, *given(mean, variance, where), axis=static_axes(axis))


@Program
def _standardize(
    x: Any,
    epsilon: Any,
    mean: Any = None,
    variance: Any = None,
    where: Any = None,
    *,
    axis: Any,
) -> Any:
    x = as_array("standardize", promote_args_inexact("standardize", x)[0])
    if mean is None:
        mean = jnp.mean(x, axis, keepdims=True, where=where)
    if variance is None:
        variance = jnp.mean(jnp.square(x - mean), axis, keepdims=True, where=where)
    (spread,) = promote_args_inexact("standardize", variance + epsilon)
    return jnp.multiply(x - mean, lax.rsqrt(spread))


def one_hot(x: Any, num_classes: Any, *, dtype: Any = None, axis: int = -1) -> Any:
    """For each integer in x a vector, along a new axis, that is 1 there and 0 elsewhere.

    Numbers outside 0 .. num_classes - 1 give zeros. dtype: float by default.

    >>> import numpy as np
    >>> one_hot(np.array([0, 2, 5]), 3)
    Array([[1., 0., 0.],
           [0., 0., 1.],
           [0., 0., 0.]], dtype=float32)
    """
    x = jnp.asarray(x)
    place = normalized_axis(axis, x.ndim + 1)
    count = operator.index(num_classes)
    if count < 0:
        raise TypeError(f"one_hot needs num_classes that is not negative, got {count}.")
    wanted = dtypes.requested(
        float if dtype is None else dtype, config.current().enable_x64, "one_hot"
    )
    return _one_hot(x, axis=place, num_classes=count, dtype=wanted)


@Program
def _one_hot(x: Any, *, axis: int, num_classes: int, dtype: Any) -> Any:
    shape = tuple(num_classes if d == axis else 1 for d in range(x.ndim + 1))
    classes = jnp.reshape(jnp.arange(num_classes, dtype=x.dtype), shape)
    return jnp.equal(jnp.expand_dims(x, axis), classes).astype(dtype)
