"""The user's own file and line behind each equation."""

import os
import sys
from types import CodeType, FrameType
from typing import NamedTuple

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# Files whose frames are never the user's own line.
_ours: dict[str, bool] = {}


class Source(NamedTuple):
    """A line of the user's program; cheap to record, turned into text only when shown."""

    code: CodeType
    line: int

    def __str__(self) -> str:
        return f"{self.code.co_filename}:{self.line} ({self.code.co_name})"


def is_ours(filename: str) -> bool:
    known = _ours.get(filename)
    if known is None:
        inside = filename.startswith(PACKAGE) and not filename.startswith(PACKAGE + "testing")
        known = _ours[filename] = inside or filename.startswith("<frozen")
    return known


def exclude(path: str) -> None:
    """Take a file's frames for ones that are not the user's: a library asks for it."""
    _ours[path] = True


def user_source() -> Source | None:
    """The innermost frame outside this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        # As is_ours, without a call for each frame.
        if not (_ours.get(code.co_filename) or is_ours(code.co_filename)):
            return Source(code, frame.f_lineno)
        frame = frame.f_back
    return None
