"""What programs import from `jax.interpreters`: the rules of primitives."""

from jacana.compat.interpreters import (
    ad as ad,
    batching as batching,
    mlir as mlir,
    partial_eval as partial_eval,
    pxla as pxla,
    xla as xla,
)
