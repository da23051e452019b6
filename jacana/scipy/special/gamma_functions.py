"""The gamma function and what is made of it: beta, binomial coefficients, polygamma, zeta."""

import math
import operator
from fractions import Fraction
from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana import ops
from jacana.api.jit import jit
from jacana.core import dtypes
from jacana.core.values import aval_of
from jacana.scipy.special.operands import floats, in_float64


@jit
def gammaln(x: Any) -> Any:
    """log(abs(gamma(x))) of real x; inf at 0 and at negative integers.

    >>> gammaln(np.float32(5))
    Array(3.1780539, dtype=float32)
    """
    return ops.lgamma(*floats("gammaln", x))


loggamma = gammaln


@jit
def gammasgn(x: Any) -> Any:
    """The sign of gamma(x): 1 or -1, nan at negative integers.

    >>> gammasgn(np.float32([0.5, -0.5, -1.5]))
    Array([ 1., -1.,  1.], dtype=float32)
    """
    (x,) = floats("gammasgn", x)
    return sign_of_gamma(x)


def sign_of_gamma(x: Any) -> Any:
    below = jnp.floor(x)
    negative = x < 0
    pole = (negative & (x == below)) | jnp.isnan(x)
    odd = jnp.not_equal(below - 2 * jnp.floor(below / 2), 0)
    sign = jnp.where((negative & odd) | ((x == 0) & jnp.signbit(x)), -1, 1)
    return jnp.where(pole, np.nan, sign).astype(x.dtype)


@jit
def gamma(x: Any) -> Any:
    """The gamma function: (x - 1)! for positive integers; nan at negative integers.

    >>> gamma(np.float32([5, 0.5]))
    Array([24.       ,  1.7724539], dtype=float32)
    """
    (x,) = floats("gamma", x)
    return in_float64(lambda x: sign_of_gamma(x) * jnp.exp(ops.lgamma(x)), x)


@jit
def _factorial(n: Any) -> Any:
    (n,) = floats("factorial", n)
    wide = in_float64(lambda n: jnp.exp(ops.lgamma(n + 1)), jnp.where(n < 0, 0, n))
    return jnp.where(n < 0, 0, wide)


def factorial(n: Any, exact: bool = False) -> Any:
    """n! = gamma(n + 1) as a float; 0 for negative n. NotImplementedError if exact.

    >>> factorial(np.array([0, 4]))
    Array([ 1., 24.], dtype=float32)
    """
    if exact:
        raise NotImplementedError("factorial with exact=True: use math.factorial.")
    return _factorial(n)


@jit
def poch(z: Any, m: Any) -> Any:
    """gamma(z + m) / gamma(z), the rising factorial z (z + 1) ... (z + m - 1).

    >>> poch(np.float32(3), np.float32(2))
    Array(12., dtype=float32)
    """
    z, m = floats("poch", z, m)

    def ratio(z: Any, m: Any) -> Any:
        size = jnp.exp(ops.lgamma(z + m) - ops.lgamma(z))
        return sign_of_gamma(z + m) * sign_of_gamma(z) * size

    zero = jnp.equal(m, 0)
    return jnp.where(zero, 1, in_float64(ratio, z, jnp.where(zero, 1, m)))


@jit
def beta(a: Any, b: Any) -> Any:
    """gamma(a) gamma(b) / gamma(a + b).

    >>> beta(np.float32(2), np.float32(3))
    Array(0.08333334, dtype=float32)
    """
    a, b = floats("beta", a, b)

    def ratio(a: Any, b: Any) -> Any:
        sign = sign_of_gamma(a) * sign_of_gamma(b) * sign_of_gamma(a + b)
        return sign * jnp.exp(log_beta(a, b))

    return in_float64(ratio, a, b)


def log_beta(a: Any, b: Any) -> Any:
    return ops.lgamma(a) + ops.lgamma(b) - ops.lgamma(a + b)


@jit
def betaln(a: Any, b: Any) -> Any:
    """log(abs(beta(a, b))).

    >>> betaln(np.float32(2), np.float32(3))
    Array(-2.4849067, dtype=float32)
    """
    return in_float64(log_beta, *floats("betaln", a, b))


@jit
def _comb(n: Any, k: Any) -> Any:
    n, k = floats("comb", n, k)
    inside = (k >= 0) & (k <= n)
    n, k = jnp.where(inside, n, 0), jnp.where(inside, k, 0)

    def ratio(n: Any, k: Any) -> Any:
        return jnp.exp(ops.lgamma(n + 1) - ops.lgamma(k + 1) - ops.lgamma(n - k + 1))

    return jnp.where(inside, in_float64(ratio, n, k), 0)


def comb(N: Any, k: Any, *, repetition: bool = False) -> Any:
    """How many ways there are to choose k of N, with repetition or not; 0 unless 0 <= k <= N.

    >>> comb(5, 2)
    Array(10., dtype=float32, weak_type=True)
    """
    if not repetition:
        return _comb(N, k)
    nothing = jnp.equal(N, 0) & jnp.equal(k, 0)
    return jnp.where(nothing, 1, _comb(jnp.where(nothing, 0, jnp.add(N, k) - 1), k))


def multigammaln(a: Any, d: Any) -> Any:
    """log of the multivariate gamma function of dimension d, a Python integer.

    >>> multigammaln(np.float32(3), 2)
    Array(1.550195, dtype=float32)
    """
    (a,) = floats("multigammaln", a)
    size = operator.index(d)
    steps = np.asarray(np.arange(size) / 2).astype(a.dtype)
    constant = math.log(math.pi) * size * (size - 1) / 4
    return jnp.sum(gammaln(jnp.expand_dims(a, -1) - steps), axis=-1) + constant


# --- regularized incomplete functions -------------------------------------------------------------


@jit
def gammainc(a: Any, x: Any) -> Any:
    """The regularized lower incomplete gamma function.

    >>> gammainc(np.float32(2), np.float32(1))
    Array(0.26424113, dtype=float32)
    """
    return ops.igamma(*floats("gammainc", a, x))


@jit
def gammaincc(a: Any, x: Any) -> Any:
    """The regularized upper incomplete gamma function, 1 - gammainc(a, x).

    >>> gammaincc(np.float32(2), np.float32(1))
    Array(0.7357589, dtype=float32)
    """
    return ops.igammac(*floats("gammaincc", a, x))


@jit
def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function, for x from 0 to 1. It has a derivative in x only.

    >>> betainc(np.float32(2), np.float32(1), np.float32(0.5))
    Array(0.25, dtype=float32)
    """
    return ops.regularized_incomplete_beta(*floats("betainc", a, b, x))


# --- derivatives and sums -------------------------------------------------------------------------


@jit
def digamma(x: Any) -> Any:
    """The derivative of gammaln; nan at 0 and at negative integers.

    >>> digamma(np.float32(1))
    Array(-0.5772157, dtype=float32)
    """
    return ops.digamma(*floats("digamma", x))


def polygamma(n: Any, x: Any) -> Any:
    """The derivative of order n of digamma, for integers n >= 0. No derivative in n.

    >>> polygamma(1, np.float32(1))
    Array(1.644934, dtype=float32)
    """
    if not dtypes.is_integer(aval_of(n).dtype):
        raise TypeError(f"polygamma needs an integer order n, got {aval_of(n)}.")
    return _polygamma(n, x)


@jit
def _polygamma(n: Any, x: Any) -> Any:
    return ops.polygamma(*floats("polygamma", n, x))


def zeta(x: Any, q: Any = None) -> Any:
    """The Hurwitz zeta function, the sum of (k + q)**-x over k = 0, 1, 2, ...; q is 1 by default.

    >>> zeta(np.float32(2))
    Array(1.644934, dtype=float32)
    """
    return _zeta(x, 1.0 if q is None else q)


@jit
def _zeta(x: Any, q: Any) -> Any:
    return ops.zeta(*floats("zeta", x, q))


def bernoulli(n: int) -> Any:
    """The Bernoulli numbers B_0 .. B_n for a Python integer n, with B_1 = -1/2.

    >>> bernoulli(2)
    Array([ 1.        , -0.5       ,  0.16666667], dtype=float32)
    """
    count = operator.index(n)
    if count < 0:
        raise ValueError(f"n must be a non-negative integer, got {count}.")
    found = [Fraction(1)]
    for m in range(1, count + 1):
        # Odd ones are 0 from the third on.
        terms = [math.comb(m + 1, k) * found[k] for k in range(m) if k < 2 or k % 2 == 0]
        found.append(-sum(terms, Fraction(0)) / (m + 1) if m < 2 or m % 2 == 0 else Fraction(0))
    return jnp.array([float(b) for b in found])
