"""What libraries import from `jax._src.dispatch`."""

from jacana.api.scopes import effects_barrier as wait_for_tokens

__all__ = ["wait_for_tokens"]
