"""What JAX's tutorials and libraries import from `jax._src.util`: sequences of one length."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any


def safe_zip(*args: Iterable[Any]) -> list[tuple[Any, ...]]:
    """zip, of sequences that must have one length."""
    return list(zip(*args, strict=True))


def safe_map(function: Callable[..., Any], *args: Iterable[Any]) -> list[Any]:
    """map, over sequences that must have one length."""
    return [function(*xs) for xs in zip(*args, strict=True)]


def unzip2(pairs: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The first and the second of each pair."""
    given = list(pairs)
    return tuple(a for a, _ in given), tuple(b for _, b in given)


def split_list(args: Sequence[Any], counts: Sequence[int]) -> list[list[Any]]:
    """Pieces of these lengths, and the rest."""
    pieces, rest = [], list(args)
    for n in counts:
        pieces.append(rest[:n])
        rest = rest[n:]
    return [*pieces, rest]
