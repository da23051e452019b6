"""jax.experimental.mesh_utils: devices in the shape of a mesh."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana.api.meshes import make_mesh


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """An array of devices of a shape, for `jax.sharding.Mesh`; ValueError if there are too few.

    >>> create_device_mesh((1, 1)).shape
    (1, 1)
    """
    names = [str(i) for i in range(len(mesh_shape))]
    return make_mesh(mesh_shape, names, devices=devices).devices
