"""How far numbers may be from JAX's where both pass through functions that round differently.

Each tolerance is an absolute bound for each result x, from the conditioning of the last functions
applied: what an error of some eps in their operands and in themselves does to x.
"""

import numpy as np


def relative(factor):
    """The last operations are well conditioned: errors stay some eps of the result."""
    return lambda x, eps, args: factor * eps * np.abs(x)


def absolute(factor):
    """The result is a sum of terms of size 1 (logarithms of uniform numbers, say)."""
    return lambda x, eps, args: factor * eps * (1 + np.abs(x))


def condition_of_erf_inv(x):
    """|u y'(u) / y(u)| at x = sqrt(2) y(u): JAX rounds 1 - u**2, which counts in the tails."""
    y = np.maximum(np.abs(x), 1e-30) / np.sqrt(2)
    u = np.minimum(1, 2 * y / np.sqrt(np.pi))  # not below erf(y)
    return u * np.sqrt(np.pi) / 2 * np.exp(y * y) / y


def normal(x, eps, args):
    if np.iscomplexobj(x):
        return normal(x.real, eps, args) + normal(x.imag, eps, args)
    # JAX's float64 erf_inv itself is up to 15 eps off, near x = 0.92 and 3.3 (mpmath says).
    own = 4 if eps > 1e-10 else 20
    return eps * (own + condition_of_erf_inv(x)) * np.abs(x)


def truncated_normal(x, eps, args):
    # erf of the bounds, and the uniform number between them, are a few eps off; the slope of
    # sqrt(2) erf_inv at sqrt(2) erf_inv(u) = x is sqrt(pi / 2) exp(x**2 / 2).
    return normal(x, eps, args) + eps * 4 * np.sqrt(np.pi / 2) * np.exp(x * x / 2)


def lognormal(x, eps, args):
    # exp(sigma n): the relative error is the absolute one of sigma n.
    exponent = np.log(x)
    return x * (4 * eps + normal(exponent / args[0], eps, args) * args[0])


def cauchy(x, eps, args):
    # The tangent of an angle that is eps off: the slope is 1 + x**2.
    return eps * (4 * np.abs(x) + 2 * (1 + x * x))


def maxwell(x, eps, args):
    # No part of the vector is longer than it is. Scale and location are of size 2 or less.
    size = np.abs(x)
    return eps * (24 + condition_of_erf_inv(size)) * (size + 1)


def power(x, eps, args):
    # exp and pow turn the absolute error of a logarithm, some eps of it, into a relative one.
    return eps * (8 + 8 * np.abs(np.log(x))) * x


def gamma(x, eps, args):
    # d v**3 with v = 1 + c n: three times the error of the normal number n, more where that cancels
    # since x is small (v is about cbrt(x / d), d >= 2 / 3).
    # Powers 1 / a of uniform numbers for a < 1 add what `power` allows.
    cancelled = 1 / np.cbrt(np.minimum(x, 1))
    return 24 * eps * x * (1 + np.abs(np.log(x)) + cancelled)


def loggamma(x, eps, args):
    # The relative error of `gamma` is the absolute one of its logarithm.
    return 24 * eps * (1 + np.abs(x) + np.exp(-np.minimum(x, 0) / 3))


TOLERANCES = {
    "ball": absolute(16),
    "beta": relative(64),  # exp of differences of loggamma numbers of size 10
    "cauchy": cauchy,
    "chisquare": gamma,
    "dirichlet": relative(64),
    "double_sided_maxwell": maxwell,
    "exponential": relative(4),
    "f": relative(64),
    "gamma": gamma,
    "generalized_normal": relative(16),
    "gumbel": absolute(4),
    "laplace": relative(4),
    "loggamma": loggamma,
    "logistic": absolute(4),
    "lognormal": lognormal,
    "maxwell": maxwell,
    # A factorization of well conditioned matrices, and a sum of its products.
    "multivariate_normal": absolute(64),
    "normal": normal,
    "orthogonal": absolute(32),
    "pareto": power,
    "rayleigh": relative(8),
    "t": relative(32),
    "triangular": absolute(8),
    "truncated_normal": truncated_normal,
    "uniform": absolute(2),
    "wald": relative(64),  # the smaller root of a quadratic, as a difference
    "weibull_min": power,
}
