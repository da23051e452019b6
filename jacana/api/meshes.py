"""Meshes as users make and set them."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana.core import config
from jacana.core.mesh import EMPTY, AbstractMesh, AxisType, Mesh
from jacana.runtime.device import devices as known_devices


def make_mesh(
    axis_shapes: Sequence[int],
    axis_names: Sequence[str],
    axis_types: tuple[AxisType, ...] | None = None,
    *,
    devices: Sequence[Any] | None = None,
) -> Mesh:
    """A mesh of the first devices, with axes of the given sizes and names.

    The types of the axes are Explicit unless said otherwise. Raises ValueError where there are too
    few devices.

    >>> make_mesh((1, 1), ("x", "y"))
    Mesh(axis_sizes=(1, 1), axis_names=('x', 'y'), axis_types=(Explicit, Explicit))
    """
    names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
    found = list(known_devices() if devices is None else devices)
    count = math.prod(axis_shapes)
    if len(axis_shapes) != len(names):
        raise ValueError(
            f"make_mesh needs a name for each axis, got axis_shapes {tuple(axis_shapes)} and "
            f"axis_names {names}."
        )
    if count > len(found):
        raise ValueError(
            f"Number of devices {len(found)} must be >= the product of mesh_shape "
            f"{tuple(axis_shapes)}. Set jax_num_cpu_devices before the first use of devices."
        )
    placed = np.array(found[:count], dtype=object).reshape(tuple(axis_shapes))
    return Mesh(placed, names, axis_types or (AxisType.Explicit,) * len(names))


class set_mesh:
    """The mesh that specs without one refer to, from here on or for a `with` block.

    >>> with set_mesh(make_mesh((1,), ("x",))):
    ...     get_mesh().axis_names
    ('x',)
    """

    def __init__(self, mesh: Mesh | None):
        if not (mesh is None or isinstance(mesh, Mesh)):
            raise ValueError(
                f"set_mesh needs a jax.sharding.Mesh, got {mesh!r} of type {type(mesh).__name__}."
            )
        self._outer = config.current().mesh
        self._mesh = mesh
        config.update("mesh", mesh)

    def __enter__(self) -> Mesh | None:
        return self._mesh

    def __exit__(self, *exception: Any) -> None:
        config.update("mesh", self._outer)


class use_abstract_mesh:
    """`with use_abstract_mesh(mesh):` names and sizes of axes are those of a mesh."""

    def __init__(self, mesh: AbstractMesh):
        self._mesh = mesh

    def __enter__(self) -> AbstractMesh:
        self._outer = config.current().mesh
        config.update("mesh", self._mesh)
        return self._mesh

    def __exit__(self, *exception: Any) -> None:
        config.update("mesh", self._outer)


def get_mesh() -> Mesh | AbstractMesh:
    """The mesh of `jax.set_mesh`; an empty one if there is none."""
    mesh = config.current().mesh
    return mesh if isinstance(mesh, Mesh) else EMPTY


def get_abstract_mesh() -> AbstractMesh:
    """The names and sizes of the mesh in context; an empty one if there is none."""
    mesh = config.current().mesh
    return EMPTY if mesh is None else mesh.abstract_mesh
