"""Contraction: sums of products over shared axes, by BLAS where large and generated where small."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.dimensions import Dimensions, merged
from jacana.kernel.expr import Expr
from jacana.ops.families import Bilinear, is_linear
from jacana.ops.lowering import Build, Index, Tensor, Value
from jacana.ops.params import WithDefaults, without_none
from jacana.ops.reduction import accumulation_dtype

Axes = tuple[int, ...]
# ((lhs contracting, rhs contracting), (lhs batch, rhs batch))
DimensionNumbers = tuple[tuple[Axes, Axes], tuple[Axes, Axes]]

AxisName = tuple[str, int]

# Multiply-adds of one product of a batch from which on a library call pays.
LIBRARY_WORK = 4096
# Up to here OpenBLAS may compute small products in another order for each layout of its operands.
ONE_LAYOUT_WORK = 1_000_000
LIBRARY_DTYPES = (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)


def free_axes(ndim: int, *taken: Axes) -> Axes:
    return tuple(a for a in range(ndim) if not any(a in t for t in taken))


class DotGeneral(WithDefaults, Bilinear):
    """Products of elements that agree in batch axes, summed over contracting axes.

    The output has the batch axes, the free axes of lhs, then those of rhs.
    """

    name = "dot_general"
    defaults = {"precision": None, "preferred_element_type": None, "out_sharding": None}

    def shown_params(self, params: dict[str, Any]) -> dict[str, Any]:
        contracting, batch = params["dimension_numbers"]
        lists = tuple(map(list, contracting)), tuple(map(list, batch))
        shown = {**params, "dimension_numbers": lists}
        return without_none(shown, "precision", "preferred_element_type", "out_sharding")

    def type_rule(
        self, x: ShapedArray, y: ShapedArray, *, dimension_numbers: DimensionNumbers,
        precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None,
    ) -> ShapedArray:  # fmt: skip
        check_dimension_numbers(x, y, dimension_numbers)
        (xc, yc), (xb, yb) = dimension_numbers
        shape = (
            *(x.shape[a] for a in xb),
            *(x.shape[a] for a in free_axes(x.ndim, xc, xb)),
            *(y.shape[a] for a in free_axes(y.ndim, yc, yb)),
        )
        if preferred_element_type is not None:
            return ShapedArray(shape, preferred_element_type)
        if x.dtype != y.dtype:
            raise TypeError(
                f"dot_general requires arguments to have the same dtypes, got {x} and {y}. Convert "
                f"one first, for example with astype, or give preferred_element_type."
            )
        return ShapedArray(shape, x.dtype, x.weak_type and y.weak_type)

    def work(
        self, operands: list[ShapedArray], outs: list[ShapedArray], params: dict[str, Any]
    ) -> float:
        contracting, _ = params["dimension_numbers"]
        length: int = math.prod([operands[0].shape[a] for a in contracting[0]])
        return 2.0 * outs[0].size * length

    def reference(
        self, x: Any, y: Any, *, dimension_numbers: DimensionNumbers, precision: Any = None,
        preferred_element_type: Any = None, out_sharding: Any = None,
    ) -> Any:  # fmt: skip
        (xc, yc), (xb, yb) = dimension_numbers
        out_dtype = np.dtype(preferred_element_type or np.asarray(x).dtype)
        wide = accumulation_dtype(out_dtype)
        x, y = np.asarray(x).astype(wide), np.asarray(y).astype(wide)
        letters = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
        of_x = [next(letters) for _ in range(x.ndim)]
        of_y = [next(letters) for _ in range(y.ndim)]
        for a, b in zip((*xc, *xb), (*yc, *yb)):
            of_y[b] = of_x[a]
        out = [of_x[a] for a in (*xb, *free_axes(x.ndim, xc, xb))]
        out += [of_y[a] for a in free_axes(y.ndim, yc, yb)]
        subscripts = f"{''.join(of_x)},{''.join(of_y)}->{''.join(out)}"
        return np.asarray(np.einsum(subscripts, x, y)).astype(out_dtype)

    def transpose(
        self, ct: Any, x: Any, y: Any, *, dimension_numbers: DimensionNumbers,
        precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None,
    ) -> list[Any]:  # fmt: skip
        (xc, yc), (xb, yb) = dimension_numbers
        first = len(xb)
        middle = first + len(np.shape(x)) - len(xc) - first
        rest = middle + len(np.shape(y)) - len(yc) - first
        params = {"precision": precision, "preferred_element_type": preferred_element_type}
        if is_linear(x):
            joined = tuple(range(middle, rest))
            return [_cotangent(ct, y, x, joined, (yc, xc), (yb, xb), params), None]
        joined = tuple(range(first, middle))
        return [None, _cotangent(ct, x, y, joined, (xc, yc), (xb, yb), params)]

    def spec_rule(
        self, specs: Sequence[Dimensions], avals: Any, outs: Any, params: dict[str, Any]
    ) -> list[Dimensions]:
        (xc, yc), (xb, yb) = params["dimension_numbers"]
        x, y = specs
        of_x = [x[a] for a in free_axes(len(x), xc, xb)]
        of_y = [y[a] for a in free_axes(len(y), yc, yb)]
        batch = [x[a] or y[b] for a, b in zip(xb, yb)]
        left: Dimensions = (*batch, *of_x, *[()] * len(of_y))
        right: Dimensions = (*[()] * (len(batch) + len(of_x)), *of_y)
        return [merged([left, right])]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], *,
        dimension_numbers: DimensionNumbers, **params: Any,
    ) -> tuple[Any, int]:  # fmt: skip
        (x, y), (ax, ay) = operands, axes
        (xc, yc), (xb, yb) = (
            (_shifted(of_x, ax), _shifted(of_y, ay)) for of_x, of_y in dimension_numbers
        )
        if ax is not None and ay is not None:
            out_axis = 0
            xb, yb = (ax, *xb), (ay, *yb)
        elif ax is not None:
            # The batch axis is one more free axis of its operand.
            out_axis = len(xb) + free_axes(np.ndim(x), xc, xb).index(ax)
        else:
            assert ay is not None
            of_x, of_y = free_axes(np.ndim(x), xc, xb), free_axes(np.ndim(y), yc, yb)
            out_axis = len(xb) + len(of_x) + of_y.index(ay)
        return self(x, y, dimension_numbers=((xc, yc), (xb, yb)), **params), out_axis

    def lower(
        self, build: Build, x: Tensor, y: Tensor, *, dimension_numbers: DimensionNumbers,
        precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None,
    ) -> Tensor:  # fmt: skip
        out_dtype = dtypes.dtype(preferred_element_type or x.dtype)
        wide = accumulation_dtype(out_dtype)
        x, y = (converted(build, v, wide) for v in (x, y))
        if wide in LIBRARY_DTYPES and is_library_work(x, y, dimension_numbers):
            out = library_product(build, x, y, dimension_numbers)
        else:
            out = generated_product(build, x, y, dimension_numbers)
        return converted(build, out, out_dtype)


def _shifted(axes: Axes, batch_axis: int | None) -> Axes:
    """Axes of an operand after an axis was added to it."""
    if batch_axis is None:
        return axes
    return tuple(a + (a >= batch_axis) for a in axes)


def _cotangent(
    ct: Any, other: Any, of: Any, joined: Axes, contracting: tuple[Axes, Axes],
    batch: tuple[Axes, Axes], params: dict[str, Any],
) -> Any:  # fmt: skip
    """The cotangent of operand `of`: ct times the other operand, over the other's free axes.

    `contracting` and `batch` hold the axes of the other operand, then those of `of`.
    """
    (other_c, of_c), (other_b, of_b) = contracting, batch
    other_free = free_axes(np.ndim(other), other_c, other_b)
    kept = free_axes(len(of.shape), of_c, of_b)
    # Which axes of `of` those of the product are, first those of ct, then those of other.
    of_ct, of_other = kept, tuple(of_c[other_c.index(a)] for a in sorted(other_c))
    operands, axes = (ct, other), (joined, other_free)
    work = math.prod(of.shape) * math.prod(np.shape(other)[a] for a in other_free)
    if not of_b and of_ct > of_other and work > ONE_LAYOUT_WORK:
        # Nothing has to move if the operands stand the other way round. (Small products are
        # printed as JAX prints them.)
        operands, axes, of_ct, of_other = operands[::-1], axes[::-1], of_other, of_ct
    numbers = (axes, (tuple(range(len(of_b))), other_b))
    made = ops.dot_general(*operands, dimension_numbers=numbers, **params)
    permutation = tuple(int(p) for p in np.argsort((*of_b, *of_ct, *of_other)))
    if permutation != tuple(range(len(permutation))):
        made = ops.transpose(made, permutation=permutation)
    if made.dtype != of.dtype:
        made = ops.convert_element_type(made, new_dtype=of.dtype, weak_type=False)
    return made


def check_dimension_numbers(x: ShapedArray, y: ShapedArray, numbers: DimensionNumbers) -> None:
    (xc, yc), (xb, yb) = numbers
    for what, axes, v in (("lhs", (*xb, *xc), x), ("rhs", (*yb, *yc), y)):
        if len(set(axes)) != len(axes) or any(not 0 <= a < v.ndim for a in axes):
            raise TypeError(
                f"dot_general requires the {what} batch and contracting dimensions to be distinct "
                f"axes of {v}, got dimension_numbers={numbers}."
            )
    for what, of_x, of_y in (("contracting", xc, yc), ("batch", xb, yb)):
        shape_x, shape_y = (
            tuple(v.shape[a] for a in axes) for v, axes in ((x, of_x), (y, of_y))
        )  # fmt: skip
        if shape_x != shape_y:
            raise TypeError(
                f"dot_general requires {what} dimensions to have the same shape, got {shape_x} and "
                f"{shape_y} for {x} and {y} with dimension_numbers={numbers}."
            )


def converted(build: Build, x: Tensor, dtype: Any) -> Tensor:
    """x in another dtype."""
    if x.dtype == dtype:
        return x
    return build.elementwise(lambda v: build.convert(v, dtype), [x], dtype)


def _matrix_shape(x: Tensor, y: Tensor, numbers: DimensionNumbers) -> tuple[int, int, int, int]:
    """Batch, rows, columns and depth of the product."""
    (xc, yc), (xb, yb) = numbers
    return (
        math.prod(x.shape[a] for a in xb),
        math.prod(x.shape[a] for a in free_axes(x.ndim, xc, xb)),
        math.prod(y.shape[a] for a in free_axes(y.ndim, yc, yb)),
        math.prod(x.shape[a] for a in xc),
    )


def is_library_work(x: Tensor, y: Tensor, numbers: DimensionNumbers) -> bool:
    """Whether the library is faster. It is not with vectors, and would round by their layout."""
    batch, m, n, k = _matrix_shape(x, y, numbers)
    return bool(batch) and m > 1 and n > 1 and m * n * k >= LIBRARY_WORK


def _out_shape(x: Tensor, y: Tensor, numbers: DimensionNumbers) -> list[int]:
    (xc, yc), (xb, yb) = numbers
    shape = [x.shape[a] for a in (*xb, *free_axes(x.ndim, xc, xb))]
    return shape + [y.shape[a] for a in free_axes(y.ndim, yc, yb)]


def generated_product(build: Build, x: Tensor, y: Tensor, numbers: DimensionNumbers) -> Tensor:
    """The contraction as a fused reduction of products, which stand as the matrix is stored."""
    (xc, yc), (xb, yb) = numbers
    xf, yf = free_axes(x.ndim, xc, xb), free_axes(y.ndim, yc, yb)
    # Axes of the products by name: ("b", i), ("x", axis), ("y", axis), ("c", i).
    batch, depth = ([(kind, i) for i in range(len(axes))] for kind, axes in (("b", xb), ("c", xc)))
    rows, columns = [("x", a) for a in xf], [("y", a) for a in yf]
    of_x = dict(zip((*xb, *xc, *xf), (*batch, *depth, *rows)))
    of_y = dict(zip((*yb, *yc, *yf), (*batch, *depth, *columns)))
    order = stored_order([*batch, *rows, *columns, *depth], of_x, of_y, set(depth))
    extents = {name: x.shape[a] for a, name in of_x.items()}
    extents |= {name: y.shape[a] for a, name in of_y.items()}

    def element(*i: Expr) -> Value:
        at = dict(zip(order, i))
        a: Any = x[[at[of_x[axis]] for axis in range(x.ndim)]]
        b: Any = y[[at[of_y[axis]] for axis in range(y.ndim)]]
        return a & b if dtypes.is_bool(x.dtype) else a * b  # type: ignore[no-any-return]

    def combine(a: Sequence[Any], b: Sequence[Any]) -> list[Value]:
        return [a[0] | b[0] if dtypes.is_bool(x.dtype) else a[0] + b[0]]

    products = build.compute([extents[name] for name in order], x.dtype, element, [x, y])
    axes = tuple(order.index(name) for name in depth)
    init = False if dtypes.is_bool(x.dtype) else 0
    return build.reduce([products], axes, combine, [init])[0]


def stored_order(
    logical: list[AxisName], of_x: dict[int, AxisName], of_y: dict[int, AxisName],
    depth: set[AxisName],
) -> list[AxisName]:  # fmt: skip
    """The axes of products of a matrix and a vector in the order in which the matrix has them.

    Other products, and matrices in whose order the result's axes would change, get the logical one.
    """
    kept = [name for name in logical if name not in depth]
    for matrix, vector in ((of_x, of_y), (of_y, of_x)):
        if any(name not in matrix.values() for name in vector.values()):
            continue
        order = [matrix[a] for a in range(len(matrix))]
        if [name for name in order if name not in depth] == kept:
            return order
    return logical


def library_product(build: Build, x: Tensor, y: Tensor, numbers: DimensionNumbers) -> Tensor:
    """The contraction by the library's batched product of row-major matrices."""
    (xc, yc), (xb, yb) = numbers
    xf, yf = free_axes(x.ndim, xc, xb), free_axes(y.ndim, yc, yb)
    batch, m, n, k = _matrix_shape(x, y, numbers)
    one_layout = m * n * k <= ONE_LAYOUT_WORK
    a, transpose_a = as_matrices(build, x, xb, xf, xc, one_layout)
    b, transpose_b = as_matrices(build, y, yb, yc, yf, one_layout)
    params = (m, n, k, int(transpose_a), int(transpose_b), batch)
    spec = (_out_shape(x, y, numbers), x.dtype)
    return build.library("gemm", [spec], [a, b], params, x.dtype)[0]


def as_matrices(
    build: Build, x: Tensor, batch: Axes, rows: Axes, columns: Axes, one_layout: bool
) -> tuple[Tensor, bool]:
    """x as row-major matrices, and whether they are columns x rows (else rows x columns).

    No element moves where the axes stand in order already, in either unless `one_layout` asks for
    rows x columns; axes of extent 1 stand anywhere.
    """

    def is_in_place(order: Axes) -> bool:
        long = [a for a in order if x.shape[a] != 1]
        return long == sorted(long)

    order = (*batch, *rows, *columns)
    if is_in_place(order):
        return x, False
    if not one_layout and is_in_place((*batch, *columns, *rows)):
        return x, True

    def index(*i: Expr) -> Index:
        return [i[order.index(axis)] for axis in range(x.ndim)]

    return build.view(x, [x.shape[a] for a in order], index), False


dot_general = DotGeneral()
