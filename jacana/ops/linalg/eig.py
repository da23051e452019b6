"""Eigenvalues and eigenvectors of square matrices, and their Schur form."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.primitive import Primitive
from jacana.ops.families import like
from jacana.ops.linalg.eigh import greatest
from jacana.ops.linalg.matrices import (
    Factorization,
    adjoint,
    along_columns,
    batch_of,
    check_matrix,
    chosen,
    conjugate,
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
from jacana.ops.linalg.qr import without_derivative
from jacana.ops.lowering import Build, Tensor
from jacana.ops.params import WithDefaults


def complex_dtype(dtype: Any) -> Any:
    return (
        dtypes.complex128
        if dtype.itemsize // (1 + dtypes.is_complex(dtype)) == 8
        else (dtypes.complex64)
    )


class Eig(WithDefaults, Factorization):
    """w, and left and right eigenvectors as columns if asked, of [..., n, n]; all complex.

    Vectors have length 1 and a real component of greatest size. nan where a is not finite.
    """

    name = "eig"
    defaults = {
        "compute_left_eigenvectors": True, "compute_right_eigenvectors": True,
        "enable_eigvec_derivs": False, "implementation": None,
    }  # fmt: skip

    def type_rule(
        self, a: ShapedArray, *, compute_left_eigenvectors: bool = True,
        compute_right_eigenvectors: bool = True, **params: Any,
    ) -> tuple[ShapedArray, ...]:  # fmt: skip
        check_matrix(self.name, a, square=True)
        dtype = complex_dtype(a.dtype)
        count = int(compute_left_eigenvectors) + int(compute_right_eigenvectors)
        return ShapedArray(a.shape[:-1], dtype), *[ShapedArray(a.shape, dtype)] * count

    def reference(
        self, a: Any, *, compute_left_eigenvectors: bool = True,
        compute_right_eigenvectors: bool = True, **params: Any,
    ) -> Any:  # fmt: skip
        wide = complex_dtype(a.dtype)
        wanted = (compute_left_eigenvectors, compute_right_eigenvectors)

        def one(matrix: Any) -> list[Any]:
            if not np.isfinite(matrix).all():
                vectors = [np.full(matrix.shape, np.nan * (1 + 1j), wide)] * sum(wanted)
                return [np.full(len(matrix), np.nan * (1 + 1j), wide), *vectors]
            made = scipy_linalg().eig(matrix, left=wanted[0], right=wanted[1])
            return [np.asarray(x).astype(wide) for x in (made if any(wanted) else (made,))]

        return each(one, a)

    def jvp(
        self, i: int, t: Any, out: Any, a: Any, *, compute_left_eigenvectors: bool,
        compute_right_eigenvectors: bool, **params: Any,
    ) -> list[Any]:  # fmt: skip
        w = out[0]
        t = in_dtype(t, w.dtype)
        if compute_right_eigenvectors:
            right = out[-1]
        else:
            right = self(a, **params | {"compute_left_eigenvectors": False})[1]
        x = in_basis(right, t)
        made = [diagonal(x)]
        if compute_left_eigenvectors:
            made.append(vectors_tangent(out[1], conjugate(w), in_basis(out[1], adjoint(t))))
        if compute_right_eigenvectors:
            made.append(vectors_tangent(right, w, x))
        return made

    def lower(
        self, build: Build, a: Tensor, *, compute_left_eigenvectors: bool,
        compute_right_eigenvectors: bool, **params: Any,
    ) -> list[Tensor]:  # fmt: skip
        dtype = complex_dtype(a.dtype)
        wanted = (compute_left_eigenvectors, compute_right_eigenvectors)
        specs = [(a.shape[:-1], dtype), *[(a.shape if want else (0,), dtype) for want in wanted]]
        settings = (batch_of(a), a.shape[-1], *map(int, wanted))
        w, *vectors = build.library("eig", specs, [a], settings, a.dtype)
        return [w, *[v for v, want in zip(vectors, wanted) if want]]


def in_basis(v: Any, t: Any) -> Any:
    """v^-1 t v."""
    factors, _, order = ops.lu_factors(v)
    return ops.lu_solve(v, factors, order, matmul(t, v), transpose=0)


def vectors_tangent(v: Any, w: Any, x: Any) -> Any:
    """The tangent of eigenvectors that stay normalised, where x = v^-1 da v."""
    axis = np.ndim(v) - 2
    gaps = differences(w)
    weight = conjugate(ops.mul(gaps, in_dtype(square_reciprocal(gaps, w), v.dtype)))
    free = matmul(v, ops.mul(weight, x))
    # Off along v itself, so that the length stays 1 and the greatest component stays real.
    along = real_part(ops.reduce_sum(ops.mul(conjugate(v), free), axes=(axis,)))
    size = ops.abs(v)
    greatest_at = ops.argmax(size, axes=(axis,), index_dtype=dtypes.int32)
    rows = ops.iota(dtype=dtypes.int32, shape=np.shape(v), dimension=axis)
    here = ops.eq(rows, along_columns(greatest_at, np.shape(v)[-2]))
    ratio = ops.div(ops.imag(free), chosen(here, ops.real(v), like(1, size)))
    turn = ops.reduce_sum(chosen(here, ratio, like(0, size)), axes=(axis,))
    return ops.sub(free, scaled_columns(v, ops.complex(along, turn)))


def square_reciprocal(gaps: Any, w: Any) -> Any:
    """abs(gap)**-2, 0 where eigenvalues coincide up to roundoff."""
    over = reciprocal(ops.abs(gaps), greatest(w))
    return ops.mul(over, over)


class Schur(WithDefaults, Factorization):
    """t (and the unitary z with a = z t z^H) of [..., n, n]: t upper triangular.

    For real matrices t has blocks of two on its diagonal for pairs of complex eigenvalues.
    """

    name = "schur"
    defaults = {
        "compute_schur_vectors": True, "sort_eig_vals": False, "select_callable": None,
    }  # fmt: skip

    def type_rule(
        self, a: ShapedArray, *, compute_schur_vectors: bool = True, sort_eig_vals: bool = False,
        select_callable: Any = None,
    ) -> tuple[ShapedArray, ...]:  # fmt: skip
        check_matrix(self.name, a, square=True)
        if sort_eig_vals:
            raise NotImplementedError("schur cannot sort eigenvalues: leave sort_eig_vals False.")
        form = ShapedArray(a.shape, a.dtype)
        return (form, form) if compute_schur_vectors else (form,)

    def reference(self, a: Any, *, compute_schur_vectors: bool = True, **params: Any) -> Any:
        count = 1 + compute_schur_vectors

        def one(matrix: Any) -> list[Any]:
            if not np.isfinite(matrix).all():
                return [np.full_like(matrix, np.nan)] * count
            return list(scipy_linalg().schur(matrix))[:count]

        return each(one, a)

    jvp = without_derivative

    def lower(
        self, build: Build, a: Tensor, *, compute_schur_vectors: bool, **params: Any
    ) -> list[Tensor]:
        vectors = a.shape if compute_schur_vectors else (0,)
        specs = [(a.shape, a.dtype), (vectors, a.dtype)]
        settings = (batch_of(a), a.shape[-1], int(compute_schur_vectors))
        made = build.library("schur", specs, [a], settings, a.dtype)
        return made if compute_schur_vectors else made[:1]


eig: Primitive = Eig()
schur: Primitive = Schur()
