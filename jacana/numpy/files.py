"""Arrays in files, in NumPy's formats."""

from typing import Any

import numpy as np

from jacana.core import dtypes
from jacana.numpy.creation import asarray


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """The array in an .npy file, or the arrays of an .npz file as NumPy gives them.

    >>> import io
    >>> file = io.BytesIO()
    >>> jnp.save(file, jnp.arange(3))
    >>> _ = file.seek(0)
    >>> jnp.load(file)
    Array([0, 1, 2], dtype=int32)
    """
    found = np.load(file, *args, **kwargs)
    if not isinstance(found, np.ndarray):
        return found
    if found.dtype == np.dtype("V2"):
        # NumPy's format has no name for bfloat16.
        found = found.view(dtypes.bfloat16)
    return asarray(found)
