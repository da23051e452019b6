"""Sums of exponentials, standardize and one_hot: values, masks and their derivatives."""

import numpy as np
import pytest
from scipy import special

import jacana
import jacana.numpy as jnp
from jacana import nn

X = np.array([[1.0, -2.0, 0.5], [3.0, 3.5, -40.0]])
MASK = np.array([[True, False, True], [False, False, False]])
GRAD = jacana.grad


@pytest.fixture(autouse=True)
def float64():
    with jacana.enable_x64(True):
        yield


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), [1]])
def test_values(axis):
    at = tuple(axis) if isinstance(axis, list) else axis
    for keep in (False, True):
        got = nn.logsumexp(X, axis, keepdims=keep)
        np.testing.assert_allclose(got, special.logsumexp(X, at, keepdims=keep), rtol=1e-14)
        mean = np.log(np.mean(np.exp(X), axis=at, keepdims=keep))
        np.testing.assert_allclose(nn.logmeanexp(X, axis, keepdims=keep), mean, rtol=1e-13)
    np.testing.assert_allclose(nn.softmax(X, axis), special.softmax(X, at), rtol=1e-14)
    np.testing.assert_allclose(nn.log_softmax(X, axis), special.log_softmax(X, at), rtol=1e-13)


def test_factors_and_signs():
    b = np.array([2.0, -1.0, 0.0])
    out, sign = nn.logsumexp(X, 1, b=b, return_sign=True)
    want, want_sign = special.logsumexp(X, 1, b=b, return_sign=True)
    np.testing.assert_allclose(out, want, rtol=1e-14)
    assert sign.tolist() == want_sign.tolist()
    assert np.isnan(nn.logsumexp(np.array([0.0]), b=-1.0))
    # Where the factor is 0 an infinite term does not matter.
    f = lambda a: nn.logsumexp(a, b=np.array([1.0, 0.0]))
    assert f(np.array([2.0, np.inf])) == 2
    assert GRAD(f)(np.array([2.0, np.inf])).tolist() == [1, 0]


def test_complex():
    a = np.array([1 + 2j, 3 - 1j])
    np.testing.assert_allclose(nn.logsumexp(a), special.logsumexp(a), rtol=1e-14)


@pytest.mark.parametrize(
    "f", [nn.logsumexp, lambda x, where=None: nn.log_softmax(x, where=where)[0]]
)
@pytest.mark.parametrize("big", [1e4, 1e300, np.inf, -np.inf])
def test_masked_elements_have_no_influence(big, f):
    x = np.array([0.0, big, 1.0])
    mask = np.array([True, False, True])
    left = x[mask]
    np.testing.assert_allclose(f(x, where=mask), f(left), rtol=1e-14)
    got = GRAD(lambda x: f(x, where=mask))(x)
    np.testing.assert_allclose(got[mask], GRAD(f)(left), rtol=1e-14)
    assert got[1] == 0
    assert nn.softmax(x, where=mask)[1] == 0


def test_nothing_to_sum():
    assert np.isfinite(GRAD(lambda x: nn.logsumexp(x, 1, where=MASK)[0].sum())(X)).all()
    assert np.isfinite(GRAD(lambda x: nn.softmax(x, 1, where=MASK)[0].sum())(X)).all()
    assert nn.logsumexp(X, 1, where=MASK)[1] == -np.inf
    assert nn.softmax(X, 1, where=MASK)[1].tolist() == [0, 0, 0]
    assert nn.logsumexp(np.full(3, -np.inf)) == -np.inf
    assert GRAD(nn.logsumexp)(np.full(3, -np.inf)).tolist() == [0, 0, 0]
    assert nn.logsumexp(np.zeros(0)) == -np.inf


@pytest.mark.parametrize("f", [nn.softmax, nn.log_softmax])
def test_jacobian(f):
    p = special.softmax(X[0])
    want = np.diag(p) - np.outer(p, p) if f is nn.softmax else np.eye(3) - p
    for jacobian in (jacana.jacfwd, jacana.jacrev):
        np.testing.assert_allclose(jacobian(f)(X[0]), want, rtol=1e-13, atol=1e-15)


def test_standardize():
    x = X + 1e6
    want = (X - X.mean(1, keepdims=True)) / np.sqrt(X.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(nn.standardize(x), want, rtol=1e-8)
    got = nn.standardize(X, mean=1.0, variance=3.0, epsilon=1.0)
    np.testing.assert_allclose(got, (X - 1) / 2, rtol=1e-14)
    where = np.array([[True, True, False]])
    m, v = X[:, :2].mean(1, keepdims=True), X[:, :2].var(1, keepdims=True)
    np.testing.assert_allclose(nn.standardize(X, where=where), (X - m) / np.sqrt(v + 1e-5))
    with pytest.raises(ValueError, match="Expected 'fast' or 'stable'"):
        nn.standardize(X, algorithm="quick")


def test_one_hot():
    assert nn.one_hot(jnp.array([2, -1, 3]), 3).tolist() == [[0, 0, 1], [0, 0, 0], [0, 0, 0]]
    assert nn.one_hot(jnp.array([[0, 2]]), 3, axis=0, dtype=bool).shape == (3, 1, 2)
    assert nn.one_hot([1], 2).dtype == np.float64
    assert nn.one_hot(1, 0).shape == (0,)
    with pytest.raises(TypeError, match="not negative, got -1"):
        nn.one_hot(1, -1)
