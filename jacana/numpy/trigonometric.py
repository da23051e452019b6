"""Trigonometric and hyperbolic functions, elementwise."""

from typing import Any

import numpy as np

from jacana import ops
from jacana.numpy.elementwise import divide, multiply, subtract
from jacana.numpy.families import binary, unary
from jacana.numpy.promotion import literal, promote_args_inexact
from jacana.numpy.selection import where

sin = unary(
    "sin",
    ops.sin,
    """The sine of an angle in radians.

    >>> jnp.sin(jnp.array([0.0]))
    Array([0.], dtype=float32)
    """,
)
cos = unary(
    "cos",
    ops.cos,
    """The cosine of an angle in radians.

    >>> jnp.cos(jnp.array([0.0]))
    Array([1.], dtype=float32)
    """,
)
tan = unary(
    "tan",
    ops.tan,
    """The tangent of an angle in radians.

    >>> jnp.tan(jnp.array([0.0]))
    Array([0.], dtype=float32)
    """,
)
arcsin = asin = unary(
    "arcsin",
    ops.asin,
    """The angle in [-pi/2, pi/2] whose sine is x.

    >>> jnp.arcsin(jnp.array([0.0]))
    Array([0.], dtype=float32)
    """,
)
arccos = acos = unary(
    "arccos",
    ops.acos,
    """The angle in [0, pi] whose cosine is x.

    >>> jnp.arccos(jnp.array([1.0]))
    Array([0.], dtype=float32)
    """,
)
arctan = atan = unary(
    "arctan",
    ops.atan,
    """The angle in [-pi/2, pi/2] whose tangent is x.

    >>> jnp.arctan(jnp.array([0.0]))
    Array([0.], dtype=float32)
    """,
)
arctan2 = atan2 = binary(
    "arctan2",
    ops.atan2,
    """The angle of the point (y, x) in [-pi, pi]; arguments y, x.

    >>> jnp.arctan2(jnp.array([0.0]), 1.0)
    Array([0.], dtype=float32)
    """,
    True,
)
sinh = unary(
    "sinh",
    ops.sinh,
    """The hyperbolic sine.

    >>> jnp.sinh(jnp.array([0.0]))
    Array([0.], dtype=float32)
    """,
)
cosh = unary(
    "cosh",
    ops.cosh,
    """The hyperbolic cosine.

    >>> jnp.cosh(jnp.array([0.0]))
    Array([1.], dtype=float32)
    """,
)
tanh = unary(
    "tanh",
    ops.tanh,
    """The hyperbolic tangent.

    >>> jnp.tanh(jnp.array([0.0]))
    Array([0.], dtype=float32)
    """,
)
arcsinh = asinh = unary(
    "arcsinh",
    ops.asinh,
    """The inverse hyperbolic sine.

    >>> jnp.arcsinh(jnp.array([0.0]))
    Array([0.], dtype=float32)
    """,
)
arccosh = acosh = unary(
    "arccosh",
    ops.acosh,
    """The inverse hyperbolic cosine; nan below 1.

    >>> jnp.arccosh(jnp.array([1.0]))
    Array([0.], dtype=float32)
    """,
)
arctanh = atanh = unary(
    "arctanh",
    ops.atanh,
    """The inverse hyperbolic tangent.

    >>> jnp.arctanh(jnp.array([0.0]))
    Array([0.], dtype=float32)
    """,
)


def deg2rad(x: Any, /) -> Any:
    """Degrees to radians.

    >>> jnp.deg2rad(jnp.array([0.0, 180.0]))
    Array([0.       , 3.1415927], dtype=float32)
    """
    (x,) = promote_args_inexact("deg2rad", x)
    return ops.mul(x, literal(np.pi / 180, x))


def rad2deg(x: Any, /) -> Any:
    """Radians to degrees.

    >>> jnp.rad2deg(jnp.array([0.0, jnp.pi]))
    Array([  0., 180.], dtype=float32)
    """
    (x,) = promote_args_inexact("rad2deg", x)
    return ops.mul(x, literal(180 / np.pi, x))


degrees, radians = rad2deg, deg2rad


def sinc(x: Any, /) -> Any:
    """sin(pi x) / (pi x), and 1 at 0; smooth there to every order.

    >>> jnp.sinc(jnp.array([0.0, 0.5]))
    Array([1.        , 0.63661975], dtype=float32)
    """
    (x,) = promote_args_inexact("sinc", x)
    zero = ops.eq(x, literal(0, x))
    pix = ops.mul(x, literal(np.pi, x))
    safe = where(zero, literal(1, x), pix)
    # Around 0 the series 1 - t/6 (1 - t/20 (1 - t/42 ...)), t = (pi x)**2, carries derivatives.
    t = ops.square(pix)
    series = literal(1, x)
    for k in (6, 5, 4, 3, 2, 1):
        series = subtract(1, multiply(divide(t, (2 * k) * (2 * k + 1)), series))
    return where(zero, series, ops.div(ops.sin(safe), safe))
