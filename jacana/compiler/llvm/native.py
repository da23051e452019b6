"""The runtime's own native functions: compiled once per machine, then loaded as images.

A `Library` is a group of functions that `native_contents` writes. Its image comes from the store
(the disk cache, which `runtime.cache` puts in place) without importing llvmlite.
"""

import functools
import importlib
import importlib.util
import os
import platform
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from jacana.compiler.llvm import native_image
from jacana.core.digest import sha256

# get(key, compile): the bytes stored under the key, else those of compile(), then stored.
Store = Callable[[bytes, Callable[[], bytes]], bytes]
_stores: list[Store] = []


def set_store(store: Store) -> None:
    """Keep images in `store` from now on."""
    _stores[:] = [store]


# Held while code is compiled or loaded, and around a fork: a child must not inherit it taken.
compile_lock = threading.RLock()
_held_in_fork: list[Any] = []


def _before_fork() -> None:
    compile_lock.acquire()
    llvmlite = sys.modules.get("llvmlite.binding.ffi")
    # llvmlite has a lock of its own around every call.
    lock = getattr(getattr(getattr(llvmlite, "lib", None), "_lock", None), "_lock", None)
    if lock is not None:
        lock.acquire()
        _held_in_fork.append(lock)


def _after_fork() -> None:
    while _held_in_fork:
        _held_in_fork.pop().release()
    compile_lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )


class Library:
    """A group of native functions that are compiled and loaded together, at first use."""

    def __init__(
        self,
        name: str,
        resolve: native_image.Resolve = native_image.find_symbol,
    ) -> None:
        self.name = name
        self._resolve = resolve
        self._addresses: Mapping[str, int] = {}

    def address(self, function: str) -> int:
        """Where a function or an exported variable is; the same for the life of the process."""
        try:
            return self._addresses[function]
        except KeyError:
            return self._load()[function]

    def _load(self) -> Mapping[str, int]:
        with compile_lock:
            if not self._addresses:
                key = f"native {self.name} {source_key()} {machine_key()}".encode()
                image = _stores[0](key, self._compile) if _stores else self._compile()
                self._addresses = native_image.load(image, self._resolve)
            return self._addresses

    def _compile(self) -> bytes:
        # Written, compiled and linked once per machine, so not part of what every process imports.
        contents = importlib.import_module("jacana.compiler.llvm.native_contents")
        image: bytes = contents.make_image(self.name)
        return image


@functools.cache
def source_key() -> str:
    """A hash of the code that writes machine code, this folder's."""
    digest = sha256()
    folder = os.path.dirname(__file__)
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py"):
            digest.update(_contents(os.path.join(folder, name)))
    return digest.hexdigest()


@functools.cache
def machine_key() -> str:
    """What the compiled functions depend on, found out without llvmlite."""
    parts = (
        sys.platform, platform.machine(), sys.implementation.cache_tag, str(sys.maxsize),
        _llvmlite_version(), processor_key(),
    )  # fmt: skip
    return " ".join(map(str, parts))


def _llvmlite_version() -> str:
    """llvmlite's version file, read without the import of llvmlite or importlib.metadata."""
    spec = importlib.util.find_spec("llvmlite")
    if spec is None or spec.origin is None:
        return "unknown"
    text = _contents(os.path.join(os.path.dirname(spec.origin), "_version.py"))
    return sha256(text).hexdigest()[:16]


def _contents(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.readall()


def processor_key() -> str:
    """The processor's model and instruction sets, as a hash."""
    try:
        text = _contents("/proc/cpuinfo").decode()
    except OSError:
        text = platform.processor() + platform.version()
    names = ("vendor_id", "cpu family", "model", "flags", "Features", "CPU ")
    lines = sorted({line for line in text.split("\n") if line.startswith(names)})
    chosen = [line for line in lines if not line.startswith("CPU revision")]
    return sha256("\n".join(chosen or [text]).encode()).hexdigest()[:24]


runtime = Library("runtime")
sorting = Library("sorting")
