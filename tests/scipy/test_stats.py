"""Distributions against SciPy's in float64; their derivatives; statistics of samples."""

import inspect

import numpy as np
import pytest
from scipy import stats as reference

import jacana
from jacana.scipy import stats

X = np.concatenate([np.linspace(-4, 4, 17) + 0.01, [-30.0, 30.0]])
Q = np.array([1e-10, 0.2, 0.5, 0.9, 1.0])
K = np.array([-1.0, 0, 1, 2, 3, 5, 9])
CONTINUOUS = {
    "norm": [()], "uniform": [()], "expon": [()], "laplace": [()], "logistic": [()],
    "cauchy": [()], "gumbel_l": [()], "gumbel_r": [()], "pareto": [(2.5,)],
    "gamma": [(0.5,), (3.0,)], "chi2": [(1.0,), (5.0,)], "beta": [(0.5, 0.7), (2.0, 3.0)],
    "t": [(3.0,)], "gennorm": [(1.5,)], "vonmises": [(2.0,)], "wrapcauchy": [(0.3,)],
    "truncnorm": [(-1.0, 2.0), (2.0, 5.0)],
}  # fmt: skip
DISCRETE = {
    "bernoulli": [(0.3,)], "binom": [(5, 0.3), (5, 1.0)], "betabinom": [(5, 2.0, 3.0)],
    "geom": [(0.3,)], "nbinom": [(3.0, 0.4)], "poisson": [(2.5,), (0.0,)],
}  # fmt: skip


def functions_of(name):
    module = getattr(stats, name)
    found = ("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "logpmf", "pmf")
    return [f for f in found if hasattr(module, f)]


CASES = [
    (name, f, params)
    for table in (CONTINUOUS, DISCRETE)
    for name in table
    for f in functions_of(name)
    for params in table[name]
]


@pytest.fixture(autouse=True)
def float64():
    with jacana.enable_x64(True):
        yield


@pytest.mark.parametrize(("name", "function", "params"), CASES)
def test_against_scipy(name, function, params):
    f, other = getattr(getattr(stats, name), function), getattr(reference, name)
    x = Q if function in ("ppf", "isf") else K if name in DISCRETE else X
    with np.errstate(all="ignore"):
        want = getattr(other, function)(x, *params)
    np.testing.assert_allclose(f(x, *params), want, rtol=1e-9, atol=1e-16)
    names = inspect.signature(f).parameters
    if "loc" in names:
        shift = (1.0, 2.0) if "scale" in names else (1.0,)
        with np.errstate(all="ignore"):
            want = getattr(other, function)(x, *params, *shift)
        np.testing.assert_allclose(f(x, *params, *shift), want, rtol=1e-9, atol=1e-16)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_density_is_the_slope_of_probability(name):
    module = getattr(stats, name)
    for params in CONTINUOUS[name]:
        slope = jacana.vmap(jacana.grad(lambda x, p=params: module.logpdf(x, *p)))
        assert not np.isnan(slope(X)).any()
        if hasattr(module, "cdf"):
            got = jacana.vmap(jacana.grad(lambda x, p=params: module.cdf(x, *p)))(X)
            np.testing.assert_allclose(got, module.pdf(X, *params), rtol=1e-9, atol=1e-14)


def test_edges_without_nan():
    assert jacana.grad(stats.gamma.logpdf)(0.0, 1.0) == -1
    assert stats.chi2.logpdf(0.0, 2.0) == -np.log(2)
    assert stats.gumbel_r.ppf(0.0) == -np.inf
    assert stats.norm.isf(1e-300) > 37
    assert np.isnan(stats.truncnorm.logpdf(0.0, 2.0, 1.0))


def test_vectors():
    p = np.array([0.2, 0.3, 0.5])
    alpha = np.array([0.5, 2.0, 3.0])
    np.testing.assert_allclose(
        stats.dirichlet.logpdf(p, alpha), reference.dirichlet.logpdf(p, alpha)
    )
    np.testing.assert_allclose(stats.dirichlet.pdf(p[:2], alpha), reference.dirichlet.pdf(p, alpha))
    x = np.array([1, 2, 0])
    np.testing.assert_allclose(
        stats.multinomial.logpmf(x, 3, p), reference.multinomial.logpmf(x, 3, p)
    )
    assert stats.multinomial.pmf(x, 4, p) == 0


def test_multivariate_normal(rng):
    a = rng.normal(size=(3, 3))
    cov, mean, x = a @ a.T + np.eye(3), np.arange(3.0), rng.normal(size=(4, 3))
    f, want = stats.multivariate_normal.logpdf, reference.multivariate_normal.logpdf
    np.testing.assert_allclose(f(x, mean, cov), want(x, mean, cov))
    np.testing.assert_allclose(f(x, mean, 2.0), want(x, mean, 2.0))
    np.testing.assert_allclose(f(1.0, 2.0, 3.0), want(1.0, 2.0, 3.0))
    both = f(x[0], mean, np.stack([cov, 2 * cov]))
    np.testing.assert_allclose(both, [want(x[0], mean, cov), want(x[0], mean, 2 * cov)])
    inverse = np.linalg.inv(cov)
    slope = jacana.grad(f, 1)(x[0], mean, cov)
    np.testing.assert_allclose(slope, inverse @ (x[0] - mean), rtol=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_entropy_of_poisson():
    mu = np.array([0.0, 0.5, 9.0, 99.0, 150.0])
    with np.errstate(all="ignore"):
        want = reference.poisson.entropy(mu)
    np.testing.assert_allclose(stats.poisson.entropy(mu), want, rtol=1e-8, atol=1e-12)


Z = np.array([[3, 1, 3, 2], [2, 2, 1, 5], [2, 0, 1, 1]])


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_samples(axis):
    for method in ("average", "min", "max", "dense", "ordinal"):
        for z in (Z, Z * 1.0):
            want = reference.rankdata(z, method, axis=axis)
            np.testing.assert_array_equal(stats.rankdata(z, method, axis=axis), want)
    for keepdims in (False, True):
        got, want = (s.mode(Z, axis=axis, keepdims=keepdims) for s in (stats, reference))
        np.testing.assert_array_equal(got.mode, want.mode)
        np.testing.assert_array_equal(got.count, want.count)
        assert got.mode.shape == want.mode.shape
    np.testing.assert_allclose(stats.sem(Z, axis, ddof=0), reference.sem(Z, axis, ddof=0))


def test_samples_with_nan():
    z = np.array([1.0, np.nan, np.nan, 5.0])
    assert np.isnan(stats.rankdata(z)).all()
    assert np.isnan(stats.mode(z).mode)
    np.testing.assert_allclose(stats.sem(z, nan_policy="omit"), reference.sem(z[[0, 3]]))
    with pytest.raises(NotImplementedError, match="`nan_policy` of omit"):
        stats.mode(z, nan_policy="omit")
    with pytest.raises(ValueError, match="unknown method 'middle'"):
        stats.rankdata(z, "middle")
