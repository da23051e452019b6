"""What libraries import from `jax._src.traceback_util`."""

from collections.abc import Callable
from types import FrameType
from typing import Any

from jacana.core.source import exclude as register_exclusion, is_ours

__all__ = ["api_boundary", "include_frame", "register_exclusion"]


def include_frame(frame: FrameType) -> bool:
    """Whether a frame is the user's own."""
    return not is_ours(frame.f_code.co_filename)


def api_boundary(fun: Callable[..., Any], **_: Any) -> Callable[..., Any]:
    """The function: tracebacks are filtered where they are shown."""
    return fun
