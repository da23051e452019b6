"""The names of `jax._src` that well-known libraries import, although it is JAX's inside.

There will not be more than libraries need: programs should use what JAX documents.
"""

import importlib
from typing import Any

# JAX's names of modules that have another name here.
MODULES = {
    "ad_util": "derivatives", "compiler": "compiler", "core": "core", "dispatch": "dispatch",
    "dtypes": "dtypes", "traceback_util": "tracebacks", "util": "sequences",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"jax._src.{name} is JAX's inside, which is not here")
    return importlib.import_module(f"{__name__}.{MODULES[name]}")
