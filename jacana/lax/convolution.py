"""Convolutions: which axis is which, how much padding, and transposed ones."""

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.core.values import aval_of
from jacana.lax.contraction import PrecisionLike, canonical_precision
from jacana.lax.operands import integers, operand as operand_of, requested_dtype
from jacana.lax.shape import broadcast, reshape, rev
from jacana.lax.windows import Padding, dilated, padtype_to_pads
from jacana.ops import ConvDimensionNumbers
from jacana.ops.convolution_geometry import Geometry, convolved_shape

DimensionNumbers = None | ConvDimensionNumbers | tuple[str, str, str] | tuple[Sequence[int], ...]


def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: DimensionNumbers
) -> ConvDimensionNumbers:
    """Axes as numbers: None is batch, feature, spatial; letters are as in ("NCHW", "OIHW", "NCHW").

    >>> conv_dimension_numbers((1, 8, 8, 3), (2, 2, 3, 4), ('NHWC', 'HWIO', 'NHWC')).rhs_spec
    (3, 2, 0, 1)
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    rank = len(lhs_shape)
    if rank != len(rhs_shape):
        raise TypeError(
            f"convolution requires lhs and rhs ndim to be equal, got {rank} and {len(rhs_shape)}."
        )
    if dimension_numbers is None:
        order = tuple(range(rank))
        return ConvDimensionNumbers(order, order, order)
    if len(dimension_numbers) != 3:
        raise TypeError(f"convolution dimension_numbers are three, got {dimension_numbers!r}.")
    if not all(isinstance(d, str) for d in dimension_numbers):
        parts = [integers("conv", "dimension_numbers", d) for d in dimension_numbers]
        return ConvDimensionNumbers(*parts)
    for d in dimension_numbers:
        if len(d) != rank or len(set(d)) != rank:
            raise TypeError(
                f"convolution dimension_numbers must have one letter for each of {rank} axes, got "
                f"{dimension_numbers}."
            )
    return ConvDimensionNumbers(*conv_general_permutations(dimension_numbers))


def conv_general_permutations(dimension_numbers: Any) -> list[tuple[int, ...]]:
    """For each of three strings the axes in the order batch or out, feature or in, then spatial.

    The spatial axes come in the order in which rhs names them.
    """
    lhs, rhs, out = dimension_numbers
    spatial = [c for c in rhs if c not in "OI"]
    found = []
    for letters, first, second in ((lhs, "N", "C"), (rhs, "O", "I"), (out, "N", "C")):
        order = [first, second, *spatial]
        if sorted(letters) != sorted(order):
            raise TypeError(
                f"convolution dimension_numbers {dimension_numbers}: {letters!r} must name "
                f"{first}, {second} and the spatial axes {''.join(spatial)}."
            )
        found.append(tuple(letters.index(c) for c in order))
    return found


def conv_general_dilated(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: DimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Windows of lhs times rhs, summed over the window and the input features.

    >>> x, w = np.ones((1, 1, 3, 3), 'float32'), np.ones((1, 1, 2, 2), 'float32')
    >>> conv_general_dilated(x, w, (1, 1), 'VALID')[0, 0].tolist()
    [[4.0, 4.0], [4.0, 4.0]]
    """
    x, w = operand_of("conv_general_dilated", lhs), operand_of("conv_general_dilated", rhs, 1)
    shapes = np.shape(x), np.shape(w)
    numbers = conv_dimension_numbers(*shapes, dimension_numbers)
    ones = (1,) * (len(shapes[0]) - 2)

    def or_ones(what: str, values: Any) -> tuple[int, ...]:
        return ones if values is None else integers("conv_general_dilated", what, values)

    strides = or_ones("window_strides", window_strides)
    base, apart = or_ones("lhs_dilation", lhs_dilation), or_ones("rhs_dilation", rhs_dilation)
    if not len(ones) == len(strides) == len(base) == len(apart):
        raise ValueError(
            f"conv_general_dilated window and window_strides must have the same number of "
            f"dimensions, but got {len(ones)} and {len(strides)}"
        )
    if isinstance(padding, str):
        spatial = [shapes[0][a] for a in numbers.lhs_spec[2:]]
        window = [shapes[1][a] for a in numbers.rhs_spec[2:]]
        padding = padtype_to_pads(dilated(spatial, base), dilated(window, apart), strides, padding)
    wanted = preferred_element_type
    if wanted is not None:
        wanted = requested_dtype("conv_general_dilated", wanted)
    return ops.conv_general_dilated(
        x, w, window_strides=strides,
        padding=tuple([(operator.index(a), operator.index(b)) for a, b in padding]),
        lhs_dilation=base, rhs_dilation=apart, dimension_numbers=numbers,
        feature_group_count=operator.index(feature_group_count),
        batch_group_count=operator.index(batch_group_count),
        precision=canonical_precision(precision), preferred_element_type=wanted,
    )  # fmt: skip


def conv(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: str,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Any:
    """conv_general_dilated of NC... with OI..., without dilation.

    >>> conv(np.ones((1, 1, 3), 'float32'), np.ones((1, 1, 3), 'float32'), (1,), 'SAME').tolist()
    [[[2.0, 3.0, 2.0]]]
    """
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, precision=precision,
        preferred_element_type=preferred_element_type,
    )  # fmt: skip


def conv_with_general_padding(
    lhs: Any,
    rhs: Any,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Any:
    """conv_general_dilated of NC... with OI...."""
    return conv_general_dilated(
        lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, precision=precision,
        preferred_element_type=preferred_element_type,
    )  # fmt: skip


def _transposed_padding(size: int, stride: int, padding: str) -> tuple[int, int]:
    """Padding of the spread operand so that the result is stride times as long (SAME), or whole."""
    if padding == "SAME":
        total = size + stride - 2
        before = size - 1 if stride > size - 1 else -(-total // 2)
    elif padding == "VALID":
        total = size + stride - 2 + max(size - stride, 0)
        before = size - 1
    else:
        raise ValueError(f'padding is "SAME", "VALID" or a pair for each axis, got {padding!r}.')
    return before, total - before


def conv_transpose(
    lhs: Any,
    rhs: Any,
    strides: Sequence[int],
    padding: Padding,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: DimensionNumbers = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
    use_consistent_padding: bool = False,
) -> Any:
    """A convolution of lhs spread by `strides`: the shape of the gradient of a strided convolution.

    `transpose_kernel` reverses rhs and exchanges its features, which makes it that gradient.
    Without dimension_numbers the axes are N...C, ...IO, N...C.

    >>> x, w = np.ones((1, 3, 1), 'float32'), np.ones((2, 1, 1), 'float32')
    >>> conv_transpose(x, w, (2,), 'SAME').shape
    (1, 6, 1)
    """
    x, w = operand_of("conv_transpose", lhs), operand_of("conv_transpose", rhs, 1)
    rank = np.ndim(x)
    if dimension_numbers is None:
        letters = "DHW"[-(rank - 2) :] if rank > 2 else ""
        if rank not in (2, 3, 4, 5):
            raise ValueError("No 4+ dimensional dimension_number defaults.")
        dimension_numbers = (f"N{letters}C", f"{letters}IO", f"N{letters}C")
    numbers = conv_dimension_numbers(np.shape(x), np.shape(w), dimension_numbers)
    window = [np.shape(w)[a] for a in numbers.rhs_spec[2:]]
    apart = (1,) * len(window) if rhs_dilation is None else tuple(rhs_dilation)
    reach = dilated(window, apart)
    if isinstance(padding, str):
        pads = [_transposed_padding(k, s, padding) for k, s in zip(reach, strides, strict=True)]
    elif use_consistent_padding:
        pads = [(k - 1 - low, k - 1 - high) for k, (low, high) in zip(reach, padding, strict=True)]
    else:
        pads = [(operator.index(low), operator.index(high)) for low, high in padding]
    if transpose_kernel:
        w = rev(w, numbers.rhs_spec[2:])
        first, second, *rest = numbers.rhs_spec
        numbers = numbers._replace(rhs_spec=(second, first, *rest))
    return conv_general_dilated(
        x, w, (1,) * len(window), pads, strides, apart, numbers, precision=precision,
        preferred_element_type=preferred_element_type,
    )  # fmt: skip


def conv_general_dilated_patches(
    lhs: Any,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: DimensionNumbers = None,
    precision: PrecisionLike = None,
    preferred_element_type: Any = None,
) -> Any:
    """The windows of lhs: each element of a window is a feature of the output, after the channels.

    >>> conv_general_dilated_patches(np.ones((1, 2, 4), 'float32'), (3,), (1,), 'VALID').shape
    (1, 6, 2)
    """
    x = operand_of("conv_general_dilated_patches", lhs)
    window = integers("conv_general_dilated_patches", "filter_shape", filter_shape)
    size = int(np.prod(window))
    if isinstance(dimension_numbers, tuple) and isinstance(dimension_numbers[0], str):
        lhs_spec, rhs_spec, out_spec = dimension_numbers
        numbers = ConvDimensionNumbers(*conv_general_permutations((lhs_spec, rhs_spec, out_spec)))
    else:
        shape = np.shape(x)
        numbers = conv_dimension_numbers(shape, shape, dimension_numbers)
    features = np.shape(x)[numbers.lhs_spec[1]]
    rows = ops.iota(dtype=np.dtype("int32"), shape=(size, size), dimension=0)
    columns = ops.iota(dtype=np.dtype("int32"), shape=(size, size), dimension=1)
    unit = ops.convert_element_type(
        ops.eq(rows, columns), new_dtype=aval_of(x).dtype, weak_type=False
    )  # fmt: skip
    kernels = reshape(broadcast(unit, (features,)), (features * size, 1, *window))
    order = tuple(int(a) for a in np.argsort(numbers.rhs_spec))
    kernels = ops.transpose(kernels, permutation=order)
    return conv_general_dilated(
        x, kernels, window_strides, padding, lhs_dilation, rhs_dilation, numbers,
        feature_group_count=features, precision=precision,
        preferred_element_type=preferred_element_type,
    )  # fmt: skip


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: Padding,
    dimension_numbers: DimensionNumbers,
) -> tuple[int, ...]:
    """The shape that conv_general_dilated gives without dilation and groups."""
    numbers = conv_dimension_numbers(lhs_shape, rhs_shape, dimension_numbers)
    spatial = [lhs_shape[a] for a in numbers.lhs_spec[2:]]
    window = [rhs_shape[a] for a in numbers.rhs_spec[2:]]
    pads = tuple(padtype_to_pads(spatial, window, window_strides, padding))
    ones = (1,) * len(window)
    geometry = Geometry(tuple(window_strides), pads, ones, ones, 1, 1)
    return convolved_shape(lhs_shape, rhs_shape, numbers, geometry)


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: Padding,
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """The shape of a convolution of NC... with OI...."""
    shape = conv_general_shape_tuple(lhs_shape, rhs_shape, strides, pads, None)
    return (shape[0] // batch_group_count, *shape[1:])
