"""Systems of equations whose matrix is triangular or tridiagonal."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.primitive import Primitive
from jacana.core.values import aval_of
from jacana.ops.families import align_batch, is_linear, move_axis
from jacana.ops.linalg.matrices import (
    along_rows,
    batch_of,
    check_dtype,
    check_matrix,
    conjugate,
    each,
    lower_part,
    matmul,
    scipy_linalg,
    transposed,
    upper_part,
)
from jacana.ops.lowering import Build, Tensor
from jacana.ops.params import WithDefaults
from jacana.ops.shape import reshape_to, zeros


def check_system(name: str, a: ShapedArray, b: ShapedArray, left: bool = True) -> None:
    check_matrix(name, a, square=True)
    check_matrix(name, b)
    check_dtype(name, a, b)
    if a.shape[:-2] != b.shape[:-2]:
        raise ValueError(
            f"{name} requires both arguments to have the same number of dimensions and equal "
            f"batch dimensions, got {a} and {b}."
        )
    if a.shape[-1] != b.shape[-2 if left else -1]:
        raise ValueError(f"Incompatible shapes for arguments to {name}: {a.shape} and {b.shape}.")


def as_columns(b: Any, axis: int) -> tuple[Any, int]:
    """A batch of matrices side by side in one, and how many columns each has."""
    b = move_axis(b, axis, np.ndim(b) - 1)
    rows, columns, size = np.shape(b)
    return reshape_to(b, (rows, columns * size)), columns


def from_columns(x: Any, columns: int) -> tuple[Any, int]:
    """The batch again, and its axis."""
    rows, total = np.shape(x)
    return reshape_to(x, (rows, columns, total // max(columns, 1))), 2


class TriangularSolve(WithDefaults):
    """x with op(a) x = b, or x op(a) = b, for a triangular: the other triangle of a is not read.

    op(a) is a, transposed and conjugated as asked; with unit_diagonal its diagonal is ones.
    """

    name = "triangular_solve"
    defaults = {
        "left_side": False, "lower": False, "transpose_a": False, "conjugate_a": False,
        "unit_diagonal": False,
    }  # fmt: skip

    def type_rule(
        self, a: ShapedArray, b: ShapedArray, *, left_side: bool = False, **params: bool
    ) -> ShapedArray:
        check_system(self.name, a, b, left_side)
        return ShapedArray(b.shape, b.dtype)

    def reference(
        self, a: Any, b: Any, *, left_side: bool = False, lower: bool = False,
        transpose_a: bool = False, conjugate_a: bool = False, unit_diagonal: bool = False,
    ) -> Any:  # fmt: skip
        solve = scipy_linalg().solve_triangular

        def one(a: Any, b: Any) -> list[Any]:
            a = np.conj(a) if conjugate_a else a
            if a.size == 0:
                return [b]
            options = {"lower": lower, "unit_diagonal": unit_diagonal, "check_finite": False}
            if left_side:
                return [solve(a, b, trans=int(transpose_a), **options)]
            return [solve(a, b.T, trans=1 - int(transpose_a), **options).T]

        return each(one, a, b)[0]

    def jvp(
        self, i: int, t: Any, out: Any, a: Any, b: Any, *, left_side: bool, lower: bool,
        transpose_a: bool, conjugate_a: bool, unit_diagonal: bool,
    ) -> Any:  # fmt: skip
        params = {
            "left_side": left_side, "lower": lower, "transpose_a": transpose_a,
            "conjugate_a": conjugate_a, "unit_diagonal": unit_diagonal,
        }  # fmt: skip
        if i == 1:
            return self(a, t, **params)
        # op(da) x + op(a) dx = 0
        unit = int(unit_diagonal)
        da = lower_part(t, -unit) if lower else upper_part(t, unit)
        da = transposed(da) if transpose_a else da
        da = conjugate(da) if conjugate_a else da
        product = matmul(da, out) if left_side else matmul(out, da)
        return ops.neg(self(a, product, **params))

    def transpose(self, ct: Any, a: Any, b: Any, **params: bool) -> list[Any]:
        if not is_linear(b) or is_linear(a):
            raise TypeError("triangular_solve is linear in its right side only")
        return [None, self(a, ct, **params | {"transpose_a": not params["transpose_a"]})]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], **params: bool
    ) -> tuple[Any, int]:
        a, b = operands
        if axes[0] is None and np.ndim(a) == 2 and axes[1] is not None:
            # One matrix for all: their right sides stand side by side.
            if params["left_side"]:
                b, columns = as_columns(b, axes[1])
                return from_columns(self(a, b, **params), columns)
            b = move_axis(b, axes[1], 0)
            shape = np.shape(b)
            x = self(a, reshape_to(b, (shape[0] * shape[1], shape[2])), **params)
            return reshape_to(x, shape), 0
        return self(*align_batch(size, operands, axes), **params), 0

    def lower(
        self, build: Build, a: Tensor, b: Tensor, *, left_side: bool, lower: bool,
        transpose_a: bool, conjugate_a: bool, unit_diagonal: bool,
    ) -> Tensor:  # fmt: skip
        if conjugate_a and not transpose_a and dtypes.is_complex(a.dtype):
            a = build.elementwise(lambda x: x.conjugate(), [a], a.dtype)
        op = (2 if conjugate_a else 1) if transpose_a else 0
        m, n = b.shape[-2:]
        params = (
            batch_of(b),
            m,
            n,
            int(left_side),
            int(lower),
            op,
            int(unit_diagonal),
            a.shape[-1] ** 2,
        )
        return build.library("triangular_solve", [(b.shape, b.dtype)], [a, b], params, b.dtype)[0]


class TridiagonalSolve(WithDefaults):
    """x with a x = b, where a has the diagonals dl, d and du; dl[0] and du[-1] are not read.

    nan where elimination with row exchanges meets a zero pivot. Shapes [..., n] and [..., n, k].
    """

    name = "tridiagonal_solve"
    defaults = {"perturb_singular": False}

    def type_rule(
        self, dl: ShapedArray, d: ShapedArray, du: ShapedArray, b: ShapedArray, *,
        perturb_singular: bool = False,
    ) -> ShapedArray:  # fmt: skip
        check_dtype(self.name, dl, d, du, b)
        if not dl.shape == d.shape == du.shape == b.shape[:-1] or d.ndim < 1:
            raise ValueError(
                f"tridiagonal_solve needs diagonals of one shape [..., n] and a right side of "
                f"shape [..., n, k], got {dl}, {d}, {du} and {b}."
            )
        return ShapedArray(b.shape, b.dtype)

    def reference(self, dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool = False) -> Any:
        def one(dl: Any, d: Any, du: Any, b: Any) -> list[Any]:
            matrix = np.diag(d) + np.diag(dl[1:], -1) + np.diag(du[:-1], 1)
            return [np.linalg.solve(matrix, b)]

        return each(one, dl, d, du, b, ranks=(1, 1, 1, 2))[0]

    def jvp(
        self, i: int, t: Any, out: Any, dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool
    ) -> Any:
        if i == 3:
            return self(dl, d, du, t, perturb_singular=perturb_singular)
        # da x + a dx = 0, where da has one diagonal; the rows of x that it meets are moved.
        x = out if i == 1 else shifted(out, 1 if i == 0 else -1)
        product = ops.mul(along_rows(t, np.shape(out)[-1]), x)
        return ops.neg(self(dl, d, du, product, perturb_singular=perturb_singular))

    def transpose(
        self, ct: Any, dl: Any, d: Any, du: Any, b: Any, *, perturb_singular: bool
    ) -> list[Any]:
        if not is_linear(b):
            raise TypeError("tridiagonal_solve is linear in its right side only")
        above = vector_shifted(du, 1)
        below = vector_shifted(dl, -1)
        return [None, None, None, self(above, d, below, ct, perturb_singular=perturb_singular)]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], **params: bool
    ) -> tuple[Any, int]:
        return self(*align_batch(size, operands, axes), **params), 0

    def lower(
        self, build: Build, dl: Tensor, d: Tensor, du: Tensor, b: Tensor, *, perturb_singular: bool
    ) -> Tensor:
        n, k = b.shape[-2:]
        params = (batch_of(b), n, k)
        operands = [dl, d, du, b]
        spec = (b.shape, b.dtype)
        return build.library("tridiagonal_solve", [spec], operands, params, b.dtype)[0]


def shifted(x: Any, by: int) -> Any:
    """Row i - by of each matrix as row i; zeros where there is none."""
    config = [(0, 0, 0)] * (np.ndim(x) - 2) + [(by, -by, 0), (0, 0, 0)]
    return ops.pad(x, aval_of(x).dtype.type(0), padding_config=tuple(config))


def vector_shifted(x: Any, by: int) -> Any:
    if np.shape(x)[-1] == 0:
        return zeros(np.shape(x), aval_of(x).dtype)
    config = [(0, 0, 0)] * (np.ndim(x) - 1) + [(by, -by, 0)]
    return ops.pad(x, aval_of(x).dtype.type(0), padding_config=tuple(config))


triangular_solve: Primitive = TriangularSolve()
tridiagonal_solve: Primitive = TridiagonalSolve()
