"""Complex functions: their error against mpmath relative to the size, and C99's special values."""

import itertools
import math
import operator

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpc

from jacana.kernel import build, interpret
from jacana.kernel.math import complex as complex_math

INF, NAN = math.inf, math.nan
TYPES = ("float32", "float64")

NUMPY_NAMES = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
}  # fmt: skip

# The largest error allowed, in units of epsilon / 2 times the size of the result.
LIMITS = {
    "exp": 3, "exp2": 3, "expm1": 4, "log": 2, "log1p": 4, "sqrt": 3, "rsqrt": 4, "sign": 3,
    "logistic": 6, "sin": 4, "cos": 4, "tan": 5, "sinh": 4, "cosh": 4, "tanh": 5,
    "asin": 4, "acos": 4, "atan": 4, "asinh": 4, "acosh": 5, "atanh": 4,
}  # fmt: skip

REFERENCES = {
    "rsqrt": lambda z: 1 / mpmath.sqrt(z), "expm1": lambda z: mpmath.exp(z) - 1,
    "log1p": lambda z: mpmath.log(1 + z), "logistic": lambda z: 1 / (1 + mpmath.exp(-z)),
    "exp2": lambda z: mpmath.exp(z * mpmath.log(2)),
}  # fmt: skip


def run(name, type, re, im):
    parts = [np.asarray(a, type) for a in (re, im)]
    return interpret.evaluate(getattr(complex_math, name).function(type), *parts)


def error(got, want, type):
    info = np.finfo(type)
    size = abs(want)
    if not info.tiny * 4 < size < float(info.max) / 2:
        return 0.0
    return float(abs(mpc(*map(float, got)) - want) / size * 2 ** (info.nmant + 1))


def samples(type, rng, n=160):
    scale = rng.choice([1e-8, 1e-2, 0.5, 1, 5, 30], (2, n))
    re, im = rng.standard_normal((2, n)) * scale
    # Near 1, -1, i and -i.
    near = 10.0 ** rng.uniform(-7, 0, (2, n // 4)) * rng.choice([-1, 1], (2, n // 4))
    unit = rng.choice([-1, 1], n // 4) + near[0]
    re, im = np.concatenate([re, unit, near[1]]), np.concatenate([im, near[1], unit])
    return re.astype(type), im.astype(type)


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", LIMITS)
def test_error_relative_to_the_size(name, type, rng):
    re, im = samples(type, rng)
    reference = REFERENCES.get(name) or getattr(mpmath, name)
    with mp.workprec(300):
        found = [
            error(got, reference(mpc(float(x), float(y))), type)
            for x, y, *got in zip(re, im, *run(name, type, re, im))
        ]
    worst = int(np.argmax(found))
    assert found[worst] <= LIMITS[name], (re[worst], im[worst])


@pytest.mark.parametrize("type", TYPES)
def test_arithmetic(type, rng):
    a, b = samples(type, rng), samples(type, rng)
    for operation in (operator.add, operator.sub, operator.mul, operator.truediv):

        @build.function("arithmetic", *[type] * 4)
        def function(p, q, r, s, operation=operation):
            made = operation(complex_math.Complex(p, q), complex_math.Complex(r, s))
            return made.re, made.im

        got = interpret.evaluate(function, *a, *b)
        for x, y, u, v, *g in zip(*a, *b, *got):
            want = operation(mpc(float(x), float(y)), mpc(float(u), float(v)))
            if abs(want) > 1e-6:
                assert error(g, want, type) < 6


def test_division_of_special_values_is_that_of_numpy():
    points = [0.0, -0.0, 1.0, -1.0, 0.5, INF, -INF, NAN]
    parts = np.array(list(itertools.product(points, repeat=4))).T
    a, b = np.ascontiguousarray(parts.T).view(complex).T
    with np.errstate(all="ignore"):
        want = a / b
    re, im = interpret.evaluate(complex_math.divide.function("float64"), *parts)
    np.testing.assert_allclose(re, want.real, rtol=1e-15)
    np.testing.assert_allclose(im, want.imag, rtol=1e-15)


@pytest.mark.parametrize("type", TYPES)
def test_exp2_turns_by_any_angle(type):
    turns = np.array([1e3, 2.0**20, 1e12, 2.0**50, 1e30, np.finfo(type).max], type)
    re, im = run("exp2", type, np.full_like(turns, 0.25), turns)
    np.testing.assert_allclose(np.hypot(re, im), 2**0.25, rtol=4 * np.finfo(type).eps)
    exact = 2 if type == "float32" else 4
    with mp.workprec(300):
        for x, *got in zip(turns[:exact], re, im):
            assert error(got, REFERENCES["exp2"](mpc(0.25, float(x))), type) < 4


def test_powers(rng):
    (x, y), (u, v) = (rng.standard_normal((2, 2, 60)) * 3).astype("float64")
    re, im = interpret.evaluate(complex_math.pow.function("float64"), x, y, u, v)
    for a, b, c, d, *got in zip(x, y, u, v, re, im):
        assert error(got, mpc(a, b) ** mpc(c, d), "float64") < 60
    zero = interpret.evaluate(complex_math.pow.function("float64"), 0.0, 0.0, [0.0, 2.0], 0.0)
    assert [z.tolist() for z in zero] == [[1.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("type", TYPES)
def test_size_does_not_overflow_on_the_way(type):
    big, tiny = float(np.finfo(type).max) / 2, float(np.finfo(type).smallest_subnormal)

    @build.function("size", type, type)
    def size(re, im):
        return complex_math.abs(complex_math.Complex(re, im))

    (made,) = interpret.evaluate(size, [big, 3 * tiny, INF, NAN], [big, 4 * tiny, NAN, INF])
    want = np.array([big * math.sqrt(2), 5 * tiny, INF, INF], type)
    assert np.allclose(made, want, rtol=2e-7, atol=0, equal_nan=True)
    for name in ("sqrt", "log", "asinh", "acosh", "asin", "acos", "atan", "sign"):
        assert np.all(np.isfinite(run(name, type, [big, tiny, -big], [big, tiny, 1]))), name


# NumPy leaves these to formulas that give nan; C99 does not name them.
UNNAMED = ("expm1", "log1p", "exp2", "rsqrt", "sign", "logistic")


@pytest.mark.parametrize("name", [n for n in LIMITS if n not in UNNAMED])
def test_special_values_are_those_of_numpy(name):
    points = [0.0, -0.0, 1, -1, INF, -INF, NAN, 2.5, -2.5, 0.5]
    re, im = (a.ravel() for a in np.meshgrid(points, points))
    z = np.empty(re.shape, complex)
    z.real, z.imag = re, im
    with np.errstate(all="ignore"):
        want = getattr(np, NUMPY_NAMES.get(name, name))(z)
    for x, y, *got, w in zip(re, im, *run(name, "float64", re, im), want):
        for g, v, other in zip(got, (w.real, w.imag), (w.imag, w.real)):
            # Beside nan, and of zero at infinity, the sign is not specified.
            if math.isnan(other):
                g, v = abs(g), abs(v)
            assert math.isclose(g, v, rel_tol=1e-14, abs_tol=1e-16) or (g != g and v != v), (x, y)
            if g == 0 and math.isfinite(x) and math.isfinite(y) and math.isfinite(other):
                assert math.copysign(1, g) == math.copysign(1, v), (x, y)
