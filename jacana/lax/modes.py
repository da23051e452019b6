"""Choices that lax functions take."""

import enum
from typing import NamedTuple


class RoundingMethod(enum.IntEnum):
    """Where `round` sends halves."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


class AccuracyMode(enum.Enum):
    """How exact a function is asked to be; the functions here are as exact in every mode."""

    DEFAULT = 1
    HIGHEST = 2


class Tolerance(NamedTuple):
    """Bounds on the error of a function; the functions here keep within a few ulps."""

    atol: float = 0.0
    rtol: float = 0.0
    ulps: int = 0
