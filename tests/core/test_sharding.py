"""Meshes, specs and shardings as data."""

import pickle

import numpy as np
import pytest

import jacana as jax
from jacana.core.errors import DuplicateSpecError, IndivisibleError
from jacana.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec as P,
    SingleDeviceSharding,
)


@pytest.fixture
def mesh(eight_devices):
    return Mesh(np.array(eight_devices).reshape(4, 2), ("x", "y"))


def test_specs():
    assert repr(P("x", None, ("y", "z"))) == "P('x', None, ('y', 'z'))"
    assert P(("x",)) == P("x") == ("x",) and hash(P("x")) == hash(P(("x",)))
    assert P("x") != P("x", None)
    assert P("x") + P("y") == P("x", "y") and P("x", "y")[1] == "y" and len(P()) == 0
    assert list(P(None, "x")) == [None, "x"]
    with pytest.raises(NotImplementedError, match="unreduced"):
        P("x", unreduced={"y"})


def test_meshes(mesh, eight_devices):
    assert mesh.shape == {"x": 4, "y": 2} and mesh.size == 8 and not mesh.empty
    assert mesh.device_ids.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert str(mesh) == "Mesh('x': 4, 'y': 2, axis_types=(Auto, Auto))"
    assert mesh == Mesh(mesh.devices, ("x", "y")) != mesh.update(axis_names=("y", "x"))
    assert mesh.abstract_mesh == AbstractMesh((4, 2), ("x", "y"))
    assert pickle.loads(pickle.dumps(mesh)) == mesh
    made = jax.make_mesh((4, 2), ("x", "y"))
    assert made.are_all_axes_explicit and mesh.are_all_axes_auto
    assert made.update(axis_types=(AxisType.Auto,) * 2) == mesh
    with pytest.raises(ValueError, match=r"devices.ndim == 1 and len\(axis_names\) == 2"):
        Mesh(eight_devices, ("x", "y"))
    with pytest.raises(ValueError, match="Number of devices 8 must be >="):
        jax.make_mesh((4, 4), ("x", "y"))
    with pytest.raises(ValueError, match="different names"):
        Mesh(mesh.devices, ("x", "x"))


def test_mesh_in_context(mesh):
    assert jax.sharding.get_mesh().empty
    with jax.set_mesh(mesh) as given:
        assert given == mesh == jax.sharding.get_mesh()
        assert jax.sharding.get_abstract_mesh() == mesh.abstract_mesh
    with mesh:
        assert jax.sharding.get_mesh() == mesh
    assert jax.sharding.get_abstract_mesh().empty


def test_which_device_has_what(mesh, eight_devices):
    found = NamedSharding(mesh, P("x", "y")).devices_indices_map((8, 4))
    assert found[eight_devices[5]] == (slice(4, 6), slice(2, 4))
    both = NamedSharding(mesh, P(("y", "x"), None))
    assert both.devices_indices_map((8, 3))[eight_devices[1]] == (slice(4, 5), slice(None))
    assert both.shard_shape((16, 3)) == (2, 3)
    assert NamedSharding(mesh, P()).is_fully_replicated
    one = SingleDeviceSharding(eight_devices[2])
    assert one.devices_indices_map((3,)) == {eight_devices[2]: (slice(None),)}


def test_equality_and_equivalence(mesh):
    x, x_none = NamedSharding(mesh, P("x")), NamedSharding(mesh, P("x", None))
    assert x != x_none and x.is_equivalent_to(x_none, 2)
    assert not x.is_equivalent_to(NamedSharding(mesh, P("y")), 2)
    other = Mesh(mesh.devices, ("a", "b"))
    assert x.is_equivalent_to(NamedSharding(other, P("a")), 1)
    assert pickle.loads(pickle.dumps(x)) == x


def test_what_is_refused(mesh):
    with pytest.raises(ValueError, match=r"axis: z of P.* is not found in mesh"):
        NamedSharding(mesh, P("z"))
    with pytest.raises(DuplicateSpecError, match="duplicate entries for `x`"):
        NamedSharding(mesh, P("x", "x"))
    with pytest.raises(IndivisibleError, match=r"axis 0 is partitioned 4 times, .* size is 6"):
        NamedSharding(mesh, P("x")).shard_shape((6,))
    with pytest.raises(ValueError, match="only valid for values of rank at least 2"):
        NamedSharding(mesh, P("x", "y")).shard_shape((8,))
