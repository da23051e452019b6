"""jax.numpy.linalg: decompositions, systems of equations, norms."""

from jacana.numpy.products import matmul as matmul, tensordot as tensordot
