"""jax.debug: printing, calling and stopping while a compiled program runs."""

from jacana.api.callback import (
    debug_breakpoint as breakpoint,
    debug_callback as callback,
    debug_print as print,
)

__all__ = ["breakpoint", "callback", "print"]
