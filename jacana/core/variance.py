"""Variance: over which axes of a mesh traced values differ from block to block (`aval.vma`).

Only the bodies of `shard_map` have values that vary; see docs/design/devices.md.
"""

from collections.abc import Sequence
from typing import Any

from jacana.core.avals import ShapedArray
from jacana.core.primitive import Primitive, registry
from jacana.core.values import aval_of

NOWHERE: frozenset[Any] = frozenset()


def joint(avals: Sequence[ShapedArray]) -> frozenset[Any]:
    """Where any of the values varies."""
    found = NOWHERE
    for a in avals:
        if a.vma:
            found |= a.vma
    return found


def vary(x: Any, vma: frozenset[Any]) -> Any:
    """x as a value that varies over these axes too."""
    for name in sorted(vma - aval_of(x).vma, key=str):
        x = pvary()(x, axis_name=name)
    return x


def pvary() -> Primitive:
    """The primitive that makes a value vary: it is among the collectives, far above."""
    return registry["pvary"]


def vary_like(x: Any, other: Any) -> Any:
    """x as a value that varies wherever another does."""
    vma = aval_of(other).vma
    return vary(x, vma) if vma else x
