"""What programs import from `jax.dtypes`."""

from typing import Any

from jacana.core import config, dtypes
from jacana.core.dtypes import (
    bfloat16 as bfloat16,
    extended as extended,
    float0 as float0,
    issubdtype as issubdtype,
    prng_key as prng_key,
)


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """The dtype that arrays of it get: 64-bit types become 32-bit ones unless x64 is on."""
    return dtypes.canonicalize(dtypes.dtype(dtype), config.current().enable_x64)
