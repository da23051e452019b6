"""Discrete Fourier transforms over the last axes: kernels, or SciPy's pocketfft on the host."""

import enum
import os
from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import config, dtypes
from jacana.core.avals import ShapedArray
from jacana.ops.families import LinearMap, like, move_axis
from jacana.ops.fourier import along, is_written_out, of_real, to_real
from jacana.ops.lowering import Build, Tensor
from jacana.ops.shape import zeros

# Elements from which on threads share the lines of a transform.
PARALLEL = 1 << 15


class FftType(enum.IntEnum):
    """Which transform: complex, its inverse, of real numbers, its inverse."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


NAMES = {
    FftType.FFT: "fftn", FftType.IFFT: "ifftn", FftType.RFFT: "rfftn", FftType.IRFFT: "irfftn",
}  # fmt: skip


class Fft(LinearMap):
    """The transform of each block of the last len(fft_lengths) axes; inverses divide by its size.

    RFFT keeps the fft_lengths[-1] // 2 + 1 terms that determine the others; IRFFT takes those.
    """

    name = "fft"

    def type_rule(
        self, x: ShapedArray, *, fft_type: FftType, fft_lengths: tuple[int, ...]
    ) -> ShapedArray:
        name, count = fft_type.name, len(fft_lengths)
        if count > x.ndim:
            raise ValueError(
                f"{name} input shape {x.shape} must have at least as many input dimensions as "
                f"fft_lengths {fft_lengths}."
            )
        if x.dtype not in TYPES[fft_type]:
            kinds = "real" if fft_type is FftType.RFFT else "complex"
            raise TypeError(
                f"{name} needs {kinds} numbers of 32 or 64 bits a part, got {x}. Convert them "
                f"first, for example with astype."
            )
        given = x.shape[x.ndim - count :]
        expected = fft_lengths
        if fft_type is FftType.IRFFT and count:
            expected = (*fft_lengths[:-1], fft_lengths[-1] // 2 + 1)
        if given != expected:
            raise ValueError(
                f"{name} input shape {x.shape} minor dimensions must be equal to {expected}, for "
                f"fft_lengths {fft_lengths}."
            )
        if fft_type is FftType.RFFT and count:
            shape = (*x.shape[:-1], fft_lengths[-1] // 2 + 1)
            return ShapedArray(shape, dtypes.complex_dtype(x.dtype))
        if fft_type is FftType.IRFFT and count:
            return ShapedArray((*x.shape[:-1], fft_lengths[-1]), dtypes.real_dtype(x.dtype))
        return ShapedArray(x.shape, x.dtype)

    def reference(self, x: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> Any:
        x = np.asarray(x)
        if 0 in x.shape or 0 in fft_lengths or not fft_lengths:
            aval = ShapedArray(x.shape, dtypes.dtype(x.dtype))
            out = self.type_rule(aval, fft_type=fft_type, fft_lengths=fft_lengths)
            return x if not fft_lengths else np.zeros(out.shape, out.dtype)
        import scipy.fft

        axes = tuple(range(x.ndim - len(fft_lengths), x.ndim))
        workers = threads() if x.size >= PARALLEL else 1
        transform = getattr(scipy.fft, NAMES[fft_type])
        return transform(x, s=fft_lengths, axes=axes, workers=workers)

    def transpose(
        self, ct: Any, x: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]
    ) -> list[Any]:
        again = partial(self, fft_lengths=fft_lengths)
        if fft_type in (FftType.FFT, FftType.IFFT) or not fft_lengths:
            return [again(ct, fft_type=fft_type)]
        # A term that stands for its mirror image as well counts twice.
        size = int(np.prod(fft_lengths))
        if fft_type is FftType.RFFT:
            halved = ops.mul(ops.conj(ct, input_dtype=ct.dtype), weights(ct, fft_lengths, 0.5))
            back = again(halved, fft_type=FftType.IRFFT)
            return [ops.mul(back, like(size, back))]
        terms = again(ct, fft_type=FftType.RFFT)
        scaled = ops.mul(terms, weights(terms, fft_lengths, 2.0, 1 / size if size else 1.0))
        return [ops.conj(scaled, input_dtype=scaled.dtype)]

    def batch(
        self, size: int, operands: Sequence[Any], axes: Sequence[int | None], **params: Any
    ) -> tuple[Any, int]:
        (x,), (axis,) = operands, axes
        assert axis is not None
        return self(move_axis(x, axis, 0), **params), 0

    def lower(
        self, build: Build, x: Tensor, *, fft_type: FftType, fft_lengths: tuple[int, ...]
    ) -> Tensor:
        if not fft_lengths:
            return x
        aval = ShapedArray(x.shape, x.dtype)
        out = self.type_rule(aval, fft_type=fft_type, fft_lengths=fft_lengths)
        if 0 in out.shape or 0 in x.shape:
            made: Tensor = build.compose(lambda _: zeros(out.shape, out.dtype), x)
            return made
        is_real = fft_type in (FftType.RFFT, FftType.IRFFT)
        if is_written_out(x.shape, fft_lengths, is_real):
            return written_out(build, x, fft_type, fft_lengths)
        function = partial(self.one, fft_type=fft_type, fft_lengths=fft_lengths)
        return build.host(function, [(out.shape, out.dtype)], [x])[0]

    def one(self, x: Any, **params: Any) -> list[Any]:
        return [self.reference(x, **params)]


def written_out(build: Build, x: Tensor, kind: FftType, lengths: Sequence[int]) -> Tensor:
    """The transform by kernels, one axis after the other."""
    sign = 1 if kind in (FftType.IFFT, FftType.IRFFT) else -1
    scale = 1 / prod(lengths) if sign > 0 else 1.0
    if kind is FftType.RFFT:
        x = of_real(build, x, lengths[-1])
    others = lengths if kind in (FftType.FFT, FftType.IFFT) else lengths[:-1]
    first = len(x.shape) - len(lengths)
    for axis, n in enumerate(others):
        is_last = kind is not FftType.IRFFT and axis == len(others) - 1
        inner = prod(x.shape[first + axis + 1 :])
        spec = (x.shape, x.dtype)
        x = along(build, x, n, inner, sign, spec, scale=scale if is_last else 1.0)
    return to_real(build, x, lengths[-1], scale) if kind is FftType.IRFFT else x


SINGLE, DOUBLE = np.dtype(np.complex64), np.dtype(np.complex128)
REALS = (np.dtype(np.float32), np.dtype(np.float64))
TYPES: dict[FftType, tuple[Any, ...]] = {
    FftType.FFT: (SINGLE, DOUBLE), FftType.IFFT: (SINGLE, DOUBLE), FftType.RFFT: REALS,
    FftType.IRFFT: (SINGLE, DOUBLE),
}  # fmt: skip


def threads() -> int:
    """How many threads a transform may use."""
    chosen = config.current().num_threads
    if chosen > 0:
        return chosen
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def weights(terms: Any, lengths: Sequence[int], inner: float, scale: float = 1.0) -> Any:
    """scale for the terms that are their own mirror images, scale * inner for all others."""
    count = np.shape(terms)[-1]
    shape = np.shape(terms)
    position = ops.iota(dtype=dtypes.int32, shape=shape, dimension=len(shape) - 1)
    alone = ops.eq(position, np.int32(0))
    if lengths[-1] % 2 == 0:
        alone = ops.or_(alone, ops.eq(position, np.int32(count - 1)))
    full = partial(ops.broadcast_in_dim, shape=shape, broadcast_dimensions=())
    return ops.select_n(alone, full(like(scale * inner, terms)), full(like(scale, terms)))


fft = Fft()
