"""Operands of special functions: floats of one dtype and of shapes that broadcast."""

from collections.abc import Callable
from typing import Any

from jacana import ops
from jacana.core import config, dtypes
from jacana.core.trace import Tracer
from jacana.core.values import aval_of
from jacana.numpy.promotion import as_arrays, convert, promote_args_inexact


def floats(function: str, *xs: Any) -> list[Any]:
    """The operands as real floats; TypeError for complex ones.

    Beside traced operands scalars stay scalars, which programs hold as literals.
    """
    found = promote_args_inexact(function, *xs)
    if not any(isinstance(x, Tracer) for x in found):
        found = as_arrays(function, *found)
    if dtypes.is_complex(found[0].dtype):
        raise TypeError(
            f"{function} does not accept dtype {found[0].dtype}: it is a function of real numbers. "
            f"Take a part of them first."
        )
    return found


def in_float64(compute: Callable[..., Any], *xs: Any) -> Any:
    """compute(*xs) with the operands in float64, and the result in their own dtype.

    Exponentials magnify the rounding of their arguments: this is how a float32 result is exact.
    """
    aval = aval_of(xs[0])
    with config.override(enable_x64=True):
        value = compute(*[convert(x, dtypes.float64) for x in xs])
    return ops.convert_element_type(value, new_dtype=aval.dtype, weak_type=aval.weak_type)
