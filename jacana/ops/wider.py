"""How references compute with NumPy: approximated functions in a wider type, rounded once."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from jacana.core import dtypes

_WIDER = {
    dtypes.float64: np.dtype(np.longdouble),
    dtypes.complex64: np.dtype(np.complex128), dtypes.complex128: np.dtype(np.clongdouble),
}  # fmt: skip

_BYTES = {
    np.dtype(ml_dtypes.int2): np.dtype(np.int8), np.dtype(ml_dtypes.uint2): np.dtype(np.uint8),
    np.dtype(ml_dtypes.int4): np.dtype(np.int8), np.dtype(ml_dtypes.uint4): np.dtype(np.uint8),
}  # fmt: skip


def wider(x: Any) -> Any:
    """The values in the next wider type (float64 for all narrower ones)."""
    return x.astype(_WIDER.get(x.dtype, np.float64))


def in_wider(f: Callable[..., Any], *xs: Any) -> Any:
    """f of the operands, computed in a wider type than theirs and rounded to it."""
    return np.asarray(f(*[wider(x) for x in xs])).astype(xs[0].dtype)


def in_float64(f: Callable[..., Any], *xs: Any) -> Any:
    """f of the operands, computed in float64 at most: for functions that know no wider type."""
    return np.asarray(f(*[x.astype(np.float64) for x in xs])).astype(xs[0].dtype)


def in_own_type(f: Callable[..., Any], *xs: Any) -> Any:
    """f of the operands in their own type; integers of less than eight bits in eight, modulo."""
    if xs[0].dtype not in _BYTES:
        return np.asarray(f(*xs))
    made = np.asarray(f(*[x.astype(_BYTES[x.dtype]) for x in xs]))
    return made if made.dtype == np.bool_ else made.astype(xs[0].dtype)
