"""Copies by native functions: what they are called with."""

from collections.abc import Sequence

from jacana.compiler.library.launch import Launch
from jacana.compiler.llvm import native
from jacana.compiler.llvm.native_layout import MAX_RANK, SIZES

# Bytes that are worth a chunk of their own in another thread: about 0.1 ms.
_CHUNK = 1 << 20


def copy() -> int:
    """The address of a plain copy: buffers [from, to], no params, a range of bytes."""
    return native.runtime.address("copy")


def copy_launch(nbytes: int) -> Launch:
    """How `copy` moves `nbytes` bytes."""
    return Launch((), nbytes, _CHUNK)


def fill(itemsize: int) -> int:
    """The address of a fill: buffers [to], params the element's bits, a range of elements."""
    return native.runtime.address(f"fill_{itemsize}")


def fill_launch(bits: bytes, count: int) -> Launch:
    """How `fill(len(bits))` writes `count` elements of these bytes."""
    words = [bits[:8], bits[8:]] if len(bits) == 16 else [bits]
    params = tuple(int.from_bytes(word, "little") for word in words)
    return Launch(params, count, max(1, _CHUNK // len(bits)))


def strided_copy(itemsize: int) -> int:
    """The address of a strided copy of elements of 1, 2, 4, 8 or 16 bytes: buffers [from, to]."""
    if itemsize not in SIZES:
        raise ValueError(f"elements of {itemsize} bytes have no strided copy")
    return native.copies.address(f"strided_copy_{itemsize}")


def strided_copy_launch(
    itemsize: int,
    shape: Sequence[int],
    source_strides: Sequence[int],
    target_strides: Sequence[int],
    source_offset: int = 0,
    target_offset: int = 0,
) -> Launch:
    """How a strided copy moves an array; strides and offsets are in elements, of either sign.

    At most eight axes may remain after those that are contiguous in both arrays are merged.
    """
    axes = merge_axes(shape, source_strides, target_strides)
    while len(axes) < 2:
        axes.insert(0, (1, 0, 0))
    if len(axes) > MAX_RANK:
        raise ValueError(f"a strided copy of {len(axes)} axes; at most {MAX_RANK} are possible")
    words = [word for axis in axes for word in axis]
    params = (len(axes), source_offset, target_offset, *words)
    inner = 1
    for extent, _, _ in axes[1:]:
        inner *= extent
    return Launch(params, axes[0][0], max(1, _CHUNK // max(1, inner * itemsize)))


def merge_axes(
    shape: Sequence[int], source_strides: Sequence[int], target_strides: Sequence[int]
) -> list[tuple[int, int, int]]:
    """(extent, stride, stride) of the axes that are needed, in the order in which to walk them.

    The last axis is the one along which the target is densest; before it stands the one along which
    the source is. The others follow the target.
    """
    axes = [axis for axis in zip(shape, source_strides, target_strides) if axis[0] != 1]
    axes.sort(key=lambda axis: (-abs(axis[2]), -abs(axis[1])))
    merged: list[tuple[int, int, int]] = []
    for extent, source, target in axes:
        if merged:
            outer, outer_source, outer_target = merged[-1]
            if outer_source == source * extent and outer_target == target * extent:
                merged[-1] = (outer * extent, source, target)
                continue
        merged.append((extent, source, target))
    if len(merged) > 2:
        densest = min(range(len(merged) - 1), key=lambda i: abs(merged[i][1]) or 1 << 62)
        if abs(merged[densest][1]) < abs(merged[-1][1]):
            merged.insert(len(merged) - 2, merged.pop(densest))
    return merged
