"""The stages of a jitted function, under the names of jax.stages.

`jit(f).trace(*args).lower().compile()(*args)`: traced, lowered and compiled for arguments of
certain types.
"""

from typing import Any, Protocol

from jacana.api.staged import (
    ArgInfo as ArgInfo,
    Compiled as Compiled,
    Lowered as Lowered,
    Traced as Traced,
)

CompilerOptions = dict[str, str | bool | int | float]

__all__ = ["CompilerOptions", "Wrapped"]


class Wrapped(Protocol):
    """What `jit` gives: a function that can be traced and lowered before it is called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result."""

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """The function traced for arguments of these types."""

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The function traced and lowered for arguments of these types."""
