"""`import jax` answered by jacana, so that programs written for JAX run unchanged.

`install()` does it for the process; `python -m jacana script.py` does it for one program, and
`%load_ext jacana` in a notebook.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Sequence
from typing import Any

import jacana
from jacana.api import tracebacks

# Modules of JAX whose namesake here is something else; all others have the same name.
ELSEWHERE = {
    "jax.ops": "jacana.numpy.segments",
    "jax.core": "jacana.compat.extend.core",
    "jax.extend": "jacana.compat.extend",
    "jax.extend.core.primitives": "jacana.compat.extend.primitives",
    "jax.interpreters": "jacana.compat.interpreters",
    "jax.config": "jacana.compat.config",
    "jax.typing": "jacana.compat.typing",
    "jax.version": "jacana.compat.version",
    "jax.errors": "jacana.core.errors",
    "jax.dtypes": "jacana.compat.dtypes",
    "jax.api_util": "jacana.compat.api_util",
    # Names of JAX's inside that well-known libraries import all the same.
    "jax._src": "jacana.compat.internals",
    "jax._src.ad_util": "jacana.compat.internals.derivatives",
    "jax._src.traceback_util": "jacana.compat.internals.tracebacks",
    "jax._src.util": "jacana.compat.internals.sequences",
}
# Packages whose folders are parts of jacana's own structure, not of JAX's interface.
INTERNAL = frozenset(
    (
        "kernel",
        "ops",
        "transforms",
        "higher_order",
        "compiler",
        "runtime",
        "api",
        "compat",
        "core",
        "testing",
    )
)


def jacana_name(name: str) -> str | None:
    """The module that answers for a module of JAX, or None."""
    parts = name.split(".")
    for count in range(len(parts), 1, -1):
        found = ELSEWHERE.get(".".join(parts[:count]))
        if found is not None:
            return ".".join([found, *parts[count:]])
    if parts[1] in INTERNAL:
        return None
    return "jacana." + ".".join(parts[1:])


class JaxModule(types.ModuleType):
    """The module `jax`: jacana's public names."""

    __version__: str
    __version_info__: tuple[int, ...]

    def __getattr__(self, name: str) -> Any:
        if f"jax.{name}" in ELSEWHERE and name != "config":
            return importlib.import_module(f"jax.{name}")
        if not name.startswith("__") and name not in INTERNAL:
            found = getattr(jacana, name, MISSING)
            if found is not MISSING:
                # Found without a search from now on: a search takes as long as ten small calls.
                self.__dict__[name] = found
                return found
            if importlib.util.find_spec(f"jacana.{name}") is not None:
                return importlib.import_module(f"jax.{name}")
        raise AttributeError(f"jacana's jax has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted(set(dir(jacana)) - INTERNAL)


MISSING = object()


class Loader(importlib.abc.Loader):
    """Gives a module of jacana under a name of JAX's, as it is."""

    def __init__(self, target: str):
        self.target = target

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = importlib.import_module(self.target)
        self.original = module.__spec__
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        module.__spec__ = self.original


class Finder(importlib.abc.MetaPathFinder):
    """Finds `jax.*` in jacana."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith("jax."):
            return None
        name = jacana_name(fullname)
        try:
            found = name is not None and importlib.util.find_spec(name) is not None
        except ModuleNotFoundError:
            found = False
        if not found:
            raise ModuleNotFoundError(
                f"{fullname} is not there in jacana {jacana.__version__}, which answers for jax. "
                f"See the README for what is not there yet.",
                name=fullname,
            )
        assert name is not None
        is_package = hasattr(importlib.import_module(name), "__path__")
        spec = importlib.machinery.ModuleSpec(fullname, Loader(name), is_package=is_package)
        return spec


def install() -> None:
    """From here on `import jax` gives jacana. ImportError if the real JAX is already imported."""
    present = sys.modules.get("jax")
    if isinstance(present, JaxModule):
        return
    if present is not None:
        raise ImportError(
            "jacana cannot answer for jax: the real JAX is already imported in this process. Call "
            "jacana.compat.install() before anything imports jax, or run your program as "
            "`python -m jacana script.py`."
        )
    module = JaxModule("jax", jacana.__doc__)
    module.__path__ = []
    module.__version__ = jacana.__jax_version__
    module.__version_info__ = tuple(map(int, jacana.__jax_version__.split(".")))
    module.__spec__ = importlib.machinery.ModuleSpec("jax", None, is_package=True)
    sys.modules["jax"] = module
    sys.meta_path.insert(0, Finder())


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext jacana` in a notebook: `install()`, and tracebacks of the notebook's own lines."""
    install()
    shell.set_custom_exc((Exception,), tracebacks.show_in_notebook)
