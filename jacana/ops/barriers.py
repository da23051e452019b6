"""Barriers: what a transformation does not look behind."""

from typing import Any

import numpy as np

from jacana.ops.families import ANY, Elementwise, not_differentiable


class StopGradient(Elementwise):
    """The operand itself, without a derivative."""

    name = "stop_gradient"
    kinds = ANY
    jvp = not_differentiable

    def reference(self, x: Any) -> Any:
        return np.array(x)

    def transpose(self, ct: Any, x: Any) -> list[Any]:
        # It stands before tangents only where a mask discards what comes of them.
        return [None]

    def element(self, x: Any) -> Any:
        return x


stop_gradient = StopGradient()
