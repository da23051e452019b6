"""The names of `jax._src` that well-known libraries import, although it is JAX's inside.

There will not be more than libraries need: programs should use what JAX documents.
"""
