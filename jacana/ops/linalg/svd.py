"""Singular values and singular vectors."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.primitive import Primitive
from jacana.core.values import aval_of
from jacana.ops.families import like
from jacana.ops.linalg.eigh import greatest
from jacana.ops.linalg.matrices import (
    Factorization,
    adjoint,
    along_columns,
    along_rows,
    batch_of,
    block,
    built_identity,
    built_zeros,
    check_matrix,
    diagonal,
    differences,
    each,
    in_dtype,
    matmul,
    real_part,
    reciprocal,
    scaled_columns,
    scipy_linalg,
)
from jacana.ops.lowering import Build, Tensor
from jacana.ops.params import WithDefaults


class SVD(WithDefaults, Factorization):
    """s, u, vt of [..., m, n] matrices: a = u diag(s) vt, s falling; u and vt unitary.

    They have min(m, n) columns and rows, or all with full_matrices. Without compute_uv, s alone.
    Vectors of singular values that coincide (up to roundoff) have no derivative: u and v count as
    turning against each other only, which leaves out what would set the values apart
    (docs/design/linear_algebra.md).
    """

    name = "svd"
    defaults = {
        "full_matrices": True, "compute_uv": True, "subset_by_index": None, "algorithm": None,
    }  # fmt: skip

    def type_rule(
        self, a: ShapedArray, *, full_matrices: bool = True, compute_uv: bool = True, **params: Any
    ) -> tuple[ShapedArray, ...]:
        check_matrix(self.name, a)
        *lead, m, n = a.shape
        k = min(m, n)
        s = ShapedArray((*lead, k), dtypes.real_dtype(a.dtype))
        if not compute_uv:
            return (s,)
        p, q = (m, n) if full_matrices else (k, k)
        return s, ShapedArray((*lead, m, p), a.dtype), ShapedArray((*lead, q, n), a.dtype)

    def reference(
        self, a: Any, *, full_matrices: bool = True, compute_uv: bool = True, **params: Any
    ) -> Any:
        types = self.type_rule(
            ShapedArray(a.shape[-2:], a.dtype), full_matrices=full_matrices, compute_uv=compute_uv
        )

        def one(matrix: Any) -> list[Any]:
            if not np.isfinite(matrix).all():
                return [np.full(x.shape, np.nan, x.dtype) for x in types]
            if matrix.size == 0:
                vectors = [np.eye(x.shape[0], dtype=x.dtype) for x in types[1:]]
                return [np.zeros(0, types[0].dtype), *vectors]
            if not compute_uv:
                return [scipy_linalg().svd(matrix, compute_uv=False)]
            u, s, vt = scipy_linalg().svd(matrix, full_matrices=full_matrices)
            return [s, u, vt]

        return each(one, a)

    def jvp(
        self, i: int, t: Any, out: Any, a: Any, *, full_matrices: bool, compute_uv: bool,
        **params: Any,
    ) -> list[Any]:  # fmt: skip
        if not compute_uv:
            out = self(a, full_matrices=False, **params)
        s, u, vt = out
        k = np.shape(s)[-1]
        first = slice(0, k)
        u1 = block(u, slice(0, np.shape(u)[-2]), first)
        v1 = adjoint(block(vt, first, slice(0, np.shape(vt)[-1])))
        x = matmul(adjoint(u1), matmul(t, v1))
        ds = real_part(diagonal(x))
        if not compute_uv:
            return [ds]
        du, dv = turns(x, s)
        du = _with_complement(matmul(u1, du), u, u1, v1, t, s)
        dv = _with_complement(matmul(v1, dv), adjoint(vt), v1, u1, adjoint(t), s)
        return [ds, du, adjoint(dv)]

    def lower(
        self, build: Build, a: Tensor, *, full_matrices: bool, compute_uv: bool, **params: Any
    ) -> list[Tensor]:
        types = self.type_rule(
            ShapedArray(a.shape, a.dtype), full_matrices=full_matrices, compute_uv=compute_uv
        )
        specs: list[Any] = [(x.shape, x.dtype) for x in types]
        if 0 in a.shape[-2:]:
            made = [built_zeros(build, *specs[0])]
            return made + [built_identity(build, *spec) for spec in specs[1:]]
        if not compute_uv:
            specs += [((0,), a.dtype)] * 2
        settings = (batch_of(a), *a.shape[-2:], int(full_matrices), int(compute_uv))
        made = build.library("svd", specs, [a], settings, a.dtype)
        return made if compute_uv else made[:1]


def turns(x: Any, s: Any) -> tuple[Any, Any]:
    """u^H du and v^H dv, both skew, where x = u^H da v.

    x = turn_u s + ds - s turn_v, so x + x^H tells the sum of the turns times differences of the
    singular values, and x - x^H the difference of the turns times sums.
    """
    dtype = aval_of(x).dtype
    size = greatest(s)
    n = np.shape(s)[-1]
    sums = ops.add(along_columns(s, n), along_rows(s, n))
    over_difference = in_dtype(reciprocal(differences(s), size), dtype)
    over_sum = in_dtype(reciprocal(sums, size), dtype)
    both = ops.mul(ops.add(x, adjoint(x)), over_difference)
    against = ops.mul(ops.sub(x, adjoint(x)), over_sum)
    half = like(0.5, x)
    return ops.mul(ops.add(both, against), half), ops.mul(ops.sub(both, against), half)


def _with_complement(du1: Any, u: Any, u1: Any, v1: Any, t: Any, s: Any) -> Any:
    """The tangent of u, from its part within the space of u1 = the columns with singular values."""
    m, k = np.shape(u1)[-2:]
    if m == k:
        return du1
    size = ops.reduce_max(s, axes=(np.ndim(s) - 1,))
    dims = tuple(range(np.ndim(s) - 1))
    size = ops.broadcast_in_dim(size, shape=np.shape(s), broadcast_dimensions=dims)
    outward = scaled_columns(matmul(t, v1), reciprocal(s, size))
    outward = ops.sub(outward, matmul(u1, matmul(adjoint(u1), outward)))
    du1 = ops.add(du1, outward)
    if np.shape(u)[-1] == k:
        return du1
    u2 = block(u, slice(0, m), slice(k, m))
    du2 = ops.neg(matmul(u1, matmul(adjoint(outward), u2)))
    return ops.concatenate(du1, du2, dimension=np.ndim(u) - 1)


svd: Primitive = SVD()
