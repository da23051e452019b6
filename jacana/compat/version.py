"""What programs import from `jax.version`: the release of JAX that is followed."""

import jacana

__version__ = jacana.__jax_version__
__version_info__ = tuple(map(int, jacana.__jax_version__.split(".")))
