"""What a command needs besides its function and its buffers."""

from typing import NamedTuple


class Launch(NamedTuple):
    """Params of a native function, the extent it covers, and how many of it make a chunk."""

    params: tuple[int, ...]
    extent: int = 1
    grain: int = 0
