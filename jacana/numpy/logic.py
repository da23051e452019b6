"""Comparisons, logic and operations on bits, elementwise."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.values import aval_of
from jacana.numpy.families import Function, binary, unary
from jacana.numpy.promotion import (
    check_operands,
    convert,
    kind_of,
    literal,
    promote_args,
    promote_args_numeric,
)

# --- comparison ---

equal = binary(
    "equal",
    ops.eq,
    """x == y, elementwise.

    >>> jnp.equal(jnp.arange(3), 1)
    Array([False,  True, False], dtype=bool)
    """,
)
not_equal = binary(
    "not_equal",
    ops.ne,
    """x != y, elementwise; true for nan.

    >>> jnp.not_equal(jnp.arange(3), 1)
    Array([ True, False,  True], dtype=bool)
    """,
)


def _ordering(name: str, primitive: Any, strict: Any, doc: str) -> Function:
    """A comparison by size; complex numbers compare by real part, then by imaginary part."""

    def function(x: Any, y: Any, /) -> Any:
        x, y = promote_args(name, x, y)
        if aval_of(x).dtype not in COMPLEX:
            return primitive(x, y)
        same = ops.eq(ops.real(x), ops.real(y))
        by_imaginary = ops.and_(same, primitive(ops.imag(x), ops.imag(y)))
        return ops.or_(strict(ops.real(x), ops.real(y)), by_imaginary)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


COMPLEX = frozenset((dtypes.complex64, dtypes.complex128))
less = _ordering(
    "less",
    ops.lt,
    ops.lt,
    """x < y, elementwise.

    >>> jnp.less(jnp.arange(3), 1)
    Array([ True, False, False], dtype=bool)
    """,
)
less_equal = _ordering(
    "less_equal",
    ops.le,
    ops.lt,
    """x <= y, elementwise.

    >>> jnp.less_equal(jnp.arange(3), 1)
    Array([ True,  True, False], dtype=bool)
    """,
)
greater = _ordering(
    "greater",
    ops.gt,
    ops.gt,
    """x > y, elementwise.

    >>> jnp.greater(jnp.arange(3), 1)
    Array([False, False,  True], dtype=bool)
    """,
)
greater_equal = _ordering(
    "greater_equal",
    ops.ge,
    ops.gt,
    """x >= y, elementwise.

    >>> jnp.greater_equal(jnp.arange(3), 1)
    Array([False,  True,  True], dtype=bool)
    """,
)


# --- logic ---


def _logical(name: str, primitive: Any, doc: str) -> Function:
    def function(*xs: Any) -> Any:
        check_operands(name, *xs)
        return primitive(*promote_args(name, *[truth(x) for x in xs]))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def truth(x: Any) -> Any:
    """Whether each element differs from zero."""
    if kind_of(x) == "bool":
        return x
    if isinstance(x, int | float | complex | np.generic):
        return bool(x)
    return ops.ne(x, literal(0, x))


logical_and = _logical(
    "logical_and",
    ops.and_,
    """Whether both are nonzero.

    >>> jnp.logical_and(jnp.array([1, 0]), True)
    Array([ True, False], dtype=bool)
    """,
)
logical_or = _logical(
    "logical_or",
    ops.or_,
    """Whether either is nonzero.

    >>> jnp.logical_or(jnp.array([1, 0]), False)
    Array([ True, False], dtype=bool)
    """,
)
logical_xor = _logical(
    "logical_xor",
    ops.xor,
    """Whether just one is nonzero.

    >>> jnp.logical_xor(jnp.array([1, 0]), True)
    Array([False,  True], dtype=bool)
    """,
)
logical_not = _logical(
    "logical_not",
    ops.not_,
    """Whether x is zero.

    >>> jnp.logical_not(jnp.array([1, 0]))
    Array([False,  True], dtype=bool)
    """,
)

# --- bits ---

bitwise_and = binary(
    "bitwise_and",
    ops.and_,
    """The bits that both have.

    >>> jnp.bitwise_and(jnp.array([6, 3]), 2)
    Array([2, 2], dtype=int32)
    """,
)
bitwise_or = binary(
    "bitwise_or",
    ops.or_,
    """The bits that either has.

    >>> jnp.bitwise_or(jnp.array([6, 1]), 2)
    Array([6, 3], dtype=int32)
    """,
)
bitwise_xor = binary(
    "bitwise_xor",
    ops.xor,
    """The bits that just one has.

    >>> jnp.bitwise_xor(jnp.array([6, 1]), 2)
    Array([4, 3], dtype=int32)
    """,
)
bitwise_not = bitwise_invert = invert = unary(
    "bitwise_not",
    ops.not_,
    """All bits flipped.

    >>> jnp.bitwise_not(jnp.array([0, 1]))
    Array([-1, -2], dtype=int32)
    """,
    False,
)


def left_shift(x: Any, y: Any, /) -> Any:
    """x with its bits moved up by y places.

    >>> jnp.left_shift(jnp.array([1, 3]), 2)
    Array([ 4, 12], dtype=int32)
    """
    x, y = promote_args_numeric("left_shift", x, y)
    return ops.shift_left(x, y)


bitwise_left_shift = left_shift


def right_shift(x: Any, y: Any, /) -> Any:
    """x shifted right by y bits, keeping the sign of signed integers.

    >>> jnp.right_shift(jnp.array([8, -8]), 1)
    Array([ 4, -4], dtype=int32)
    """
    x, y = promote_args_numeric("right_shift", x, y)
    signed = kind_of(x) == "int"
    return (ops.shift_right_arithmetic if signed else ops.shift_right_logical)(x, y)


bitwise_right_shift = right_shift


def bitwise_count(x: Any, /) -> Any:
    """How many bits of |x| are set, as uint8.

    >>> jnp.bitwise_count(jnp.array([7, 8]))
    Array([3, 1], dtype=uint8)
    """
    (x,) = promote_args_numeric("bitwise_count", x)
    size = ops.abs(x) if kind_of(x) == "int" else x
    return convert(ops.population_count(size), dtypes.uint8)
