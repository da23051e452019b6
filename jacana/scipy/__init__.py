"""jax.scipy: functions of SciPy on arrays that can be traced, compiled and differentiated."""

import importlib
import importlib.util
from typing import Any


def __getattr__(name: str) -> Any:
    # Modules are loaded when they are first used, so that `import jacana` stays quick.
    if not name.startswith("_") and importlib.util.find_spec(f"jacana.scipy.{name}") is not None:
        return importlib.import_module(f"jacana.scipy.{name}")
    raise AttributeError(f"jacana.scipy has no {name} yet." if not name.startswith("_") else name)
