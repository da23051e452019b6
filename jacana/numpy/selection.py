"""Choosing between arrays: where, select, clip."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.trace import Tracer
from jacana.core.values import aval_of
from jacana.numpy.promotion import (
    as_array,
    broadcast_shape,
    broadcast_to,
    check_operands,
    promote_args,
    promote_dtypes,
)
from jacana.runtime.array import Array


def where(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds, else y; shapes broadcast and dtypes are promoted."""
    condition = as_condition(condition)
    if not isinstance(condition, Array | Tracer):
        condition = as_array("where", condition)
    x, y = promote_args("where", x, y)
    shapes = [np.shape(v) for v in (condition, x, y)]
    if len({s for s in shapes if s}) > 1:
        shape = broadcast_shape("where", *shapes)
        condition, x, y = (
            broadcast_to(v, shape) if s else v for v, s in zip((condition, x, y), shapes)
        )
    # Operands of rank 0 serve every element.
    return ops.select_n(condition, y, x)


def as_condition(condition: Any) -> Any:
    check_operands("where", condition)
    aval = aval_of(condition)
    if dtypes.is_bool(aval.dtype):
        return condition
    if isinstance(condition, int | float | complex | np.generic):
        return bool(condition)
    return ops.ne(condition, np.asarray(0).astype(aval.dtype)[()])


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """The choice of the first condition that holds, elementwise; else the default.

    >>> jnp.select([jnp.array([True, False])], [jnp.array([1, 2])], 9)
    Array([1, 9], dtype=int32)
    """
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)})"
        )
    if not condlist:
        raise ValueError("condlist must be non-empty")
    *choices, result = promote_dtypes(*choicelist, default)
    for condition, choice in zip(condlist[::-1], choices[::-1], strict=True):
        result = where(condition, choice, result)
    return result


def clip(arr: Any = None, /, min: Any = None, max: Any = None) -> Any:
    """arr limited to [min, max]; either bound may be None. nan stays nan.

    >>> jnp.clip(jnp.arange(5), 1, 3)
    Array([1, 1, 2, 3, 3], dtype=int32)
    """
    check_operands("clip", arr)
    if dtypes.is_complex(aval_of(arr).dtype):
        raise ValueError("Clip received a complex value; complex numbers have no order.")
    result = as_array("clip", arr)
    if min is not None:
        x, low = promote_args("clip", min, result)
        result = ops.max(x, low)
    if max is not None:
        x, high = promote_args("clip", max, result)
        result = ops.min(x, high)
    return result
