"""Programs that outlive the process that traced them, under the names of jax.export."""

from jacana.export.exported import (
    CALLING_CONVENTION,
    DisabledSafetyCheck as DisabledSafetyCheck,
    Exported as Exported,
    deserialize as deserialize,
    export as export,
)
from jacana.export.structures import (
    register_namedtuple_serialization as register_namedtuple_serialization,
    register_pytree_node_serialization as register_pytree_node_serialization,
)

minimum_supported_calling_convention_version = 1
maximum_supported_calling_convention_version = CALLING_CONVENTION


def default_export_platform() -> str:
    """The platform that programs are exported for where none is said."""
    return "cpu"
