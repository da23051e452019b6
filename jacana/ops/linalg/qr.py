"""QR: a matrix as orthonormal columns times an upper triangle; forms made by reflections."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.primitive import Inapplicable, Primitive
from jacana.core.values import aval_of
from jacana.kernel.expr import Expr
from jacana.ops.families import like
from jacana.ops.indexing import minimum
from jacana.ops.linalg.lu import without_last_zero
from jacana.ops.linalg.matrices import (
    Factorization,
    MatrixFunction,
    adjoint,
    batch_of,
    block,
    built_identity,
    built_zeros,
    check_dtype,
    check_matrix,
    chosen,
    compared,
    diagonal,
    each,
    identity,
    lower_part,
    matmul,
    scipy_linalg,
    taken_rows,
    transposed,
    upper_part,
)
from jacana.ops.lowering import Build, Tensor, Value
from jacana.ops.params import WithDefaults

without_derivative = Inapplicable(
    "differentiate qr, eigh or svd instead, or give a rule with jax.custom_jvp"
)


class QR(WithDefaults, Factorization):
    """q, r (and pivots: a[:, pivots] = q r, with falling abs(r[i, i])) of [..., m, n] matrices.

    q has min(m, n) orthonormal columns, or all m of them with full_matrices.
    """

    name = "qr"
    defaults = {"pivoting": False, "full_matrices": True, "use_magma": None}

    def type_rule(
        self, a: ShapedArray, *, pivoting: bool = False, full_matrices: bool = True,
        use_magma: bool | None = None,
    ) -> tuple[ShapedArray, ...]:  # fmt: skip
        check_matrix(self.name, a)
        *lead, m, n = a.shape
        k = m if full_matrices else min(m, n)
        q, r = ShapedArray((*lead, m, k), a.dtype), ShapedArray((*lead, k, n), a.dtype)
        return (q, r, ShapedArray((*lead, n), dtypes.int32)) if pivoting else (q, r)

    def reference(
        self, a: Any, *, pivoting: bool = False, full_matrices: bool = True,
        use_magma: bool | None = None,
    ) -> Any:  # fmt: skip
        def one(matrix: Any) -> list[Any]:
            mode = "full" if full_matrices else "economic"
            made = scipy_linalg().qr(matrix, mode=mode, pivoting=pivoting, check_finite=False)
            return [made[0], np.triu(made[1]), *[p.astype(np.int32) for p in made[2:]]]

        return each(one, a)

    def jvp(
        self, i: int, t: Any, out: Any, a: Any, *, pivoting: bool, full_matrices: bool,
        use_magma: bool | None,
    ) -> list[Any]:  # fmt: skip
        q, r = out[:2]
        if pivoting:
            t = transposed(taken_rows(transposed(t), out[2]))
        m, n = np.shape(a)[-2:]
        k = min(m, n)
        top, rows, columns = slice(0, k), slice(0, m), slice(0, n)
        q1, r1 = block(q, rows, top), block(r, top, top)
        if m <= n:
            # The last column of q is what the others leave: its diagonal element of r may be 0.
            r1 = without_last_zero(r1)
        x = ops.triangular_solve(r1, block(t, rows, top), left_side=False)
        inner = matmul(adjoint(q1), x)
        # q^H dq is skew, and dr r^-1 = q^H da r^-1 - q^H dq a triangle with a real diagonal.
        strict = lower_part(inner, -1)
        turn = ops.sub(strict, adjoint(strict))
        if dtypes.is_complex(aval_of(a).dtype):
            half = ops.mul(ops.sub(inner, adjoint(inner)), like(0.5, inner))
            turn = chosen(compared(np.shape(turn), 0, ops.eq), half, turn)
        dq = matmul(q1, turn)
        if m > n:
            dq = ops.add(dq, ops.sub(x, matmul(q1, inner)))
        product = ops.sub(matmul(adjoint(q1), t), matmul(turn, block(r, top, columns)))
        dr = upper_part(product)
        if full_matrices and m > n:
            dq = ops.concatenate(dq, complement_tangent(q, dq, n), dimension=np.ndim(a) - 1)
            zeros = [(0, 0, 0)] * (np.ndim(a) - 2) + [(0, m - n, 0), (0, 0, 0)]
            dr = ops.pad(dr, like(0, a), padding_config=tuple(zeros))
        return [dq, dr, None] if pivoting else [dq, dr]

    def lower(
        self, build: Build, a: Tensor, *, pivoting: bool, full_matrices: bool,
        use_magma: bool | None,
    ) -> list[Tensor]:  # fmt: skip
        types = self.type_rule(
            ShapedArray(a.shape, a.dtype), pivoting=pivoting, full_matrices=full_matrices
        )
        if 0 in a.shape[-2:]:
            made = [built_identity(build, types[0].shape, a.dtype)]
            made.append(built_zeros(build, types[1].shape, a.dtype))
            for p in types[2:]:
                made.append(build.compute(p.shape, p.dtype, lambda *i: i[-1].convert("int32")))
            return made
        packed, taus, *pivots = packed_qr(build, a, pivoting)
        q = orthonormal(build, packed, taus, types[0].shape[-1])

        def element(*i: Expr) -> Value:
            return build.select(i[-2] <= i[-1], packed[i], build.const(0, a.dtype))

        return [q, build.compute(types[1].shape, a.dtype, element, [packed]), *pivots]


def packed_qr(build: Build, a: Tensor, pivoting: bool) -> list[Tensor]:
    """R above the reflectors, their factors, and pivots if asked, as LAPACK has them."""
    *lead, m, n = a.shape
    taus = ((*lead, min(m, n)), a.dtype)
    params = (batch_of(a), m, n)
    if not pivoting:
        return build.library("qr", [(a.shape, a.dtype), taus], [a], params, a.dtype)
    specs = [(a.shape, a.dtype), ((*lead, n), dtypes.int32), taus]
    packed, pivots, factors = build.library("pivoted_qr", specs, [a], params, a.dtype)
    return [packed, factors, pivots]


def orthonormal(build: Build, packed: Tensor, taus: Tensor, columns: int) -> Tensor:
    """The first columns of the product of the reflections that the packed matrix holds."""
    *lead, m, n = packed.shape
    spec = ((*lead, m, columns), packed.dtype)

    def element(*i: Expr) -> Value:
        inside = packed[(*i[:-1], minimum(i[-1], n - 1))]
        return build.select(i[-1] < n, inside, build.const(0, packed.dtype))

    vectors = packed if columns == n else build.compute(*spec, element, [packed])
    params = (batch_of(packed), m, columns, taus.shape[-1])
    return build.library("householder_product", [spec], [vectors, taus], params, packed.dtype)[0]


def complement_tangent(q: Any, dq: Any, n: int) -> Any:
    """The tangent of the columns of q after the first n, from that of the first n.

    The reflections that q is a product of are decided by its first columns q1 = [top; rest]:
    the others are [0; 1] + (q1 - [1; 0]) w with w = -(1 - top)^-H rest^H. Where 1 - top is
    singular, those columns are turned no more than they must be.
    """
    m = np.shape(q)[-1]
    first, last = slice(0, n), slice(n, m)
    every = slice(0, m)
    q1, q2 = block(q, every, first), block(q, every, last)
    eye = identity((*np.shape(q)[:-2], n, n), aval_of(q).dtype)
    gap = ops.sub(eye, block(q, first, first))
    lu, _, _ = ops.lu(gap)
    smallest = ops.reduce_min(ops.abs(diagonal(lu)), axes=(np.ndim(q) - 2,))
    tiny = like(8 * float(dtypes.finfo(aval_of(q).dtype).eps), smallest)
    singular = ops.lt(smallest, tiny)
    gap = chosen(_spread_last(singular, np.shape(gap)), eye, gap)
    factors, _, order = ops.lu_factors(gap)
    # b = rest (1 - top)^-1; db = (d rest + b d top) (1 - top)^-1; w = -b^H.
    divide = {"transpose": 1}

    def over_gap(x: Any) -> Any:
        return transposed(ops.lu_solve(gap, factors, order, transposed(x), **divide))

    b = over_gap(block(q, last, first))
    db = over_gap(ops.add(block(dq, last, first), matmul(b, block(dq, first, first))))
    from_one = ops.sub(identity(np.shape(q1), aval_of(q).dtype), q1)
    exact = ops.sub(matmul(from_one, adjoint(db)), matmul(dq, adjoint(b)))
    least = ops.neg(matmul(q1, matmul(adjoint(dq), q2)))
    return chosen(_spread_last(singular, np.shape(q2)), least, exact)


def _spread_last(x: Any, shape: Sequence[int]) -> Any:
    dims = tuple(range(np.ndim(x)))
    return ops.broadcast_in_dim(x, shape=tuple(shape), broadcast_dimensions=dims)


class HouseholderProduct(MatrixFunction):
    """The first n columns of the product of reflections 1 - tau v v^H of [..., m, n] and [..., k].

    The vectors v stand below the diagonal of a, as `geqrf` leaves them; m >= n >= k.
    """

    name = "householder_product"

    def type_rule(self, a: ShapedArray, taus: ShapedArray) -> ShapedArray:
        check_matrix(self.name, a)
        check_dtype(self.name, a, taus)
        m, n = a.shape[-2:]
        if taus.shape[:-1] != a.shape[:-2] or taus.ndim < 1 or not m >= n >= taus.shape[-1]:
            raise ValueError(
                f"householder_product needs a of shape [..., m, n] and taus of shape [..., k] with "
                f"m >= n >= k, got {a} and {taus}."
            )
        return ShapedArray(a.shape, a.dtype)

    def reference(self, a: Any, taus: Any) -> Any:
        def one(a: Any, taus: Any) -> list[Any]:
            m, n = a.shape
            q = np.eye(m, dtype=a.dtype)
            for k, tau in enumerate(taus):
                v = np.where(np.arange(m) > k, a[:, k], np.arange(m) == k).astype(a.dtype)
                q = q - tau * np.outer(q @ v, v.conj())
            return [q[:, :n]]

        return each(one, a, taus, ranks=(2, 1))[0]

    jvp = without_derivative

    def lower(self, build: Build, a: Tensor, taus: Tensor) -> Tensor:
        return orthonormal(build, a, taus, a.shape[-1])


class Hessenberg(Factorization):
    """The upper Hessenberg form of square matrices above the reflectors, and their factors."""

    name = "hessenberg"

    def type_rule(self, a: ShapedArray) -> tuple[ShapedArray, ...]:
        check_matrix(self.name, a, square=True)
        rest = max(0, a.shape[-1] - 1)
        return ShapedArray(a.shape, a.dtype), ShapedArray((*a.shape[:-2], rest), a.dtype)

    def reference(self, a: Any) -> Any:
        def one(matrix: Any) -> list[Any]:
            if len(matrix) < 2:
                return [matrix, np.zeros(max(0, len(matrix) - 1), matrix.dtype)]
            (gehrd,) = scipy_linalg().lapack.get_lapack_funcs(("gehrd",), (matrix,))
            packed, taus, _ = gehrd(matrix)
            return [packed, taus]

        return each(one, a)

    jvp = without_derivative

    def lower(self, build: Build, a: Tensor) -> list[Tensor]:
        specs = [(x.shape, x.dtype) for x in self.type_rule(ShapedArray(a.shape, a.dtype))]
        if a.shape[-1] < 2:
            return [a, built_zeros(build, *specs[1])]
        return build.library("hessenberg", specs, [a], (batch_of(a), a.shape[-1]), a.dtype)


class Tridiagonal(WithDefaults, Factorization):
    """The real tridiagonal form of Hermitian matrices: packed reflectors, d, e, their factors."""

    name = "tridiagonal"
    defaults = {"lower": True}

    def type_rule(self, a: ShapedArray, *, lower: bool = True) -> tuple[ShapedArray, ...]:
        check_matrix(self.name, a, square=True)
        *lead, n = a.shape[:-1]
        real, rest = dtypes.real_dtype(a.dtype), max(0, n - 1)
        return (
            ShapedArray(a.shape, a.dtype), ShapedArray((*lead, n), real),
            ShapedArray((*lead, rest), real), ShapedArray((*lead, rest), a.dtype),
        )  # fmt: skip

    def reference(self, a: Any, *, lower: bool = True) -> Any:
        name = "hetrd" if dtypes.is_complex(a.dtype) else "sytrd"

        def one(matrix: Any) -> list[Any]:
            (trd,) = scipy_linalg().lapack.get_lapack_funcs((name,), (matrix,))
            packed, d, e, taus, _ = trd(matrix, lower=int(lower))
            return [packed, d, e, taus]

        return each(one, a)

    jvp = without_derivative

    def lower(self, build: Build, a: Tensor, *, lower: bool) -> list[Tensor]:
        types = self.type_rule(ShapedArray(a.shape, a.dtype))
        specs = [(x.shape, x.dtype) for x in types]
        params = (batch_of(a), a.shape[-1], int(lower))
        if a.shape[-1] == 0:
            return [a, *[built_zeros(build, *spec) for spec in specs[1:]]]
        return build.library("tridiagonal", specs, [a], params, a.dtype)


qr: Primitive = QR()
householder_product: Primitive = HouseholderProduct()
hessenberg: Primitive = Hessenberg()
tridiagonal: Primitive = Tridiagonal()
