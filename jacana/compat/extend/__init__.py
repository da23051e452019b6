"""What programs import from `jax.extend`."""

from jacana.compat.extend import (
    core as core,
    linear_util as linear_util,
    source_info_util as source_info_util,
)
