"""Barriers: what a transformation, or the compiler, does not look behind."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana.core.avals import ShapedArray
from jacana.core.primitive import Linear, Primitive
from jacana.ops.families import ANY, Elementwise, not_differentiable, not_linear
from jacana.ops.lowering import Build, Tensor


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


class OptimizationBarrier(Primitive):
    """The operands themselves: what is computed from them is not merged with what was before."""

    name = "optimization_barrier"
    multiple_results = True

    def type_rule(self, *xs: ShapedArray) -> list[ShapedArray]:
        return list(xs)

    def reference(self, *xs: Any) -> list[Any]:
        return [np.array(x) for x in xs]

    def jvp(self, i: int, t: Any, outs: Sequence[Any], *xs: Any) -> list[Any]:
        (moved,) = self(t)
        return [moved if k == i else None for k in range(len(xs))]

    def transpose(self, cts: Sequence[Any], *xs: Any) -> list[Any]:
        places = [k for k, ct in enumerate(cts) if ct is not None and isinstance(xs[k], Linear)]
        found = dict(zip(places, self(*[cts[k] for k in places]), strict=True))
        return [found.get(k) for k in range(len(xs))]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None]
    ) -> tuple[list[Any], list[int | None]]:
        return list(self(*operands)), list(axes)

    def lower(self, build: Build, *xs: Tensor) -> list[Tensor]:
        return list(xs)


class Name(Elementwise):
    """The operand itself, under a name that policies of `checkpoint` know it by."""

    name = "name"
    kinds = ANY
    transpose = not_linear

    def reference(self, x: Any, *, name: str) -> Any:
        return np.array(x)

    def jvp(self, i: int, t: Any, out: Any, x: Any, *, name: str) -> Any:
        return t

    def element(self, x: Any, *, name: str) -> Any:
        return x


stop_gradient = StopGradient()
optimization_barrier = OptimizationBarrier()
name = Name()
