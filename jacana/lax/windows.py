"""Folds over sliding windows, and how padding is named."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import tree
from jacana.core.values import aval_of
from jacana.lax.operands import integers, operand as operand_of
from jacana.lax.reductions import MONOIDS, as_like, combining_program, is_value, monoid_of
from jacana.ops.windows import Windows

Padding = str | Sequence[tuple[int, int]]


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
) -> list[tuple[int, int]]:
    """The padding before and after each axis that "VALID", "SAME" or "SAME_LOWER" stands for.

    SAME gives ceil(extent / stride) windows, with the odd element of padding after (SAME_LOWER:
    before).

    >>> padtype_to_pads((5,), (2,), (1,), 'SAME')
    [(0, 1)]
    """
    if not isinstance(padding, str):
        return [(operator.index(low), operator.index(high)) for low, high in padding]
    kind = padding.upper()
    if kind == "VALID":
        return [(0, 0)] * len(in_shape)
    if kind not in ("SAME", "SAME_LOWER"):
        raise ValueError(
            f'padding is "VALID", "SAME", "SAME_LOWER" or a pair for each axis, got {padding!r}.'
        )
    pads = []
    for n, size, stride in zip(in_shape, window_shape, window_strides, strict=True):
        needed = max((-(-n // stride) - 1) * stride + size - n, 0)
        half = needed // 2
        pads.append((half, needed - half) if kind == "SAME" else (needed - half, half))
    return pads


def dilated(sizes: Sequence[int], dilation: Sequence[int]) -> list[int]:
    """Extents after elements were moved `dilation` apart."""
    return [(n - 1) * d + 1 if n else 0 for n, d in zip(sizes, dilation, strict=True)]


def _windows(
    shape: Sequence[int], window_dimensions: Any, window_strides: Any, padding: Padding,
    base_dilation: Any, window_dilation: Any,
) -> Windows:  # fmt: skip
    dimensions = integers("reduce_window", "window_dimensions", window_dimensions)
    ones = (1,) * len(dimensions)

    def or_ones(what: str, values: Any) -> tuple[int, ...]:
        return ones if values is None else integers("reduce_window", what, values)

    strides = or_ones("window_strides", window_strides)
    base, apart = or_ones("base_dilation", base_dilation), or_ones("dilation", window_dilation)
    if not len(shape) == len(dimensions) == len(strides) == len(base) == len(apart):
        raise TypeError(
            f"reduce_window needs a window dimension, stride and dilation for each axis of an "
            f"operand of shape {tuple(shape)}, got {dimensions}, {strides}, {base} and {apart}."
        )
    pads = padtype_to_pads(dilated(shape, base), dilated(dimensions, apart), strides, padding)
    return Windows(dimensions, strides, tuple(pads), base, apart)


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """The shape that reduce_window gives.

    >>> reduce_window_shape_tuple((5,), (2,), (2,), 'VALID')
    (2,)
    """
    windows = _windows(
        operand_shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    return windows.counts(operand_shape)


WINDOW_MONOIDS = {
    "add": ops.reduce_window_sum, "max": ops.reduce_window_max, "min": ops.reduce_window_min,
}  # fmt: skip


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: Padding = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Every window of the operand folded by a function of two scalars, from an initial value.

    Places outside the operand are left out. Folds by add, max and min have derivatives.

    >>> x = np.arange(4.0, dtype='float32')
    >>> reduce_window(x, 0.0, lambda a, b: a + b, (2,)).tolist()
    [1.0, 3.0, 5.0]
    """
    values, structure = tree.flatten(operand)
    inits, init_structure = tree.flatten(init_value)
    if structure != init_structure or not values:
        raise ValueError(
            f"Operands must have the same tree structure as init_values: {structure} vs. "
            f"{init_structure}"
        )
    xs = [operand_of("reduce_window", x, k) for k, x in enumerate(values)]
    inits = [as_like(operand_of("reduce_window", i, 1), x) for i, x in zip(inits, xs)]
    windows = _windows(
        np.shape(xs[0]), window_dimensions, window_strides, padding, base_dilation, window_dilation
    )
    program = combining_program(computation, xs, structure)
    name = monoid_of(program)
    if name in WINDOW_MONOIDS:
        made = WINDOW_MONOIDS[name](xs[0], **windows.params())
        if not is_value(inits[0], MONOIDS[name][1](aval_of(xs[0]).dtype)):
            made = program.jaxpr.eqns[0].primitive(made, inits[0])
        return tree.unflatten(structure, [made])
    outs = ops.reduce_window(*xs, *inits, jaxpr=program, **windows.params())
    return tree.unflatten(structure, outs)
