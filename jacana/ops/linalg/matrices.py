"""Matrices along the last two axes: what the rules of factorisations are written in."""

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.dimensions import Dimensions, merged, replicated
from jacana.core.primitive import Primitive
from jacana.core.values import aval_of
from jacana.ops.families import align_batch, like, not_linear
from jacana.ops.lowering import Build, Tensor, Value
from jacana.ops.shape import reshape_to

Shape = tuple[int, ...]

LAPACK_DTYPES = (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)


class MatrixFunction(Primitive):
    """A function of each matrix along the last two axes; the axes before them are independent."""

    transpose = not_linear

    def work(
        self, operands: list[ShapedArray], outs: list[ShapedArray], params: dict[str, Any]
    ) -> float:
        return 2.0 * operands[0].size * operands[0].shape[-1]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], **params: Any
    ) -> tuple[Any, int]:
        return self(*align_batch(size, operands, axes), **params), 0

    def spec_rule(
        self, specs: Sequence[Dimensions], avals: Any, outs: Sequence[ShapedArray], params: Any
    ) -> list[Dimensions]:
        batch = merged([spec[:-2] for spec in specs])
        return [(*batch, *replicated(a.ndim))[: a.ndim] for a in outs]


class Factorization(MatrixFunction):
    """A MatrixFunction with several results."""

    multiple_results = True

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        outs = self(*align_batch(size, operands, axes), **params)
        return outs, [0] * len(outs)


def check_matrix(name: str, x: ShapedArray, square: bool = False) -> None:
    """ValueError unless x holds (square) matrices, TypeError for a dtype that LAPACK lacks."""
    if x.ndim < 2:
        raise ValueError(f"Argument to {name} must have shape [..., m, n], got {x}.")
    if square and x.shape[-1] != x.shape[-2]:
        raise ValueError(
            f"Argument to {name} must have shape [..., n, n], got {x}, which holds no square "
            f"matrices."
        )
    check_dtype(name, x)


def check_dtype(name: str, *xs: ShapedArray) -> None:
    """TypeError unless the dtype is one that LAPACK has, the same for all."""
    for x in xs:
        if x.dtype not in LAPACK_DTYPES:
            raise TypeError(
                f"{name} does not accept dtype {dtypes.name(x.dtype)}. Accepted are float32, "
                f"float64, complex64 and complex128: convert it first, for example with astype."
            )
        if x.dtype != xs[0].dtype:
            raise TypeError(
                f"{name} requires arguments to have the same dtypes, got {xs[0]} and {x}. Convert "
                f"one of them first, for example with astype."
            )


# --- products -------------------------------------------------------------------------------------


def matmul(x: Any, y: Any) -> Any:
    """Products of matrices; the axes before the last two are the same in both."""
    rank = np.ndim(x)
    batch = tuple(range(rank - 2))
    numbers = ((rank - 1,), (rank - 2,)), (batch, batch)
    return ops.dot_general(x, y, dimension_numbers=numbers)


def transposed(x: Any) -> Any:
    rank = np.ndim(x)
    return ops.transpose(x, permutation=(*range(rank - 2), rank - 1, rank - 2))


def conjugate(x: Any) -> Any:
    dtype = aval_of(x).dtype
    return ops.conj(x, input_dtype=dtype) if dtypes.is_complex(dtype) else x


def adjoint(x: Any) -> Any:
    return conjugate(transposed(x))


def real_part(x: Any) -> Any:
    return ops.real(x) if dtypes.is_complex(aval_of(x).dtype) else x


def in_dtype(x: Any, dtype: Any) -> Any:
    if aval_of(x).dtype == dtype:
        return x
    return ops.convert_element_type(x, new_dtype=dtype, weak_type=False)


# --- parts ----------------------------------------------------------------------------------------


def compared(shape: Shape, k: int, comparison: Any) -> Any:
    """Where row + k compares as asked to the column."""
    rank = len(shape)
    row = ops.iota(dtype=dtypes.int32, shape=shape, dimension=rank - 2)
    column = ops.iota(dtype=dtypes.int32, shape=shape, dimension=rank - 1)
    return comparison(ops.add(row, np.int32(k)) if k else row, column)


def chosen(mask: Any, x: Any, other: Any) -> Any:
    """x where the mask holds, else the other; scalars serve every element."""
    shape = np.shape(mask)
    x, other = (spread_scalar(v, shape) for v in (x, other))
    return ops.select_n(mask, other, x)


def spread_scalar(x: Any, shape: Shape) -> Any:
    if np.shape(x) == shape:
        return x
    return ops.broadcast_in_dim(x, shape=shape, broadcast_dimensions=())


def lower_part(x: Any, k: int = 0) -> Any:
    """x with zeros above the k-th diagonal."""
    return chosen(compared(np.shape(x), k, ops.ge), x, like(0, x))


def upper_part(x: Any, k: int = 0) -> Any:
    """x with zeros below the k-th diagonal."""
    return chosen(compared(np.shape(x), k - 1, ops.lt), x, like(0, x))


def halved_diagonal(x: Any) -> Any:
    on_diagonal = compared(np.shape(x), 0, ops.eq)
    return chosen(on_diagonal, ops.mul(x, like(0.5, x)), x)


def hermitian_of(x: Any, lower: bool) -> Any:
    """The Hermitian matrix that has a triangle, and the real diagonal, of x."""
    half = halved_diagonal(lower_part(x) if lower else upper_part(x))
    return ops.add(half, adjoint(half))


def identity(shape: Shape, dtype: Any) -> Any:
    return in_dtype(compared(shape, 0, ops.eq), dtype)


def block(x: Any, rows: slice, columns: slice) -> Any:
    """A block of each matrix."""
    shape = np.shape(x)
    (r0, r1, _), (c0, c1, _) = rows.indices(shape[-2]), columns.indices(shape[-1])
    if (r0, r1, c0, c1) == (0, shape[-2], 0, shape[-1]):
        return x
    lead = shape[:-2]
    start, limit = (*[0] * len(lead), r0, c0), (*lead, max(r0, r1), max(c0, c1))
    return ops.slice(x, start_indices=start, limit_indices=limit, strides=None)


def diagonal(x: Any) -> Any:
    """The diagonals, as vectors along a last axis."""
    k = min(np.shape(x)[-2:])
    x = block(x, slice(0, k), slice(0, k))
    lead = np.shape(x)[:-2]
    flat = reshape_to(x, (*lead, k * k))
    start, limit = (0,) * (len(lead) + 1), (*lead, k * k)
    return ops.slice(
        flat, start_indices=start, limit_indices=limit, strides=(*[1] * len(lead), k + 1)
    )


def diagonal_matrix(d: Any) -> Any:
    """Square matrices with these diagonals."""
    spread = along_columns(d, np.shape(d)[-1])
    return chosen(compared(np.shape(spread), 0, ops.eq), spread, like(0, d))


def along_columns(d: Any, rows: int) -> Any:
    """Matrices each of whose rows is d."""
    *lead, n = np.shape(d)
    dims = (*range(len(lead)), len(lead) + 1)
    return ops.broadcast_in_dim(d, shape=(*lead, rows, n), broadcast_dimensions=dims)


def along_rows(d: Any, columns: int) -> Any:
    """Matrices each of whose columns is d."""
    *lead, n = np.shape(d)
    dims = tuple(range(len(lead) + 1))
    return ops.broadcast_in_dim(d, shape=(*lead, n, columns), broadcast_dimensions=dims)


def scaled_columns(x: Any, d: Any) -> Any:
    """x times the diagonal matrix of d."""
    return ops.mul(x, along_columns(in_dtype(d, aval_of(x).dtype), np.shape(x)[-2]))


def scaled_rows(x: Any, d: Any) -> Any:
    """The diagonal matrix of d times x."""
    return ops.mul(x, along_rows(in_dtype(d, aval_of(x).dtype), np.shape(x)[-1]))


def taken_rows(x: Any, index: Any) -> Any:
    """Row index[i] of each matrix as row i."""
    *lead, rows, columns = np.shape(x)
    n = len(lead)
    count = np.shape(index)[-1]
    if 0 in (*lead, rows, columns, count):
        return x
    lead_axes = tuple(range(n))
    numbers = ops.GatherDimensionNumbers(
        offset_dims=(n + 1,), collapsed_slice_dims=(n,), start_index_map=(n,),
        operand_batching_dims=lead_axes, start_indices_batching_dims=lead_axes,
    )  # fmt: skip
    vectors = reshape_to(index, (*lead, count, 1))
    return ops.gather(
        x, vectors, dimension_numbers=numbers, slice_sizes=(*[1] * n, 1, columns),
        unique_indices=True, mode=ops.GatherScatterMode.PROMISE_IN_BOUNDS,
    )  # fmt: skip


def inverse_permutation(permutation: Any) -> Any:
    axis = np.ndim(permutation) - 1
    position = ops.iota(dtype=dtypes.int32, shape=np.shape(permutation), dimension=axis)
    return ops.sort(permutation, position, dimension=axis, is_stable=True, num_keys=1)[1]


# --- quotients that may not exist -----------------------------------------------------------------

# Numbers that LAPACK computes differ from exact ones by a few units of roundoff of the greatest.
INDISTINCT = 10


def reciprocal(x: Any, size: Any) -> Any:
    """1 / x for each x, 0 where x is zero up to the roundoff of numbers as large as `size`."""
    tolerance = ops.mul(size, like(INDISTINCT * float(dtypes.finfo(aval_of(x).dtype).eps), x))
    exists = ops.gt(ops.abs(x), tolerance)
    safe = chosen(exists, x, like(1, x))
    return chosen(exists, ops.div(like(1, x), safe), like(0, x))


def differences(d: Any) -> Any:
    """d[j] - d[i] at (i, j)."""
    n = np.shape(d)[-1]
    return ops.sub(along_columns(d, n), along_rows(d, n))


# --- lowering and reference -----------------------------------------------------------------------


def batch_of(x: Any) -> int:
    """How many matrices there are."""
    return int(np.prod(x.shape[:-2], dtype=np.int64))


def built_identity(build: Build, shape: Sequence[int], dtype: Any) -> Tensor:
    def element(*i: Any) -> Value:
        return build.select(i[-2].eq(i[-1]), build.const(1, dtype), build.const(0, dtype))

    return build.compute(shape, dtype, element)


def built_zeros(build: Build, shape: Sequence[int], dtype: Any) -> Tensor:
    return build.compute(shape, dtype, lambda *i: build.const(0, dtype))


def scipy_linalg() -> Any:
    """scipy.linalg, loaded only for references: importing it takes longer than jacana."""
    return importlib.import_module("scipy.linalg")


def each(f: Callable[..., Sequence[Any]], *arrays: Any, ranks: Sequence[int] = ()) -> list[Any]:
    """f of each matrix of a batch, in NumPy; `ranks` are those of one of each array (2)."""
    ranks = ranks or (2,) * len(arrays)
    lead = np.shape(arrays[0])[: np.ndim(arrays[0]) - ranks[0]]
    rows = [f(*[np.asarray(x)[index] for x in arrays]) for index in np.ndindex(*lead)]
    return [np.stack(part).reshape(*lead, *part[0].shape) for part in zip(*rows, strict=True)]
