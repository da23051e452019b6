"""associative_scan: all partial results of an associative operation, in logarithmic depth."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import tree
from jacana.core.values import aval_of


def associative_scan(
    fn: Callable[[Any, Any], Any], elems: Any, reverse: bool = False, axis: int = 0
) -> Any:
    """Along an axis: e0, fn(e0, e1), fn(fn(e0, e1), e2), ... for an associative fn.

    elems is an array or a tree of arrays that agree along the axis; fn combines two trees of slices
    elementwise along it. Pairs are combined, the pairs' results scanned, and the rest filled in, so
    there are about 2 log2(n) steps.

    >>> import jacana.numpy as jnp
    >>> associative_scan(jnp.add, jnp.arange(4))
    Array([0, 1, 3, 6], dtype=int32)
    """
    if not callable(fn):
        raise TypeError("lax.associative_scan: fn argument should be callable.")
    leaves, structure = tree.flatten(elems)
    if not leaves:
        return elems
    rank = np.ndim(leaves[0])
    if not -rank <= axis < rank:
        raise ValueError(f"associative_scan: axis {axis} is out of bounds for rank {rank}.")
    axis %= rank
    length = np.shape(leaves[0])[axis]
    if any(np.shape(x)[axis] != length for x in leaves):
        raise ValueError(
            f"Array inputs to associative_scan must have the same first dimension along the "
            f"scanned axis (saw: {[np.shape(x) for x in leaves]})"
        )

    def combine(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
        pair = structure.unflatten(a), structure.unflatten(b)
        return tree.leaves(fn(*(pair[::-1] if reverse else pair)))

    if reverse:
        leaves = [ops.rev(x, dimensions=(axis,)) for x in leaves]
    result = _scan(combine, leaves, axis)
    if reverse:
        result = [ops.rev(x, dimensions=(axis,)) for x in result]
    return structure.unflatten(result)


def _scan(
    combine: Callable[[Sequence[Any], Sequence[Any]], list[Any]], xs: list[Any], axis: int
) -> list[Any]:
    n = np.shape(xs[0])[axis]
    if n < 2:
        return xs
    pairs = combine(_every(xs, axis, 0, n - 1, 2), _every(xs, axis, 1, n, 2))
    odd = _scan(combine, pairs, axis)
    before = odd if n % 2 else _every(odd, axis, 0, n // 2 - 1, 1)
    first = _every(xs, axis, 0, 1, 1)
    if n > 2:
        later = combine(before, _every(xs, axis, 2, n, 2))
        first = [ops.concatenate(a, b, dimension=axis) for a, b in zip(first, later, strict=True)]
    return [_interleaved(a, b, axis, n) for a, b in zip(first, odd, strict=True)]


def _every(xs: Sequence[Any], axis: int, start: int, stop: int, step: int) -> list[Any]:
    """x[start:stop:step] along the axis."""
    made = []
    for x in xs:
        starts, limits, strides = [0] * np.ndim(x), list(np.shape(x)), [1] * np.ndim(x)
        starts[axis], limits[axis], strides[axis] = start, max(stop, start), step
        made.append(
            ops.slice(
                x, start_indices=tuple(starts), limit_indices=tuple(limits), strides=tuple(strides)
            )
        )
    return made


def _interleaved(even: Any, odd: Any, axis: int, length: int) -> Any:
    """even[0], odd[0], even[1], ... along the axis, by padding each with zeros between."""
    zero = np.zeros((), aval_of(even).dtype)[()]

    def spread(x: Any, low: int) -> Any:
        high = length - low - (2 * np.shape(x)[axis] - 1)
        config = [(low, high, 1) if i == axis else (0, 0, 0) for i in range(np.ndim(x))]
        return ops.pad(x, zero, padding_config=tuple(config))

    both = spread(even, 0), spread(odd, 1)
    return ops.or_(*both) if aval_of(even).dtype == np.bool_ else ops.add(*both)
