"""The pseudo-inverse of Moore and Penrose."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.primitive import Primitive
from jacana.ops.families import align_batch, like
from jacana.ops.linalg.matrices import (
    MatrixFunction,
    adjoint,
    check_matrix,
    chosen,
    each,
    matmul,
    scaled_columns,
)
from jacana.ops.lowering import Build, Tensor


class Pinv(MatrixFunction):
    """The pseudo-inverse of [..., m, n] matrices; singular values up to rtol times the greatest
    count as zero.

    `rtol` has the shape of the axes before the matrices. With `hermitian`, of the Hermitian matrix
    that has the lower triangle. The derivative is that at constant rank.
    """

    name = "pinv"

    def type_rule(self, a: ShapedArray, rtol: ShapedArray, *, hermitian: bool) -> ShapedArray:
        check_matrix(self.name, a, square=hermitian)
        if rtol.shape != a.shape[:-2] or rtol.dtype != dtypes.real_dtype(a.dtype):
            raise TypeError(
                f"pinv needs rtol to be {dtypes.real_dtype(a.dtype)} of shape {a.shape[:-2]}, got "
                f"{rtol}."
            )
        *lead, m, n = a.shape
        return ShapedArray((*lead, n, m), a.dtype)

    def reference(self, a: Any, rtol: Any, *, hermitian: bool) -> Any:
        def one(a: Any, rtol: Any) -> list[Any]:
            return [np.linalg.pinv(a, rcond=rtol, hermitian=hermitian)]

        return each(one, a, rtol, ranks=(2, 0))[0]

    def jvp(self, i: int, t: Any, out: Any, a: Any, rtol: Any, *, hermitian: bool) -> Any:
        if i == 1:
            return None
        p, th, ph = out, adjoint(t), adjoint(out)
        inner = ops.neg(matmul(p, matmul(t, p)))
        # What t does to the spaces that a maps to zero, and does not reach.
        left = matmul(p, matmul(ph, th))
        right = matmul(th, matmul(ph, p))
        left = ops.sub(left, matmul(matmul(left, a), p))
        right = ops.sub(right, matmul(p, matmul(a, right)))
        return ops.add(inner, ops.add(left, right))

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], **params: Any
    ) -> tuple[Any, int]:
        return self(*align_batch(size, operands, axes), **params), 0

    def lower(self, build: Build, a: Tensor, rtol: Tensor, *, hermitian: bool) -> Tensor:
        def function(a: Any, rtol: Any) -> Any:
            return _pseudo_inverse(a, rtol, hermitian)

        return build.compose(function, a, rtol)  # type: ignore[no-any-return]


def _pseudo_inverse(a: Any, rtol: Any, hermitian: bool) -> Any:
    if 0 in np.shape(a)[-2:]:
        *lead, m, n = np.shape(a)
        return ops.broadcast_in_dim(like(0, a), shape=(*lead, n, m), broadcast_dimensions=())
    if hermitian:
        v, s = ops.eigh(a)
        uh = adjoint(v)
    else:
        s, u, vh = ops.svd(a, full_matrices=False)
        v, uh = adjoint(vh), adjoint(u)
    axis = np.ndim(s) - 1
    size = ops.abs(s)
    dims = tuple(range(axis))
    cutoff = ops.mul(ops.reduce_max(size, axes=(axis,)), rtol)
    cutoff = ops.broadcast_in_dim(cutoff, shape=np.shape(s), broadcast_dimensions=dims)
    # A cutoff that is nan keeps everything, so that nan stays nan.
    dropped = ops.le(size, cutoff)
    inverse = chosen(dropped, like(0, s), ops.div(like(1, s), chosen(dropped, like(1, s), s)))
    return matmul(scaled_columns(v, inverse), uh)


pinv: Primitive = Pinv()
