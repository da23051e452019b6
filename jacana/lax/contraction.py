"""Products of matrices and tensors."""

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import config
from jacana.core.values import aval_of
from jacana.lax.operands import integers, operand as operand_of, requested_dtype

DotDimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]


class Precision(enum.Enum):
    """How exactly products are computed; on the CPU always in the full precision of the dtype."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    __str__ = __repr__


_PRECISIONS = {
    "default": Precision.DEFAULT, "fastest": Precision.DEFAULT, "bfloat16": Precision.DEFAULT,
    "high": Precision.HIGH, "bfloat16_3x": Precision.HIGH, "tensorfloat32": Precision.HIGH,
    "highest": Precision.HIGHEST, "float32": Precision.HIGHEST,
}  # fmt: skip

PrecisionLike = str | Precision | tuple[Any, Any] | None


def canonical_precision(precision: PrecisionLike) -> tuple[Precision, Precision] | None:
    """The precision of each operand; None where neither call nor configuration names one."""
    if precision is None:
        default = config.current().default_matmul_precision
        return None if default is None else canonical_precision(default)
    pair = precision if isinstance(precision, tuple | list) else (precision, precision)
    named: dict[Any, Precision] = {**_PRECISIONS, None: Precision.DEFAULT}
    found: list[Any] = [p if isinstance(p, Precision) else named.get(p) for p in pair]
    if len(found) != 2 or not all(isinstance(p, Precision) for p in found):
        raise ValueError(
            f"precision is None, one of {', '.join(_PRECISIONS)}, a lax.Precision or a pair of "
            f"them, got {precision!r}."
        )
    return found[0], found[1]


def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: DotDimensionNumbers,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Products of elements summed over contracting axes, for each index of the batch axes.

    dimension_numbers is ((lhs contracting, rhs contracting), (lhs batch, rhs batch)). The result
    has the batch axes, the other axes of lhs, then those of rhs. TypeError where extents differ.

    >>> x, y = np.ones((2, 3), 'float32'), np.ones((2, 3), 'float32')
    >>> dot_general(x, y, (((1,), (1,)), ((0,), (0,)))).tolist()
    [3.0, 3.0]
    """
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    parts = [
        integers("dot_general", "dimension_numbers", axes)
        for axes in (lhs_contracting, rhs_contracting, lhs_batch, rhs_batch)
    ]
    wanted = None
    if preferred_element_type is not None:
        wanted = requested_dtype("dot_general", preferred_element_type)
    return ops.dot_general(
        operand_of("dot_general", lhs),
        operand_of("dot_general", rhs, 1),
        dimension_numbers=((parts[0], parts[1]), (parts[2], parts[3])),
        precision=canonical_precision(precision),
        preferred_element_type=wanted,
    )


def dot(
    lhs: Any,
    rhs: Any,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    out_sharding: Any = None,
) -> Any:
    """The product of two matrices, a matrix and a vector, or two vectors; else as dot_general.

    >>> float(dot(np.arange(3.0, dtype='float32'), np.ones(3, 'float32')))
    3.0
    """
    shapes = np.shape(operand_of("dot", lhs)), np.shape(operand_of("dot", rhs, 1))
    if dimension_numbers is None:
        left, right = shapes
        if not (1 <= len(left) <= 2 and 1 <= len(right) <= 2 and left[-1] == right[0]):
            raise ValueError(
                f"lax.dot: dimension_numbers must be specified when not performing simple "
                f"un-batched matrix-matrix, matrix-vector, or vector-vector products; got "
                f"lhs_shape={left} rhs_shape={right}"
            )
        dimension_numbers = (((len(left) - 1,), (0,)), ((), ()))
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)


def batch_matmul(lhs: Any, rhs: Any, precision: PrecisionLike = None) -> Any:
    """Products of the matrices along the last two axes; all axes before them are batch axes.

    >>> batch_matmul(np.ones((5, 2, 3), 'float32'), np.ones((5, 3, 4), 'float32')).shape
    (5, 2, 4)
    """
    rank = np.ndim(operand_of("batch_matmul", lhs))
    if rank < 2 or np.ndim(operand_of("batch_matmul", rhs, 1)) != rank:
        raise ValueError(
            f"batch_matmul needs two arrays of one rank of at least 2, got {aval_of(lhs)} and "
            f"{aval_of(rhs)}."
        )
    batch = tuple(range(rank - 2))
    return dot_general(lhs, rhs, (((rank - 1,), (rank - 2,)), (batch, batch)), precision)
