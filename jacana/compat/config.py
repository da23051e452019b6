"""What programs import from `jax.config`: `from jax.config import config`.

The import leaves this module where `jax.config` was, so it gives the options as well.
"""

from typing import Any

from jacana.api.settings import config as config

update = config.update


def __getattr__(name: str) -> Any:
    return getattr(config, name)
