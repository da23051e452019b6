"""Resampling by separable kernels: one matrix of weights for each axis."""

import enum
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana.lax.contraction import Precision
from jacana.numpy.promotion import as_array, canonical_shape, normalized_axes

Kernel = Callable[[Any], Any]


class ResizeMethod(enum.Enum):
    """How values between samples are found."""

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4

    @staticmethod
    def from_string(s: str) -> "ResizeMethod":
        """The method of a name; ValueError for others."""
        if s not in NAMES:
            raise ValueError(f'Unknown resize method "{s}"')
        return NAMES[s]


NAMES = {
    "nearest": ResizeMethod.NEAREST,
    **dict.fromkeys(("linear", "bilinear", "trilinear", "triangle"), ResizeMethod.LINEAR),
    **dict.fromkeys(("cubic", "bicubic", "tricubic"), ResizeMethod.CUBIC),
    "lanczos3": ResizeMethod.LANCZOS3, "lanczos5": ResizeMethod.LANCZOS5,
}  # fmt: skip


def triangle(x: Any) -> Any:
    return jnp.maximum(0, 1 - x)


def keys_cubic(x: Any) -> Any:
    """Keys' cubic kernel with a = -1/2."""
    near = ((1.5 * x - 2.5) * x) * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return jnp.where(x >= 2, 0, jnp.where(x >= 1, far, near))


def lanczos(radius: int) -> Kernel:
    """The windowed sinc of this radius."""

    def kernel(x: Any) -> Any:
        tiny = x <= 1e-3
        safe = jnp.where(tiny, 1, x)
        value = radius * jnp.sin(np.pi * safe) * jnp.sin(np.pi * safe / radius)
        value = jnp.where(tiny, 1, value / (np.pi**2 * jnp.square(safe)))
        return jnp.where(x > radius, 0, value)

    return kernel


KERNELS: dict[ResizeMethod, Kernel] = {
    ResizeMethod.LINEAR: triangle, ResizeMethod.CUBIC: keys_cubic,
    ResizeMethod.LANCZOS3: lanczos(3), ResizeMethod.LANCZOS5: lanczos(5),
}  # fmt: skip


def method_of(method: str | ResizeMethod) -> ResizeMethod:
    return method if isinstance(method, ResizeMethod) else ResizeMethod.from_string(method)


def weights(
    before: int, after: int, scale: Any, translation: Any, kernel: Kernel, antialias: bool
) -> Any:
    """What each of the old samples counts for each of the sampled ones, shape (before, after)."""
    inverse = 1 / scale
    width = jnp.maximum(inverse, 1) if antialias else 1
    at = (jnp.arange(after, dtype=inverse.dtype) + 0.5) * inverse - translation * inverse - 0.5
    distance = jnp.abs(at[None, :] - jnp.arange(before, dtype=inverse.dtype)[:, None]) / width
    found = kernel(distance)
    total = jnp.sum(found, 0, keepdims=True)
    known = jnp.abs(total) > 1000 * np.finfo(np.float32).eps
    found = jnp.where(known, found / jnp.where(total != 0, total, 1), 0)
    inside = (at >= -0.5) & (at <= before - 0.5)
    return jnp.where(inside[None, :], found, 0)


def scale_and_translate(
    image: Any,
    shape: Any,
    spatial_dims: Sequence[int],
    scale: Any,
    translation: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Any:
    """The image scaled and moved along axes, in an array of the given shape.

    Args:
      image: floats, or integers, which become floats.
      shape: the result's shape, as the image's but for spatial_dims.
      spatial_dims: the axes that change.
      scale: a vector, one factor for each of these axes.
      translation: a vector of shifts in samples of the result.
      method: "linear", "cubic", "lanczos3" or "lanczos5". ValueError for "nearest".
      antialias: whether a kernel widens where samples become fewer.
      precision: of the products.

    >>> x = np.float32([0, 1, 2, 3])
    >>> scale_and_translate(x, (4,), (0,), jnp.ones(1), jnp.ones(1), "linear")
    Array([0., 0., 1., 2.], dtype=float32)
    """
    image = as_array("scale_and_translate", image)
    sizes = canonical_shape(shape)
    check_rank("scale_and_translate", image, sizes)
    chosen = method_of(method)
    if chosen not in KERNELS:
        raise ValueError(
            "Nearest neighbor resampling is not currently supported for scale_and_translate."
        )
    factors, moves = jnp.asarray(scale), jnp.asarray(translation)
    image = image.astype(
        jnp.promote_types(image.dtype, np.float16) if is_exact(image) else image.dtype
    )
    axes = normalized_axes(tuple(spatial_dims), image.ndim)
    for i, axis in enumerate(axes):
        factor = factors[i].astype(np.float32)
        table = weights(
            image.shape[axis], sizes[axis], factor, moves[i], KERNELS[chosen], antialias
        ).astype(image.dtype)
        moved = jnp.tensordot(image, table, ((axis,), (0,)), precision=precision)
        image = jnp.moveaxis(moved, -1, axis)
    return image


def is_exact(x: Any) -> bool:
    return not jnp.issubdtype(x.dtype, jnp.inexact)


def check_rank(name: str, image: Any, sizes: tuple[int, ...]) -> None:
    if len(sizes) != image.ndim:
        raise ValueError(
            f"{name}: shape must have length equal to the number of dimensions of x; {sizes} vs "
            f"{image.shape}"
        )


def resize(
    image: Any,
    shape: Any,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = Precision.HIGHEST,
) -> Any:
    """The image sampled anew so that it has the given shape.

    Args:
      image: an array of as many axes as shape has; integers become floats but for "nearest".
      shape: the result's shape.
      method: "nearest", "linear", "cubic", "lanczos3" or "lanczos5".
      antialias: whether a kernel widens where samples become fewer.
      precision: of the products.

    >>> resize(np.float32([0, 1]), (4,), "linear")
    Array([0.  , 0.25, 0.75, 1.  ], dtype=float32)
    """
    image = as_array("resize", image)
    sizes = canonical_shape(shape)
    check_rank("resize", image, sizes)
    chosen = method_of(method)
    axes = tuple(d for d in range(image.ndim) if image.shape[d] != sizes[d])
    if chosen is ResizeMethod.NEAREST:
        for d in axes:
            place = (np.arange(sizes[d]) + 0.5) * image.shape[d] / sizes[d]
            image = jnp.take(image, np.floor(place).astype(np.int32), axis=d)
        return image
    if is_exact(image):
        image = image.astype(np.float32)
    scale = np.array([sizes[d] / image.shape[d] for d in axes], np.float32)
    return scale_and_translate(
        image, sizes, axes, scale, np.zeros(len(axes), np.float32), chosen, antialias, precision
    )
