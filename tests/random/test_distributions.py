"""The distributions beside SciPy's; shapes, parameters, derivatives and errors."""

import numpy as np
import pytest
from scipy import stats

import jacana
import jacana.numpy as jnp
from jacana import random
from jacana.core import config

N = 4000
KEY = 12

# The draws, and SciPy's distribution.
CONTINUOUS = {
    "uniform": (lambda k: random.uniform(k, (N,), minval=-1, maxval=3), stats.uniform(-1, 4)),
    "normal": (lambda k: random.normal(k, (N,)), stats.norm()),
    "truncated_normal": (
        lambda k: random.truncated_normal(k, -0.5, 2.0, (N,)), stats.truncnorm(-0.5, 2.0),
    ),
    "lognormal": (lambda k: random.lognormal(k, 0.7, (N,)), stats.lognorm(0.7)),
    "maxwell": (lambda k: random.maxwell(k, (N,)), stats.maxwell()),
    "exponential": (lambda k: random.exponential(k, (N,)), stats.expon()),
    "gumbel": (lambda k: random.gumbel(k, (N,)), stats.gumbel_r()),
    "gumbel_high": (lambda k: random.gumbel(k, (N,), mode="high"), stats.gumbel_r()),
    "laplace": (lambda k: random.laplace(k, (N,)), stats.laplace()),
    "logistic": (lambda k: random.logistic(k, (N,)), stats.logistic()),
    "cauchy": (lambda k: random.cauchy(k, (N,)), stats.cauchy()),
    "weibull_min": (lambda k: random.weibull_min(k, 2.0, 1.5, (N,)), stats.weibull_min(1.5, 0, 2)),
    "pareto": (lambda k: random.pareto(k, 3.0, (N,)), stats.pareto(3.0)),
    "rayleigh": (lambda k: random.rayleigh(k, 2.0, (N,)), stats.rayleigh(0, 2)),
    "triangular": (lambda k: random.triangular(k, -1.0, 0.5, 2.0, (N,)), stats.triang(0.5, -1, 3)),
    "wald": (lambda k: random.wald(k, 1.5, (N,)), stats.invgauss(1.5, 0, 1)),
    "gamma": (lambda k: random.gamma(k, 2.5, (N,)), stats.gamma(2.5)),
    "gamma_small": (lambda k: random.gamma(k, 0.3, (N,)), stats.gamma(0.3)),
    "loggamma": (lambda k: random.loggamma(k, 0.3, (N,)), stats.loggamma(0.3)),
    "chisquare": (lambda k: random.chisquare(k, 3.0, (N,)), stats.chi2(3)),
    "t": (lambda k: random.t(k, 4.0, (N,)), stats.t(4)),
    "f": (lambda k: random.f(k, 3.0, 5.0, (N,)), stats.f(3, 5)),
    "beta": (lambda k: random.beta(k, 2.0, 0.5, (N,)), stats.beta(2, 0.5)),
    "generalized_normal": (lambda k: random.generalized_normal(k, 1.5, (N,)), stats.gennorm(1.5)),
    "ball_radius": (
        lambda k: jnp.sqrt((random.ball(k, 3, shape=(N,)) ** 2).sum(-1)), stats.powerlaw(3),
    ),
    "dirichlet_part": (
        lambda k: random.dirichlet(k, jnp.array([1.0, 2.0, 3.0]), (N,))[:, 1], stats.beta(2, 4),
    ),
    "multivariate_normal_part": (
        lambda k: random.multivariate_normal(
            k, jnp.zeros(2), jnp.array([[2.0, 0.6], [0.6, 0.5]]), (N,)
        )[:, 1],
        stats.norm(0, np.sqrt(0.5)),
    ),
}  # fmt: skip

DISCRETE = {
    "randint": (lambda k: random.randint(k, (N,), -2, 6), stats.randint(-2, 6)),
    "randint8": (lambda k: random.randint(k, (N,), -2, 6, "int8"), stats.randint(-2, 6)),
    "bernoulli": (lambda k: random.bernoulli(k, 0.3, (N,)), stats.bernoulli(0.3)),
    "bernoulli_high": (lambda k: random.bernoulli(k, 0.3, (N,), "high"), stats.bernoulli(0.3)),
    "geometric": (lambda k: random.geometric(k, 0.3, (N,)), stats.geom(0.3)),
    "poisson": (lambda k: random.poisson(k, 3.0, (N,)), stats.poisson(3)),
    "poisson_large": (lambda k: random.poisson(k, 30.0, (N,)), stats.poisson(30)),
    "binomial": (lambda k: random.binomial(k, 20.0, 0.2, (N,)), stats.binom(20, 0.2)),
    "binomial_large": (lambda k: random.binomial(k, 60.0, 0.7, (N,)), stats.binom(60, 0.7)),
    "multinomial_part": (
        lambda k: random.multinomial(
            k, 20.0, jnp.array([0.2, 0.3, 0.5]), shape=(N, 3)
        )[:, 1],
        stats.binom(20, 0.3),
    ),
    "categorical": (
        lambda k: random.categorical(k, jnp.log(jnp.array([0.5, 0.2, 0.3])), shape=(N,)),
        stats.rv_discrete(values=([0, 1, 2], [0.5, 0.2, 0.3])),
    ),
    "choice_p": (
        lambda k: random.choice(k, 3, (N,), p=jnp.array([0.5, 0.2, 0.3])),
        stats.rv_discrete(values=([0, 1, 2], [0.5, 0.2, 0.3])),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name):
    draw, distribution = CONTINUOUS[name]
    assert stats.kstest(np.asarray(draw(random.key(KEY))), distribution.cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name):
    draw, distribution = DISCRETE[name]
    values, counts = np.unique(np.asarray(draw(random.key(KEY))).astype(int), return_counts=True)
    expected = distribution.pmf(values) * N
    often = expected > 5
    rest = [counts[~often].sum()], [N - expected[often].sum()]
    got = np.concatenate([counts[often], rest[0] if rest[1][0] > 1 else []])
    want = np.concatenate([expected[often], rest[1] if rest[1][0] > 1 else []])
    assert stats.chisquare(got, want * got.sum() / want.sum()).pvalue > 1e-3


def test_moments_of_vectors():
    covariance = np.array([[2.0, 0.6], [0.6, 0.5]], np.float32)
    for method in ("cholesky", "eigh", "svd"):
        drawn = random.multivariate_normal(
            random.key(KEY), np.array([1.0, -2.0]), covariance, (N,), method=method
        )
        np.testing.assert_allclose(np.mean(drawn, 0), [1, -2], atol=0.1)
        np.testing.assert_allclose(np.cov(np.asarray(drawn).T), covariance, atol=0.12)
    drawn = random.normal(random.key(KEY), (N,), "complex64")
    np.testing.assert_allclose([np.var(drawn.real), np.var(drawn.imag)], 0.5, atol=0.05)


def test_orthogonal():
    for n, m, dtype in ((4, 4, "float32"), (3, 5, "float64"), (5, 3, "complex64")):
        with config.override(enable_x64=True):
            q = np.asarray(random.orthogonal(random.key(1), n, (2,), dtype, m))
        assert q.shape == (2, n, m)
        assert q.dtype == dtype
        product = q @ q.conj().mT if n <= m else q.conj().mT @ q
        np.testing.assert_allclose(product, np.broadcast_to(np.eye(min(n, m)), product.shape),
                                   atol=1e-5)  # fmt: skip


def test_permutations():
    key = random.key(3)
    x = np.arange(12).reshape(3, 4)
    rows = np.asarray(random.permutation(key, x))
    assert sorted(rows.tolist()) == x.tolist()
    columns = np.asarray(random.permutation(key, x, axis=-1))
    assert sorted(columns.T.tolist()) == x.T.tolist()
    each = np.asarray(random.permutation(key, x, axis=1, independent=True))
    assert np.sort(each, 1).tolist() == x.tolist()
    assert np.asarray(random.permutation(key, 0)).shape == (0,)
    firsts = [int(random.permutation(random.fold_in(key, i), 5)[0]) for i in range(60)]
    assert set(firsts) == set(range(5))


def test_choices():
    key, x = random.key(3), np.arange(12.0).reshape(3, 4)
    assert random.choice(key, x, (2, 5), axis=1).shape == (3, 2, 5)
    chosen = np.asarray(random.choice(key, 50, (50,), replace=False))
    assert sorted(chosen.tolist()) == list(range(50))
    p = np.array([0.0, 0.5, 0.0, 0.5], np.float32)
    assert set(np.asarray(random.choice(key, 4, (99,), p=p)).tolist()) == {1, 3}
    drawn = np.asarray(random.choice(key, 4, (2,), replace=False, p=p))
    assert sorted(drawn.tolist()) == [1, 3]
    assert random.choice(key, 0, (0,)).shape == (0,)
    logits = np.zeros((3, 4), np.float32)
    assert random.categorical(key, logits, axis=0, shape=(5, 4)).shape == (5, 4)
    several = np.asarray(random.categorical(key, logits, shape=(4, 3), replace=False))
    assert np.sort(several, 0).tolist() == [[i] * 3 for i in range(4)]


def test_empty_ranges_and_ends():
    key = random.key(1)
    assert random.randint(key, (3,), 5, 2).tolist() == [5, 5, 5]
    drawn = np.asarray(random.randint(key, (2000,), 0, 300, "uint8"))
    assert set(drawn.tolist()) == set(range(256))
    drawn = random.randint(key, (3,), jnp.array([0, 10, 20]), jnp.array([1, 11, 21]))
    assert drawn.tolist() == [0, 10, 20]
    with config.override(enable_x64=True):
        drawn = random.randint(key, (64,), 0, 2**32, "uint32")
        assert int(drawn.max()) > 2**31
    low = random.uniform(key, (4,), minval=jnp.array([0.0, 10.0, 20.0, 30.0]), maxval=31.0)
    assert bool((low >= jnp.array([0.0, 10.0, 20.0, 30.0])).all())
    assert random.poisson(key, jnp.array([0.0, jnp.nan])).tolist() == [0, -1]
    n, p = jnp.array([5.0, 5.0, jnp.inf, -1.0]), jnp.array([0.0, 1.0, 0.5, 0.5])
    edges = random.binomial(key, n, p)
    np.testing.assert_array_equal(edges, [0, 5, np.inf, np.nan])


def test_gradients_through_parameters():
    key = random.key(2)
    unit = np.asarray(random.uniform(key, (5,)))

    def spread(low, high):
        return random.uniform(key, (5,), minval=low, maxval=high).sum()

    by_low, by_high = jacana.grad(spread, (0, 1))(-1.0, 2.0)
    np.testing.assert_allclose([by_low, by_high], [(1 - unit).sum(), unit.sum()], 1e-6)
    n = np.asarray(random.normal(key, (5,)))
    slope = jacana.grad(lambda s: (1.0 + s * random.normal(key, (5,))).sum())(2.0)
    np.testing.assert_allclose(slope, n.sum(), 1e-6)
    slopes = jacana.vmap(jacana.grad(lambda s: random.lognormal(key, s)))(jnp.array([0.5, 1.0]))
    n = np.asarray(random.normal(key))
    np.testing.assert_allclose(slopes, n * np.exp(n * np.array([0.5, 1.0])), 1e-6)
    slope = jacana.grad(lambda a: random.truncated_normal(key, a, 2.0, (5,)).sum())(0.5)
    assert np.isfinite(slope)


def test_gradients_of_gamma_keep_the_quantile():
    key, h, inverse = random.key(2), 1e-5, stats.gamma.ppf

    def gamma(a):
        return random.gamma(key, a, (6,), "float64")

    def loggamma(a):
        return random.loggamma(key, a, (6,), "float64")

    with config.override(enable_x64=True):
        for a in (0.2, 1.0, 3.5):
            sample, slope = jacana.jvp(gamma, (a,), (1.0,))
            quantile = stats.gamma.cdf(sample, a)
            expected = (inverse(quantile, a + h) - inverse(quantile, a - h)) / (2 * h)
            np.testing.assert_allclose(slope, expected, 1e-6)
            _, in_log = jacana.jvp(loggamma, (a,), (1.0,))
            np.testing.assert_allclose(in_log, expected / sample, 1e-6)
        # Here samples underflow and their logarithms do not.
        slope = jacana.grad(lambda a: loggamma(a).sum())(1e-3)
        assert np.isfinite(slope)


ERRORS = (
    (lambda k: random.uniform(k, dtype=int), ValueError, "`uniform` must be a float dtype"),
    (lambda k: random.uniform(k, (2.5,)), TypeError, "Shapes must be 1D sequences"),
    (lambda k: random.uniform(k, (3,), minval=np.ones(2)), ValueError, "Incompatible shapes"),
    (lambda k: random.normal(k, dtype=int), ValueError, "float or complex dtype, got int32"),
    (lambda k: random.randint(k, (3,), 0, 9, float), TypeError, "only accepts integer dtypes"),
    (lambda k: random.randint(k, (3,), 0, 2**31), OverflowError, "too large to convert to int32"),
    (lambda k: random.bits(k, dtype=int), ValueError, "must be an unsigned int dtype"),
    (lambda k: random.bernoulli(k, 3), TypeError, "must have a floating dtype, got int32"),
    (lambda k: random.bernoulli(k, 0.5, (3,), "x"), ValueError, "expected 'high' or 'low'"),
    (lambda k: random.bernoulli(k, np.ones(3, np.float32), (2,)), ValueError, "Incompatible"),
    (lambda k: random.gumbel(k, mode="x"), ValueError, "Must provide valid mode"),
    (lambda k: random.choice(k, 0), ValueError, "a must be greater than 0"),
    (lambda k: random.choice(k, 5, (7,), replace=False), ValueError, "larger sample (size 7)"),
    (lambda k: random.choice(k, 5, (3,), p=np.ones(4)), ValueError, "p must be None or a 1D"),
    (lambda k: random.choice(k, [1, 2]), TypeError, "requires ndarray or scalar"),
    (lambda k: random.permutation(k, 1.5), TypeError, "x must be an integer or at least"),
    (lambda k: random.categorical(k, np.ones((3, 4)), shape=(4,)), ValueError, "Incompatible"),
    (lambda k: random.categorical(k, np.ones((3, 4)), shape=(5, 3), replace=False), ValueError,
     "cannot exceed number of categories (4)"),
    (lambda k: random.gamma(k, np.ones(3), (2,)), ValueError, "Incompatible shapes"),
    (lambda k: random.dirichlet(k, 1.0), ValueError, "alpha.ndim >= 1"),
    (lambda k: random.poisson(k, 2.0, dtype=float), ValueError, "must be an int dtype"),
    (lambda k: random.multivariate_normal(k, np.ones(2), np.eye(3)), ValueError, "n=2"),
    (lambda k: random.multivariate_normal(k, np.ones(2), np.eye(2), method="x"), ValueError,
     "method must be one of"),
)  # fmt: skip


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_errors(call, error, text):
    with pytest.raises(error) as raised:
        call(random.key(0))
    assert text in str(raised.value)
