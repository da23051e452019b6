"""Windows for signals: bartlett, blackman, hamming, hanning, kaiser."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.core import config, dtypes
from jacana.numpy.creation import ones
from jacana.numpy.elementwise import (
    divide,
    i0,
    multiply,
    sqrt,
    subtract,
)
from jacana.numpy.promotion import as_array, canonical_shape, literal
from jacana.numpy.trigonometric import (
    cos,
)


def _phase(M: int) -> Any:
    """The index divided by M - 1."""
    dtype = dtypes.python_scalar_dtype(float, config.current().enable_x64)
    n = ops.iota(dtype=dtype, shape=canonical_shape(M), dimension=0)
    return ops.div(n, literal(M - 1, n))


def _cosine(phase: Any, times: int) -> Any:
    return cos(ops.mul(phase, literal(2 * np.pi * times, phase)))


def bartlett(M: int) -> Any:
    """The triangular window of M points.

    >>> jnp.bartlett(3)
    Array([0., 1., 0.], dtype=float32)
    """
    if M <= 1:
        return ones(canonical_shape(M))
    phase = _phase(M)
    return subtract(1, ops.abs(subtract(ops.mul(phase, literal(2, phase)), 1)))


def blackman(M: int) -> Any:
    """0.42 - 0.5 cos(2 pi n / (M - 1)) + 0.08 cos(4 pi n / (M - 1)).

    >>> jnp.blackman(3).round(2)
    Array([-0.,  1., -0.], dtype=float32)
    """
    if M <= 1:
        return ones(canonical_shape(M))
    phase = _phase(M)
    first = subtract(0.42, multiply(0.5, _cosine(phase, 1)))
    return ops.add(first, multiply(0.08, _cosine(phase, 2)))


def hamming(M: int) -> Any:
    """0.54 - 0.46 cos(2 pi n / (M - 1)).

    >>> jnp.hamming(3)
    Array([0.08000001, 1.        , 0.08000001], dtype=float32)
    """
    if M <= 1:
        return ones(canonical_shape(M))
    return subtract(0.54, multiply(0.46, _cosine(_phase(M), 1)))


def hanning(M: int) -> Any:
    """0.5 - 0.5 cos(2 pi n / (M - 1)).

    >>> jnp.hanning(3)
    Array([0., 1., 0.], dtype=float32)
    """
    if M <= 1:
        return ones(canonical_shape(M))
    return subtract(0.5, multiply(0.5, _cosine(_phase(M), 1)))


def kaiser(M: int, beta: Any) -> Any:
    """i0(beta sqrt(1 - t**2)) / i0(beta) for t from -1 to 1.

    >>> jnp.kaiser(3, 0.0)
    Array([1., 1., 1.], dtype=float32)
    """
    if M <= 1:
        return ones(canonical_shape(M))
    phase = _phase(M)
    t = subtract(multiply(2, phase), 1)
    beta = as_array("kaiser", beta)
    return divide(i0(multiply(beta, sqrt(subtract(1, ops.square(t))))), i0(beta))
