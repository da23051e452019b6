"""How arrays print: as JAX prints them."""

from typing import Any

import numpy as np

from jacana.core import dtypes

PREFIX = "Array("


def array_str(x: Any) -> str:
    """str(x): NumPy's own text, or the aval of a key array."""
    if dtypes.is_key(x.dtype):
        return array_repr(x)
    return str(x._value)


def array_repr(x: Any) -> str:
    """repr(x): `Array([...], dtype=...)`."""
    if x.is_deleted():
        return f"Array(shape={x.shape}, dtype={x.dtype}) (deleted)"
    if dtypes.is_key(x.dtype):
        words = x._value.reshape(-1).view(np.uint32).reshape(*x.shape, 2)
        return f"Array({x.shape}, dtype={x.dtype}) overlaying:\n{words}"
    suffix = f"dtype={dtypes.name(x.dtype)}" + (", weak_type=True" if x.weak_type else "")
    if x.size == 0:
        return f"Array([], shape={x.shape}, {suffix})"
    width = np.get_printoptions()["linewidth"]
    text = np.array2string(
        x._value, prefix=PREFIX, suffix=",", separator=", ", max_line_width=width
    )
    text = PREFIX + text
    last_line = len(text) - (text.rfind("\n") + 1)
    # Where the line is full, the gap is as wide as the prefix, and on the same line, as in JAX.
    fits = last_line + len(suffix) + 1 <= width
    return f"{text},{' ' if fits else ' ' * len(PREFIX)}{suffix})"
