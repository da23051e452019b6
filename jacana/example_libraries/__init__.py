"""Small libraries that show how to write larger ones, under the names of jax.example_libraries."""

from jacana.example_libraries import optimizers as optimizers, stax as stax
