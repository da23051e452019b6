"""Arrays of other libraries, under the names of jax.dlpack."""

from typing import Any

import numpy as np

from jacana.core import dtypes
from jacana.numpy import creation

__all__ = ["from_dlpack", "is_supported_dtype"]


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> Any:
    """The array of a DLPack tensor; see jax.numpy.from_dlpack.

    >>> from_dlpack(np.arange(3, dtype="int32"))
    Array([0, 1, 2], dtype=int32)
    """
    return creation.from_dlpack(external_array, device=device, copy=copy)


def is_supported_dtype(dtype: Any) -> bool:
    """Whether arrays of the dtype are taken from other libraries and given to them.

    >>> is_supported_dtype("float32")
    True
    """
    found = dtypes.dtype(dtype)
    return isinstance(found, np.dtype) and found.kind in "biufc" and found.itemsize <= 16
