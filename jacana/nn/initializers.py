"""Initializers of weights: functions (key, shape, dtype) -> array, and makers of such functions."""

import math
import operator
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

import jacana.numpy as jnp
from jacana import lax, random
from jacana.core import config, dtypes

Axes = int | Sequence[int]


@runtime_checkable
class Initializer(Protocol):
    """What makers of initializers give: a function of a key, a shape and a dtype."""

    def __call__(self, key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        """An array of the shape; the dtype is float by default."""


def inexact_dtype(dtype: Any, default: Any = None) -> Any:
    """The dtype asked for, float by default; ValueError unless float or complex."""
    asked = default if dtype is None else dtype
    found = dtypes.requested(
        float if asked is None else asked, config.current().enable_x64, "initializer"
    )
    if not dtypes.is_differentiable(found):
        raise ValueError(f"an initializer makes floats or complex numbers, got dtype {found}.")
    return found


# --- constants ------------------------------------------------------------------------------------


def zeros(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
    """Zeros; the key is not used.

    >>> zeros(None, (2,))
    Array([0., 0.], dtype=float32)
    """
    return jnp.zeros(shape, float if dtype is None else dtype)


def ones(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
    """Ones; the key is not used.

    >>> ones(None, (2,))
    Array([1., 1.], dtype=float32)
    """
    return jnp.ones(shape, float if dtype is None else dtype)


def constant(value: Any, dtype: Any = None) -> Initializer:
    """An initializer that gives `value`, broadcast to the shape.

    >>> constant(7)(None, (2,))
    Array([7., 7.], dtype=float32)
    """
    default = dtype

    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        found = default if dtype is None else dtype
        return jnp.full(shape, value, dtype=float if found is None else found)

    return init


# --- of one deviation -----------------------------------------------------------------------------


def uniform(scale: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Numbers in [0, scale), all equally likely.

    >>> uniform(10.0)(random.key(0), (2, 3)).shape
    (2, 3)
    """
    default = dtype

    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        found = inexact_dtype(dtype, default)
        return random.uniform(key, shape, found) * jnp.asarray(scale, found)

    return init


def normal(stddev: Any = 1e-2, dtype: Any = None) -> Initializer:
    """Normal numbers of mean 0 and the standard deviation.

    >>> normal(5.0)(random.key(0), (2, 3)).shape
    (2, 3)
    """
    default = dtype

    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        found = inexact_dtype(dtype, default)
        return random.normal(key, shape, found) * jnp.asarray(stddev, found)

    return init


def truncated_normal(
    stddev: Any = 1e-2, dtype: Any = None, lower: Any = -2.0, upper: Any = 2.0
) -> Initializer:
    """stddev times standard normal numbers given that they lie in (lower, upper).

    >>> truncated_normal(5.0)(random.key(0), (2, 3)).shape
    (2, 3)
    """
    default = dtype

    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        found = inexact_dtype(dtype, default)
        drawn = random.truncated_normal(key, lower, upper, shape, found)
        return drawn * jnp.asarray(stddev, found)

    return init


# --- of a variance that follows from the shape ----------------------------------------------------


def product(shape: Sequence[int], axes: Axes) -> int:
    """The product of the extents of an axis or several."""
    chosen = (axes,) if isinstance(axes, int) else axes
    return math.prod([shape[a] for a in chosen])


def fans(shape: Sequence[int], in_axis: Axes, out_axis: Axes, batch_axis: Axes) -> tuple[Any, Any]:
    """How many numbers enter each output, and leave each input, of a layer with such weights."""
    if len(shape) <= 1:
        raise ValueError(
            f"Can't compute input and output sizes of a {len(shape)}-dimensional weights tensor. "
            f"Must be at least 2D."
        )
    inner, outer = product(shape, in_axis), product(shape, out_axis)
    window = math.prod(shape) / inner / outer / product(shape, batch_axis)
    return inner * window, outer * window


def denominator(mode: str, fan_in: float, fan_out: float) -> float:
    """What the variance is divided by."""
    if mode == "fan_in":
        return fan_in
    if mode == "fan_out":
        return fan_out
    if mode == "fan_avg":
        return (fan_in + fan_out) / 2
    if mode == "fan_geo_avg":
        return math.sqrt(fan_in * fan_out)
    raise ValueError(f"invalid mode for variance scaling initializer: {mode}")


# The deviation of standard normal numbers that are cut at 2: real ones, complex ones by size.
CUT_REAL = 0.87962566103423978
CUT_COMPLEX = 0.95311164380491208


def variance_scaling(
    scale: Any,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: Any = None,
) -> Initializer:
    """Random weights of variance scale / n, where n is how many numbers a layer sums.

    Args:
      scale: a positive number.
      mode: n is "fan_in", "fan_out", their mean "fan_avg", or its geometric one "fan_geo_avg".
      distribution: "truncated_normal" (cut at twice the deviation), "normal" or "uniform".
      in_axis: axes of the weights that inputs run along.
      out_axis: axes of the weights that outputs run along.
      batch_axis: axes that count for neither; those left are a window, as in convolutions.
      dtype: float or complex; float by default.

    The initializer raises ValueError for shapes of fewer than two axes.

    >>> variance_scaling(1.0, "fan_avg", "uniform")(random.key(0), (2, 3)).shape
    (2, 3)
    """
    default = dtype

    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        found = inexact_dtype(dtype, default)
        sizes = tuple(operator.index(n) for n in shape)
        n = denominator(mode, *fans(sizes, in_axis, out_axis, batch_axis))
        variance = np.asarray(scale / n).astype(found)
        if distribution == "truncated_normal":
            if dtypes.is_complex(found):
                drawn = complex_truncated_normal(key, 2, sizes, found)
                return drawn * (np.sqrt(variance) / np.asarray(CUT_COMPLEX).astype(found))
            drawn = random.truncated_normal(key, -2, 2, sizes, found)
            return drawn * (np.sqrt(variance) / np.asarray(CUT_REAL).astype(found))
        if distribution == "normal":
            return random.normal(key, sizes, found) * np.sqrt(variance)
        if distribution == "uniform":
            if dtypes.is_complex(found):
                # The unit disc has variance 1 / 2.
                return complex_uniform(key, sizes, found) * np.sqrt(2 * variance)
            drawn = random.uniform(key, sizes, found, -1)
            return drawn * np.sqrt(np.asarray(3).astype(found) * variance)
        raise ValueError(f"invalid distribution for variance scaling initializer: {distribution}")

    return init


def on_circles(key: Any, shape: Any, dtype: Any, radius: Any) -> Any:
    """Complex numbers of random angle, their sizes `radius` of numbers in [0, 1)."""
    for_radius, for_angle = random.split(key)
    real = dtypes.real_dtype(dtype)
    r = radius(random.uniform(for_radius, shape, real)).astype(dtype)
    angle = (2 * np.pi * random.uniform(for_angle, shape, real)).astype(dtype)
    return r * jnp.exp(1j * angle)


def complex_uniform(key: Any, shape: Any, dtype: Any) -> Any:
    """Complex numbers in the unit disc, all equally likely."""
    return on_circles(key, shape, dtype, jnp.sqrt)


def complex_truncated_normal(key: Any, upper: Any, shape: Any, dtype: Any) -> Any:
    """Standard complex normal numbers given that their size is below `upper`."""
    below = -math.expm1(-(upper**2))
    return on_circles(key, shape, dtype, lambda u: jnp.sqrt(-jnp.log1p(-below * u)))


def _scaled(name: str, scale: float, mode: str, distribution: str) -> Any:
    def maker(
        in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: Any = None
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    maker.__name__ = maker.__qualname__ = name
    maker.__doc__ = f"variance_scaling({scale}, {mode!r}, {distribution!r}) of the axes given."
    return maker


glorot_uniform = xavier_uniform = _scaled("glorot_uniform", 1.0, "fan_avg", "uniform")
glorot_normal = xavier_normal = _scaled("glorot_normal", 1.0, "fan_avg", "truncated_normal")
lecun_uniform = _scaled("lecun_uniform", 1.0, "fan_in", "uniform")
lecun_normal = _scaled("lecun_normal", 1.0, "fan_in", "truncated_normal")
he_uniform = kaiming_uniform = _scaled("he_uniform", 2.0, "fan_in", "uniform")
he_normal = kaiming_normal = _scaled("he_normal", 2.0, "fan_in", "truncated_normal")


# --- orthogonal -----------------------------------------------------------------------------------


def orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """scale times matrices with orthonormal rows or columns, whichever are fewer.

    The extent of `column_axis` is one side of the matrix, the others together are the other.

    >>> w = orthogonal()(random.key(0), (2, 3))
    >>> bool(jnp.allclose(w @ w.T, jnp.eye(2), atol=1e-6))
    True
    """
    default = dtype

    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        found = inexact_dtype(dtype, default)
        sizes = [operator.index(n) for n in shape]
        if len(sizes) < 2:
            raise ValueError("orthogonal initializer requires at least a 2D shape")
        rows = sizes.pop(column_axis)
        columns = math.prod(sizes)
        tall = (rows, columns) if rows > columns else (columns, rows)
        q, r = lax.linalg.qr(random.normal(key, tall, found), full_matrices=False)
        # A positive diagonal of r makes q unique, and all such matrices equally likely.
        q = q * jnp.sign(jnp.diagonal(r))[None, :]
        q = jnp.reshape(q.T if rows <= columns else q, (rows, *sizes))
        return jnp.moveaxis(q, 0, column_axis) * jnp.asarray(scale, found)

    return init


def delta_orthogonal(scale: Any = 1.0, column_axis: int = -1, dtype: Any = None) -> Initializer:
    """Convolution weights that are 0 but for an orthogonal matrix in the middle of the window.

    Shapes have one to three window axes, then inputs and at least as many outputs.
    """
    default = dtype

    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: Any = None) -> Any:
        found = inexact_dtype(dtype, default)
        sizes = tuple(operator.index(n) for n in shape)
        if len(sizes) not in (3, 4, 5):
            raise ValueError("Delta orthogonal initializer requires a 3D, 4D or 5D shape.")
        if sizes[-1] < sizes[-2]:
            raise ValueError("`fan_in` must be less or equal than `fan_out`.")
        matrix = orthogonal(scale, column_axis, found)(key, sizes[-2:])
        middle = tuple((n - 1) // 2 for n in sizes[:-2])
        return jnp.zeros(sizes, found).at[middle].set(matrix)

    return init
