"""jax.numpy.fft: discrete Fourier transforms along any axes, with NumPy's names and norms."""

import math
import operator
from collections.abc import Sequence
from typing import Any

from jacana import ops
from jacana.api.placing import made_on
from jacana.core import config, dtypes
from jacana.core.errors import TracerIntegerConversionError
from jacana.core.values import aval_of
from jacana.lax.fft import FftType, fft as lax_fft
from jacana.numpy.elementwise import (
    divide,
    multiply,
)
from jacana.numpy.joining import concatenate
from jacana.numpy.manipulation import moveaxis, roll
from jacana.numpy.padding import pad
from jacana.numpy.promotion import as_array, literal, normalized_axis, promote_inexact
from jacana.numpy.ranges import arange

NORMS = {None: "backward", "backward": "backward", "ortho": "ortho", "forward": "forward"}
SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _norm(norm: Any) -> str:
    if norm not in NORMS:
        raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')
    return NORMS[norm]


def _length(n: Any) -> int:
    size = operator.index(n)
    if size <= 0:
        raise ValueError("Shape should be positive.")
    return size


def _resized(x: Any, axis: int, size: int) -> Any:
    """x cut, or padded with zeros, to a size along one axis."""
    found = x.shape[axis]
    if size < found:
        stop = tuple(size if k == axis else n for k, n in enumerate(x.shape))
        return ops.slice(x, start_indices=(0,) * x.ndim, limit_indices=stop, strides=None)
    if size > found:
        return pad(x, [(0, size - found if k == axis else 0) for k in range(x.ndim)])
    return x


def _transform(
    name: str, kind: FftType, a: Any, s: Sequence[Any] | None, axes: Sequence[Any], norm: Any
) -> Any:
    """The transform of `kind` over the axes, which stay where they are."""
    how = _norm(norm)
    x = as_array(name, a)
    if kind is FftType.RFFT and dtypes.is_complex(x.dtype):
        raise ValueError("only real valued inputs supported for rfft")
    (x,) = promote_inexact(x)
    if s is not None and len(s) != len(axes):
        raise ValueError(f"Shape and axes have different lengths: {tuple(s)} and {tuple(axes)}.")
    where = [normalized_axis(axis, x.ndim) for axis in axes]
    if len(set(where)) != len(where):
        raise ValueError(
            f"jax.numpy.fft.{name} does not support repeated axes. Got axes {tuple(axes)}."
        )
    lengths = [x.shape[d] for d in where] if s is None else [_length(n) for n in s]
    if kind is FftType.IRFFT and where:
        if s is None:
            lengths[-1] = max(2 * (lengths[-1] - 1), 0)
        given = [*lengths[:-1], lengths[-1] // 2 + 1 if lengths[-1] else 0]
    else:
        given = lengths
    for d, size in zip(where, given, strict=True):
        x = _resized(x, d, size)
    last = list(range(x.ndim - len(where), x.ndim))
    made = _on_last(x, kind, where, last, lengths)
    return moveaxis(_normalized(made, kind, lengths, how), last, where)


def _on_last(x: Any, kind: FftType, where: list[int], last: list[int], lengths: list[int]) -> Any:
    x = moveaxis(x, where, last)
    if kind is FftType.IRFFT and lengths and lengths[-1] == 0:
        dtype = dtypes.real_dtype(dtypes.complex_dtype(x.dtype))
        shape = (*x.shape[:-1], 0)
        return ops.broadcast_in_dim(dtype.type(0), shape=shape, broadcast_dimensions=())
    return lax_fft(x, kind, tuple(lengths))


def _normalized(x: Any, kind: FftType, lengths: Sequence[int], norm: str) -> Any:
    """The transform scaled as the norm says; inverses are divided by the size already."""
    size = math.prod(lengths) or 1
    if kind in (FftType.FFT, FftType.RFFT):
        factor = {"backward": 1.0, "ortho": 1 / math.sqrt(size), "forward": 1 / size}[norm]
    else:
        factor = {"backward": 1.0, "ortho": math.sqrt(size), "forward": float(size)}[norm]
    return x if factor == 1.0 else ops.mul(x, literal(factor, x))


def _one(name: str, kind: FftType, a: Any, n: Any, axis: Any, norm: Any) -> Any:
    if isinstance(axis, tuple | list):
        raise ValueError(
            f"jax.numpy.fft.{name} does not support multiple axes. Please use "
            f"jax.numpy.fft.{name}n. Got axis = {axis}."
        )
    return _transform(name, kind, a, None if n is None else [n], [axis], norm)


def _two(name: str, kind: FftType, a: Any, s: Any, axes: Any, norm: Any) -> Any:
    if len(axes) != 2:
        raise ValueError(f"jax.numpy.fft.{name} only supports 2 axes. Got axes = {axes}.")
    return _transform(name, kind, a, s, axes, norm)


def _many(name: str, kind: FftType, a: Any, s: Any, axes: Any, norm: Any) -> Any:
    if axes is None:
        rank = as_array(name, a).ndim
        axes = range(rank - len(s), rank) if s is not None else range(rank)
    return _transform(name, kind, a, s, axes, norm)


def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The discrete Fourier transform along an axis, of length n (cut, or padded with zeros).

    >>> jnp.fft.fft(jnp.array([1.0, 2.0])).tolist()
    [(3+0j), (-1+0j)]
    """
    return _one("fft", FftType.FFT, a, n, axis, norm)


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of fft.

    >>> jnp.fft.ifft(jnp.array([2.0, 0.0]))
    Array([1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _one("ifft", FftType.IFFT, a, n, axis, norm)


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The first n // 2 + 1 terms of the transform of real numbers; the others mirror them.

    >>> jnp.fft.rfft(jnp.array([1.0, 2.0, 3.0])).shape
    (2,)
    """
    return _one("rfft", FftType.RFFT, a, n, axis, norm)


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of rfft: n real numbers, of 2 * (terms - 1) if n is not given.

    >>> jnp.fft.irfft(jnp.array([2.0, 0.0]))
    Array([1., 1.], dtype=float32)
    """
    return _one("irfft", FftType.IRFFT, a, n, axis, norm)


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The transform, which is real, of numbers with Hermitian symmetry, given by half of them.

    >>> jnp.fft.hfft(jnp.array([1.0, 0.0]))
    Array([1., 1.], dtype=float32)
    """
    (x,) = promote_inexact(as_array("hfft", a))
    if dtypes.is_complex(x.dtype):
        x = ops.conj(x, input_dtype=x.dtype)
    return _one("hfft", FftType.IRFFT, x, n, axis, SWAPPED[_norm(norm)])


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
    """The inverse of hfft: half of the terms of the inverse transform of real numbers.

    >>> jnp.fft.ihfft(jnp.array([1.0, 1.0]))
    Array([1.-0.j, 0.-0.j], dtype=complex64)
    """
    found = _one("ihfft", FftType.RFFT, a, n, axis, SWAPPED[_norm(norm)])
    return ops.conj(found, input_dtype=aval_of(found).dtype)


def fft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """The transform over two axes.

    >>> jnp.fft.fft2(jnp.ones((2, 2)))
    Array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _two("fft2", FftType.FFT, a, s, axes, norm)


def ifft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """The inverse of fft2.

    >>> jnp.fft.ifft2(jnp.ones((2, 2)))
    Array([[1.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _two("ifft2", FftType.IFFT, a, s, axes, norm)


def rfft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """The transform of real numbers over two axes; half of the terms along the last one.

    >>> jnp.fft.rfft2(jnp.ones((2, 2)))
    Array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _two("rfft2", FftType.RFFT, a, s, axes, norm)


def irfft2(a: Any, s: Any = None, axes: Sequence[int] = (-2, -1), norm: str | None = None) -> Any:
    """The inverse of rfft2; s is the shape of the result along the axes.

    >>> jnp.fft.irfft2(jnp.ones((2, 2)))
    Array([[1., 0.],
           [0., 0.]], dtype=float32)
    """
    return _two("irfft2", FftType.IRFFT, a, s, axes, norm)


def fftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The transform over several axes, all of them if neither s nor axes are given.

    >>> jnp.fft.fftn(jnp.ones((2, 2)))
    Array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _many("fftn", FftType.FFT, a, s, axes, norm)


def ifftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The inverse of fftn.

    >>> jnp.fft.ifftn(jnp.ones((2, 2)))
    Array([[1.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _many("ifftn", FftType.IFFT, a, s, axes, norm)


def rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The transform of real numbers over several axes; half of the terms along the last one.

    >>> jnp.fft.rfftn(jnp.ones((2, 2)))
    Array([[4.+0.j, 0.+0.j],
           [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _many("rfftn", FftType.RFFT, a, s, axes, norm)


def irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """The inverse of rfftn; s is the shape of the result along the axes.

    >>> jnp.fft.irfftn(jnp.ones((2, 2)))
    Array([[1., 0.],
           [0., 0.]], dtype=float32)
    """
    return _many("irfftn", FftType.IRFFT, a, s, axes, norm)


# --- frequencies ---


def fftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of the terms of fft for n samples at distance d.

    >>> jnp.fft.fftfreq(4).tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    size = _count("fftfreq", n)
    first = arange(0, (size - 1) // 2 + 1)
    every = concatenate([first, arange(-(size // 2), 0)])
    return made_on(_frequencies(every, size, d, dtype), device)


def rfftfreq(n: int, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """The frequencies of the terms of rfft for n samples at distance d.

    >>> jnp.fft.rfftfreq(4).tolist()
    [0.0, 0.25, 0.5]
    """
    size = _count("rfftfreq", n)
    return made_on(_frequencies(arange(0, size // 2 + 1), size, d, dtype), device)


def _count(name: str, n: Any) -> int:
    try:
        return operator.index(n)
    except TracerIntegerConversionError:
        raise
    except TypeError:
        raise ValueError(f"jax.numpy.fft.{name}: n must be an integer, got {n!r}.") from None


def _frequencies(terms: Any, size: int, d: Any, dtype: Any) -> Any:
    wanted = dtypes.requested(float if dtype is None else dtype, config.current().enable_x64, "fft")
    values = ops.convert_element_type(terms, new_dtype=wanted, weak_type=False)
    distance = ops.convert_element_type(
        as_array("fftfreq", d), new_dtype=wanted, weak_type=False
    )  # fmt: skip
    return divide(values, multiply(distance, literal(size, values)))


def fftshift(x: Any, axes: Any = None) -> Any:
    """x with the term of frequency zero moved to the middle of each axis.

    >>> jnp.fft.fftshift(jnp.array([0, 1, -2, -1])).tolist()
    [-2, -1, 0, 1]
    """
    return _shifted("fftshift", x, axes, lambda n: n // 2)


def ifftshift(x: Any, axes: Any = None) -> Any:
    """The inverse of fftshift.

    >>> jnp.fft.ifftshift(jnp.array([-1, 0, 1]))
    Array([ 0,  1, -1], dtype=int32)
    """
    return _shifted("ifftshift", x, axes, lambda n: -(n // 2))


def _shifted(name: str, x: Any, axes: Any, by: Any) -> Any:
    x = as_array(name, x)
    if axes is None:
        axes = tuple(range(x.ndim))
    elif isinstance(axes, int):
        axes = (axes,)
    shift = tuple(by(x.shape[normalized_axis(axis, x.ndim)]) for axis in axes)
    return roll(x, shift, tuple(axes)) if shift else x
