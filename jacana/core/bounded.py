"""A dict that forgets: endless kinds of programs do not fill the memory."""

from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")

LIMIT = 8192


class Bounded(dict[Key, Value]):
    """A dict of at most `limit` entries; the quarter that was set first makes room for others."""

    __slots__ = ("limit",)

    def __init__(self, limit: int = LIMIT) -> None:
        super().__init__()
        self.limit = limit

    def __setitem__(self, key: Key, value: Value) -> None:
        if len(self) >= self.limit and key not in self:
            for old in list(self)[: max(1, self.limit // 4)]:
                self.pop(old, None)
        super().__setitem__(key, value)
