"""Determinants and cofactors, smooth for singular matrices as well."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.primitive import Primitive
from jacana.core.values import aval_of
from jacana.ops.families import like
from jacana.ops.linalg import small
from jacana.ops.linalg.matrices import (
    MatrixFunction,
    adjoint,
    block,
    check_matrix,
    chosen,
    compared,
    conjugate,
    diagonal,
    diagonal_matrix,
    each,
    in_dtype,
    inverse_permutation,
    matmul,
    taken_rows,
    transposed,
    upper_part,
)
from jacana.ops.linalg.qr import packed_qr
from jacana.ops.lowering import Build, Tensor, Value
from jacana.ops.shape import reshape_to

# Sums of abs(log2) of the pivots up to here: no product of some of them leaves the normal numbers.
PRODUCT_RANGE = {"float32": 120.0, "float64": 1000.0}

# Up to this size determinants and cofactors are computed as the polynomials they are.
POLYNOMIAL = 3


class Det(MatrixFunction):
    """The determinant of square matrices; 1 of an empty one."""

    name = "det"

    def type_rule(self, a: ShapedArray) -> ShapedArray:
        check_matrix(self.name, a, square=True)
        return ShapedArray(a.shape[:-2], a.dtype)

    def reference(self, a: Any) -> Any:
        return np.asarray(np.linalg.det(a), a.dtype)

    def jvp(self, i: int, t: Any, out: Any, a: Any) -> Any:
        rank = np.ndim(a)
        return ops.reduce_sum(ops.mul(t, ops.cofactors(a)), axes=(rank - 2, rank - 1))

    def lower(self, build: Build, a: Tensor) -> Tensor:
        n = a.shape[-1]
        if not 1 <= n <= POLYNOMIAL:
            return build.compose(determinant, a)  # type: ignore[no-any-return]

        def element(*i: Any) -> Value:
            if n == 1:
                return a[(*i, 0, 0)]
            total: Any = a[(*i, 0, 0)] * cofactor(a, i, 0, 0)
            for j in range(1, n):
                total = total + a[(*i, 0, j)] * cofactor(a, i, 0, j)
            return total  # type: ignore[no-any-return]

        return build.compute(a.shape[:-2], a.dtype, element, [a])


def cofactor(a: Tensor, lead: Any, i: Any, j: Any) -> Any:
    """The cofactor at a row and a column of a matrix of size 2 or 3, as a polynomial."""
    if a.shape[-1] == 2:
        minor: Any = a[(*lead, 1 - i, 1 - j)]
        return minor if (i + j) % 2 == 0 else -minor

    def at(k: int, l: int) -> Any:
        return a[(*lead, (i + k) % 3, (j + l) % 3)]

    return at(1, 1) * at(2, 2) - at(1, 2) * at(2, 1)


def determinant(a: Any) -> Any:
    lu, pivots, _ = ops.lu(a)
    pivot = diagonal(lu)
    axis = np.ndim(pivot) - 1
    rows = ops.iota(dtype=dtypes.int32, shape=np.shape(pivots), dimension=axis)
    exchanges = ops.reduce_sum(in_dtype(ops.ne(pivots, rows), dtypes.int32), axes=(axis,))
    odd = ops.eq(ops.and_(exchanges, np.int32(1)), np.int32(1))
    made = product_of(pivot)
    return chosen(odd, ops.neg(made), made)


def product_of(x: Any) -> Any:
    """The products along the last axis, in range where the result is.

    They are more accurate than sums of logarithms, but may leave the range on their way.
    """
    axis = np.ndim(x) - 1
    size = ops.abs(x)
    logs = ops.log(size)
    total = ops.reduce_sum(logs, axes=(axis,))
    limit = like(PRODUCT_RANGE[str(logs.dtype)] * np.log(2), total)
    moderate = ops.lt(ops.reduce_sum(ops.abs(logs), axes=(axis,)), limit)
    length = chosen(ops.gt(size, like(0, size)), size, like(1, size))
    phase = ops.reduce_prod(ops.div(x, in_dtype(length, x.dtype)), axes=(axis,))
    by_logs = ops.mul(phase, in_dtype(ops.exp(total), x.dtype))
    return chosen(moderate, ops.reduce_prod(x, axes=(axis,)), by_logs)


class Cofactors(MatrixFunction):
    """The derivative of the determinant: element (i, j) is its slope in a[i, j].

    It is det(a) a^-T where that exists, and smooth everywhere: of a matrix whose rank is one less
    than its size it has rank one, below that it is zero.
    """

    name = "cofactors"

    def type_rule(self, a: ShapedArray) -> ShapedArray:
        check_matrix(self.name, a, square=True)
        return ShapedArray(a.shape, a.dtype)

    def reference(self, a: Any) -> Any:
        def one(matrix: Any) -> list[Any]:
            n = len(matrix)
            made = np.empty_like(matrix)
            for i in range(n):
                for j in range(n):
                    minor = np.delete(np.delete(matrix, i, 0), j, 1)
                    made[i, j] = (-1) ** (i + j) * np.linalg.det(minor)
            return [made]

        return each(one, a)[0]

    def jvp(self, i: int, t: Any, out: Any, a: Any) -> Any:
        n = np.shape(a)[-1]
        if n < 2:
            return None
        if n == 2:
            turned = ops.rev(t, dimensions=(np.ndim(t) - 2, np.ndim(t) - 1))
            return chosen(compared(np.shape(t), 0, ops.eq), turned, ops.neg(turned))
        if n == 3:
            made = ops.mul(rolled(t, 1, 1), rolled(a, 2, 2))
            for first, sign in (((2, 2), 1), ((1, 2), -1), ((2, 1), -1)):
                second = tuple(3 - k for k in first)
                term = ops.mul(rolled(t, *first), rolled(a, *second))
                made = ops.add(made, term) if sign > 0 else ops.sub(made, term)
            return made
        # In the bases of u and v the matrix is diagonal, and so simple are its minors.
        s, u, vh = ops.svd(a)
        x = matmul(adjoint(u), matmul(t, adjoint(vh)))
        pairs = products_without_two(s, aval_of(a).dtype)
        on_diagonal = compared(np.shape(a), 0, ops.eq)
        others = chosen(on_diagonal, like(0, x), pairs)
        along = matmul(others, reshape_to(diagonal(x), (*np.shape(s), 1)))
        made = chosen(on_diagonal, diagonal_matrix(reshape_to(along, np.shape(s))),
                      ops.neg(ops.mul(others, x)))  # fmt: skip
        phase = ops.mul(ops.det(u), ops.det(vh))
        adjugate = matmul(adjoint(vh), matmul(made, adjoint(u)))
        return ops.mul(_spread_over(phase, np.shape(a)), transposed(adjugate))

    def lower(self, build: Build, a: Tensor) -> Tensor:
        if a.shape[-1] <= 1 or 0 in a.shape:
            return build.compute(a.shape, a.dtype, lambda *i: build.const(1, a.dtype))
        if a.shape[-1] <= POLYNOMIAL:
            return polynomial_cofactors(build, a)
        if small.is_small(a):
            return small.cofactors(build, a)
        packed, taus, pivots = packed_qr(build, a, pivoting=True)
        params = (int(np.prod(a.shape[:-2])), a.shape[-1], a.shape[-1], taus.shape[-1])
        spec = (a.shape, a.dtype)
        (q,) = build.library("householder_product", [spec], [packed, taus], params, a.dtype)
        made: Tensor = build.compose(from_pivoted_qr, packed, q, taus, pivots)
        return made


def polynomial_cofactors(build: Build, a: Tensor) -> Tensor:
    def element(*i: Any) -> Value:
        *lead, row, column = i
        if a.shape[-1] == 3:
            return cofactor(a, lead, row, column)  # type: ignore[no-any-return]
        minor: Any = a[(*lead, 1 - row, 1 - column)]
        return build.select(row.eq(column), minor, -minor)

    return build.compute(a.shape, a.dtype, element, [a])


def rolled(x: Any, rows: int, columns: int) -> Any:
    """x[(i + rows) % 3, (j + columns) % 3] at (i, j), for matrices of size 3."""
    every, axis = slice(0, 3), np.ndim(x) - 1
    x = ops.concatenate(
        block(x, slice(rows, 3), every), block(x, slice(0, rows), every), dimension=axis - 1
    )
    return ops.concatenate(
        block(x, every, slice(columns, 3)), block(x, every, slice(0, columns)), dimension=axis
    )


def products_without_two(s: Any, dtype: Any) -> Any:
    """The product of all elements but i and j, at (i, j)."""
    n = np.shape(s)[-1]
    shape = (*np.shape(s), n, n)
    rank = len(shape)
    axes = range(rank - 3, rank)
    i, j, k = (ops.iota(dtype=dtypes.int32, shape=shape, dimension=d) for d in axes)
    left_out = ops.or_(ops.eq(k, i), ops.eq(k, j))
    dims = (*range(rank - 3), rank - 1)
    factors = ops.broadcast_in_dim(s, shape=shape, broadcast_dimensions=dims)
    kept = chosen(left_out, like(1, s), factors)
    return in_dtype(ops.reduce_prod(kept, axes=(rank - 1,)), dtype)


def from_pivoted_qr(packed: Any, q: Any, taus: Any, pivots: Any) -> Any:
    """Cofactors of a with a[:, pivots] = q r: zeros on r's diagonal stand at its end."""
    n = np.shape(packed)[-1]
    lead = np.ndim(packed) - 2
    r = upper_part(packed)
    top, last = slice(0, n - 1), slice(n - 1, n)
    r11, column = block(r, top, top), block(r, top, last)
    phase = phase_of(taus, pivots)
    whole = ops.mul(product_of(diagonal(r)), phase)
    volume = ops.mul(product_of(diagonal(r11)), phase)
    on_diagonal = compared(np.shape(r11), 0, ops.eq)
    zero = ops.and_(on_diagonal, ops.eq(r11, like(0, r11)))
    r11 = chosen(zero, like(1, r11), r11)
    # adj(r) = [[det(r) r11^-1, -det(r11) r11^-1 column], [0, det(r11)]]
    eye = in_dtype(on_diagonal, aval_of(packed).dtype)
    inverse = ops.triangular_solve(r11, eye, left_side=True)
    beside = ops.neg(matmul(inverse, column))
    nothing = ops.eq(beside, like(0, beside))
    beside = chosen(nothing, beside, ops.mul(_spread_over(volume, np.shape(beside)), beside))
    inner = ops.mul(_spread_over(whole, np.shape(inverse)), inverse)
    above = ops.concatenate(inner, beside, dimension=lead + 1)
    config = tuple([(0, 0, 0)] * lead + [(0, 1, 0), (0, 0, 0)])
    form = ops.pad(above, like(0, above), padding_config=config)
    shape = np.shape(form)
    row = ops.iota(dtype=dtypes.int32, shape=shape, dimension=lead)
    at_end = ops.and_(compared(shape, 0, ops.eq), ops.eq(row, np.int32(n - 1)))
    form = chosen(at_end, _spread_over(volume, shape), form)
    adjugate = matmul(form, adjoint(q))
    return transposed(taken_rows(adjugate, inverse_permutation(pivots)))


def _spread_over(x: Any, shape: Sequence[int]) -> Any:
    """A number for each matrix, at each of its elements."""
    dims = tuple(range(np.ndim(x)))
    return ops.broadcast_in_dim(x, shape=tuple(shape), broadcast_dimensions=dims)


def phase_of(taus: Any, pivots: Any) -> Any:
    """det(q) times the sign of the permutation, where q is a product of reflections."""
    axis = np.ndim(taus) - 1
    none = ops.eq(taus, like(0, taus))
    turned = ops.neg(ops.div(taus, conjugate(chosen(none, like(1, taus), taus))))
    phase = ops.reduce_prod(chosen(none, like(1, taus), turned), axes=(axis,))
    n = np.shape(pivots)[-1]
    shape = (*np.shape(pivots), n)
    rows = ops.broadcast_in_dim(pivots, shape=shape, broadcast_dimensions=tuple(range(axis + 1)))
    columns = ops.broadcast_in_dim(
        pivots, shape=shape, broadcast_dimensions=(*range(axis), axis + 1)
    )
    inverted = ops.and_(compared(shape, 0, ops.lt), ops.gt(rows, columns))
    count = ops.reduce_sum(in_dtype(inverted, dtypes.int32), axes=(axis, axis + 1))
    odd = ops.eq(ops.and_(count, np.int32(1)), np.int32(1))
    return chosen(odd, ops.neg(phase), phase)


det: Primitive = Det()
cofactors: Primitive = Cofactors()
