"""Devices: where arrays live. One CPU, or several names for it."""

import functools
import os
import re
from typing import Any

from jacana.core import config
from jacana.core.records import record


@record
class Device:
    """A CPU device of this process."""

    id: int = 0
    platform: str = "cpu"
    process_index: int = 0
    device_kind: str = "cpu"
    host_id: int = 0

    @property
    def local_hardware_id(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"CpuDevice(id={self.id})"

    def __str__(self) -> str:
        return f"cpu:{self.id}"

    def memory_stats(self) -> dict[str, Any] | None:
        return None


def default_device() -> Device:
    """Where arrays are made if nothing else is said."""
    return _started()[0]


def devices(backend: str | None = None) -> list[Device]:
    """All devices of a platform ("cpu" or None); RuntimeError for platforms that are not there."""
    if backend not in (None, "cpu"):
        raise RuntimeError(
            f"Unknown backend: {backend!r} requested, but no platforms that are instances of "
            f"{backend} are present. jacana has the platform 'cpu'."
        )
    return list(_started())


def check_default(device: Any) -> None:
    """NotImplementedError for a device to make arrays on that is not the first one."""
    if device is not None and device != "cpu" and device != default_device():
        raise NotImplementedError(
            f"default_device {device!r}: arrays are made on the first device. Move them with "
            f"jax.device_put(x, device)."
        )


@functools.cache
def _started() -> tuple[Device, ...]:
    """The devices, as many as settings asked for when they were first looked at."""
    return tuple([Device(i) for i in range(requested_count())])


def check_count(count: int) -> None:
    """RuntimeError if there are devices already, and not so many."""
    if _started.cache_info().currsize and len(_started()) != count:
        raise RuntimeError(
            "jax_num_cpu_devices config should be updated before backends are initialized i.e. "
            "before any JAX operations or queries. Set it right after import."
        )


def requested_count() -> int:
    """How many devices the settings ask for; scripts set the environment after our import."""
    count = config.current().num_cpu_devices
    if count < 1:
        flag = re.findall(
            r"--xla_force_host_platform_device_count=(\d+)", os.environ.get("XLA_FLAGS", "")
        )
        count = int(os.environ.get("JAX_NUM_CPU_DEVICES") or (flag[-1] if flag else 1))
    return max(count, 1)
