"""The error function and the normal distribution's functions."""

import math
from typing import Any

import numpy as np

import jacana.numpy as jnp
from jacana import ops
from jacana.api.custom import custom_jvp
from jacana.api.jit import jit
from jacana.core import dtypes
from jacana.numpy.promotion import literal
from jacana.scipy.special.operands import floats

ROOT_HALF, ROOT_PI, LOG_ROOT_TWO_PI = math.sqrt(0.5), math.sqrt(math.pi), math.log(2 * math.pi) / 2


@jit
def erf(x: Any) -> Any:
    """The error function.

    >>> erf(np.float32([0, 1]))
    Array([0.       , 0.8427008], dtype=float32)
    """
    return ops.erf(*floats("erf", x))


@jit
def erfc(x: Any) -> Any:
    """1 - erf(x), accurate where that is small.

    >>> erfc(np.float32(5))
    Array(1.5374598e-12, dtype=float32)
    """
    return ops.erfc(*floats("erfc", x))


@jit
def erfinv(x: Any) -> Any:
    """The number whose erf is x; nan beyond -1 and 1.

    >>> erfinv(np.float32(0.5))
    Array(0.47693628, dtype=float32)
    """
    return ops.erf_inv(*floats("erfinv", x))


@jit
def erfcx(x: Any) -> Any:
    """exp(x**2) * erfc(x), without underflow.

    >>> erfcx(np.float32([0, 100]))
    Array([1.        , 0.00564161], dtype=float32)
    """
    (x,) = floats("erfcx", x)
    return scaled_erfc(x)


def scaled_erfc(x: Any) -> Any:
    """erfcx of a float."""
    info = dtypes.finfo(x.dtype)
    if info.bits < 32:
        return scaled_erfc(x.astype(np.float32)).astype(x.dtype)
    # From here on the asymptotic series is exact, and below it erfc does not underflow.
    start, terms = (12.0, 12) if info.bits == 64 else (8.0, 7)
    far = ops.gt(x, literal(start, x))
    # Below -40 the result is infinite.
    near = ops.max(jnp.where(far, 0, x), literal(-40, x))
    # x**2 is the square of the leading half of x, which is exact, and the rest.
    half = (info.nmant + 1) // 2
    head = ops.reduce_precision(near, exponent_bits=info.nexp, mantissa_bits=info.nmant - half)
    product = jnp.exp(head * head) * (jnp.exp((near - head) * (near + head)) * ops.erfc(near))
    inverse = 1 / jnp.where(far, x, 1)
    u = ops.square(inverse) / 2
    series = literal(1, x)
    for k in range(terms, 0, -1):
        series = 1 - (2 * k - 1) * u * series
    return jnp.where(far, inverse * series / ROOT_PI, product)


# --- the normal distribution ----------------------------------------------------------------------


@jit
def ndtr(x: Any) -> Any:
    """The probability that a standard normal number is below x.

    >>> ndtr(np.float32([-10, 0]))
    Array([7.619853e-24, 5.000000e-01], dtype=float32)
    """
    (x,) = floats("ndtr", x)
    return 0.5 * ops.erfc(-ROOT_HALF * x)


def log_ndtr(x: Any, series_order: int = 3) -> Any:
    """log(ndtr(x)), accurate everywhere; series_order is accepted for JAX's sake.

    >>> log_ndtr(np.float32([-100, 0]))
    Array([-5.0055244e+03, -6.9314718e-01], dtype=float32)
    """
    return _log_ndtr(x)


@jit
def _log_ndtr(x: Any) -> Any:
    (x,) = floats("log_ndtr", x)
    above = ops.gt(x, literal(0, x))
    upper = jnp.log1p(-0.5 * ops.erfc(ROOT_HALF * jnp.where(above, x, 1)))
    below = -ROOT_HALF * jnp.where(above, -1, x)
    # The scaled function would be 0 at infinity, its logarithm infinite twice over.
    limit = literal(float(dtypes.finfo(x.dtype).max) ** 0.5, x)
    lower = jnp.log(0.5 * scaled_erfc(ops.min(below, limit))) - ops.square(below)
    return jnp.where(above, upper, lower)


@custom_jvp
def _ndtri(p: Any) -> Any:
    return normal_quantile(p)


@_ndtri.defjvp
def _ndtri_jvp(primals: Any, tangents: Any) -> Any:
    x = _ndtri(*primals)
    return x, tangents[0] * (math.sqrt(2 * math.pi) * jnp.exp(ops.square(x) / 2))


@jit
def ndtri(p: Any) -> Any:
    """The number that a standard normal number is below with probability p; nan beyond 0 and 1.

    >>> ndtri(np.float32([1e-30, 0.5, 0.975]))
    Array([-11.464024 ,   0.       ,   1.9599644], dtype=float32)
    """
    return _ndtri(*floats("ndtri", p))


# Rational approximations of Cephes' ndtri (S. L. Moshier): in the middle, of (p - 1/2)**2; in the
# tails of 1 / sqrt(-2 log p), for that root below 8 and above. Highest power first.
MIDDLE = (
    (-5.99633501014107895267e1, 9.80010754185999661536e1, -5.66762857469070293439e1,
     1.39312609387279679503e1, -1.23916583867381258016e0),
    (1.0, 1.95448858338141759834e0, 4.67627912898881538453e0, 8.63602421390890590575e1,
     -2.25462687854119370527e2, 2.00260212380060660359e2, -8.20372256168333339912e1,
     1.59056225126211695515e1, -1.18331621121330003142e0),
)  # fmt: skip
NEAR_TAIL = (
    (4.05544892305962419923e0, 3.15251094599893866154e1, 5.71628192246421288162e1,
     4.40805073893200834700e1, 1.46849561928858024014e1, 2.18663306850790267539e0,
     -1.40256079171354495875e-1, -3.50424626827848203418e-2, -8.57456785154685413611e-4),
    (1.0, 1.57799883256466749731e1, 4.53907635128879210584e1, 4.13172038254672030440e1,
     1.50425385692907503408e1, 2.50464946208309415979e0, -1.42182922854787788574e-1,
     -3.80806407691578277194e-2, -9.33259480895457427372e-4),
)  # fmt: skip
FAR_TAIL = (
    (3.23774891776946035970e0, 6.91522889068984211695e0, 3.93881025292474443415e0,
     1.33303460815807542389e0, 2.01485389549179081538e-1, 1.23716634817820021358e-2,
     3.01581553508235416007e-4, 2.65806974686737550832e-6, 6.23974539184983293730e-9),
    (1.0, 6.02427039364742014255e0, 3.67983563856160859403e0, 1.37702099489081330271e0,
     2.16236993594496635890e-1, 1.34204006088543189037e-2, 3.28014464682127739104e-4,
     2.89247864745380683936e-6, 6.79019408009981274425e-9),
)  # fmt: skip


def rational(coefficients: tuple[tuple[float, ...], tuple[float, ...]], x: Any) -> Any:
    """A quotient of polynomials by Horner's rule."""
    values = []
    for polynomial in coefficients:
        value = literal(polynomial[0], x)
        for c in polynomial[1:]:
            value = value * x + c
        values.append(value)
    return values[0] / values[1]


def normal_quantile(p: Any) -> Any:
    """ndtri of a float; below exp(-2) in the lower tail, and as far from 1 in the upper one."""
    edge = math.exp(-2)
    upper = p > 1 - edge
    small = jnp.where(upper, 1 - p, p)
    middle = small > edge
    d = jnp.where(middle, p, 0.5) - 0.5
    d2 = ops.square(d)
    central = (d + d * (d2 * rational(MIDDLE, d2))) * math.sqrt(2 * math.pi)
    inside = (p > 0) & (p < 1)
    root = jnp.sqrt(-2 * jnp.log(jnp.where(middle | ~inside, edge / 2, small)))
    z = 1 / root
    first = root - jnp.log(root) * z
    tail = first - z * jnp.where(root < 8, rational(NEAR_TAIL, z), rational(FAR_TAIL, z))
    found = jnp.where(middle, central, jnp.where(upper, tail, -tail))
    ends = jnp.where(p == 0, -np.inf, jnp.where(p == 1, np.inf, np.nan))
    return jnp.where(inside, found, ends)
