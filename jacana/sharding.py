"""jax.sharding: meshes of devices, and how arrays are divided between them."""

from jacana.api.meshes import (
    get_abstract_mesh as get_abstract_mesh,
    get_mesh as get_mesh,
    set_mesh as set_mesh,
    use_abstract_mesh as use_abstract_mesh,
)
from jacana.api.placing import reshard as reshard
from jacana.core.mesh import (
    AbstractMesh as AbstractMesh,
    AxisType as AxisType,
    Mesh as Mesh,
    PartitionSpec as PartitionSpec,
)
from jacana.core.sharding import (
    NamedSharding as NamedSharding,
    Sharding as Sharding,
    SingleDeviceSharding as SingleDeviceSharding,
)
