"""Tracebacks that show the user's own frames.

`traceback_filtering` off shows jacana's frames too. Programs that print tracebacks in their own way
call `hide_internal_frames` themselves.
"""

import sys
from types import TracebackType
from typing import Any

from jacana.core import config
from jacana.core.source import is_ours

NOTE = "(Frames inside jacana are left out; JAX_TRACEBACK_FILTERING=off shows them.)"


def hide_internal_frames(error: BaseException) -> None:
    """Take jacana's own frames out of the traceback of an error and of those that led to it."""
    if config.current().traceback_filtering == "off":
        return
    seen: set[int] = set()
    todo: list[BaseException | None] = [error]
    left_out = False
    while todo:
        e = todo.pop()
        if e is None or id(e) in seen:
            continue
        seen.add(id(e))
        kept, count = users_frames(e.__traceback__)
        if kept is not None and count:
            e.__traceback__ = kept
            left_out = True
        todo += [e.__cause__, None if e.__suppress_context__ else e.__context__]
    if left_out and NOTE not in getattr(error, "__notes__", ()):
        error.add_note(NOTE)


def users_frames(traceback: TracebackType | None) -> tuple[TracebackType | None, int]:
    """The traceback without jacana's frames, and how many these were."""
    frames = []
    count = 0
    while traceback is not None:
        if is_ours(traceback.tb_frame.f_code.co_filename):
            count += 1
        else:
            frames.append(traceback)
        traceback = traceback.tb_next
    kept = None
    for t in reversed(frames):
        kept = TracebackType(kept, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return kept, count


def show_in_notebook(shell: Any, kind: Any, error: Any, traceback: Any, tb_offset: Any) -> Any:
    """IPython's handler of errors, for `set_custom_exc`."""
    hide_internal_frames(error)
    return shell.showtraceback((kind, error, error.__traceback__), tb_offset=tb_offset)


def install() -> None:
    """From here on errors that end the program are shown without jacana's own frames."""
    show_error = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, traceback: Any) -> None:
        hide_internal_frames(error)
        show_error(kind, error, error.__traceback__)

    sys.excepthook = show
