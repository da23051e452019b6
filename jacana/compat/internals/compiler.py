"""What chex imports as `jax._src.compiler`: nothing of it is here, chex looks when it is used."""
