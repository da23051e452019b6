"""Devices: which there are, and what comes back from them. `placing` has what goes there."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from jacana.api import eager
from jacana.api.jit import jitted_functions
from jacana.core import tree
from jacana.runtime import dispatch, executable
from jacana.runtime.array import Array
from jacana.runtime.device import Device, check_default, devices as known_devices
from jacana.runtime.native_array import list_arrays
from jacana.transforms import derived


def devices(backend: str | None = None) -> list[Device]:
    """All devices of a platform; RuntimeError for platforms that are not there."""
    return known_devices(backend)


def local_devices(
    process_index: int | None = None, backend: str | None = None, host_id: int | None = None
) -> list[Device]:
    """The devices of this process."""
    return known_devices(backend)


def device_count(backend: str | None = None) -> int:
    """How many devices there are."""
    return len(known_devices(backend))


def local_device_count(backend: str | None = None) -> int:
    """How many devices this process has."""
    return len(known_devices(backend))


def process_index(backend: str | None = None) -> int:
    """The number of this process among those that compute together: there is one."""
    return 0


def process_count(backend: str | None = None) -> int:
    """How many processes compute together: one."""
    return 1


def default_backend() -> str:
    """The platform that arrays are made on."""
    return "cpu"


def device_get(x: Any) -> Any:
    """The leaves of a tree as NumPy arrays."""
    return tree.map(_get, x)


def _get(x: Any) -> Any:
    return np.asarray(x) if isinstance(x, Array) else x.__array__() if _converts(x) else x


def _converts(x: Any) -> bool:
    return hasattr(x, "__array__") and not isinstance(x, np.ndarray | np.generic)


def block_until_ready(x: Any) -> Any:
    """The tree itself, once its arrays are computed."""
    if type(x) is not Array:
        _wait(x)
    elif x.address == 0:
        x.block_until_ready()
    return x


def _wait(x: Any) -> None:
    """Let each leaf that knows how wait. Common containers are not flattened."""
    kind = type(x)
    if kind is dict or kind is list or kind is tuple:
        for item in x.values() if kind is dict else x:
            if type(item) is not Array or item.address == 0:
                _wait(item)
        return
    for leaf in tree.leaves(x):
        if hasattr(leaf, "block_until_ready"):
            leaf.block_until_ready()


def copy_to_host_async(x: Any) -> Any:
    """The tree itself: its memory is the host's."""
    return x


def live_arrays(platform: str | None = None) -> list[Array]:
    """The arrays that are in memory."""
    return [x for x in list_arrays(Array) if not x.is_deleted()]


def clear_caches() -> None:
    """Forget compiled programs and operations, and what transformations made of these.

    Kernels stay loaded, and what is on disk stays there: `jacana cache clear` removes it.
    """
    dispatch.clear()
    executable.clear()
    for cache in derived.caches:
        cache.clear()
    for function in list(jitted_functions):
        function.clear_cache()
    eager.clear()


@contextmanager
def default_device(new_val: Any = None) -> Iterator[None]:
    """`with default_device(d):` arrays are made on d; NotImplementedError but for the first."""
    check_default(new_val)
    yield
