"""Bessel functions."""

import operator
from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana import ops
from jacana.api.jit import jit
from jacana.core import dtypes
from jacana.nn.programs import Program
from jacana.scipy.special.operands import floats


def unscaled(x: Any, scaled: Any) -> Any:
    """exp(abs(x)) * scaled(x), for what is infinite at infinity."""
    finite = ~jnp.isinf(x)
    safe = jnp.where(finite, x, 0)
    growth = jnp.where(finite, jnp.exp(jnp.abs(safe)), np.inf)
    return growth * scaled(jnp.where(finite, x, jnp.sign(x)))


@jit
def i0(x: Any) -> Any:
    """The modified Bessel function of the first kind of order 0.

    >>> i0(np.float32(1))
    Array(1.2660658, dtype=float32)
    """
    (x,) = floats("i0", x)
    return unscaled(x, ops.bessel_i0e)


@jit
def i0e(x: Any) -> Any:
    """exp(-abs(x)) * i0(x).

    >>> i0e(np.float32(1))
    Array(0.4657596, dtype=float32)
    """
    return ops.bessel_i0e(*floats("i0e", x))


@jit
def i1(x: Any) -> Any:
    """The modified Bessel function of the first kind of order 1.

    >>> i1(np.float32(1))
    Array(0.5651591, dtype=float32)
    """
    (x,) = floats("i1", x)
    return unscaled(x, ops.bessel_i1e)


@jit
def i1e(x: Any) -> Any:
    """exp(-abs(x)) * i1(x).

    >>> i1e(np.float32(1))
    Array(0.20791042, dtype=float32)
    """
    return ops.bessel_i1e(*floats("i1e", x))


def bessel_jn(z: Any, *, v: int, n_iter: int = 50) -> Any:
    """Bessel functions of the first kind of the orders 0 .. v, along a new first axis.

    n_iter: the order that the recurrence begins at; more are needed for abs(z) beyond 20 or so.

    >>> bessel_jn(np.float32(2), v=1)
    Array([0.22389077, 0.57672477], dtype=float32)
    """
    order, start = operator.index(v), operator.index(n_iter)
    if order < 0 or start <= order:
        raise ValueError(f"bessel_jn needs 0 <= v < n_iter, got v={order}, n_iter={start}.")
    return _bessel_jn(z, v=order, n_iter=start)


@Program
def _bessel_jn(z: Any, *, v: int, n_iter: int) -> Any:
    (z,) = floats("bessel_jn", z)
    # The recurrence downwards from a high order is stable; what it finds is scaled at the end so
    # that J0 + 2 (J2 + J4 + ...) is 1.
    zero = z == 0
    safe = jnp.where(zero, 1, z)
    # Small numbers grow by n / z at each step.
    above, here = 0 * safe, 0 * safe + float(dtypes.finfo(z.dtype).smallest_normal)
    total = 0 * safe
    found: list[Any] = []
    for n in range(n_iter, 0, -1):
        above, here = here, (2 * n / safe) * here - above
        big = jnp.abs(here) > 1e10
        scale = jnp.where(big, 1e-10, 1)
        above, here, total = above * scale, here * scale, total * scale
        found = [f * scale for f in found]
        if n - 1 <= v:
            found.append(here)
        if n > 1 and n % 2 == 1:
            total = total + 2 * here
    values = jnp.stack([f / (total + here) for f in reversed(found)])
    at_zero = jnp.stack([0 * safe + (n == 0) for n in range(v + 1)])
    return jnp.where(zero, at_zero, values)
