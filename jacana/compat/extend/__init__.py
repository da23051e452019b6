"""What programs import from `jax.extend`."""

from jacana.compat import core as core
