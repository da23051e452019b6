"""Barriers: what a transformation does not look behind."""

from typing import Any

import numpy as np

from jacana.ops.families import ANY, Elementwise, not_differentiable, not_linear


class StopGradient(Elementwise):
    """The operand itself, without a derivative."""

    name = "stop_gradient"
    kinds = ANY
    jvp = not_differentiable
    transpose = not_linear

    def reference(self, x: Any) -> Any:
        return np.array(x)

    def element(self, x: Any) -> Any:
        return x


stop_gradient = StopGradient()
