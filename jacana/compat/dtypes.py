"""What programs import from `jax.dtypes`."""

from typing import Any

import numpy as np

from jacana.core import config, dtypes
from jacana.core.dtypes import (
    TypePromotionError as TypePromotionError,
    bfloat16 as bfloat16,
    extended as extended,
    float0 as float0,
    issubdtype as issubdtype,
    prng_key as prng_key,
)
from jacana.core.values import aval_of, is_array_like
from jacana.numpy import finfo as finfo, iinfo as iinfo, result_type as numpy_result_type

KINDS = (
    (bool, np.bool_), (int, np.integer), (float, np.floating), (complex, np.complexfloating),
)  # fmt: skip


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The dtype that operands are promoted to; with the flag, also whether its type is weak."""
    dtype = numpy_result_type(*args)
    if not return_weak_type_flag:
        return dtype
    return dtype, all(is_array_like(x) and aval_of(x).weak_type for x in args)


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """The dtype that arrays of it get: 64-bit types become 32-bit ones unless x64 is on."""
    return dtypes.canonicalize(dtypes.dtype(dtype), config.current().enable_x64)


def scalar_type_of(x: Any) -> type:
    """The Python type of numbers like the values of an array: bool, int, float or complex."""
    dtype = result_type(x)
    for kind, name in KINDS:
        if issubdtype(dtype, name):
            return kind
    raise TypeError(f"scalar_type_of needs a number, got {x!r} of type {type(x).__name__}.")


def itemsize_bits(dtype: Any) -> int:
    """How many bits a value of the dtype takes."""
    return int(dtypes.dtype(dtype).itemsize) * 8
