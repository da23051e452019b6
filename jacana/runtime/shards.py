"""Shards: what each device has of an array."""

from typing import Any

from jacana.core.sharding import Index


class Shard:
    """What one device has of an array: `data`, which is the array's `index`.

    `replica_id` counts the devices that have the same part.
    """

    __slots__ = ("device", "index", "replica_id", "_array", "_data")

    def __init__(self, array: Any, device: Any, index: Index, replica_id: int):
        self.device, self.index, self.replica_id = device, index, replica_id
        self._array = array
        self._data: Any = None

    @property
    def data(self) -> Any:
        """The part as an array on the device."""
        if self._data is None:
            self._data = self._array.part(self.index, self.device)
        return self._data

    def __repr__(self) -> str:
        return (
            f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
            f"data={self.data})"
        )


def shards_of(array: Any) -> list[Shard]:
    """The shards of an array, in the order of its devices."""
    counts: dict[str, int] = {}
    found = []
    for device, index in array.sharding.devices_indices_map(array.shape).items():
        # Slices are not hashable in all versions of Python.
        key = repr(index)
        counts[key] = counts.get(key, -1) + 1
        found.append(Shard(array, device, index, counts[key]))
    return found
