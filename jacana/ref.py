"""jax.ref: references to memory that programs read and write (docs/design/refs.md)."""

from jacana.core.avals import AbstractRef as AbstractRef
from jacana.numpy.references import (
    addupdate as addupdate,
    empty_ref as empty_ref,
    free_ref as free_ref,
    freeze as freeze,
    get as get,
    new_ref as new_ref,
    set as set,
    swap as swap,
)
from jacana.runtime.ref import Ref as Ref
