"""Reductions over axes, by the usual operators or any other, and cumulative operations."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes, tree
from jacana.core.avals import ShapedArray
from jacana.core.jaxpr import ClosedJaxpr, Var
from jacana.core.stage import stage_closed
from jacana.core.trace import Tracer
from jacana.core.values import aval_of
from jacana.lax.operands import axis_of, integers, operand as operand_of, requested_dtype
from jacana.ops.extremes import greatest, least

Axes = Sequence[int]


def _reduced(primitive: Any, operand: Any, axes: Axes) -> Any:
    name = primitive.name
    x = operand_of(name, operand)
    return primitive(x, axes=integers(name, "axes", axes))


def reduce_sum(operand: Any, axes: Axes, *, out_sharding: Any = None) -> Any:
    """The sum over the axes, in the operand's dtype.

    >>> reduce_sum(np.ones((2, 3), 'float32'), (0,)).tolist()
    [2.0, 2.0, 2.0]
    """
    return _reduced(ops.reduce_sum, operand, axes)


def reduce_prod(operand: Any, axes: Axes) -> Any:
    """The product over the axes."""
    return _reduced(ops.reduce_prod, operand, axes)


def reduce_max(operand: Any, axes: Axes) -> Any:
    """The maximum over the axes; nan wins, and of no elements it is the least value."""
    return _reduced(ops.reduce_max, operand, axes)


def reduce_min(operand: Any, axes: Axes) -> Any:
    """The minimum over the axes; nan wins, and of no elements it is the greatest value."""
    return _reduced(ops.reduce_min, operand, axes)


def reduce_and(operand: Any, axes: Axes) -> Any:
    """The bitwise (for booleans: logical) and over the axes."""
    return _reduced(ops.reduce_and, operand, axes)


def reduce_or(operand: Any, axes: Axes) -> Any:
    """The bitwise (for booleans: logical) or over the axes."""
    return _reduced(ops.reduce_or, operand, axes)


def reduce_xor(operand: Any, axes: Axes) -> Any:
    """The bitwise (for booleans: logical) exclusive or over the axes."""
    return _reduced(ops.reduce_xor, operand, axes)


def _arg(primitive: Any, operand: Any, axis: int, index_dtype: Any) -> Any:
    x = operand_of(primitive.name, operand)
    (found,) = integers(primitive.name, "axis", (axis,))
    if not 0 <= found < np.ndim(x):
        raise ValueError(f"Invalid axis {found} for operand shape {np.shape(x)}")
    dtype = requested_dtype(primitive.name, index_dtype)
    return primitive(x, axes=(found,), index_dtype=dtype)


def argmax(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The index of the first maximum along an axis; the first nan wins.

    >>> int(argmax(np.array([1.0, 3.0, 3.0], 'float32'), 0, 'int32'))
    1
    """
    return _arg(ops.argmax, operand, axis, index_dtype)


def argmin(operand: Any, axis: int, index_dtype: Any) -> Any:
    """The index of the first minimum along an axis; the first nan wins."""
    return _arg(ops.argmin, operand, axis, index_dtype)


# --- any operator -------------------------------------------------------------------------------

# The reduction by a primitive of two scalars, and the value that changes nothing.
MONOIDS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "add": (ops.reduce_sum, lambda dtype: 0),
    "mul": (ops.reduce_prod, lambda dtype: 1),
    "max": (ops.reduce_max, least),
    "min": (ops.reduce_min, greatest),
    "and": (ops.reduce_and, lambda dtype: True if dtypes.is_bool(dtype) else -1),
    "or": (ops.reduce_or, lambda dtype: 0),
    "xor": (ops.reduce_xor, lambda dtype: 0),
}


def combining_program(
    computation: Callable[[Any, Any], Any], xs: Sequence[Any], structure: Any
) -> ClosedJaxpr:
    """The computation on scalars, as a program from two flat states to one."""

    def flat(*args: Any) -> list[Any]:
        halves = args[: len(xs)], args[len(xs) :]
        made = computation(*[tree.unflatten(structure, half) for half in halves])
        leaves, found = tree.flatten(made)
        if found != structure:
            raise TypeError(
                f"the computation must return a tree like its operands, {structure}, got {found}."
            )
        return leaves

    avals = [ShapedArray((), aval_of(x).dtype) for x in xs]
    return stage_closed(flat, [*avals, *avals])


def monoid_of(program: ClosedJaxpr) -> str | None:
    """The name of the one primitive that a program of two scalars applies, if it does just that."""
    jaxpr = program.jaxpr
    if len(jaxpr.eqns) != 1 or len(jaxpr.invars) != 2:
        return None
    (eqn,) = jaxpr.eqns
    operands: list[Any] = [v for v in eqn.invars if isinstance(v, Var)]
    if eqn.primitive.name not in MONOIDS or jaxpr.outvars != eqn.outvars:
        return None
    return eqn.primitive.name if set(operands) == set(jaxpr.invars) else None


def is_value(x: Any, value: Any) -> bool:
    """Whether x is known to be this number."""
    if isinstance(x, Tracer):
        return False
    dtype = aval_of(x).dtype
    return bool(np.asarray(x).astype(dtype) == np.asarray(value).astype(dtype))


def as_like(init: Any, x: Any) -> Any:
    """An initial value in the operand's dtype; numbers take it, arrays must have it."""
    dtype = aval_of(x).dtype
    if aval_of(init).weak_type and not isinstance(init, Tracer):
        return np.asarray(init).astype(dtype)[()]
    return init


def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Axes,
    out_sharding: Any = None,
) -> Any:
    """Operands folded over axes by a function of two scalars (or trees of them).

    Each fold begins with the initial value, and goes through the elements in row-major order
    unless the function is one of add, mul, max, min, and, or, xor. Those have derivatives.

    >>> reduce(np.arange(4), 0, lambda a, b: a + b, (0,)).tolist()
    6
    """
    values, structure = tree.flatten(operands)
    inits, init_structure = tree.flatten(init_values)
    if structure != init_structure:
        raise ValueError(
            f"Operands must have the same tree structure as init_values: {structure} vs. "
            f"{init_structure}"
        )
    xs = [operand_of("reduce", x, k) for k, x in enumerate(values)]
    inits = [as_like(operand_of("reduce", i, 1), x) for i, x in zip(inits, xs)]
    axes = integers("reduce", "dimensions", dimensions)
    program = combining_program(computation, xs, structure)
    name = monoid_of(program)
    if name is not None:
        reduction, identity = MONOIDS[name]
        made = reduction(xs[0], axes=axes)
        if not is_value(inits[0], identity(aval_of(xs[0]).dtype)):
            made = program.jaxpr.eqns[0].primitive(made, inits[0])
        return tree.unflatten(structure, [made])
    outs = ops.reduce(*xs, *inits, dimensions=axes, jaxpr=program)
    return tree.unflatten(structure, outs)


# --- cumulative ---------------------------------------------------------------------------------


def _cumulative(primitive: Any, operand: Any, axis: int, reverse: bool) -> Any:
    x = operand_of(primitive.name, operand)
    (found,) = integers(primitive.name, "axis", (axis,))
    if found < 0:
        raise ValueError("XLA operations do not allow negative axes")
    return primitive(x, axis=axis_of(found, np.ndim(x)), reverse=bool(reverse))


def cumsum(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The sum up to each element of an axis; with `reverse`, from each element to the end.

    >>> cumsum(np.arange(4)).tolist()
    [0, 1, 3, 6]
    """
    return _cumulative(ops.cumsum, operand, axis, reverse)


def cumprod(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The product up to each element of an axis; zeros have right derivatives."""
    return _cumulative(ops.cumprod, operand, axis, reverse)


def cummax(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The maximum up to each element of an axis; nan stays."""
    return _cumulative(ops.cummax, operand, axis, reverse)


def cummin(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """The minimum up to each element of an axis; nan stays."""
    return _cumulative(ops.cummin, operand, axis, reverse)


def cumlogsumexp(operand: Any, axis: int = 0, reverse: bool = False) -> Any:
    """log(sum(exp(x))) up to each element of an axis, without overflow."""
    return _cumulative(ops.cumlogsumexp, operand, axis, reverse)
