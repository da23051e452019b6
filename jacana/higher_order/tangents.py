"""Tangents of loop carries: zero ones become arrays where a later step makes them nonzero."""

from collections.abc import Sequence
from typing import Any

from jacana.transforms.jvp import zero_tangent


def instantiate_flags(
    tangents: Sequence[Any], primals: Sequence[Any], wanted: Sequence[bool]
) -> list[Any]:
    """The tangents with zeros as arrays where they are wanted."""
    return [
        zero_tangent(p) if t is None and w else t
        for t, p, w in zip(tangents, primals, wanted, strict=True)
    ]
