"""Special functions of real numbers, as JAX's lax has them: floats of one dtype."""

from typing import Any

from jacana import ops
from jacana.lax.operands import nary, unary


def erf(x: Any) -> Any:
    """The error function.

    >>> erf(np.float32([0, 1]))
    Array([0.       , 0.8427008], dtype=float32)
    """
    return unary(ops.erf, x)


def erfc(x: Any) -> Any:
    """1 - erf(x), accurate where that is small.

    >>> erfc(np.float32(5))
    Array(1.5374598e-12, dtype=float32)
    """
    return unary(ops.erfc, x)


def erf_inv(x: Any) -> Any:
    """The number in -inf .. inf whose erf is x; nan beyond -1 and 1.

    >>> erf_inv(np.float32(0.5))
    Array(0.47693628, dtype=float32)
    """
    return unary(ops.erf_inv, x)


def lgamma(x: Any) -> Any:
    """log(abs(gamma(x))).

    >>> lgamma(np.float32(5))
    Array(3.1780539, dtype=float32)
    """
    return unary(ops.lgamma, x)


def digamma(x: Any) -> Any:
    """The derivative of lgamma; nan at 0 and at negative integers.

    >>> digamma(np.float32(1))
    Array(-0.5772157, dtype=float32)
    """
    return unary(ops.digamma, x)


def polygamma(m: Any, x: Any) -> Any:
    """The derivative of order m of digamma, for a whole float m >= 0. No derivative in m.

    >>> polygamma(np.float32(1), np.float32(1))
    Array(1.644934, dtype=float32)
    """
    return nary(ops.polygamma, m, x)


def zeta(x: Any, q: Any) -> Any:
    """The Hurwitz zeta function: the sum of (k + q)**-x over k = 0, 1, 2, ...

    >>> zeta(np.float32(2), np.float32(1))
    Array(1.644934, dtype=float32)
    """
    return nary(ops.zeta, x, q)


def igamma(a: Any, x: Any) -> Any:
    """The regularized lower incomplete gamma function.

    >>> igamma(np.float32(1), np.float32(2))
    Array(0.86466473, dtype=float32)
    """
    return nary(ops.igamma, a, x)


def igammac(a: Any, x: Any) -> Any:
    """The regularized upper incomplete gamma function, 1 - igamma(a, x).

    >>> igammac(np.float32(1), np.float32(2))
    Array(0.13533528, dtype=float32)
    """
    return nary(ops.igammac, a, x)


def igamma_grad_a(a: Any, x: Any) -> Any:
    """The derivative of igamma(a, x) with respect to a.

    >>> igamma_grad_a(np.float32(1), np.float32(2))
    Array(-0.22082543, dtype=float32)
    """
    return nary(ops.igamma_grad_a, a, x)


def random_gamma_grad(a: Any, x: Any) -> Any:
    """How fast a sample x of the gamma distribution grows with its shape a.

    >>> random_gamma_grad(np.float32(1), np.float32(2))
    Array(1.6316915, dtype=float32)
    """
    return nary(ops.random_gamma_grad, a, x)


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function. It has a derivative in x only.

    >>> betainc(np.float32(2), np.float32(1), np.float32(0.5))
    Array(0.25, dtype=float32)
    """
    return nary(ops.regularized_incomplete_beta, a, b, x)


def bessel_i0e(x: Any) -> Any:
    """exp(-abs(x)) * I0(x), of the modified Bessel function of order 0.

    >>> bessel_i0e(np.float32(1))
    Array(0.4657596, dtype=float32)
    """
    return unary(ops.bessel_i0e, x)


def bessel_i1e(x: Any) -> Any:
    """exp(-abs(x)) * I1(x), of the modified Bessel function of order 1.

    >>> bessel_i1e(np.float32(1))
    Array(0.20791042, dtype=float32)
    """
    return unary(ops.bessel_i1e, x)
