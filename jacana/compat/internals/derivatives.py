"""What libraries import from `jax._src.ad_util`."""

from jacana.lax import stop_gradient_p as stop_gradient_p
