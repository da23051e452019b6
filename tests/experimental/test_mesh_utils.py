"""jax.experimental.mesh_utils."""

import pytest

import jacana as jax
from jacana.experimental import mesh_utils
from jacana.sharding import Mesh


def test_devices_in_the_shape_of_a_mesh(eight_devices):
    devices = mesh_utils.create_device_mesh((4, 2))
    assert devices.shape == (4, 2) and list(devices.flat) == jax.devices()
    assert Mesh(devices, ("x", "y")).shape == {"x": 4, "y": 2}
    with pytest.raises(ValueError, match="Number of devices 8"):
        mesh_utils.create_device_mesh((3, 3))
