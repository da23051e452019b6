"""jax.experimental: integrators, and settings under the names that programs import from here."""

from typing import TYPE_CHECKING

from jacana.api.callback import io_callback as io_callback
from jacana.api.settings import disable_x64 as disable_x64, enable_x64 as enable_x64
from jacana.core.deferred import deferred

if TYPE_CHECKING:
    from jacana.experimental import (
        checkify as checkify,
        jet as jet,
        layout as layout,
        mesh_utils as mesh_utils,
        ode as ode,
        shard_map as shard_map,
    )

__getattr__, __dir__ = deferred(
    __name__, ("checkify", "jet", "layout", "mesh_utils", "ode", "shard_map")
)
