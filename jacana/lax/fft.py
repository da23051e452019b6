"""Fourier transforms over the last axes."""

from collections.abc import Sequence
from typing import Any

from jacana import ops
from jacana.core import dtypes
from jacana.core.values import aval_of
from jacana.lax.operands import integers, operand
from jacana.ops.fft import FftType as FftType

fft_p = ops.fft


def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Any:
    """The discrete Fourier transform of each block of the last len(fft_lengths) axes.

    fft_type is FFT, IFFT, RFFT (of real numbers; keeps half of the terms) or IRFFT (its inverse,
    whose fft_lengths are those of the result).

    >>> import numpy as np
    >>> fft(np.float32([1, 2, 3, 4]), "rfft", (4,)).tolist()
    [(10+0j), (-2+2j), (-2+0j)]
    """
    kind = _kind(fft_type)
    x = operand("fft", x)
    lengths = integers("fft", "fft_lengths", fft_lengths)
    dtype = aval_of(x).dtype
    if kind is FftType.RFFT:
        if dtypes.is_complex(dtype):
            raise ValueError("only real valued inputs supported for rfft")
        wanted = dtype if dtype.itemsize == 8 else dtypes.float32
    else:
        wanted = dtypes.complex_dtype(dtype if dtype.itemsize >= 8 else dtypes.float32)
        if dtypes.is_complex(dtype):
            wanted = dtype
    if dtype != wanted:
        x = ops.convert_element_type(x, new_dtype=wanted, weak_type=False)
    return ops.fft(x, fft_type=kind, fft_lengths=lengths)


def _kind(fft_type: FftType | str) -> FftType:
    if isinstance(fft_type, str):
        found = FftType.__members__.get(fft_type.upper())
        if found is None:
            raise ValueError(f"Unknown FFT type '{fft_type}': use fft, ifft, rfft or irfft.")
        return found
    if not isinstance(fft_type, FftType):
        raise TypeError(f"Unknown FFT type value '{fft_type}': give an FftType or its name.")
    return fft_type
