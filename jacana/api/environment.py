"""print_environment_info: what a report of a fault should say about the machine."""

import os
import platform
import sys
from importlib import metadata

from jacana.compiler.llvm import native
from jacana.core import config
from jacana.runtime import cache, limits, threads
from jacana.runtime.native_objects import is_supported

PACKAGES = ("numpy", "scipy", "llvmlite", "ml_dtypes", "optree", "opt_einsum")


def print_environment_info(return_string: bool = False) -> str | None:
    """Versions, the machine, and what jacana makes of it, as a text for reports."""
    settings = config.current()
    changed = [
        f"jax_{name}={getattr(settings, name)!r}"
        for name in config.FIELDS
        if getattr(settings, name) != config.FIELDS[name].default
    ]
    how = "native" if is_supported() else "Python, since this interpreter's objects differ"
    lines = [
        f"jacana:   {version('jacana')}",
        *[f"{name + ':':9} {version(name)}" for name in PACKAGES],
        f"python:   {sys.version}",
        f"platform: {platform.platform()}, {platform.machine()}",
        f"device:   cpu, {limits.processors()} of {os.cpu_count()} processors for this process",
        f"threads:  {threads.get_num_threads()} for parallel kernels",
        f"memory:   {limits.memory() / 2**30:.1f} GiB for this process",
        f"dispatch: {how}",
        f"code key: {native.processor_key()} {native.source_key()[:12]}",
        f"cache:    {cache.default_cache().folder or 'memory only'}",
        f"settings: {', '.join(changed) or 'all as they come'}",
    ]
    text = "\n".join(lines)
    if return_string:
        return text
    sys.stdout.write(text + "\n")
    return None


def version(package: str) -> str:
    """The version of an installed package, or "not installed"."""
    module = sys.modules.get(package)
    try:
        return str(getattr(module, "__version__", None) or metadata.version(package))
    except metadata.PackageNotFoundError:
        return "not installed"
