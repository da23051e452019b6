"""Layouts of arrays, under the names of jax.experimental.layout: all are row-major here."""

from typing import Any

from jacana.core.records import record


@record
class Layout:
    """The order of an array's axes in memory, the one that varies least first."""

    major_to_minor: tuple[int, ...]
    tiling: Any = None
    sub_byte_element_size_in_bits: int = 0


@record
class Format:
    """How an array is laid out and divided.

    >>> Format(Layout((0, 1))).layout.major_to_minor
    (0, 1)
    """

    layout: Any = None
    sharding: Any = None
