"""Params that callers may omit: primitives complete them before they are bound, so that equal
calls have equal params and programs print every one.
"""

from typing import Any, ClassVar

from jacana.core.primitive import Primitive
from jacana.core.trace import current


class WithDefaults(Primitive):
    """A primitive some of whose params have defaults."""

    defaults: ClassVar[dict[str, Any]] = {}

    def __call__(self, *args: Any, **params: Any) -> Any:
        return current().process(self, args, self.completed(params))

    def completed(self, params: dict[str, Any]) -> dict[str, Any]:
        """The params with the defaults of those left out."""
        return self.defaults | params

    bind = __call__


def without_none(params: dict[str, Any], *names: str) -> dict[str, Any]:
    """The params without those of the names whose value is None."""
    return {k: v for k, v in params.items() if not (k in names and v is None)}
