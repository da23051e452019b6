"""What programs import from `jax.interpreters.pxla`: nothing of it is there."""
