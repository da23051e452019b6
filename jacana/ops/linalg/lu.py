"""LU: a matrix with its rows exchanged as a product of triangles, and systems solved by it."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.primitive import Primitive
from jacana.core.values import aval_of
from jacana.kernel.build import Writer
from jacana.ops.families import align_batch, is_linear, like, not_differentiable, not_linear
from jacana.ops.indexing import bounded_index, nested_loops
from jacana.ops.linalg import small
from jacana.ops.linalg.matrices import (
    Factorization,
    adjoint,
    batch_of,
    block,
    check_dtype,
    check_matrix,
    chosen,
    compared,
    conjugate,
    each,
    inverse_permutation,
    lower_part,
    matmul,
    scipy_linalg,
    taken_rows,
    transposed,
    upper_part,
)
from jacana.ops.linalg.triangular import as_columns, check_system, from_columns
from jacana.ops.lowering import Build, Output, Tensor


class LU(Factorization):
    """lu, pivots, permutation of [..., m, n] matrices: a[permutation] = l u.

    lu holds u and, below its diagonal, l without its ones. Row i was exchanged with row pivots[i].
    """

    name = "lu"

    def type_rule(self, a: ShapedArray) -> tuple[ShapedArray, ...]:
        check_matrix(self.name, a)
        *lead, m, n = a.shape
        pivots = ShapedArray((*lead, min(m, n)), dtypes.int32)
        return ShapedArray(a.shape, a.dtype), pivots, ShapedArray((*lead, m), dtypes.int32)

    def reference(self, a: Any) -> Any:
        def one(matrix: Any) -> list[Any]:
            lu, pivots = matrix, np.zeros(0, np.int32)
            if matrix.size:
                lu, pivots = scipy_linalg().lu_factor(matrix, check_finite=False)
            pivots = np.asarray(pivots, np.int32)
            return [lu, pivots, permutation_of(pivots, len(matrix))]

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of singular matrices
            return each(one, a)

    def jvp(self, i: int, t: Any, out: Any, a: Any) -> list[Any]:
        lu, _, permutation = out
        m, n = np.shape(a)[-2:]
        k = min(m, n)
        x = ops.triangular_solve(
            unit_lower(lu), taken_rows(t, permutation), left_side=True, lower=True,
            unit_diagonal=True,
        )  # fmt: skip
        # l^-1 da u^-1 has l^-1 dl below its diagonal, and du u^-1 on and above it. What is below
        # does not depend on the last pivot, which may be zero.
        top = slice(0, k)
        square = without_last_zero(block(lu, top, top))
        inner = ops.triangular_solve(square, block(x, slice(0, m), top), left_side=False)
        inner = lower_part(inner, -1)
        d_lower = lower_part(matmul(unit_lower(lu), inner), -1)
        product = matmul(block(inner, top, top), upper_part(block(lu, top, slice(0, n))))
        d_upper = upper_part(ops.sub(block(x, top, slice(0, n)), product))
        return [ops.add(_padded(d_lower, m, n), _padded(d_upper, m, n)), None, None]

    def lower(self, build: Build, a: Tensor) -> list[Tensor]:
        results = self.type_rule(ShapedArray(a.shape, a.dtype))
        if small.is_small(a):
            return small.lu(build, a, results)
        specs = [(x.shape, x.dtype) for x in results]
        return build.library("lu", specs, [a], (batch_of(a), *a.shape[-2:]), a.dtype)


def permutation_of(pivots: Any, size: int) -> Any:
    """Where each row comes from after the exchanges, in NumPy."""
    order = np.arange(size, dtype=np.int32)
    for i, j in enumerate(pivots):
        order[[i, j]] = order[[j, i]]
    return order


def unit_lower(lu: Any) -> Any:
    """l of the factors, as a square matrix; triangular_solve sees its triangle alone."""
    m, n = np.shape(lu)[-2:]
    k = min(m, n)
    l = lower_part(block(lu, slice(0, m), slice(0, k)), -1)
    return ops.add(_padded(l, m, m), _identity_like(lu, m))


def _identity_like(x: Any, n: int) -> Any:
    shape = (*np.shape(x)[:-2], n, n)
    return ops.convert_element_type(
        compared(shape, 0, ops.eq), new_dtype=aval_of(x).dtype, weak_type=False
    )


def _padded(x: Any, rows: int, columns: int) -> Any:
    """x with zeros to its right and below."""
    m, n = np.shape(x)[-2:]
    if (m, n) == (rows, columns):
        return x
    config = [(0, 0, 0)] * (np.ndim(x) - 2) + [(0, rows - m, 0), (0, columns - n, 0)]
    return ops.pad(x, aval_of(x).dtype.type(0), padding_config=tuple(config))


def without_last_zero(u: Any) -> Any:
    """A triangle with 1 as its last diagonal element where that is zero."""
    n = np.shape(u)[-1]
    if n == 0:
        return u
    shape = np.shape(u)
    axis = len(shape) - 1
    last = ops.iota(dtype=dtypes.int32, shape=shape, dimension=axis)
    corner = ops.and_(compared(shape, 0, ops.eq), ops.eq(last, np.int32(n - 1)))
    return chosen(ops.and_(corner, ops.eq(u, like(0, u))), like(1, u), u)


class LUFactors(LU):
    """lu and permutation of square matrices, as constants.

    They are operands of lu_solve, whose derivative is taken in the matrix itself.
    """

    name = "lu_factors"
    jvp = not_differentiable

    def type_rule(self, a: ShapedArray) -> tuple[ShapedArray, ...]:
        check_matrix(self.name, a, square=True)
        return super().type_rule(a)


class LUSolve(Primitive):
    """x with op(a) x = b, by the factors that lu_factors makes of a.

    transpose 0, 1, 2: op is a itself, its transpose, its adjoint. The factors count as constants.
    """

    name = "lu_solve"

    def type_rule(
        self, a: ShapedArray, lu: ShapedArray, permutation: ShapedArray, b: ShapedArray, *,
        transpose: int,
    ) -> ShapedArray:  # fmt: skip
        check_system(self.name, a, b)
        check_dtype(self.name, lu, b)
        return ShapedArray(b.shape, b.dtype)

    def reference(self, a: Any, lu: Any, permutation: Any, b: Any, *, transpose: int) -> Any:
        if transpose:
            a = np.swapaxes(np.conj(a) if transpose == 2 else a, -1, -2)
        return np.linalg.solve(a, b)

    def jvp(
        self, i: int, t: Any, out: Any, a: Any, lu: Any, permutation: Any, b: Any, *,
        transpose: int,
    ) -> Any:  # fmt: skip
        if i == 3:
            return self(a, lu, permutation, t, transpose=transpose)
        if i != 0:
            return None
        da = (lambda x: x, transposed, adjoint)[transpose](t)
        return ops.neg(self(a, lu, permutation, matmul(da, out), transpose=transpose))

    def transpose(
        self, ct: Any, a: Any, lu: Any, permutation: Any, b: Any, *, transpose: int
    ) -> list[Any]:
        if not is_linear(b) or is_linear(a):
            raise TypeError("lu_solve is linear in its right side only")
        if transpose == 2:
            x = conjugate(self(a, lu, permutation, conjugate(ct), transpose=0))
        else:
            x = self(a, lu, permutation, ct, transpose=1 - transpose)
        return [None, None, None, x]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], *, transpose: int
    ) -> tuple[Any, int]:
        *factors, b = operands
        if all(axis is None for axis in axes[:3]) and np.ndim(b) == 3 and axes[3] is not None:
            b, columns = as_columns(b, axes[3])
            return from_columns(self(*factors, b, transpose=transpose), columns)
        return self(*align_batch(size, operands, axes), transpose=transpose), 0

    def lower(
        self, build: Build, a: Tensor, lu: Tensor, permutation: Tensor, b: Tensor, *,
        transpose: int,
    ) -> Tensor:  # fmt: skip
        if small.is_small(a) and 0 not in b.shape:
            return small.solve(build, lu, permutation, b, transpose != 0)

        def solve(lu: Any, permutation: Any, b: Any) -> Any:
            if transpose == 0:
                x = ops.triangular_solve(lu, taken_rows(b, permutation), **LOWER)
                return ops.triangular_solve(lu, x, left_side=True)
            op = {"transpose_a": True, "conjugate_a": transpose == 2}
            x = ops.triangular_solve(lu, b, left_side=True, **op)
            x = ops.triangular_solve(lu, x, **LOWER, **op)
            return taken_rows(x, inverse_permutation(permutation))

        return build.compose(solve, lu, permutation, b)  # type: ignore[no-any-return]


LOWER = {"left_side": True, "lower": True, "unit_diagonal": True}


class LUPivotsToPermutation(Primitive):
    """The permutation of `permutation_size` rows that exchanging row i with row pivots[i] makes."""

    name = "lu_pivots_to_permutation"
    jvp = not_differentiable
    transpose = not_linear

    def type_rule(self, pivots: ShapedArray, *, permutation_size: int) -> ShapedArray:
        if pivots.ndim < 1 or not dtypes.is_integer(pivots.dtype):
            raise ValueError(
                f"Argument to lu_pivots_to_permutation must be integers of shape [..., k], got "
                f"{pivots}."
            )
        if pivots.shape[-1] > permutation_size:
            raise ValueError(
                f"lu_pivots_to_permutation: permutation_size={permutation_size} is less than the "
                f"number of pivots in {pivots}."
            )
        return ShapedArray((*pivots.shape[:-1], permutation_size), pivots.dtype)

    def reference(self, pivots: Any, *, permutation_size: int) -> Any:
        def one(pivots: Any) -> list[Any]:
            return [permutation_of(pivots, permutation_size).astype(pivots.dtype)]

        return each(one, pivots, ranks=(1,))[0]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], **params: int
    ) -> tuple[Any, int]:
        return self(*align_batch(size, operands, axes), **params), 0

    def lower(self, build: Build, pivots: Tensor, *, permutation_size: int) -> Tensor:
        *lead, count = pivots.shape
        dtype = pivots.dtype

        def body(writer: Writer, outs: Sequence[Output], ins: Sequence[Tensor]) -> None:
            (out,), (source,) = outs, ins
            with nested_loops(writer, build, lead, vector=False) as at:
                with writer.loop(build.index(permutation_size)) as i:
                    out.store([*at, i], build.convert(i, dtype))
                with writer.loop(build.index(count)) as i:
                    j = bounded_index(build, source, [*at, i], permutation_size - 1)
                    here, there = out.load([*at, i]), out.load([*at, j])
                    out.store([*at, i], there)
                    out.store([*at, j], here)

        return build.loops([((*lead, permutation_size), dtype)], [pivots], body)[0]


lu: Primitive = LU()
lu_factors: Primitive = LUFactors()
lu_solve: Primitive = LUSolve()
lu_pivots_to_permutation: Primitive = LUPivotsToPermutation()
