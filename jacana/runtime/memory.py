"""What native code knows of elements in memory: ours by their avals, NumPy's by its fields."""

import functools
import struct
from typing import Any

import numpy as np

from jacana.compiler.llvm.native_layout import FROM_NUMPY, FROM_WIDER, NARROW_FLOAT, NARROW_INT
from jacana.compiler.llvm.native_numpy import (
    NUMPY_DATA,
    NUMPY_DTYPE,
    NUMPY_FLAGS,
    NUMPY_PLAIN,
    NUMPY_RANK,
    NUMPY_SHAPE,
)
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.runtime.buffer import class_number
from jacana.runtime.native_objects import read_word

# Characters of the buffer protocol, by those of NumPy where they differ.
_FORMATS = {"F": b"Zf", "D": b"Zd"}
_CHARACTERS = "?bBhHiIlLqQefdFD"
# What NumPy's wider dtypes are converted to by native code, and how.
_WIDER = {
    np.dtype(narrow): (np.dtype(wide), kind)
    for narrow, wide, kind in (
        ("float32", "float64", NARROW_FLOAT), ("complex64", "complex128", NARROW_FLOAT),
        ("int32", "int64", NARROW_INT), ("uint32", "uint64", NARROW_INT),
    )
}  # fmt: skip


def describe(aval: ShapedArray) -> None:
    """Tell native code of an aval's elements (`native_layout`)."""
    dtype = dtypes.storage_dtype(aval.dtype)
    is_plain = dtype.isbuiltin == 1 and dtype is aval.dtype and dtype.char in _CHARACTERS
    form = _FORMATS.get(dtype.char, dtype.char.encode()) if is_plain else b""
    wide, kind = _WIDER.get(dtype, (None, 0)) if is_plain else (None, 0)
    numbers = aval.size * (2 if dtype.kind == "c" else 1)
    head = [
        len(aval.shape), dtype.itemsize, aval.nbytes, class_number(aval.nbytes),
        id(dtype) if is_plain else 0, id(wide) if wide is not None else 0, kind, numbers,
    ]  # fmt: skip
    strides = [dtype.itemsize] * len(aval.shape)
    for i in range(len(strides) - 1, 0, -1):
        strides[i - 1] = strides[i] * max(1, aval.shape[i])
    words = [*head, *aval.shape, *strides]
    aval.memory = struct.pack(f"8s{len(words)}q", form, *words)


def describe_array(x: Any) -> None:
    """Make an Array ready to lend its memory; RuntimeError if it was deleted."""
    if x.aval.memory is None:
        describe(x.aval)
    if x.address == 0 and not x._settle():
        x._value  # noqa: B018


def numpy_mark(value: np.ndarray, aval: ShapedArray) -> int | None:
    """How native code makes an Array of the aval of NumPy's arrays like this one; None: not at all.

    It takes those in row-major order, whose dtype is that of the aval or the wider one.
    """
    if aval.memory is None:
        describe(aval)
    if not (knows_numpy() and value.flags.c_contiguous and value.flags.aligned):
        return None
    if value.dtype is aval.dtype and value.dtype.isbuiltin == 1:
        return FROM_NUMPY
    wide, _ = _WIDER.get(aval.dtype, (None, 0))
    return FROM_WIDER if wide is not None and value.dtype is wide else None


@functools.cache
def knows_numpy() -> bool:
    """Whether NumPy's arrays have their fields where native code reads them."""
    for x in (np.zeros((2, 3), np.float32), np.zeros((), np.int64), np.zeros((4, 1, 2), "?")):
        rank = _field(x, NUMPY_RANK) & 0xFFFFFFFF
        known = (x.ctypes.data, x.ndim, id(x.dtype), NUMPY_PLAIN)
        flags = _field(x, NUMPY_FLAGS) & NUMPY_PLAIN
        if (_field(x, NUMPY_DATA), rank, _field(x, NUMPY_DTYPE), flags) != known:
            return False
        sizes = _field(x, NUMPY_SHAPE)
        if tuple([read_word(sizes + 8 * i) for i in range(rank)]) != x.shape:
            return False
    return _field(np.zeros((2, 3)).T, NUMPY_FLAGS) & NUMPY_PLAIN != NUMPY_PLAIN


def _field(x: np.ndarray, number: int) -> int:
    return read_word(id(x) + object.__basicsize__ + 8 * number)
