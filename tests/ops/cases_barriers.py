"""Cases of barriers."""

from jacana import make_mesh, ops
from jacana.core.mesh import PartitionSpec
from jacana.core.sharding import NamedSharding
from jacana.testing.cases import full_range, normal, special
from tests.ops.cases import case

case(ops.stop_gradient, special(40, dtype="float32"))
case(ops.stop_gradient, normal(2, 3, dtype="complex128"))
case(ops.stop_gradient, normal(0))
case(ops.stop_gradient, normal(dtype="float16"))
case(ops.stop_gradient, full_range(5, dtype="int8"))
case(ops.name, special(40, dtype="float32"), name="a")
case(ops.name, normal(2, 3), name="a")
SHARDING = NamedSharding(make_mesh((1,), ("x",)), PartitionSpec("x"))
case(ops.sharding_constraint, normal(2, 3), sharding=SHARDING).linear((0,)).twice()
case(ops.sharding_constraint, special(40, dtype="float32"), sharding=SHARDING)
case(ops.sharding_constraint, full_range(4, dtype="int8"), sharding=SHARDING)
case(ops.optimization_barrier, normal(2, 3)).linear((0,)).twice()
case(ops.optimization_barrier, normal(3), full_range(4, dtype="int8"))
case(ops.optimization_barrier, normal(3), normal(2)).linear((0, 1))
