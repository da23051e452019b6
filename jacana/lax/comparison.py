"""Comparisons, selection and bit operations, as JAX's lax has them."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.lax.operands import check, nary, unary

# --- comparisons ----------------------------------------------------------------------------------


def eq(x: Any, y: Any) -> Any:
    """Whether x == y; numbers, booleans and random keys. A nan equals nothing.

    >>> eq(np.int32([1, 2]), np.int32(2))
    Array([False,  True], dtype=bool)
    """
    return nary(ops.eq, x, y)


def ne(x: Any, y: Any) -> Any:
    """Whether x != y; numbers, booleans and random keys. A nan differs from everything.

    >>> ne(np.int32([1, 2]), np.int32(2))
    Array([ True, False], dtype=bool)
    """
    return nary(ops.ne, x, y)


def lt(x: Any, y: Any) -> Any:
    """Whether x < y; real numbers and booleans, False for nan.

    >>> lt(np.int32([1, 2]), np.int32(2))
    Array([ True, False], dtype=bool)
    """
    return nary(ops.lt, x, y)


def le(x: Any, y: Any) -> Any:
    """Whether x <= y; real numbers and booleans, False for nan.

    >>> le(np.int32([1, 2]), np.int32(2))
    Array([ True,  True], dtype=bool)
    """
    return nary(ops.le, x, y)


def gt(x: Any, y: Any) -> Any:
    """Whether x > y; real numbers and booleans, False for nan.

    >>> gt(np.int32([1, 2]), np.int32(2))
    Array([False, False], dtype=bool)
    """
    return nary(ops.gt, x, y)


def ge(x: Any, y: Any) -> Any:
    """Whether x >= y; real numbers and booleans, False for nan.

    >>> ge(np.int32([1, 2]), np.int32(2))
    Array([False,  True], dtype=bool)
    """
    return nary(ops.ge, x, y)


# --- selection ------------------------------------------------------------------------------------


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """on_true where pred holds, else on_false; pred is of rank 0 or of their shape.

    >>> select(np.array([True, False]), np.int32([1, 2]), np.int32([3, 4]))
    Array([1, 4], dtype=int32)
    """
    return select_n(pred, on_false, on_true)


def select_n(which: Any, *cases: Any) -> Any:
    """cases[which], element by element: booleans choose of two, integers of any number.

    `which` is of rank 0 or of the shape that all cases have; out of range it takes the nearest.

    >>> select_n(np.int32([0, 2]), np.int32([1, 2]), np.int32([3, 4]), np.int32([5, 6]))
    Array([1, 6], dtype=int32)
    """
    if not cases:
        raise ValueError("select_n needs at least one case besides which.")
    check("select_n", which, *cases)
    shapes = [np.shape(c) for c in cases]
    if len(set(shapes)) > 1:
        raise TypeError(
            f"select cases must have the same shapes, got {shapes}. Broadcast them first, or use "
            f"jnp.where."
        )
    if np.shape(which) not in ((), shapes[0]):
        raise TypeError(
            f"select `which` must be scalar or have the same shape as cases, got `which` shape "
            f"{np.shape(which)} but case shape {shapes[0]}. Broadcast it first, or use jnp.where."
        )
    return ops.select_n(which, *cases)


# --- bits -----------------------------------------------------------------------------------------


def bitwise_and(x: Any, y: Any) -> Any:
    """Bits set in both; integers and booleans.

    >>> bitwise_and(np.uint8(12), np.uint8(10))
    Array(8, dtype=uint8)
    """
    return nary(ops.and_, x, y)


def bitwise_or(x: Any, y: Any) -> Any:
    """Bits set in either; integers and booleans.

    >>> bitwise_or(np.uint8(12), np.uint8(10))
    Array(14, dtype=uint8)
    """
    return nary(ops.or_, x, y)


def bitwise_xor(x: Any, y: Any) -> Any:
    """Bits set in exactly one; integers and booleans.

    >>> bitwise_xor(np.uint8(12), np.uint8(10))
    Array(6, dtype=uint8)
    """
    return nary(ops.xor, x, y)


def bitwise_not(x: Any) -> Any:
    """Every bit flipped; integers and booleans.

    >>> bitwise_not(np.uint8(12))
    Array(243, dtype=uint8)
    """
    return unary(ops.not_, x)


def shift_left(x: Any, y: Any) -> Any:
    """x * 2**y modulo 2**width; integers. All bits leave for y < 0 or y >= width.

    >>> shift_left(np.uint8(3), np.uint8(2))
    Array(12, dtype=uint8)
    """
    return nary(ops.shift_left, x, y)


def shift_right_logical(x: Any, y: Any) -> Any:
    """The bits of integers moved down by y, zeros coming in at the top.

    >>> shift_right_logical(np.int8(-8), np.int8(1))
    Array(124, dtype=int8)
    """
    return nary(ops.shift_right_logical, x, y)


def shift_right_arithmetic(x: Any, y: Any) -> Any:
    """The bits of integers moved down by y, copies of the top bit coming in.

    >>> shift_right_arithmetic(np.int8(-8), np.int8(1))
    Array(-4, dtype=int8)
    """
    return nary(ops.shift_right_arithmetic, x, y)


def population_count(x: Any) -> Any:
    """How many bits of each integer are set.

    >>> population_count(np.uint8([0, 7]))
    Array([0, 3], dtype=uint8)
    """
    return unary(ops.population_count, x)


def clz(x: Any) -> Any:
    """How many zeros stand before the first set bit of each integer.

    >>> clz(np.uint8([0, 7]))
    Array([8, 5], dtype=uint8)
    """
    return unary(ops.clz, x)
