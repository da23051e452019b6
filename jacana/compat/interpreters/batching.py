"""What programs import from `jax.interpreters.batching`: rules for vmap of primitives."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana.core.trace import Tracer
from jacana.higher_order.rule_tables import (
    axis_batch_rules,
    axis_data_batch_rules,
    batch_rules,
)
from jacana.ops.families import move_axis, spread_axis
from jacana.transforms.batch import BatchTrace as BatchTrace, BatchTracer as BatchTracer, to_axis

primitive_batchers = batch_rules
axis_primitive_batchers = axis_batch_rules
fancy_primitive_batchers = axis_data_batch_rules
not_mapped = None
NotMapped = type(None)


def broadcast(x: Any, sz: int, axis: int, mesh_axis: Any = None) -> Any:
    """The value for each of `sz` examples, along a further axis."""
    return move_axis(spread_axis(x, sz), 0, axis)


def moveaxis(x: Any, source: int, destination: int) -> Any:
    """The value with one axis in another place."""
    return move_axis(x, source % np.ndim(x), destination % np.ndim(x))


def bdim_at_front(x: Any, bdim: int | None, size: int, mesh_axis: Any = None) -> Any:
    """The value with its batch axis first, which it gets if it has none."""
    return to_axis(x, bdim, 0, size)


def defvectorized(prim: Any) -> None:
    """The primitive works on operands with a further axis as it is, the same one in each."""

    def rule(operands: Sequence[Any], axes: Sequence[int | None], **params: Any) -> Any:
        if any(a != axes[0] for a in axes):
            raise NotImplementedError(
                f"vmap of '{prim.name}': its operands are mapped over the axes {tuple(axes)}. "
                f"batching.defvectorized is for one and the same axis; use "
                f"batching.defbroadcasting, or a rule in batching.primitive_batchers."
            )
        out = prim.bind(*operands, **params)
        return out, [axes[0]] * len(out) if prim.multiple_results else axes[0]

    primitive_batchers[prim] = rule


def defbroadcasting(prim: Any) -> None:
    """The primitive works element by element on operands of one shape: a batch is more elements."""

    def rule(operands: Sequence[Any], axes: Sequence[int | None], **params: Any) -> Any:
        size = next(np.shape(x)[a] for x, a in zip(operands, axes, strict=True) if a is not None)
        given = [to_axis(x, a, 0, size) for x, a in zip(operands, axes, strict=True)]
        out = prim.bind(*given, **params)
        return out, [0] * len(out) if prim.multiple_results else 0

    primitive_batchers[prim] = rule


def is_mapped(x: Any) -> bool:
    """Whether a value is one example of a batch."""
    return isinstance(x, Tracer) and type(x) is BatchTracer
