"""Jacobians and Hessians: the derivative at a point, run on all unit vectors at once."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.api.arguments import (
    Argnums,
    Chosen,
    check_callable,
    check_differentiable,
    name_of,
    named_after,
)
from jacana.api.pullback import LinearMap, linearize_tree
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.values import aval_of
from jacana.transforms.batch import batch, to_axis


def basis(avals: Sequence[ShapedArray]) -> tuple[int, list[Any]]:
    """How many unit vectors the leaves' space has, and all of them: leaves with a leading axis."""
    total, start, vectors = sum([a.size for a in avals]), 0, []
    for aval in avals:
        shape = (total, aval.size)
        rows = ops.iota(dtype=dtypes.int32, shape=shape, dimension=0)
        columns = ops.iota(dtype=dtypes.int32, shape=shape, dimension=1)
        if start:
            columns = ops.add(columns, np.int32(start))
        unit = ops.convert_element_type(
            ops.eq(rows, columns), new_dtype=aval.dtype, weak_type=aval.weak_type
        )
        vectors.append(ops.reshape(unit, new_sizes=(total, *aval.shape)))
        start += aval.size
    return total, vectors


def split_axis(x: Any, axis: int, avals: Sequence[ShapedArray]) -> list[Any]:
    """The axis of unit vectors taken apart into the axes of each leaf."""
    parts, start, shape = [], 0, np.shape(x)
    for aval in avals:
        limits = [n if i != axis else start + aval.size for i, n in enumerate(shape)]
        starts = [0 if i != axis else start for i in range(len(shape))]
        part = x if aval.size == shape[axis] else ops.slice(
            x, start_indices=tuple(starts), limit_indices=tuple(limits)
        )  # fmt: skip
        wanted = (*shape[:axis], *aval.shape, *shape[axis + 1 :])
        parts.append(part if np.shape(part) == wanted else ops.reshape(part, new_sizes=wanted))
        start += aval.size
    return parts


def rows(derivative: LinearMap, residuals: Sequence[Any]) -> list[Any]:
    """The blocks of the Jacobian, all inputs for the first output first, in reverse mode."""
    outputs = derivative.out_avals
    size, vectors = basis(outputs)
    pull = lambda *cts: derivative.pull(residuals, cts)
    found, axes = batch(pull, size, vectors, [0] * len(vectors))
    by_input = [
        split_axis(to_axis(row, axis, 0, size), 0, outputs)
        for row, axis in zip(found, axes, strict=True)
    ]
    return [parts[k] for k in range(len(outputs)) for parts in by_input]


def columns(derivative: LinearMap, residuals: Sequence[Any]) -> list[Any]:
    """The same blocks in forward mode."""
    inputs = derivative.in_avals
    size, vectors = basis(inputs)
    push = lambda *ts: derivative.push(residuals, ts)
    found, axes = batch(push, size, vectors, [0] * len(vectors))
    blocks = []
    for column, axis, output in zip(found, axes, derivative.out_avals, strict=True):
        rank = len(output.shape)
        blocks += split_axis(to_axis(column, axis, rank, size), rank, inputs)
    return blocks


def check_real(values: Sequence[Any], name: str, role: str) -> None:
    """TypeError unless all are real floating-point numbers."""
    for x in values:
        dtype = aval_of(x).dtype
        if not dtypes.is_float(dtype):
            raise TypeError(
                f"{name} requires real-valued {role}s ({role} dtype that is a sub-dtype of "
                f"np.floating), but got {dtypes.name(dtype)}. For holomorphic differentiation, "
                f"pass holomorphic=True. For differentiation of non-holomorphic functions "
                f"involving complex or integer {role}s, use {'jvp' if role == 'input' else 'vjp'} "
                f"directly."
            )


def jacfwd(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The Jacobian of `fun`, column by column in forward mode; good for tall Jacobians.

    Its shape is that of the output followed by that of the input, for each pair of leaves.

    >>> import jacana.numpy as jnp
    >>> jacfwd(lambda x: x ** 2)(jnp.array([1.0, 2.0]))
    Array([[2., 0.],
           [0., 4.]], dtype=float32)
    """
    check_callable(fun, "jacfwd")

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen = Chosen(fun, argnums, args, kwargs, "jacfwd")
        check_differentiable(chosen.leaves, "jacfwd", holomorphic, True)
        if not holomorphic:
            check_real(chosen.leaves, "jacfwd", "input")
        out, aux, pullback = linearize_tree(chosen, chosen.leaves, has_aux, name_of(fun))
        result = in_structure(pullback.apply(columns), out, chosen)
        return (result, aux) if has_aux else result

    return named_after(fun, jacobian)


def jacrev(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """The Jacobian of `fun`, row by row in reverse mode; good for wide Jacobians."""
    check_callable(fun, "jacrev")

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen = Chosen(fun, argnums, args, kwargs, "jacrev")
        check_differentiable(chosen.leaves, "jacrev", holomorphic, allow_int)
        out, aux, pullback = linearize_tree(chosen, chosen.leaves, has_aux, name_of(fun))
        if not holomorphic:
            check_real(pullback.outs, "jacrev", "output")
        result = in_structure(pullback.apply(rows), out, chosen)
        return (result, aux) if has_aux else result

    return named_after(fun, jacobian)


def in_structure(blocks: Sequence[Any], out: Any, chosen: Chosen) -> Any:
    """Blocks as a tree of outputs whose leaves are trees of inputs."""
    n = len(chosen.leaves)
    if len(blocks) == n:
        return out.unflatten([chosen.restore(blocks)])
    return out.unflatten(
        [chosen.restore(blocks[i * n : (i + 1) * n]) for i in range(out.num_leaves)]
    )


jacobian = jacrev


def hessian(
    fun: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[..., Any]:
    """The Hessian of a scalar function, as jacfwd of jacrev."""
    return jacfwd(jacrev(fun, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)
