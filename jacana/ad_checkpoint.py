"""jax.ad_checkpoint: checkpoint, names for its policies, and what is kept."""

from jacana import checkpoint_policies as checkpoint_policies
from jacana.api.checkpoint import (
    checkpoint as checkpoint,
    checkpoint_name as checkpoint_name,
    print_saved_residuals as print_saved_residuals,
    remat as remat,
)
