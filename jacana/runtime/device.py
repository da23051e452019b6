"""Devices: where arrays live. One CPU for now."""

from typing import Any

from jacana.core.records import record


@record
class Device:
    """A CPU device of this process."""

    id: int = 0
    platform: str = "cpu"
    process_index: int = 0
    device_kind: str = "cpu"
    host_id: int = 0

    def __repr__(self) -> str:
        return f"CpuDevice(id={self.id})"

    def __str__(self) -> str:
        return f"cpu:{self.id}"

    def memory_stats(self) -> dict[str, Any] | None:
        return None


@record
class SingleDeviceSharding:
    """The whole array on one device."""

    _device: Device
    memory_kind: str = "device"

    @property
    def device_set(self) -> set[Device]:
        return {self._device}

    @property
    def is_fully_replicated(self) -> bool:
        return True

    @property
    def is_fully_addressable(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind={self.memory_kind})"


_cpu = Device()


def default_device() -> Device:
    return _cpu


def devices(backend: str | None = None) -> list[Device]:
    """All devices of a platform ("cpu" or None); RuntimeError for platforms that are not there."""
    if backend not in (None, "cpu"):
        raise RuntimeError(
            f"Unknown backend: {backend!r} requested, but no platforms that are instances of "
            f"{backend} are present. jacana has the platform 'cpu'."
        )
    return [_cpu]
