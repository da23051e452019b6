"""Sorting, and the greatest and least elements."""

import operator
from typing import Any

import numpy as np

from jacana import ops
from jacana.lax.operands import axis_of, operand as operand_of


def sort(operand: Any, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """The operand in ascending order along an axis; several ones, ordered by the first num_keys.

    nan comes last, whatever its sign; -0.0 equals 0.0.

    >>> sort(np.array([3, 1, 2])).tolist()
    [1, 2, 3]
    """
    single = not isinstance(operand, list | tuple)
    given = [operand] if single else list(operand)
    if not given:
        raise TypeError("Sort requires at least one operand")
    xs = [operand_of("sort", x, k) for k, x in enumerate(given)]
    if not 1 <= num_keys <= len(xs):
        raise ValueError(f"num_keys={num_keys} must be between 1 and len(operand)={len(xs)}")
    outs = ops.sort(
        *xs, dimension=axis_of(dimension, np.ndim(xs[0])), is_stable=bool(is_stable),
        num_keys=operator.index(num_keys),
    )  # fmt: skip
    return outs[0] if single else tuple(outs)


def sort_key_val(
    keys: Any, values: Any, dimension: int = -1, is_stable: bool = True
) -> tuple[Any, Any]:
    """Keys in ascending order along an axis, and the values in the same order.

    >>> [v.tolist() for v in sort_key_val(np.array([2, 1]), np.array([7, 8]))]
    [[1, 2], [8, 7]]
    """
    ordered, moved = sort((keys, values), dimension, is_stable)
    return ordered, moved


def top_k(operand: Any, k: int, *, axis: int = -1) -> list[Any]:
    """The k greatest elements along an axis, from the greatest, and their indices.

    nan is greater than all. ValueError if there are fewer than k.

    >>> [v.tolist() for v in top_k(np.array([3, 1, 2]), 2)]
    [[3, 2], [0, 2]]
    """
    x = operand_of("top_k", operand)
    rank = np.ndim(x)
    if rank == 0:
        raise TypeError("top_k operand must have >= 1 dimension, got ()")
    return list(ops.top_k(x, k=operator.index(k), axis=axis_of(axis, rank)))


def approx_max_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:
    """The k greatest elements along an axis and their indices; exact, whatever recall is asked for.

    >>> approx_max_k(np.array([3.0, 1.0, 2.0], 'float32'), 2)[1].tolist()
    [0, 2]
    """
    values, positions = ops.approx_top_k(
        operand_of("approx_max_k", operand), k=operator.index(k),
        reduction_dimension=reduction_dimension, recall_target=recall_target, is_max_k=True,
        reduction_input_size_override=reduction_input_size_override,
        aggregate_to_topk=aggregate_to_topk,
    )  # fmt: skip
    return values, positions


def approx_min_k(
    operand: Any,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> tuple[Any, Any]:
    """The k least elements along an axis and their indices; exact, whatever recall is asked for."""
    values, positions = ops.approx_top_k(
        operand_of("approx_min_k", operand), k=operator.index(k),
        reduction_dimension=reduction_dimension, recall_target=recall_target, is_max_k=False,
        reduction_input_size_override=reduction_input_size_override,
        aggregate_to_topk=aggregate_to_topk,
    )  # fmt: skip
    return values, positions
