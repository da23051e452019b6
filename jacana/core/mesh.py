"""Meshes: devices in the shape of an array whose axes have names, and specs that refer to these."""

import enum
import math
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

from jacana.core import config


class AxisType(enum.Enum):
    """Who decides what is divided along an axis of a mesh: the compiler, the types, or the user."""

    Auto = 0
    Explicit = 1
    Manual = 2

    def __repr__(self) -> str:
        return self.name


class _Unconstrained:
    """Stands in a spec for a dimension that the compiler may divide as it likes."""

    def __repr__(self) -> str:
        return "UNCONSTRAINED"


class PartitionSpec:
    """For each dimension of an array the mesh axis that divides it, several of them, or None.

    >>> PartitionSpec("x", None, ("y", "z"))
    P('x', None, ('y', 'z'))
    """

    __slots__ = ("_entries",)
    UNCONSTRAINED: ClassVar[Any] = _Unconstrained()

    def __init__(self, *partitions: Any, unreduced: Any = (), reduced: Any = ()):
        if unreduced or reduced:
            raise NotImplementedError(
                "PartitionSpec(unreduced=, reduced=): arrays with parts still to be summed are not "
                "there yet. Sum them in a shard_map, with jax.lax.psum."
            )
        entries = [tuple(p) if isinstance(p, list) else p for p in partitions]
        self._entries = tuple([_simple(p) for p in entries])

    def names(self) -> list[tuple[Any, ...]]:
        """The mesh axes of each dimension that it speaks of."""
        return [
            () if p is None or p is PartitionSpec.UNCONSTRAINED
            else p if isinstance(p, tuple) else (p,)
            for p in self._entries
        ]  # fmt: skip

    def __iter__(self) -> Iterator[Any]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, i: Any) -> Any:
        return self._entries[i]

    def __add__(self, other: Any) -> "PartitionSpec":
        return PartitionSpec(*self, *other)

    def __radd__(self, other: Any) -> "PartitionSpec":
        return PartitionSpec(*other, *self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PartitionSpec):
            return self._entries == other._entries
        return self._entries == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._entries)

    def __repr__(self) -> str:
        return f"P{self._entries!r}"

    def __reduce__(self) -> Any:
        return PartitionSpec, self._entries


def _simple(entry: Any) -> Any:
    """An entry as it is kept: no tuple of one name, None for none."""
    if isinstance(entry, tuple) and len(entry) < 2:
        return entry[0] if entry else None
    return entry


class _NamedAxes:
    """What meshes of devices and abstract ones have in common."""

    axis_names: tuple[Any, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]

    @property
    def shape(self) -> "OrderedDict[Any, int]":
        """Sizes by name."""
        return OrderedDict(zip(self.axis_names, self.axis_sizes))

    @property
    def shape_tuple(self) -> tuple[tuple[Any, int], ...]:
        return tuple(zip(self.axis_names, self.axis_sizes))

    @property
    def size(self) -> int:
        """How many devices there are."""
        return math.prod(self.axis_sizes) if self.axis_names else 0

    @property
    def empty(self) -> bool:
        return not self.axis_names

    def _of_type(self, kind: AxisType) -> tuple[Any, ...]:
        return tuple([n for n, t in zip(self.axis_names, self.axis_types) if t is kind])

    @property
    def auto_axes(self) -> tuple[Any, ...]:
        return self._of_type(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[Any, ...]:
        return self._of_type(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[Any, ...]:
        return self._of_type(AxisType.Manual)

    @property
    def are_all_axes_auto(self) -> bool:
        return self.auto_axes == self.axis_names

    @property
    def are_all_axes_explicit(self) -> bool:
        return self.explicit_axes == self.axis_names

    @property
    def are_all_axes_manual(self) -> bool:
        return self.manual_axes == self.axis_names

    def __str__(self) -> str:
        sizes = ", ".join([f"{n!r}: {s}" for n, s in self.shape_tuple])
        return f"{type(self).__name__}({sizes}, axis_types={self.axis_types})"


def _checked_types(kind: str, names: tuple[Any, ...], types: Any) -> tuple[AxisType, ...]:
    if types is None:
        return (AxisType.Auto,) * len(names)
    found = tuple(types) if isinstance(types, Sequence) else (types,)
    if len(found) != len(names) or not all(isinstance(t, AxisType) for t in found):
        raise ValueError(
            f"{kind}: axis_types needs one jax.sharding.AxisType for each of the axes {names}, got "
            f"{types!r}."
        )
    return found


class AbstractMesh(_NamedAxes):
    """The names and sizes of a mesh without its devices.

    >>> AbstractMesh((4, 2), ("x", "y")).shape["y"]
    2
    """

    def __init__(self, axis_sizes: Any, axis_names: Any, axis_types: Any = None):
        self.axis_sizes = tuple(map(int, axis_sizes))
        self.axis_names = tuple(axis_names)
        if len(self.axis_sizes) != len(self.axis_names):
            raise ValueError(
                f"AbstractMesh needs a name for each axis, got sizes {self.axis_sizes} and names "
                f"{self.axis_names}."
            )
        self.axis_types = _checked_types("AbstractMesh", self.axis_names, axis_types)

    def _key(self) -> Any:
        return (self.axis_sizes, self.axis_names, self.axis_types)

    @property
    def abstract_mesh(self) -> "AbstractMesh":
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AbstractMesh) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return str(self)


class Mesh(_NamedAxes):
    """Devices as an array with a name for each axis; `with mesh:` is `with jax.set_mesh(mesh):`.

    Raises ValueError where the names do not fit the array.

    >>> import jacana
    >>> Mesh(jacana.devices()[:1], ("x",)).shape_tuple
    (('x', 1),)
    """

    def __init__(self, devices: Any, axis_names: Any, axis_types: Any = None):
        self.devices = np.array(devices, dtype=object)
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if self.devices.ndim != len(names):
            raise ValueError(
                f"Mesh requires the ndim of its first argument (`devices`) to equal the length of "
                f"its second argument (`axis_names`), but got devices.ndim == "
                f"{self.devices.ndim} and len(axis_names) == {len(names)}."
            )
        if len(set(names)) != len(names):
            raise ValueError(f"Mesh needs different names for its axes, got {names}.")
        self.devices.flags.writeable = False
        self.axis_names, self.axis_sizes = names, self.devices.shape
        self.axis_types = _checked_types("Mesh", names, axis_types)
        self._key = (self.axis_sizes, names, self.axis_types, tuple(self.devices.flat))
        self._hash = hash(self._key)
        self._outer: list[Any] = []

    @property
    def abstract_mesh(self) -> AbstractMesh:
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types)

    @property
    def device_ids(self) -> np.ndarray:
        ids = [d.id for d in self.devices.flat]
        return np.array(ids, dtype=np.int64).reshape(self.axis_sizes)

    @property
    def local_devices(self) -> list[Any]:
        return list(self.devices.flat)

    @property
    def local_mesh(self) -> "Mesh":
        return self

    @property
    def is_multi_process(self) -> bool:
        return False

    def update(self, devices: Any = None, axis_names: Any = None, axis_types: Any = None) -> "Mesh":
        """The mesh with some of what it is made of replaced."""
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    def __enter__(self) -> "Mesh":
        self._outer.append(config.current().mesh)
        config.update("mesh", self)
        return self

    def __exit__(self, *exception: Any) -> None:
        config.update("mesh", self._outer.pop())

    def __eq__(self, other: object) -> bool:
        return self is other or isinstance(other, Mesh) and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return (
            f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}, "
            f"axis_types={self.axis_types})"
        )

    def __reduce__(self) -> Any:
        return Mesh, (self.devices, self.axis_names, self.axis_types)


EMPTY = AbstractMesh((), ())


def current_mesh() -> Mesh | AbstractMesh | None:
    """The mesh that `jax.set_mesh` set, if any."""
    mesh: Mesh | AbstractMesh | None = config.current().mesh
    return mesh
