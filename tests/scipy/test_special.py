"""Special functions: values against SciPy in float64, and derivatives against differences."""

import numpy as np
import pytest
from scipy import special as reference

import jacana
import jacana.numpy as jnp
from jacana.scipy import special

FILES = ["gamma_functions", "error_functions", "entropies", "bessel", "integrals"]
ALL = np.array([-20.3, -3.7, -1.2, -0.4, 0.3, 0.9, 2.2, 7.6, 25.1])
ABOVE = np.array([0.3, 0.9, 1.4, 1.6, 2.2, 7.6, 25.1, 45.0])
UNIT = np.array([0.01, 0.1, 0.3, 0.49, 0.7, 0.95, 0.99])
OF_ONE = {
    "erf": ALL, "erfc": ALL, "erfcx": ALL, "ndtr": ALL, "log_ndtr": ALL, "expit": ALL, "i0": ALL,
    "i0e": ALL, "i1": ALL, "i1e": ALL, "gammaln": ABOVE, "gamma": ALL, "gammasgn": ALL,
    "digamma": ABOVE, "erfinv": UNIT, "ndtri": UNIT, "logit": UNIT, "entr": ABOVE, "exp1": ABOVE,
    "expi": np.concatenate([-ABOVE, ABOVE]), "factorial": np.arange(20.0),
}  # fmt: skip
OF_TWO = {
    "beta": (ABOVE, ABOVE[::-1]), "betaln": (ABOVE, ABOVE[::-1]), "xlogy": (ALL, ABOVE[0]),
    "xlog1py": (ALL, ABOVE[0]), "rel_entr": (ABOVE, ABOVE[::-1]), "kl_div": (ABOVE, ABOVE[::-1]),
    "gammainc": (ABOVE, ABOVE[::-1]), "gammaincc": (ABOVE, ABOVE[::-1]),
    "poch": (ABOVE, ABOVE[::-1]), "zeta": (ABOVE + 1, ABOVE[::-1]),
    "boxcox": (ABOVE, ALL[1:] / 30), "boxcox1p": (ABOVE, ALL[1:] / 30),
}  # fmt: skip
# Derivatives are taken in these operands.
ONLY = {"zeta": [1], "gammasgn": [], "factorial": []}


@pytest.mark.parametrize("name", [*OF_ONE, *OF_TWO])
def test_values_and_derivatives(name):
    operands = OF_TWO[name] if name in OF_TWO else (OF_ONE[name],)
    operands = np.broadcast_arrays(*operands)
    f, want = getattr(special, name), getattr(reference, name)(*operands)
    with jacana.enable_x64(True):
        np.testing.assert_allclose(f(*operands), want, rtol=3e-12)
        for i in ONLY.get(name, range(len(operands))):
            h = 1e-6 * np.maximum(np.minimum(np.abs(operands[i]), np.abs(1 - operands[i])), 1e-4)
            up, down = ([x + s * h * (j == i) for j, x in enumerate(operands)] for s in (1, -1))
            numeric = (np.asarray(f(*up)) - np.asarray(f(*down))) / (2 * h)
            got = jacana.vmap(jacana.grad(f, i))(*operands)
            noise = 1e-15 * np.abs(want) / h
            assert (np.abs(got - numeric) <= 1e-4 * np.abs(numeric) + 10 * noise).all(), (name, i)


@pytest.mark.parametrize("name", OF_ONE)
def test_no_nan_at_the_ends(name):
    f = getattr(special, name)
    ends = {"ALL": [-np.inf, -1e30, 0.0, 1e30, np.inf], "UNIT": [0.0, 1.0]}
    points = np.float32(ends["UNIT" if OF_ONE[name] is UNIT else "ALL"])
    if OF_ONE[name] is not ALL:
        points = points[points >= 0]
    if name in ("digamma", "gamma", "gammasgn"):
        points = points[points > 0]
    assert not np.isnan(f(points)).any(), f(points)


def test_derivatives_at_edges():
    grad = jacana.grad
    assert grad(special.entr)(0.0) == np.inf
    assert grad(special.xlogy, 0)(0.0, 2.0) == np.float32(np.log(2))
    assert [grad(special.xlogy, i)(0.0, 0.0) for i in (0, 1)] == [0, 0]
    assert [grad(special.xlog1py, i)(0.0, -1.0) for i in (0, 1)] == [0, 0]
    assert [grad(special.rel_entr, i)(0.0, 0.0) for i in (0, 1)] == [0, 0]
    np.testing.assert_allclose(grad(special.log_ndtr)(-1e30), 1e30, rtol=1e-6)
    assert grad(special.log_ndtr)(np.inf) == grad(special.ndtr)(-np.inf) == 0
    assert grad(special.logit)(0.0) == grad(special.logit)(1.0) == np.inf
    np.testing.assert_allclose(grad(special.boxcox, 1)(2.0, 0.0), np.log(2) ** 2 / 2, rtol=1e-6)


def test_zero_times_infinity():
    x, y = np.float32([0, 0, 0, 0, 1]), np.float32([np.nan, -1, np.inf, 0, np.nan])
    np.testing.assert_array_equal(special.xlogy(x, y), [np.nan, 0, 0, 0, np.nan])
    p, q = np.float32([0, 0, 0, 1, -1, 1]), np.float32([0, -1, 1, 0, 1, -1])
    np.testing.assert_array_equal(special.rel_entr(p, q), reference.rel_entr(p, q))


def test_float32_is_exact_where_exponentials_magnify():
    x = np.float32([3, 10.5, 30])
    np.testing.assert_allclose(special.gamma(x), reference.gamma(np.float64(x)), rtol=1e-7)
    assert special.factorial(jnp.array([-1, 0, 5, 10])).tolist() == [0, 1, 120, 3628800]
    assert [float(special.comb(5, k)) for k in (-1, 0, 2, 5, 6)] == [0, 1, 10, 1, 0]
    assert special.comb(5, 2, repetition=True) == 15


def test_half_precision():
    x = np.float32([-3, 0, 5, 9, 50])
    for name in ("erfcx", "log_ndtr"):
        got = getattr(special, name)(jnp.asarray(x, "float16")).astype("float32")
        np.testing.assert_allclose(got, getattr(reference, name)(x), rtol=2e-3, atol=1e-6)


@pytest.mark.parametrize("n", [0, 1, 2, 5, 30])
def test_expn(n):
    x = np.array([1e-3, 0.5, 1.4, 1.6, 8.0, 60.0])
    with jacana.enable_x64(True):
        np.testing.assert_allclose(special.expn(n, x), reference.expn(n, x), rtol=1e-13)
        if n:
            slope = jacana.vmap(jacana.grad(special.expn, 1), (None, 0))(float(n), x)
            np.testing.assert_allclose(slope, -reference.expn(n - 1, x), rtol=1e-11)


def test_sequences():
    with jacana.enable_x64(True):
        np.testing.assert_allclose(special.bernoulli(30), reference.bernoulli(30), rtol=1e-11)
        z = np.array([-12.0, -0.5, 0.0, 1e-3, 3.0, 15.0])
        want = [reference.jv(v, z) for v in range(4)]
        np.testing.assert_allclose(special.bessel_jn(z, v=3), want, rtol=1e-12, atol=1e-15)
        got = special.multigammaln(3.5, 3)
        np.testing.assert_allclose(got, reference.multigammaln(3.5, 3), rtol=1e-14)
        got = special.polygamma(np.arange(4), 1.5)
        np.testing.assert_allclose(got, reference.polygamma(np.arange(4), 1.5), rtol=1e-12)
        np.testing.assert_allclose(special.softmax(z), reference.softmax(z), rtol=1e-14)
        np.testing.assert_allclose(special.log_softmax(z), reference.log_softmax(z), rtol=1e-14)


def test_bad_arguments():
    with pytest.raises(TypeError, match="function of real numbers"):
        special.gammaln(1j)
    with pytest.raises(TypeError, match="integer order"):
        special.polygamma(1.5, 2.0)
    with pytest.raises(NotImplementedError, match=r"math\.factorial"):
        special.factorial(3, exact=True)
    with pytest.raises(NotImplementedError, match="hyp2f1 is not there yet"):
        special.hyp2f1(1.0, 2.0, 3.0, 0.5)
    with pytest.raises(ValueError, match="non-negative integer, got -1"):
        special.bernoulli(-1)
    with pytest.raises(ValueError, match="0 <= v < n_iter"):
        special.bessel_jn(1.0, v=60)
