"""Cholesky: a positive definite matrix as a triangle times its adjoint."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.core.avals import ShapedArray
from jacana.core.primitive import Primitive
from jacana.ops.linalg.matrices import (
    MatrixFunction,
    batch_of,
    check_matrix,
    each,
    halved_diagonal,
    hermitian_of,
    lower_part,
    matmul,
)
from jacana.ops.lowering import Build, Tensor


class Cholesky(MatrixFunction):
    """The lower triangle l with l l^H = a, of which only the lower triangle is read.

    Its triangle is nan where a is not positive definite.
    """

    name = "cholesky"

    def type_rule(self, a: ShapedArray) -> ShapedArray:
        check_matrix(self.name, a, square=True)
        return ShapedArray(a.shape, a.dtype)

    def reference(self, a: Any) -> Any:
        def one(matrix: Any) -> list[Any]:
            try:
                return [np.linalg.cholesky(matrix)]
            except np.linalg.LinAlgError:
                return [np.tril(np.full_like(matrix, np.nan))]

        return each(one, a)[0]

    def jvp(self, i: int, t: Any, out: Any, a: Any) -> Any:
        # With x = l^-1 da l^-H, the lower half of x is l^-1 dl.
        x = ops.triangular_solve(out, hermitian_of(t, lower=True), left_side=True, lower=True)
        x = ops.triangular_solve(
            out, x, left_side=False, lower=True, transpose_a=True, conjugate_a=True
        )
        return matmul(out, lower_part(halved_diagonal(x)))

    def lower(self, build: Build, a: Tensor) -> Tensor:
        spec = (a.shape, a.dtype)
        return build.library("cholesky", [spec], [a], (batch_of(a), a.shape[-1]), a.dtype)[0]


cholesky: Primitive = Cholesky()
