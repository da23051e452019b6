"""Child processes of `python -m jacana`: `multiprocessing` starts them with `import jax` answered.

A forked child has the parent's modules. A spawned one starts a new Python that runs the program's
file again, and a fork server one that is forked later; both are told to install jacana first. A
child that the program starts itself is the program's own: it says `python -m jacana` again.
"""

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

INSTALL = "from jacana import compat; compat.install(); "


def include_children() -> None:
    """From here on children of multiprocessing import jacana as jax; call it before it is used."""
    for name, teach in TEACHERS.items():
        if name in sys.modules:
            teach(sys.modules[name])
    sys.meta_path.insert(0, Finder())


def teach_spawn(spawn: Any) -> None:
    original = spawn.get_command_line

    def get_command_line(**arguments: Any) -> list[str]:
        words: list[str] = original(**arguments)
        if "-c" in words:
            program = words.index("-c") + 1
            words[program] = INSTALL + words[program]
        return words

    spawn.get_command_line = get_command_line


def teach_forkserver(forkserver: Any) -> None:
    forkserver.set_forkserver_preload(["__main__", "jacana.compat.installed"])


TEACHERS: dict[str, Callable[[Any], None]] = {
    "multiprocessing.spawn": teach_spawn,
    "multiprocessing.forkserver": teach_forkserver,
}


class Loader(importlib.abc.Loader):
    """Loads a module as another loader does, and teaches it."""

    def __init__(self, loader: importlib.abc.Loader):
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        self._loader.exec_module(module)
        TEACHERS[module.__name__](module)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules that are taught where they always are."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in TEACHERS:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = Loader(spec.loader)
        return spec
