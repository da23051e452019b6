"""Which axes of a scatter's operands belong together."""

from collections.abc import Sequence
from typing import NamedTuple

from jacana.ops.gather import GatherDimensionNumbers, Places

Axes = tuple[int, ...]


class ScatterDimensionNumbers(NamedTuple):
    """Which axes of operand, indices and updates belong together, as in GatherDimensionNumbers."""

    update_window_dims: Axes
    inserted_window_dims: Axes
    scatter_dims_to_operand_dims: Axes
    operand_batching_dims: Axes = ()
    scatter_indices_batching_dims: Axes = ()


class Layout:
    """How the axes of a scatter's operands belong together."""

    def __init__(
        self, x_shape: Sequence[int], updates_shape: Sequence[int], numbers: ScatterDimensionNumbers
    ):
        rank = len(x_shape)
        self.numbers = numbers
        gone = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
        # Axes of x that the updates' window axes run in, and the updates' other axes.
        self.window = [a for a in range(rank) if a not in gone]
        self.within = numbers.update_window_dims
        self.among = [a for a in range(len(updates_shape)) if a not in self.within]
        extents = dict(zip(self.window, (updates_shape[a] for a in self.within)))
        self.slice_sizes = tuple(extents.get(a, 1) for a in range(rank))
        self.limits = [n - k for n, k in zip(x_shape, self.slice_sizes)]
        self.places = Places(
            rank,
            numbers.scatter_dims_to_operand_dims,
            numbers.operand_batching_dims,
            numbers.scatter_indices_batching_dims,
        )

    def gather_numbers(self) -> GatherDimensionNumbers:
        """How to gather the slices that the updates meet."""
        n = self.numbers
        return GatherDimensionNumbers(
            n.update_window_dims, n.inserted_window_dims, n.scatter_dims_to_operand_dims,
            n.operand_batching_dims, n.scatter_indices_batching_dims,
        )  # fmt: skip
