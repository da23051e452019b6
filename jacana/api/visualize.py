"""Pictures of shardings: which device has which part of an array."""

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

from jacana.core.sharding import Sharding
from jacana.core.trace import Tracer
from jacana.runtime.array import to_array


def inspect_array_sharding(value: Any, *, callback: Callable[[Sharding], None]) -> None:
    """Call a function with the sharding of an array; NotImplementedError for traced ones.

    >>> import jacana.numpy as jnp
    >>> inspect_array_sharding(jnp.ones(2), callback=print)
    SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)
    """
    if isinstance(value, Tracer):
        raise NotImplementedError(
            "inspect_array_sharding of a traced array: programs are the same for all shardings, "
            "and those of inner values are not kept. Inspect the function's results."
        )
    callback(to_array(value).sharding)


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Print which devices have which part of an array of one or two dimensions.

    >>> import jacana.numpy as jnp
    >>> visualize_array_sharding(jnp.ones((2, 2)))
    ┌─────────┐
    │         │
    │  CPU 0  │
    │         │
    └─────────┘
    """

    def show(sharding: Sharding) -> None:
        visualize_sharding(arr.shape, sharding, **kwargs)

    inspect_array_sharding(arr, callback=show)


def visualize_sharding(
    shape: Sequence[int],
    sharding: Sharding,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    color_map: Any = None,
) -> None:
    """Print which devices have which part of an array of a shape: a box for each part.

    `scale` makes boxes larger; `min_width` and `max_width` bound the width of boxes and picture.
    There are no colors yet. ValueError unless the shape has one or two dimensions.
    """
    if len(shape) not in (1, 2):
        raise ValueError(
            f"`visualize_sharding` only works for shapes with 1 and 2 dimensions, got "
            f"{tuple(shape)}."
        )
    sys.stdout.write(f"{picture(shape, sharding, scale, min_width, max_width)}\n")


def picture(
    shape: Sequence[int], sharding: Sharding, scale: float, min_width: int, max_width: int
) -> str:
    """The boxes as text, row by row; devices that have the same part share a box."""
    owners: dict[tuple[int, int], list[int]] = {}
    platform = ""
    for device, index in sharding.devices_indices_map(shape).items():
        starts = [part.start or 0 for part in index]
        place = (starts[0], starts[1]) if len(starts) == 2 else (0, starts[0])
        owners.setdefault(place, []).append(device.id)
        platform = device.platform.upper()
    rows, columns = (sorted({place[axis] for place in owners}) for axis in (0, 1))
    texts = {
        place: f"{platform} {','.join(map(str, sorted(ids)))}" for place, ids in owners.items()
    }
    width = max(min_width, math.ceil(scale * (2 + max(map(len, texts.values())))) + 2)
    width = max(3, min(width, max_width // len(columns) - 1))
    height = max(3, round(3 * scale))
    lines = [_rule("┌┬┐", width, len(columns))]
    for i, row in enumerate(rows):
        boxes = [texts[row, column] for column in columns]
        for line in range(height):
            shown = [t[:width].center(width) if line == height // 2 else " " * width for t in boxes]
            lines.append(f"│{'│'.join(shown)}│")
        last = i == len(rows) - 1
        lines.append(_rule("└┴┘" if last else "├┼┤", width, len(columns)))
    return "\n".join(lines)


def _rule(corners: str, width: int, count: int) -> str:
    left, middle, right = tuple(corners)
    return f"{left}{middle.join(['─' * width] * count)}{right}"
