"""Collectives over axes that vmap named: psum, pmean, all_gather and their kin."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import config, dtypes, tree
from jacana.core.values import aval_of
from jacana.core.variance import vary
from jacana.higher_order import collectives
from jacana.lax.operands import as_array
from jacana.transforms import batch

AxisName = Any


def axis_size(axis_name: AxisName) -> int:
    """The number of examples along a named axis, or a tuple of them together."""
    total = 1
    for name in _names(axis_name):
        total *= batch.axis_size(name)
    return total


def _names(axis_name: AxisName) -> tuple[Any, ...]:
    return tuple(axis_name) if isinstance(axis_name, tuple | list) else (axis_name,)


def _no_groups(function: str, axis_index_groups: Any) -> None:
    if axis_index_groups is not None:
        raise NotImplementedError(
            f"{function}: axis_index_groups not supported in vmap collectives. Name the groups by "
            f"an axis of their own instead."
        )


def _each(
    function: str,
    primitive: Any,
    positional: Callable[..., Any],
    x: Any,
    axis_name: AxisName,
    axis_index_groups: Any,
) -> Any:
    """A fold over named axes, and over positional ones of the leaves where integers are given."""
    _no_groups(function, axis_index_groups)
    names = [n for n in _names(axis_name) if not isinstance(n, int)]
    axes = [n for n in _names(axis_name) if isinstance(n, int)]
    for name in names:
        batch.axis_size(name)

    def fold(leaf: Any) -> Any:
        leaf = as_array(function, leaf)
        if axes:
            rank = np.ndim(leaf)
            leaf = positional(leaf, axes=tuple(sorted(a % rank for a in axes)))
        for name in reversed(names):
            leaf = primitive(_varying(leaf, name), axis_name=name)
        return leaf

    return tree.map(fold, x)


def _varying(x: Any, name: Any) -> Any:
    """x as a value that varies over an axis, where types say so."""
    return vary(x, frozenset((name,))) if batch.is_checked(name) else x


def psum(x: Any, axis_name: AxisName, *, axis_index_groups: Any = None) -> Any:
    """The sum of x over all examples along the named axis; of a Python number, times their count.

    >>> import jacana
    >>> jacana.vmap(lambda x: x / psum(x, "i"), axis_name="i")(jacana.numpy.array([1.0, 3.0]))
    Array([0.25, 0.75], dtype=float32)
    """
    _no_groups("psum", axis_index_groups)
    names = _names(axis_name)

    def total(leaf: Any) -> Any:
        if isinstance(leaf, int | float | complex) and not any(isinstance(n, int) for n in names):
            return leaf * axis_size(axis_name)
        if dtypes.is_bool(aval_of(leaf).dtype):
            leaf = ops.convert_element_type(leaf, new_dtype=dtypes.int32, weak_type=False)
        return _each("psum", collectives.psum, ops.reduce_sum, leaf, axis_name, None)

    return tree.map(total, x)


def pmean(x: Any, axis_name: AxisName, *, axis_index_groups: Any = None) -> Any:
    """The mean of x over all examples along the named axis."""
    count = psum(1, axis_name, axis_index_groups=axis_index_groups)

    def mean(leaf: Any) -> Any:
        aval = aval_of(leaf)
        if not dtypes.is_differentiable(aval.dtype):
            dtype = dtypes.python_scalar_dtype(float, config.current().enable_x64)
            leaf = ops.convert_element_type(leaf, new_dtype=dtype, weak_type=False)
        summed = psum(leaf, axis_name)
        return ops.div(summed, np.asarray(count).astype(aval_of(summed).dtype)[()])

    return tree.map(mean, x)


def pmax(x: Any, axis_name: AxisName, *, axis_index_groups: Any = None) -> Any:
    """The largest x of all examples along the named axis, element by element."""
    return _each("pmax", collectives.pmax, ops.reduce_max, x, axis_name, axis_index_groups)


def pmin(x: Any, axis_name: AxisName, *, axis_index_groups: Any = None) -> Any:
    """The smallest x of all examples along the named axis, element by element."""
    return _each("pmin", collectives.pmin, ops.reduce_min, x, axis_name, axis_index_groups)


def axis_index(axis_name: AxisName) -> Any:
    """The number of this example along the named axis (row-major if there are several)."""
    index: Any = None
    for name in _names(axis_name):
        size = np.int32(batch.axis_size(name))
        here = _varying(collectives.axis_index(axis_name=name), name)
        index = here if index is None else ops.add(ops.mul(index, size), here)
    return np.int32(0) if index is None else index


def all_gather(
    x: Any,
    axis_name: AxisName,
    *,
    axis_index_groups: Any = None,
    axis: int = 0,
    tiled: bool = False,
    to: str = "varying",
) -> Any:
    """The values of all examples, stacked along a new axis or, tiled, joined along `axis`.

    With to="invarying" the result counts as the same for all blocks of a shard_map.
    """
    _no_groups("all_gather", axis_index_groups)
    if to not in ("varying", "invarying"):
        raise NotImplementedError(
            f"all_gather(to={to!r}) is not there yet; there are 'varying' and 'invarying'."
        )
    gathered = collectives.all_gather if to == "varying" else collectives.all_gather_invariant
    names = _names(axis_name)
    total = axis_size(axis_name)

    def gather(leaf: Any) -> Any:
        leaf = as_array("all_gather", leaf)
        rank = np.ndim(leaf) + (not tiled)
        dimension = operator.index(axis) % rank
        shape = np.shape(leaf)
        for name in reversed(names):
            size = batch.axis_size(name)
            leaf = gathered(
                _varying(leaf, name), dimension=dimension, axis_size=size, axis_name=name
            )
        if tiled:
            kept = (*shape[:dimension], total * shape[dimension], *shape[dimension + 1 :])
        else:
            kept = (*shape[:dimension], total, *shape[dimension:])
        return leaf if np.shape(leaf) == kept else ops.reshape(leaf, new_sizes=kept)

    return tree.map(gather, x)


def psum_scatter(
    x: Any,
    axis_name: AxisName,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """As psum, of which each example gets its own part along `scatter_dimension`."""
    _no_groups("psum_scatter", axis_index_groups)
    size = batch.axis_size(axis_name)

    def scatter(leaf: Any) -> Any:
        leaf = as_array("psum_scatter", leaf)
        shape = np.shape(leaf)
        d = operator.index(scatter_dimension) % len(shape)
        if tiled:
            _check_divisible("psum_scatter", shape[d], size)
            parts = (*shape[:d], size, shape[d] // size, *shape[d + 1 :])
            leaf = ops.reshape(leaf, new_sizes=parts)
        elif shape[d] != size:
            raise ValueError(
                f"psum_scatter operand scatter dimension size {shape[d]} must match the size of "
                f"the named axis, {size}."
            )
        leaf = _varying(leaf, axis_name)
        return collectives.reduce_scatter(leaf, dimension=d, axis_name=axis_name)

    return tree.map(scatter, x)


def _check_divisible(function: str, extent: int, size: int) -> None:
    if extent % size:
        raise ValueError(
            f"{function} tiled: extent {extent} must be divisible by the size of the named axis, "
            f"{size}."
        )


def ppermute(x: Any, axis_name: AxisName, perm: Sequence[tuple[int, int]]) -> Any:
    """Example j gets x of example i for each pair (i, j) of perm, and zeros if there is none."""
    size = batch.axis_size(axis_name)
    pairs = tuple([(operator.index(i), operator.index(j)) for i, j in perm])
    for side in zip(*pairs):
        if len(set(side)) != len(side) or not all(0 <= i < size for i in side):
            raise ValueError(
                f"ppermute sources and destinations must be unique and in range of the axis of "
                f"size {size}, got {pairs}."
            )
    return tree.map(
        lambda leaf: collectives.ppermute(
            _varying(as_array("ppermute", leaf), axis_name), perm=pairs, axis_name=axis_name
        ),
        x,
    )


def pcast(x: Any, axis_name: AxisName, *, to: str) -> Any:
    """x as a value that varies over mesh axes of a shard_map, although it is equal in all blocks.

    NotImplementedError for anything but to="varying".
    """
    if to != "varying":
        raise NotImplementedError(f"pcast(to={to!r}) is not there yet; there is 'varying'.")

    def cast(leaf: Any) -> Any:
        leaf = as_array("pcast", leaf)
        for name in _names(axis_name):
            batch.axis_size(name)
            leaf = _varying(leaf, name)
        return leaf

    return tree.map(cast, x)


def pshuffle(x: Any, axis_name: AxisName, perm: Sequence[int]) -> Any:
    """Example i gets x of example perm[i]."""
    if set(perm) != set(range(len(perm))):
        raise ValueError(f"`perm` does not represent a permutation: {perm}")
    return ppermute(x, axis_name, list(zip(perm, range(len(perm)))))


def pbroadcast(x: Any, axis_name: AxisName, source: int) -> Any:
    """Every example gets x of example `source`."""
    batch.axis_size(axis_name)

    def send(leaf: Any) -> Any:
        leaf = as_array("pbroadcast", leaf)
        every = all_gather(leaf, axis_name)
        starts = (operator.index(source), *[0] * np.ndim(leaf))
        limits = (starts[0] + 1, *np.shape(leaf))
        row = ops.slice(every, start_indices=starts, limit_indices=limits)
        return ops.squeeze(row, dimensions=(0,))

    return tree.map(send, x)


def all_to_all(
    x: Any,
    axis_name: AxisName,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Any = None,
    tiled: bool = False,
) -> Any:
    """Part i of x along `split_axis` goes to example i, which joins parts along `concat_axis`."""
    _no_groups("all_to_all", axis_index_groups)
    size = batch.axis_size(axis_name)

    def exchange(leaf: Any) -> Any:
        leaf = _varying(as_array("all_to_all", leaf), axis_name)
        shape, rank = np.shape(leaf), np.ndim(leaf)
        split, concat = operator.index(split_axis) % rank, operator.index(concat_axis) % rank
        if not tiled:
            if shape[split] != size:
                raise ValueError(
                    f"all_to_all requires the size of the mapped axis axis_name to equal "
                    f"x.shape[split_axis], but they are {size} and {shape[split]} respectively."
                )
            return collectives.all_to_all(
                leaf, split_axis=split, concat_axis=concat, axis_name=axis_name
            )
        _check_divisible("all_to_all", shape[split], size)
        parts = (*shape[:split], size, shape[split] // size, *shape[split + 1 :])
        found = collectives.all_to_all(
            ops.reshape(leaf, new_sizes=parts),
            split_axis=split,
            concat_axis=concat,
            axis_name=axis_name,
        )
        joined = list(shape)
        joined[split] //= size
        joined[concat] *= size
        return ops.reshape(found, new_sizes=tuple(joined))

    return tree.map(exchange, x)


def pswapaxes(x: Any, axis_name: AxisName, axis: int, *, axis_index_groups: Any = None) -> Any:
    """The named axis and a positional one change places."""
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)
