"""Shardings: which part of an array each device has."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from jacana.core.dimensions import Dimensions
from jacana.core.errors import DuplicateSpecError, IndivisibleError
from jacana.core.mesh import Mesh, PartitionSpec

Index = tuple[slice, ...]


class Sharding:
    """Says which part of an array each device has."""

    __slots__ = ("memory_kind",)
    memory_kind: str

    def devices(self) -> list[Any]:
        """The devices, in the order of their shards."""
        raise NotImplementedError

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Any, Index]:
        """The part of an array of a shape that each device has."""
        raise NotImplementedError

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of each part of an array of a shape."""
        raise NotImplementedError

    def check_compatible_aval(self, aval_shape: Sequence[int]) -> None:
        """Raise ValueError if arrays of a shape cannot be divided so."""

    @property
    def device_set(self) -> set[Any]:
        return set(self.devices())

    @property
    def addressable_devices(self) -> set[Any]:
        return self.device_set

    @property
    def num_devices(self) -> int:
        return len(self.devices())

    @property
    def has_addressable_devices(self) -> bool:
        return True

    @property
    def is_fully_addressable(self) -> bool:
        return True

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each device has the whole array."""
        raise NotImplementedError

    def addressable_devices_indices_map(self, global_shape: Sequence[int]) -> dict[Any, Index]:
        return self.devices_indices_map(global_shape)

    def is_equivalent_to(self, other: Any, ndim: int) -> bool:
        """Whether the other gives each device the same part of every array of a rank."""
        if not isinstance(other, Sharding):
            return False
        if self is other:
            return True
        if self.devices() != other.devices():
            return False
        # A shape that both divide, by whatever axes.
        shape = (math.factorial(min(self.num_devices, 20)) * self.num_devices,) * ndim
        mine, others = (s.devices_indices_map(shape) for s in (self, other))
        return mine == others


class SingleDeviceSharding(Sharding):
    """The whole array on one device."""

    __slots__ = ("_device",)

    def __init__(self, device: Any, *, memory_kind: str | None = None):
        self._device, self.memory_kind = device, memory_kind or "device"

    def devices(self) -> list[Any]:
        return [self._device]

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Any, Index]:
        return {self._device: (slice(None),) * len(global_shape)}

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        return tuple(global_shape)

    @property
    def is_fully_replicated(self) -> bool:
        return True

    def with_memory_kind(self, kind: str) -> "SingleDeviceSharding":
        return SingleDeviceSharding(self._device, memory_kind=kind)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SingleDeviceSharding):
            return NotImplemented
        return self._device == other._device and self.memory_kind == other.memory_kind

    def __hash__(self) -> int:
        return hash((self._device, self.memory_kind))

    def __repr__(self) -> str:
        return f"SingleDeviceSharding(device={self._device!r}, memory_kind={self.memory_kind})"

    def __reduce__(self) -> Any:
        return SingleDeviceSharding, (self._device,)


class NamedSharding(Sharding):
    """Dimensions of an array divided by axes of a mesh, as a PartitionSpec says.

    Raises ValueError for a spec that names other axes than the mesh has, or one axis twice.

    >>> import jacana
    >>> mesh = jacana.make_mesh((1,), ("x",))
    >>> NamedSharding(mesh, PartitionSpec("x")).shard_shape((8, 2))
    (8, 2)
    """

    __slots__ = ("mesh", "spec", "_hash")

    def __init__(self, mesh: Any, spec: Any, *, memory_kind: str | None = None):
        if not isinstance(spec, PartitionSpec):
            raise TypeError(
                f"NamedSharding needs a PartitionSpec, got {spec!r} of type {type(spec).__name__}."
            )
        self.mesh, self.spec, self.memory_kind = mesh, spec, memory_kind or "device"
        self._hash = hash((mesh, spec, self.memory_kind))
        seen: set[Any] = set()
        for name in [n for names in spec.names() for n in names]:
            if name not in mesh.axis_names:
                raise ValueError(
                    f"Resource axis: {name} of {spec} is not found in mesh: {mesh.axis_names}."
                )
            if name in seen:
                raise DuplicateSpecError(
                    f"A single NamedSharding spec specification can map every mesh axis to at most "
                    f"one positional dimension, but {spec} has duplicate entries for `{name}`"
                )
            seen.add(name)

    def devices(self) -> list[Any]:
        if not isinstance(self.mesh, Mesh):
            raise ValueError(f"{self} has no devices: its mesh is abstract.")
        return list(self.mesh.devices.flat)

    def dimensions(self, ndim: int) -> Dimensions:
        """The mesh axes of each dimension of an array of a rank."""
        names = self.spec.names()[:ndim]
        return (*names, *[()] * (ndim - len(names)))

    def factors(self, ndim: int) -> list[int]:
        """Into how many parts each dimension is divided."""
        sizes = self.mesh.shape
        return [math.prod([sizes[n] for n in names]) for names in self.dimensions(ndim)]

    def check_compatible_aval(self, aval_shape: Sequence[int]) -> None:
        rank = len(aval_shape)
        if len(self.spec) > rank:
            raise ValueError(
                f"Sharding {self} is only valid for values of rank at least {len(self.spec)}, but "
                f"was applied to a value of rank {rank}."
            )
        for i, (size, factor) in enumerate(zip(aval_shape, self.factors(rank))):
            if size % factor:
                raise IndivisibleError(
                    f"Sharding {self} implies that array axis {i} is partitioned {factor} times, "
                    f"but the dimension size is {size} (full shape: {tuple(aval_shape)}, "
                    f"per-dimension tiling factors: {self.factors(rank)} should evenly divide the "
                    f"shape)"
                )

    def devices_indices_map(self, global_shape: Sequence[int]) -> dict[Any, Index]:
        self.check_compatible_aval(global_shape)
        rank, shape = len(global_shape), self.shard_shape(global_shape)
        factors, dimensions = self.factors(rank), self.dimensions(rank)
        found = {}
        for place, device in zip(_places(self.mesh.axis_sizes), self.devices()):
            at = dict(zip(self.mesh.axis_names, place))
            found[device] = tuple([
                slice(None) if factor == 1
                else _part(_ravel([(at[n], self.mesh.shape[n]) for n in names]), size)
                for names, factor, size in zip(dimensions, factors, shape)
            ])  # fmt: skip
        return found

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        self.check_compatible_aval(global_shape)
        factors = self.factors(len(global_shape))
        return tuple([size // factor for size, factor in zip(global_shape, factors)])

    @property
    def is_fully_replicated(self) -> bool:
        return all(f == 1 for f in self.factors(len(self.spec)))

    def update(self, *, mesh: Any = None, spec: Any = None) -> "NamedSharding":
        """The sharding with the mesh or the spec replaced."""
        spec = PartitionSpec(*spec) if isinstance(spec, tuple) else spec
        return NamedSharding(mesh or self.mesh, self.spec if spec is None else spec)

    def with_memory_kind(self, kind: str) -> "NamedSharding":
        return NamedSharding(self.mesh, self.spec, memory_kind=kind)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, NamedSharding):
            return NotImplemented
        return (self.mesh, self.spec, self.memory_kind) == (
            other.mesh, other.spec, other.memory_kind,
        )  # fmt: skip

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return (
            f"NamedSharding(mesh={self.mesh!s}, spec={self.spec}, memory_kind={self.memory_kind})"
        )

    def __reduce__(self) -> Any:
        return NamedSharding, (self.mesh, self.spec)


def _places(sizes: Sequence[int]) -> Iterable[tuple[int, ...]]:
    """The coordinates of an array's elements, row by row."""
    if not sizes:
        return [()]
    return [(i, *rest) for i in range(sizes[0]) for rest in _places(sizes[1:])]


def _ravel(coordinates: Sequence[tuple[int, int]]) -> int:
    """The number of a place along several axes, given where on each and their sizes."""
    number = 0
    for i, size in coordinates:
        number = number * size + i
    return number


def _part(number: int, size: int) -> slice:
    return slice(number * size, (number + 1) * size)


def named(mesh: Any, dimensions: Dimensions) -> NamedSharding:
    """The sharding of dimensions divided by axes of a mesh."""
    kept = list(dimensions)
    while kept and not kept[-1]:
        kept.pop()
    return NamedSharding(mesh, PartitionSpec(*kept))
