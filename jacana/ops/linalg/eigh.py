"""Eigenvalues and eigenvectors of Hermitian matrices."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.primitive import Primitive
from jacana.core.values import aval_of
from jacana.ops.linalg.matrices import (
    Factorization,
    adjoint,
    batch_of,
    check_matrix,
    diagonal,
    differences,
    each,
    hermitian_of,
    in_dtype,
    matmul,
    real_part,
    reciprocal,
    scipy_linalg,
)
from jacana.ops.lowering import Build, Tensor
from jacana.ops.params import WithDefaults, without_none


class Eigh(WithDefaults, Factorization):
    """v, w of Hermitian matrices [..., n, n]: a v = v diag(w), w ascending, v unitary.

    Only one triangle is read. Without compute_eigenvectors, w alone. Vectors of eigenvalues that
    coincide (up to roundoff) have no derivative: they count as not turning among themselves, which
    leaves out what would set the eigenvalues apart (docs/design/linear_algebra.md).
    """

    name = "eigh"
    defaults = {
        "lower": True, "sort_eigenvalues": True, "subset_by_index": None, "algorithm": None,
        "compute_eigenvectors": True,
    }  # fmt: skip

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        shown = {**params, "compute_eigenvectors": params["compute_eigenvectors"] and None}
        return without_none(shown, "compute_eigenvectors")

    def type_rule(
        self, a: ShapedArray, *, compute_eigenvectors: bool = True, **params: Any
    ) -> tuple[ShapedArray, ...]:
        check_matrix(self.name, a, square=True)
        w = ShapedArray(a.shape[:-1], dtypes.real_dtype(a.dtype))
        return (ShapedArray(a.shape, a.dtype), w) if compute_eigenvectors else (w,)

    def reference(
        self, a: Any, *, lower: bool = True, compute_eigenvectors: bool = True, **params: Any
    ) -> Any:
        def one(matrix: Any) -> list[Any]:
            if not np.isfinite(np.tril(matrix) if lower else np.triu(matrix)).all():
                w = np.full(len(matrix), np.nan, dtypes.real_dtype(matrix.dtype))
                return [np.full_like(matrix, np.nan), w] if compute_eigenvectors else [w]
            if not compute_eigenvectors:
                return [scipy_linalg().eigh(matrix, lower=lower, eigvals_only=True, driver="evd")]
            w, v = scipy_linalg().eigh(matrix, lower=lower, driver="evd")
            return [v, w]

        return each(one, a)

    def jvp(
        self, i: int, t: Any, out: Any, a: Any, *, lower: bool, compute_eigenvectors: bool,
        **params: Any,
    ) -> list[Any]:  # fmt: skip
        if not compute_eigenvectors:
            out = self(a, lower=lower, **params)
        v, w = out
        x = matmul(adjoint(v), matmul(hermitian_of(t, lower), v))
        dw = real_part(diagonal(x))
        if not compute_eigenvectors:
            return [dw]
        weight = reciprocal(differences(w), greatest(w))
        return [matmul(v, ops.mul(in_dtype(weight, aval_of(v).dtype), x)), dw]

    def lower(
        self, build: Build, a: Tensor, *, lower: bool, compute_eigenvectors: bool, **params: Any
    ) -> list[Tensor]:
        w = (a.shape[:-1], dtypes.real_dtype(a.dtype))
        v = (a.shape if compute_eigenvectors else (0,), a.dtype)
        settings = (batch_of(a), a.shape[-1], int(lower), int(compute_eigenvectors))
        made = build.library("eigh", [v, w], [a], settings, a.dtype)
        return made if compute_eigenvectors else made[1:]


def greatest(w: Any) -> Any:
    """The greatest absolute value of each vector, for each pair of its elements."""
    n = np.shape(w)[-1]
    axis = np.ndim(w) - 1
    size = ops.reduce_max(ops.abs(w), axes=(axis,))
    shape = (*np.shape(w), n)
    return ops.broadcast_in_dim(size, shape=shape, broadcast_dimensions=tuple(range(axis)))


eigh: Primitive = Eigh()
