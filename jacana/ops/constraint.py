"""The sharding constraint: an array as it is, and how it is to be divided."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana.core.dimensions import Dimensions
from jacana.core.sharding import NamedSharding, named
from jacana.ops.families import ANY, Elementwise
from jacana.ops.lowering import Build, Tensor


class ShardingConstraint(Elementwise):
    """The operand itself, divided as `sharding` says."""

    name = "sharding_constraint"
    kinds = ANY
    cost = 0.0

    def reference(self, x: Any, *, sharding: Any) -> Any:
        return np.array(x)

    def jvp(self, i: int, t: Any, out: Any, x: Any, *, sharding: Any) -> Any:
        return self(t, sharding=sharding)

    def transpose(self, ct: Any, x: Any, *, sharding: Any) -> list[Any]:
        return [self(ct, sharding=sharding)]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[Any], **params: Any
    ) -> tuple[Any, int]:
        (x,), (axis,), sharding = operands, axes, params["sharding"]
        if isinstance(sharding, NamedSharding):
            spec = sharding.dimensions(np.ndim(x) - 1)
            sharding = named(sharding.mesh, (*spec[:axis], (), *spec[axis:]))
        return self(x, sharding=sharding), axis

    def lower(self, build: Build, *operands: Tensor, **params: Any) -> Tensor:
        return operands[0]

    def spec_rule(
        self, specs: Sequence[Dimensions], avals: Any, outs: Any, params: dict[str, Any]
    ) -> list[Dimensions]:
        sharding = params["sharding"]
        if not isinstance(sharding, NamedSharding):
            return list(specs)
        return [sharding.dimensions(outs[0].ndim)]


sharding_constraint = ShardingConstraint()
