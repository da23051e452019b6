"""Packages whose rarely used parts are imported when they are first named (PEP 562)."""

import importlib
import sys
from collections.abc import Callable
from typing import Any


def deferred(
    package: str, modules: tuple[str, ...] = (), **names: tuple[str, ...]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package with these modules, and names of modules.

    Type checkers are told of the same names under TYPE_CHECKING.
    """
    homes = {name: f"{package}.{home}" for home, given in names.items() for name in given}

    def get(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        home = homes.get(name)
        if home is None:
            found = sys.modules[package]
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}", name=name, obj=found
            )
        value = getattr(importlib.import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules, *homes})

    return get, list_names
