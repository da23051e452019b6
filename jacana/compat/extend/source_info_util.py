"""What programs import from `jax.extend.source_info_util`."""

from jacana.core.source import exclude as register_exclusion

__all__ = ["register_exclusion"]
