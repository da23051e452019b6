"""Importing this module makes `import jax` give jacana, where only a module can be named."""

from jacana import compat

compat.install()
