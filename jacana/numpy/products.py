"""Products of arrays: dot, matmul, tensordot, and what is near them; einsum has its own file."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import config, dtypes
from jacana.core.values import aval_of
from jacana.lax.contraction import canonical_precision
from jacana.numpy import reductions
from jacana.numpy.promotion import (
    broadcast_shape,
    broadcast_to,
    check_operands,
    convert,
    promote_dtypes,
    result_type_of,
)
from jacana.numpy.selection import where
from jacana.numpy.take import canonical_axis

Axes = tuple[int, ...]


def contract(
    x: Any,
    y: Any,
    contracting: tuple[Axes, Axes],
    batch: tuple[Axes, Axes] = ((), ()),
    precision: Any = None,
    preferred: Any = None,
) -> Any:
    """dot_general of operands that may differ in dtype; `preferred` is the result's dtype."""
    dtype, weak = result_type_of([aval_of(x), aval_of(y)])
    x, y = convert_array(x, dtype), convert_array(y, dtype)
    out = requested(preferred) if preferred is not None else dtype
    result = ops.dot_general(
        x, y, dimension_numbers=(contracting, batch), precision=canonical_precision(precision),
        preferred_element_type=out,
    )  # fmt: skip
    if weak and preferred is None:
        result = ops.convert_element_type(result, new_dtype=dtype, weak_type=True)
    return result


def requested(dtype: Any) -> Any:
    """The dtype that a caller prefers for a product."""
    return dtypes.requested(dtype, config.current().enable_x64, "preferred_element_type")


def convert_array(x: Any, dtype: Any) -> Any:
    return convert(x, dtype, aval_of(x).weak_type)


def dot(
    a: Any,
    b: Any,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The product of scalars, vectors or matrices; the last axis of a with the second last of b.

    >>> jnp.dot(jnp.array([1, 2]), jnp.array([3, 4]))
    Array(11, dtype=int32)
    """
    check_operands("dot", a, b)
    rank_a, rank_b = np.ndim(a), np.ndim(b)
    if rank_a == 0 or rank_b == 0:
        return multiply_all(a, b, preferred_element_type)
    axis = 0 if rank_b == 1 else rank_b - 2
    check_contraction("dot", a, rank_a - 1, b, axis)
    return contract(a, b, ((rank_a - 1,), (axis,)), ((), ()), precision, preferred_element_type)


def multiply_all(a: Any, b: Any, preferred: Any = None) -> Any:
    a, b = promote_dtypes(a, b)
    product = ops.and_(a, b) if dtypes.is_bool(aval_of(a).dtype) else ops.mul(a, b)
    return product if preferred is None else convert(product, requested(preferred))


def check_contraction(function: str, a: Any, axis_a: int, b: Any, axis_b: int) -> None:
    if np.shape(a)[axis_a] != np.shape(b)[axis_b]:
        raise TypeError(
            f"{function}: contracting dimensions must have the same shape, got "
            f"{np.shape(a)[axis_a]} (axis {axis_a} of {aval_of(a)}) and {np.shape(b)[axis_b]} "
            f"(axis {axis_b} of {aval_of(b)})."
        )


def matmul(
    a: Any,
    b: Any,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The matrix product; leading axes broadcast, vectors are rows or columns as needed.

    TypeError for shapes that do not match, ValueError for scalars.

    >>> jnp.matmul(jnp.eye(2), jnp.array([3.0, 4.0]))
    Array([3., 4.], dtype=float32)
    """
    check_operands("matmul", a, b)
    for x, name in ((a, "0"), (b, "1")):
        if np.ndim(x) == 0:
            raise ValueError(
                f"matmul input operand {name} must have ndim at least 1, but it has ndim 0. Use "
                f"multiply for scalars."
            )
    rank_a, rank_b = np.ndim(a), np.ndim(b)
    check_contraction("matmul", a, rank_a - 1, b, 0 if rank_b == 1 else rank_b - 2)
    if rank_a <= 2 and rank_b <= 2:
        axis = 0 if rank_b == 1 else rank_b - 2
        return contract(a, b, ((rank_a - 1,), (axis,)), ((), ()), precision, preferred_element_type)
    return _batched_matmul(a, b, precision, preferred_element_type)


def _batched_matmul(a: Any, b: Any, precision: Any, preferred: Any) -> Any:
    lead_a, lead_b = np.shape(a)[:-2], np.shape(b)[:-2]
    if np.ndim(b) <= 2:
        return contract(a, b, ((np.ndim(a) - 1,), (0,)), ((), ()), precision, preferred)
    lead = broadcast_shape("matmul", lead_a, lead_b)
    n = len(lead)
    if np.ndim(a) == 1:
        # (k) @ (..., k, n): contract with the second last axis, which leaves (n, ...) in front.
        return contract(a, b, ((0,), (np.ndim(b) - 2,)), ((), ()), precision, preferred)
    a = broadcast_to(a, (*lead, *np.shape(a)[-2:]))
    b = broadcast_to(b, (*lead, *np.shape(b)[-2:]))
    batch = tuple(range(n))
    return contract(a, b, ((n + 1,), (n,)), (batch, batch), precision, preferred)


def vecdot(
    x1: Any, x2: Any, /, *, axis: int = -1, precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:  # fmt: skip
    """The inner products of vectors along an axis, the first conjugated; other axes broadcast.

    >>> vecdot(jnp.array([[1, 2], [3, 4]]), jnp.array([1, 1])).tolist()
    [3, 7]
    """
    check_operands("vecdot", x1, x2)
    for x in (x1, x2):
        if np.ndim(x) == 0:
            raise ValueError("vecdot needs arrays of at least one axis, got a scalar.")
    a = last_axis(conjugated(x1), canonical_axis(axis, np.ndim(x1), "vecdot"))
    b = last_axis(x2, canonical_axis(axis, np.ndim(x2), "vecdot"))
    check_contraction("vecdot", a, np.ndim(a) - 1, b, np.ndim(b) - 1)
    return _over_last(a, 0, b, 0, precision, preferred_element_type)


def matvec(x1: Any, x2: Any, /) -> Any:
    """The products of matrices [..., m, n] with vectors [..., n]; axes before them broadcast.

    >>> matvec(jnp.ones((2, 3)), jnp.arange(3)).tolist()
    [3.0, 3.0]
    """
    check_operands("matvec", x1, x2)
    _check_rank("matvec", x1, 2)
    _check_rank("matvec", x2, 1)
    check_contraction("matvec", x1, np.ndim(x1) - 1, x2, np.ndim(x2) - 1)
    return _over_last(x1, 1, x2, 0)


def vecmat(x1: Any, x2: Any, /) -> Any:
    """The products of vectors [..., n], conjugated, with matrices [..., n, m].

    >>> vecmat(jnp.arange(2), jnp.ones((2, 3))).tolist()
    [1.0, 1.0, 1.0]
    """
    check_operands("vecmat", x1, x2)
    _check_rank("vecmat", x1, 1)
    _check_rank("vecmat", x2, 2)
    check_contraction("vecmat", x1, np.ndim(x1) - 1, x2, np.ndim(x2) - 2)
    return _over_last(conjugated(x1), 0, last_axis(x2, np.ndim(x2) - 2), 1)


def _check_rank(function: str, x: Any, least: int) -> None:
    if np.ndim(x) < least:
        raise ValueError(f"{function} needs an array of at least {least} axes, got {aval_of(x)}.")


def _over_last(
    a: Any, free_a: int, b: Any, free_b: int, precision: Any = None, preferred: Any = None
) -> Any:
    """Products summed over the last axes; the axes before the free ones broadcast."""
    shape_a, shape_b = np.shape(a), np.shape(b)
    tail_a, tail_b = (s[len(s) - f - 1 :] for s, f in ((shape_a, free_a), (shape_b, free_b)))
    lead_a, lead_b = shape_a[: len(shape_a) - free_a - 1], shape_b[: len(shape_b) - free_b - 1]
    if not (lead_a and lead_b):
        # One of them serves all of the other: no more than one contraction.
        contracting = ((len(shape_a) - 1,), (len(shape_b) - 1,))
        made = contract(a, b, contracting, ((), ()), precision, preferred)
        if free_a and lead_b:
            # (m, ...) to (..., m)
            made = ops.transpose(made, permutation=(*range(1, np.ndim(made)), 0))
        return made
    lead = broadcast_shape("product", lead_a, lead_b)
    n = len(lead)
    a, b = broadcast_to(a, (*lead, *tail_a)), broadcast_to(b, (*lead, *tail_b))
    batch = tuple(range(n))
    contracting = ((n + free_a,), (n + free_b,))
    return contract(a, b, contracting, (batch, batch), precision, preferred)


def conjugated(x: Any) -> Any:
    dtype = aval_of(x).dtype
    return ops.conj(x, input_dtype=dtype) if dtypes.is_complex(dtype) else x


def vdot(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The inner product of flattened arrays, the first conjugated.

    >>> jnp.vdot(jnp.array([1j]), jnp.array([1j]))
    Array(1.+0.j, dtype=complex64)
    """
    check_operands("vdot", a, b)
    a, b = flat(conjugated(a)), flat(b)
    return dot(a, b, precision=precision, preferred_element_type=preferred_element_type)


def flat(x: Any) -> Any:
    if np.ndim(x) == 0:
        return broadcast_to(x, (1,))
    return x if np.ndim(x) == 1 else ops.reshape(x, new_sizes=(int(np.size(x)),))


def inner(a: Any, b: Any, *, precision: Any = None, preferred_element_type: Any = None) -> Any:
    """The sum over the last axes of both.

    >>> jnp.inner(jnp.array([1, 2]), jnp.array([3, 4]))
    Array(11, dtype=int32)
    """
    check_operands("inner", a, b)
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return multiply_all(a, b, preferred_element_type)
    check_contraction("inner", a, np.ndim(a) - 1, b, np.ndim(b) - 1)
    axes = ((np.ndim(a) - 1,), (np.ndim(b) - 1,))
    return contract(a, b, axes, ((), ()), precision, preferred_element_type)


def outer(a: Any, b: Any, out: None = None) -> Any:
    """The products of each element of a with each of b, as a matrix.

    >>> jnp.outer(jnp.array([1, 2]), jnp.array([3, 4]))
    Array([[3, 4],
           [6, 8]], dtype=int32)
    """
    check_operands("outer", a, b)
    a, b = promote_dtypes(flat(a), flat(b))
    shape = (np.shape(a)[0], np.shape(b)[0])
    a = ops.broadcast_in_dim(a, shape=shape, broadcast_dimensions=(0,))
    b = ops.broadcast_in_dim(b, shape=shape, broadcast_dimensions=(1,))
    return multiply_all(a, b)


def tensordot(
    a: Any,
    b: Any,
    axes: int | Sequence[Any] = 2,
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """The contraction over the last `axes` axes of a and the first of b, or over the axes named.

    >>> jnp.tensordot(jnp.ones((2, 3)), jnp.ones((3, 2)), axes=1)
    Array([[3., 3.],
           [3., 3.]], dtype=float32)
    """
    check_operands("tensordot", a, b)
    rank_a, rank_b = np.ndim(a), np.ndim(b)
    if isinstance(axes, int):
        if axes > min(rank_a, rank_b):
            raise TypeError(
                f"Number of tensordot axes (axes {axes}) exceeds input ranks ({rank_a} and "
                f"{rank_b})"
            )
        axes_a, axes_b = tuple(range(rank_a - axes, rank_a)), tuple(range(axes))
    else:
        pair = [(x,) if isinstance(x, int) else tuple(x) for x in axes]
        if len(pair) != 2 or len(pair[0]) != len(pair[1]):
            raise TypeError(f"tensordot requires axes lists to have equal length, got {axes!r}.")
        axes_a = tuple(canonical_axis(x, rank_a, "tensordot") for x in pair[0])
        axes_b = tuple(canonical_axis(x, rank_b, "tensordot") for x in pair[1])
    for i, j in zip(axes_a, axes_b, strict=True):
        check_contraction("tensordot", a, i, b, j)
    return contract(a, b, (axes_a, axes_b), ((), ()), precision, preferred_element_type)


def kron(a: Any, b: Any) -> Any:
    """The Kronecker product.

    >>> jnp.kron(jnp.array([1, 2]), jnp.array([1, 1]))
    Array([1, 1, 2, 2], dtype=int32)
    """
    check_operands("kron", a, b)
    a, b = promote_dtypes(a, b)
    if dtypes.is_bool(aval_of(a).dtype):
        raise TypeError(
            "kron does not accept booleans alone, whose products are not numbers. Convert one "
            "operand, for example with astype(int)."
        )
    rank = max(np.ndim(a), np.ndim(b))
    shape_a = (1,) * (rank - np.ndim(a)) + np.shape(a)
    shape_b = (1,) * (rank - np.ndim(b)) + np.shape(b)
    wide_a = tuple(n for m in shape_a for n in (m, 1))
    wide_b = tuple(n for m in shape_b for n in (1, m))
    both = broadcast_shape("kron", wide_a, wide_b)
    a = broadcast_to(_reshaped(a, wide_a), both)
    b = broadcast_to(_reshaped(b, wide_b), both)
    return _reshaped(
        multiply_all(a, b), tuple(m * n for m, n in zip(shape_a, shape_b, strict=True))
    )


def _reshaped(x: Any, shape: Axes) -> Any:
    if np.shape(x) == shape:
        return x
    return ops.reshape(x, new_sizes=shape) if np.ndim(x) else broadcast_to(x, shape)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonals of the matrices in two axes, as a new last axis.

    >>> jnp.diagonal(jnp.arange(4).reshape(2, 2))
    Array([0, 3], dtype=int32)
    """
    check_operands("diagonal", a)
    if np.ndim(a) < 2:
        raise ValueError("diagonal requires an array of at least two dimensions.")
    axis1 = canonical_axis(axis1, np.ndim(a), "diagonal")
    axis2 = canonical_axis(axis2, np.ndim(a), "diagonal")
    rest = [i for i in range(np.ndim(a)) if i not in (axis1, axis2)]
    a = ops.transpose(a, permutation=(*rest, axis1, axis2))
    *lead, rows, columns = np.shape(a)
    size = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    if size == 0:
        return ops.slice(
            _reshaped(a, (*lead, rows * columns)), start_indices=(0,) * (len(lead) + 1),
            limit_indices=(*lead, 0),
        )  # fmt: skip
    # In row-major order the diagonal is a stride of columns + 1.
    flat_ = _reshaped(a, (*lead, rows * columns))
    start = max(offset, 0) + max(-offset, 0) * columns
    stop = start + (size - 1) * (columns + 1) + 1
    return ops.slice(
        flat_, start_indices=(*[0] * len(lead), start), limit_indices=(*lead, stop),
        strides=(*[1] * len(lead), columns + 1),
    )  # fmt: skip


def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None
) -> Any:
    """The sum of the diagonals of the matrices in two axes.

    >>> jnp.trace(jnp.arange(4).reshape(2, 2))
    Array(3, dtype=int32)
    """
    return reductions.sum(diagonal(a, offset, axis1, axis2), -1, dtype=dtype)


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """The cross product of vectors of two or three components.

    >>> jnp.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
    Array([0, 0, 1], dtype=int32)
    """
    check_operands("cross", a, b)
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = promote_dtypes(a, b)
    a = last_axis(a, canonical_axis(axisa, np.ndim(a), "cross"))
    b = last_axis(b, canonical_axis(axisb, np.ndim(b), "cross"))
    if np.shape(a)[-1] not in (2, 3) or np.shape(b)[-1] not in (2, 3):
        raise ValueError("Dimension must be either 2 or 3 for cross product")
    lead = broadcast_shape("cross", np.shape(a)[:-1], np.shape(b)[:-1])
    x, y = [_components(v, lead) for v in (a, b)]
    z = ops.sub(ops.mul(x[0], y[1]), ops.mul(x[1], y[0]))
    if np.shape(a)[-1] == np.shape(b)[-1] == 2:
        return z
    parts = [
        ops.sub(ops.mul(x[1], y[2]), ops.mul(x[2], y[1])),
        ops.sub(ops.mul(x[2], y[0]), ops.mul(x[0], y[2])),
        z,
    ]
    result = ops.concatenate(*[_reshaped(p, (*lead, 1)) for p in parts], dimension=len(lead))
    at = canonical_axis(axisc, len(lead) + 1, "cross")
    order = list(range(len(lead)))
    order.insert(at, len(lead))
    return ops.transpose(result, permutation=tuple(order))


def last_axis(x: Any, axis: int) -> Any:
    """x with one axis moved to the end."""
    order = [i for i in range(np.ndim(x)) if i != axis]
    return ops.transpose(x, permutation=(*order, axis))


def _components(v: Any, lead: Axes) -> list[Any]:
    """Three arrays of shape `lead`; a missing third component is zero."""
    n = np.shape(v)[-1]
    v = broadcast_to(v, (*lead, n))
    zeros = (0,) * len(lead)
    parts = [
        _reshaped(ops.slice(v, start_indices=(*zeros, i), limit_indices=(*lead, i + 1)), lead)
        for i in range(n)
    ]
    if n == 2:
        parts.append(where(ops.eq(parts[0], parts[0]), np.zeros((), v.dtype)[()], parts[0]))
    return parts
