"""Cases of Fourier transforms."""

from jacana import ops
from jacana.ops.fft import FftType
from jacana.testing.cases import normal
from tests.ops.cases import case

# Terms are sums: their error is of the size of the whole, not of each term.
ULPS = 1e3

for kind in (FftType.FFT, FftType.IFFT):
    for dtype in ("complex64", "complex128"):
        made = case(ops.fft, normal(2, 6, dtype=dtype), fft_type=kind, fft_lengths=(6,))
        made.linear((0,)).within(ULPS, ULPS).twice()
    made = case(ops.fft, normal(2, 3, 4, dtype="complex128"), fft_type=kind, fft_lengths=(3, 4))
    made.linear((0,)).within(ULPS, ULPS)
    case(ops.fft, normal(2, 0, dtype="complex128"), fft_type=kind, fft_lengths=(0,))
case(ops.fft, normal(3, dtype="complex128"), fft_type=FftType.FFT, fft_lengths=()).linear((0,))
for n in (1, 5, 6):
    for dtype in ("float32", "float64"):
        made = case(ops.fft, normal(2, n, dtype=dtype), fft_type=FftType.RFFT, fft_lengths=(n,))
        made.linear((0,)).within(ULPS, ULPS).twice()
    for dtype in ("complex64", "complex128"):
        terms = normal(2, n // 2 + 1, dtype=dtype)
        made = case(ops.fft, terms, fft_type=FftType.IRFFT, fft_lengths=(n,))
        made.linear((0,)).within(ULPS, ULPS).twice()
made = case(ops.fft, normal(4, 3, 4), fft_type=FftType.RFFT, fft_lengths=(4, 3, 4))
made.linear((0,)).within(ULPS, ULPS)
made = case(
    ops.fft, normal(4, 2, dtype="complex128"), fft_type=FftType.IRFFT, fft_lengths=(4, 3)
)  # fmt: skip
made.linear((0,)).within(ULPS, ULPS)
case(ops.fft, normal(0, 4), fft_type=FftType.RFFT, fft_lengths=(4,))
