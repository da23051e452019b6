"""jax.scipy.signal: convolutions and correlations, computed directly."""

from typing import Any

import jacana.numpy as jnp
from jacana import lax
from jacana.core import dtypes
from jacana.numpy.promotion import as_arrays

MODES = ("full", "same", "valid")


def _convolved(name: str, x: Any, y: Any, mode: str, precision: Any, later: int = 0) -> Any:
    """The convolution of arrays of one rank.

    "same" and "valid" are relative to x. later: 1 moves the middle of an even extent on by one.
    """
    if mode not in MODES:
        raise ValueError("mode must be one of ['full', 'same', 'valid']")
    x, y = as_arrays(name, x, y)
    if x.ndim != y.ndim:
        raise ValueError(
            f"{name} needs two arrays of one rank, got {x.aval} and {y.aval}. Reshape one first."
        )
    if 0 in x.shape or 0 in y.shape:
        raise ValueError(f"{name}: zero-size arrays not supported, got {x.aval} and {y.aval}.")
    dtype = jnp.result_type(x, y, float)
    x, y = x.astype(dtype), y.astype(dtype)
    if mode == "valid":
        larger = all(m >= n for m, n in zip(x.shape, y.shape))
        if not larger and not all(m <= n for m, n in zip(x.shape, y.shape)):
            raise ValueError(f"{name}: one of the inputs must be smaller than the other.")
        if not larger:
            x, y = y, x
    if not x.ndim:
        return x * y
    sizes = list(zip(x.shape, y.shape))
    pads = {
        "full": [(n - 1, n - 1) for _, n in sizes],
        "same": [((n - later) // 2, n - (n - later) // 2 - 1) for _, n in sizes],
        "valid": [(0, 0) for _ in sizes],
    }[mode]
    window = jnp.flip(y)
    if dtypes.is_complex(dtype):
        return _complex_windows(x, window, pads, precision)
    return _windows(x, window, pads, precision)


def _windows(x: Any, window: Any, pads: list[tuple[int, int]], precision: Any) -> Any:
    out = lax.conv_general_dilated(
        x[None, None], window[None, None], (1,) * x.ndim, pads, precision=precision
    )
    return out[0, 0]


def _complex_windows(x: Any, window: Any, pads: list[tuple[int, int]], precision: Any) -> Any:
    a, b = jnp.real(x), jnp.imag(x)
    c, d = jnp.real(window), jnp.imag(window)
    ac, bd, ad, bc = (_windows(u, v, pads, precision) for u, v in ((a, c), (b, d), (a, d), (b, c)))
    return lax.complex(ac - bd, ad + bc)


def convolve(
    in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None
) -> Any:
    """The convolution of two arrays of one rank.

    mode: "full", "same" (the middle, of in1's shape) or "valid" (without what needs padding).
    method: accepted for JAX's sake; sums are taken directly.

    >>> convolve(np.float32([1, 2]), np.float32([1, 1, 1]))
    Array([1., 3., 3., 2.], dtype=float32)
    """
    _check_method(method)
    return _convolved("convolve", in1, in2, mode, precision)


def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """The convolution of two arrays over axes, all of them by default; sums are taken directly."""
    if axes is not None and sorted(a % jnp.ndim(in1) for a in axes) != [*range(jnp.ndim(in1))]:
        raise NotImplementedError("fftconvolve over some of the axes is not there yet.")
    return _convolved("fftconvolve", in1, in2, mode, None)


def _check_method(method: str) -> None:
    if method not in ("auto", "direct", "fft"):
        raise ValueError(f"Got {method=}; expected 'auto', 'fft', or 'direct'.")


def correlate(
    in1: Any, in2: Any, mode: str = "full", method: str = "auto", precision: Any = None
) -> Any:
    """The cross-correlation of two arrays of one rank: in1 convolved with in2 conjugated, reversed.

    >>> correlate(np.float32([1, 2, 3]), np.float32([0, 1]), mode="valid")
    Array([2., 3.], dtype=float32)
    """
    _check_method(method)
    return _correlated("correlate", in1, in2, mode, precision)


def _correlated(name: str, x: Any, y: Any, mode: str, precision: Any, later: int = 0) -> Any:
    x, y = as_arrays(name, x, y)
    return _convolved(name, x, jnp.flip(jnp.conj(y)), mode, precision, later)


def _rank_two(name: str, x: Any, y: Any) -> None:
    if jnp.ndim(x) != 2 or jnp.ndim(y) != 2:
        raise ValueError(f"{name}() only supports 2-dimensional inputs.")


def _check_boundary(name: str, boundary: str, fillvalue: Any) -> None:
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(f"{name}() only supports boundary='fill', fillvalue=0")


def convolve2d(
    in1: Any,
    in2: Any,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: Any = 0,
    precision: Any = None,
) -> Any:
    """convolve of matrices; zeros around them are the only boundary that is there."""
    _check_boundary("convolve2d", boundary, fillvalue)
    _rank_two("convolve2d", in1, in2)
    return _convolved("convolve2d", in1, in2, mode, precision)


def correlate2d(
    in1: Any,
    in2: Any,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: Any = 0,
    precision: Any = None,
) -> Any:
    """correlate of matrices; zeros around them are the only boundary that is there."""
    _check_boundary("correlate2d", boundary, fillvalue)
    _rank_two("correlate2d", in1, in2)
    return _correlated("correlate2d", in1, in2, mode, precision, later=1)
