"""Matrices as operands: floating point, checked for their shape."""

from typing import Any

from jacana import ops
from jacana.core import dtypes
from jacana.core.values import aval_of
from jacana.numpy.promotion import as_array, check_operands, promote_inexact


def inexact(function: str, *xs: Any) -> list[Any]:
    """The operands as arrays of one floating-point dtype; TypeError for lists."""
    check_operands(f"jnp.linalg.{function}", *xs)
    return promote_inexact(*[as_array(f"jnp.linalg.{function}", x) for x in xs])


def matrix(function: str, x: Any) -> Any:
    """The operand as [..., m, n] of floating point."""
    (x,) = inexact(function, x)
    if x.ndim < 2:
        raise ValueError(f"Argument to {function} must have shape [..., m, n], got {x.shape}.")
    return strong(x)


def square(function: str, x: Any) -> Any:
    """The operand as [..., n, n] of floating point."""
    (x,) = inexact(function, x)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"Argument to {function} must have shape [..., n, n], got {x.shape}.")
    return strong(x)


def strong(x: Any) -> Any:
    """x without weak type."""
    aval = aval_of(x)
    if not aval.weak_type:
        return x
    return ops.convert_element_type(x, new_dtype=aval.dtype, weak_type=False)


def epsilon(dtype: Any) -> float:
    return float(dtypes.finfo(dtypes.real_dtype(dtype)).eps)
