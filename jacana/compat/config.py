"""What programs import from `jax.config`: `from jax.config import config`."""

from jacana.api.settings import config as config

update = config.update
