"""What operands of jnp functions become: one dtype, and shapes that broadcast."""
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import config, dtypes
from jacana.core.avals import ShapedArray
from jacana.core.errors import NotAnArrayError
from jacana.core.trace import Tracer
from jacana.core.values import aval_of, is_array_like
from jacana.runtime.array import Array

Shape = tuple[int, ...]


def check_operands(function: str, *xs: Any) -> None:
    """Raise TypeError for what is neither array nor scalar: lists and None are not converted."""
    for i, x in enumerate(xs):
        if type(x) is Array or isinstance(x, Tracer) or is_array_like(x):
            continue
        if isinstance(x, list | tuple):
            raise TypeError(
                f"{function} requires ndarray or scalar arguments, got {type(x)} at position {i}. "
                f"Convert it first with jnp.array."
            )
        raise NotAnArrayError(x, function, str(i))


def result_type_of(avals: Sequence[ShapedArray]) -> tuple[Any, bool]:
    """The common dtype of operands, and whether it is weak."""
    now = config.current()
    pairs = [(a.dtype, a.weak_type) for a in avals]
    strict = now.numpy_dtype_promotion == "strict"
    return dtypes.promote(*pairs, strict=strict, x64=now.enable_x64)


def convert(x: Any, dtype: Any, weak: bool = False) -> Any:
    """x with the dtype and weak type: a scalar stays a literal, an array is converted if need be."""
    if isinstance(x, bool | int | float | complex | np.generic):
        return scalar(x, dtype, weak)
    aval = aval_of(x)
    if aval.dtype == dtype and aval.weak_type == weak and not isinstance(x, np.ndarray):
        return x
    return ops.convert_element_type(x, new_dtype=dtype, weak_type=weak)


PYTHON_TYPES = {"bool": bool, "int": int, "float": float, "complex": complex}


def scalar(value: Any, dtype: Any, weak: bool) -> Any:
    """A literal of the dtype: a Python scalar where that means the same, else a NumPy scalar."""
    kind = PYTHON_TYPES.get(dtypes.kind(dtype))
    if kind is not None and not isinstance(value, np.generic):
        default = dtypes.python_scalar_dtype(kind, config.current().enable_x64)
        if default == dtype and (weak or kind is not int or isinstance(value, int)):
            return kind(value) if kind is not complex else complex(value)
    if isinstance(value, np.generic) and value.dtype == dtype:
        return value
    if dtypes.is_integer(dtype) and isinstance(value, int) and not isinstance(value, bool):
        info = dtypes.iinfo(dtype)
        if not info.min <= value <= info.max:
            raise OverflowError(
                f"Python integer {value} out of bounds for {dtype}. Use a wider dtype, for example "
                f"by converting the array first."
            )
    return np.asarray(value).astype(dtype)[()]


def promote_dtypes(*xs: Any) -> list[Any]:
    """Operands converted to their common dtype; scalars stay literals."""
    avals = [aval_of(x) for x in xs]
    dtype, weak = result_type_of(avals)
    return [convert_operand(x, a, dtype, weak) for x, a in zip(xs, avals, strict=True)]


def convert_operand(x: Any, aval: ShapedArray, dtype: Any, weak: bool) -> Any:
    if aval.dtype == dtype and (aval.weak_type or not weak):
        # A weakly typed operand of the right dtype serves a strong result as it is.
        return x
    return convert(x, dtype, weak)


def promote_inexact(*xs: Any) -> list[Any]:
    """Operands converted to their common dtype, integers and bools to floating point."""
    avals = [aval_of(x) for x in xs]
    dtype, weak = result_type_of(avals)
    if not dtypes.is_differentiable(dtype):
        dtype = inexact_dtype(dtype)
        weak = weak and all(a.weak_type for a in avals)
    return [convert_operand(x, a, dtype, weak) for x, a in zip(xs, avals, strict=True)]


def inexact_dtype(dtype: Any) -> Any:
    """The floating-point dtype that computing with this dtype gives."""
    if dtypes.is_differentiable(dtype):
        return dtype
    return dtypes.python_scalar_dtype(float, config.current().enable_x64)


def broadcast_shape(function: str, *shapes: Shape) -> Shape:
    """The shape that all broadcast to; TypeError naming the shapes if there is none."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise TypeError(
            f"{function} got incompatible shapes for broadcasting: {', '.join(map(str, shapes))}. "
            f"Each pair of axes, counted from the right, must be equal or 1."
        ) from None


def broadcast_to(x: Any, shape: Shape) -> Any:
    """x repeated to the shape it broadcasts to."""
    old = np.shape(x)
    if old == shape:
        return x
    first = len(shape) - len(old)
    return ops.broadcast_in_dim(
        x, shape=shape, broadcast_dimensions=tuple(range(first, len(shape)))
    )


def broadcast_operands(function: str, *xs: Any) -> list[Any]:
    """Operands of one shape; those of rank 0 stay as they are, since they serve every element."""
    shapes = [np.shape(x) for x in xs]
    ranked = {s for s in shapes if s}
    if len(ranked) <= 1:
        return list(xs)
    mode = config.current().numpy_rank_promotion
    if mode != "allow" and len({len(s) for s in ranked}) > 1:
        check_rank_promotion(function, shapes, mode)
    shape = broadcast_shape(function, *shapes)
    return [broadcast_to(x, shape) if s else x for x, s in zip(xs, shapes, strict=True)]


def check_rank_promotion(function: str, shapes: Sequence[Shape], mode: str) -> None:
    message = (
        f"Operands could not be broadcast together for {function} on shapes "
        f"{' '.join(map(str, shapes))} and with the config option "
        f"jax_numpy_rank_promotion='{mode}'. Reshape them to one rank."
    )
    if mode == "raise":
        raise ValueError(message)
    warnings.warn(message, stacklevel=4)


def promote_args(function: str, *xs: Any) -> list[Any]:
    """Operands of one dtype and of shapes that an elementwise primitive takes."""
    first = xs[0]
    if type(first) is Array and all(type(x) is Array and x.aval is first.aval for x in xs):
        return list(xs)
    check_operands(function, *xs)
    return broadcast_operands(function, *promote_dtypes(*xs))


def promote_args_inexact(function: str, *xs: Any) -> list[Any]:
    """The same, in floating point."""
    check_operands(function, *xs)
    return broadcast_operands(function, *promote_inexact(*xs))
