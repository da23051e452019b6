"""jax.debug: printing, calling and stopping while a program runs; pictures of shardings."""

from jacana.api.callback import (
    debug_breakpoint as breakpoint,
    debug_callback as callback,
    debug_print as print,
)
from jacana.api.visualize import (
    inspect_array_sharding,
    visualize_array_sharding,
    visualize_sharding,
)

__all__ = [
    "breakpoint", "callback", "inspect_array_sharding", "print", "visualize_array_sharding",
    "visualize_sharding",
]  # fmt: skip
