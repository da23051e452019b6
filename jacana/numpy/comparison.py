"""Whether arrays are equal, or nearly so."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.values import aval_of
from jacana.numpy.creation import array
from jacana.numpy.elementwise import (
    multiply,
    subtract,
)
from jacana.numpy.floats import isfinite, isnan
from jacana.numpy.logic import (
    equal,
    less_equal,
    logical_and,
    logical_or,
)
from jacana.numpy.promotion import (
    as_array,
    convert,
    kind_of,
    promote_args,
    promote_args_inexact,
)
from jacana.numpy.selection import where


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether |a - b| <= atol + rtol |b|; infinities are close to themselves only.

    >>> jnp.isclose(jnp.array([1.0, 1.1]), 1.0)
    Array([ True, False], dtype=bool)
    """
    x, y = promote_args("isclose", a, b)
    if kind_of(x) in ("bool", "int", "uint"):
        x, y = promote_args_inexact("isclose", x, y)
    rtol, atol = (convert(v, dtypes.real_dtype(aval_of(x).dtype)) for v in (rtol, atol))
    gap = ops.abs(subtract(x, y))
    near = less_equal(gap, ops.add(atol, multiply(rtol, ops.abs(y))))
    close = where(logical_and(isfinite(x), isfinite(y)), near, equal(x, y))
    return logical_or(close, logical_and(isnan(x), isnan(y))) if equal_nan else close


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    """Whether all elements are close, as isclose tells.

    >>> jnp.allclose(jnp.array([1.0]), 1.0 + 1e-7)
    Array(True, dtype=bool)
    """
    return _all(isclose(a, b, rtol, atol, equal_nan))


def _all(x: Any) -> Any:
    return ops.reduce_and(x, axes=tuple(range(np.ndim(x))))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether two arrays have one shape and equal elements.

    >>> jnp.array_equal(jnp.arange(3), jnp.arange(3))
    Array(True, dtype=bool)
    """
    x, y = _arrays(a1), _arrays(a2)
    if x.shape != y.shape:
        return as_array("array_equal", False)
    same = equal(x, y)
    if equal_nan:
        same = logical_or(same, logical_and(isnan(x), isnan(y)))
    return _all(same)


def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether two arrays broadcast to one shape and are equal there.

    >>> jnp.array_equiv(jnp.ones(3), 1)
    Array(True, dtype=bool)
    """
    x, y = _arrays(a1), _arrays(a2)
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return as_array("array_equiv", False)
    return _all(equal(x, y))


def _arrays(value: Any) -> Any:
    return array(value) if isinstance(value, list | tuple) else as_array("array_equal", value)
