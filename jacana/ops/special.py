"""Special functions of real numbers."""

import importlib
import itertools
import math
from typing import Any

import numpy as np

from jacana import ops
from jacana.core import dtypes
from jacana.core.values import aval_of
from jacana.kernel import special as kernel_special
from jacana.ops.families import FLOAT, Function, like
from jacana.ops.wider import in_float64


class Special(Function):
    """A function that the kernel language's library has under the primitive's own name."""

    kinds = FLOAT
    cost = 8.0

    def element(self, *xs: Any) -> Any:
        value: Any = getattr(kernel_special, self.name)(*xs)
        return value


def scipy_special() -> Any:
    """scipy.special, loaded only for references: importing it takes longer than jacana."""
    return importlib.import_module("scipy.special")


class Erf(Special):
    """The error function."""

    name = "erf"

    def reference(self, x: Any) -> Any:
        return in_float64(scipy_special().erf, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.mul(like(2 / math.sqrt(math.pi), x), ops.mul(t, _gaussian(x)))


class Erfc(Special):
    """1 - erf(x), accurate where that is small."""

    name = "erfc"

    def reference(self, x: Any) -> Any:
        return in_float64(scipy_special().erfc, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.mul(like(-2 / math.sqrt(math.pi), x), ops.mul(t, _gaussian(x)))


def _gaussian(x: Any) -> Any:
    return ops.exp(ops.neg(ops.square(x)))


class ErfInv(Special):
    """The inverse of erf; infinite at -1 and 1, nan beyond."""

    name = "erf_inv"

    def reference(self, x: Any) -> Any:
        return in_float64(lambda x: np.copysign(scipy_special().erfinv(x), x), x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        growth = ops.exp(ops.square(out))
        return ops.mul(like(math.sqrt(math.pi) / 2, x), ops.mul(t, growth))


class Lgamma(Special):
    """log(abs(gamma(x)))."""

    name = "lgamma"
    cost = 48.0

    def reference(self, x: Any) -> Any:
        return in_float64(_log_gamma, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.mul(t, ops.digamma(x))


class Digamma(Special):
    """The derivative of lgamma; nan at 0 and at negative integers."""

    name = "digamma"
    cost = 48.0

    def reference(self, x: Any) -> Any:
        value = in_float64(scipy_special().digamma, x)
        pole = (x <= 0) & (x == np.floor(x))
        return np.where(pole, value.dtype.type(np.nan), value)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.mul(t, ops.polygamma(like(1, x), x))


class Polygamma(Special):
    """The derivative of digamma of order m, operands m and x."""

    name = "polygamma"
    cost = 700.0

    def reference(self, m: Any, x: Any) -> Any:
        def polygamma(m: Any, x: Any) -> Any:
            special = scipy_special()
            sign = np.where(m % 2 == 0, -1.0, 1.0)
            value = sign * special.gamma(m + 1) * special.zeta(m + 1, x)
            return np.where(m == 0, special.digamma(x), value)

        return in_float64(polygamma, m, x)

    def jvp(self, i: int, t: Any, out: Any, m: Any, x: Any) -> Any:
        if i == 0:
            raise ValueError(no_derivative("polygamma", "its order m"))
        return ops.mul(t, ops.polygamma(ops.add(m, like(1, m)), x))


class Zeta(Special):
    """The Hurwitz zeta function: the sum of (k + q)**-x over k = 0, 1, 2, ..."""

    name = "zeta"
    cost = 700.0

    def reference(self, x: Any, q: Any) -> Any:
        return in_float64(scipy_special().zeta, x, q)

    def jvp(self, i: int, t: Any, out: Any, x: Any, q: Any) -> Any:
        if i == 0:
            raise ValueError(no_derivative("zeta", "its exponent x"))
        slope = ops.mul(ops.neg(x), ops.zeta(ops.add(x, like(1, x)), q))
        return ops.mul(t, slope)


class Igamma(Special):
    """The regularized lower incomplete gamma function, operands a and x."""

    name = "igamma"
    cost = 700.0

    def reference(self, a: Any, x: Any) -> Any:
        return in_float64(scipy_special().gammainc, a, x)

    def jvp(self, i: int, t: Any, out: Any, a: Any, x: Any) -> Any:
        return ops.mul(t, ops.igamma_grad_a(a, x) if i == 0 else gamma_density(a, x))


class Igammac(Special):
    """The regularized upper incomplete gamma function, 1 - igamma(a, x)."""

    name = "igammac"
    cost = 700.0

    def reference(self, a: Any, x: Any) -> Any:
        return in_float64(scipy_special().gammaincc, a, x)

    def jvp(self, i: int, t: Any, out: Any, a: Any, x: Any) -> Any:
        return ops.neg(ops.mul(t, ops.igamma_grad_a(a, x) if i == 0 else gamma_density(a, x)))


class IgammaGradA(Special):
    """The derivative of igamma with respect to a."""

    name = "igamma_grad_a"
    cost = 700.0

    def reference(self, a: Any, x: Any) -> Any:
        return in_float64(_slope_in_a, a, x)

    def jvp(self, i: int, t: Any, out: Any, a: Any, x: Any) -> Any:
        raise ValueError(no_derivative("igamma_grad_a", "anything"))


class RandomGammaGrad(Special):
    """How a sample x of the gamma distribution moves with its shape a, its quantile fixed."""

    name = "random_gamma_grad"
    cost = 700.0

    def reference(self, a: Any, x: Any) -> Any:
        def grad(a: Any, x: Any) -> Any:
            density = np.exp((a - 1) * np.log(x) - x - scipy_special().gammaln(a))
            return -_slope_in_a(a, x) / density

        return in_float64(grad, a, x)

    def jvp(self, i: int, t: Any, out: Any, a: Any, x: Any) -> Any:
        raise ValueError(no_derivative("random_gamma_grad", "anything"))


class RegularizedIncompleteBeta(Special):
    """The regularized incomplete beta function, operands a, b and x."""

    name = "regularized_incomplete_beta"
    cost = 3000.0

    def reference(self, a: Any, b: Any, x: Any) -> Any:
        return in_float64(scipy_special().betainc, a, b, x)

    def jvp(self, i: int, t: Any, out: Any, a: Any, b: Any, x: Any) -> Any:
        if i < 2:
            raise ValueError(no_derivative("betainc", "a and b"))
        logarithm = ops.sub(ops.lgamma(ops.add(a, b)), ops.add(ops.lgamma(a), ops.lgamma(b)))
        lower = _power_term(a, ops.log(x))
        upper = _power_term(b, ops.log1p(ops.neg(x)))
        return ops.mul(t, ops.exp(ops.add(ops.add(lower, upper), logarithm)))


class BesselI0e(Special):
    """exp(-abs(x)) * I0(x), of the modified Bessel function of order 0."""

    name = "bessel_i0e"

    def reference(self, x: Any) -> Any:
        return in_float64(scipy_special().i0e, x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        return ops.mul(t, ops.sub(ops.bessel_i1e(x), ops.mul(ops.sign(x), out)))


class BesselI1e(Special):
    """exp(-abs(x)) * I1(x), of the modified Bessel function of order 1."""

    name = "bessel_i1e"

    def reference(self, x: Any) -> Any:
        return in_float64(lambda x: np.copysign(scipy_special().i1e(x), x), x)

    def jvp(self, i: int, t: Any, out: Any, x: Any) -> Any:
        # Near zero I1(x) is x / 2, so out / x is 1 / 2.
        tiny = like(float(dtypes.finfo(aval_of(x).dtype).eps), x)
        near = ops.le(ops.abs(x), tiny)
        safe = ops.select_n(near, x, tiny)
        slope = ops.sub(
            ops.bessel_i0e(safe), ops.mul(out, ops.add(ops.sign(safe), ops.div(like(1, x), safe)))
        )
        return ops.mul(t, ops.select_n(near, slope, like(0.5, x)))


def _log_gamma(x: Any) -> Any:
    # SciPy overflows near zero, and has another opinion of -inf.
    size = np.abs(x)
    value = np.where(size < 1e-300, -np.log(size), scipy_special().gammaln(x))
    return np.where(np.isinf(x), np.inf, value)


def gamma_density(a: Any, x: Any) -> Any:
    """The derivative of igamma(a, x) with respect to x."""
    power = _power_term(a, ops.log(x))
    return ops.exp(ops.sub(ops.sub(power, x), ops.lgamma(a)))


def _power_term(a: Any, logarithm: Any) -> Any:
    """(a - 1) * logarithm, and 0 for a = 1 even where the logarithm is infinite."""
    one = like(1, a)
    is_one = ops.eq(a, one)
    finite = ops.select_n(is_one, logarithm, like(0, a))
    return ops.mul(ops.sub(a, one), finite)


def _slope_in_a(a: Any, x: Any) -> Any:
    """d gammainc(a, x) / da by extrapolated central differences."""
    f = scipy_special().gammainc
    h = 1e-2 * np.minimum(a, 1.0)

    def difference(h: Any) -> Any:
        return (f(a + h, x) - f(a - h, x)) / (2 * h)

    d = [difference(h / 2**k) for k in range(4)]
    for order in (4, 16, 64):
        d = [(order * fine - coarse) / (order - 1) for coarse, fine in itertools.pairwise(d)]
    return d[0]


def no_derivative(function: str, operand: str) -> str:
    return (
        f"The gradient of {function} with respect to {operand} is not supported. Hold it constant "
        f"with jax.lax.stop_gradient, or give a rule with jax.custom_jvp."
    )


erf = Erf()
erfc = Erfc()
erf_inv = ErfInv()
lgamma = Lgamma()
digamma = Digamma()
polygamma = Polygamma()
zeta = Zeta()
igamma = Igamma()
igammac = Igammac()
igamma_grad_a = IgammaGradA()
random_gamma_grad = RandomGammaGrad()
regularized_incomplete_beta = RegularizedIncompleteBeta()
bessel_i0e = BesselI0e()
bessel_i1e = BesselI1e()
