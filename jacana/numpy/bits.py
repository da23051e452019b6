"""Booleans as the bits of bytes: packbits, unpackbits."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.numpy.logic import (
    bitwise_and,
    left_shift,
    right_shift,
)
from jacana.numpy.manipulation import moveaxis, reshape
from jacana.numpy.promotion import as_array, convert, literal, normalized_axis
from jacana.numpy.reductions import sum as sum_of
from jacana.numpy.selection import as_condition


def _places(bitorder: str) -> Any:
    """How far each bit of a byte is shifted, in the order in which they are listed."""
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    shifts = np.arange(8, dtype=np.uint8)
    return as_array("packbits", shifts[::-1].copy() if bitorder == "big" else shifts)


def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Any:
    """Booleans (or whether numbers are nonzero), eight to a byte, the last byte filled with 0.

    >>> jnp.packbits(jnp.array([1, 0, 1], bool))
    Array([160], dtype=uint8)
    """
    x = as_array("packbits", a)
    if not (dtypes.is_integer(x.dtype) or dtypes.is_bool(x.dtype)):
        raise TypeError("Expected an input array of integer or boolean data type")
    places = _places(bitorder)
    if axis is None:
        x, axis = reshape(x, (x.size,)), 0
    d = normalized_axis(axis, x.ndim)
    x = convert(moveaxis(as_condition(x), d, -1), dtypes.uint8)
    missing = -x.shape[-1] % 8
    config = tuple((0, missing if k == x.ndim - 1 else 0, 0) for k in range(x.ndim))
    x = ops.pad(x, literal(0, x), padding_config=config)
    x = reshape(x, (*x.shape[:-1], x.shape[-1] // 8, 8))
    packed = sum_of(left_shift(x, places), -1, dtype=dtypes.uint8)
    return moveaxis(packed, -1, d)


def unpackbits(
    a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Any:
    """The bits of bytes, each as a byte of 0 or 1; `count` of them.

    >>> jnp.unpackbits(jnp.array([5], jnp.uint8))
    Array([0, 0, 0, 0, 0, 1, 0, 1], dtype=uint8)
    """
    x = as_array("unpackbits", a)
    if x.dtype != dtypes.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    places = _places(bitorder)
    if axis is None:
        x, axis = reshape(x, (x.size,)), 0
    d = normalized_axis(axis, x.ndim)
    x = moveaxis(x, d, -1)
    bits = bitwise_and(right_shift(reshape(x, (*x.shape, 1)), places), np.uint8(1))
    bits = reshape(bits, (*x.shape[:-1], 8 * x.shape[-1]))
    if count is not None:
        n = bits.shape[-1]
        last = count if count >= 0 else n + count
        config = tuple((0, last - n if k == bits.ndim - 1 else 0, 0) for k in range(bits.ndim))
        bits = ops.pad(bits, literal(0, bits), padding_config=config)
    return moveaxis(bits, -1, d)
