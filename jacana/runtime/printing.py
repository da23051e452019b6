"""How arrays print: as JAX prints them."""
from typing import Any

import numpy as np

from jacana.core import dtypes


def array_str(x: Any) -> str:
    """str(x): NumPy's own text, or the aval of a key array."""
    if dtypes.is_key(x.dtype):
        return array_repr(x)
    return str(x._value)


def array_repr(x: Any) -> str:
    """repr(x): `Array([...], dtype=...)`."""
    if x.address == 0:
        return f"Array(shape={x.shape}, dtype={x.dtype}) (deleted)"
    if dtypes.is_key(x.dtype):
        words = x._value.reshape(-1).view(np.uint32).reshape(*x.shape, 2)
        return f"Array({x.shape}, dtype={x.dtype}) overlaying:\n{words}"
    suffix = f", dtype={dtypes.name(x.dtype)}"
    if x.weak_type:
        suffix += ", weak_type=True"
    if x.size == 0 and x.shape != (0,):
        return f"Array([], shape={str(x.shape)}{suffix})"
    options = np.get_printoptions()
    shortened = x.size > options["threshold"]
    if shortened:
        suffix = f", shape={x.shape}{suffix}"
    prefix = "Array("
    text = np.array2string(
        x._value, prefix=prefix, suffix=suffix, separator=", ", max_line_width=options["linewidth"]
    )
    return f"{prefix}{text}{_suffix_on_own_line(prefix, text, suffix, options['linewidth'])})"


def _suffix_on_own_line(prefix: str, text: str, suffix: str, width: int) -> str:
    """The suffix, moved to a line of its own where it does not fit behind the last one."""
    last = len(text) - (text.rfind("\n") + 1)
    if "\n" not in text:
        last += len(prefix)
    if last + len(suffix) + 1 > width:
        return ",\n" + " " * len(prefix) + suffix[2:]
    return suffix
