"""Elementary functions: their error against mpmath, special values, symmetries, hard arguments.

`bench/every_float.py` measures every float32 and many more float64.
"""

import math

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

from jacana.kernel import build, interpret, math as kernel_math
from jacana.kernel.arithmetic import DTYPES

INF, NAN = math.inf, math.nan
TYPES = ("float32", "float64")

# The largest error in ulp that is allowed, in either type.
LIMITS = {
    "exp": 0.8, "exp2": 0.8, "expm1": 1.0, "log": 0.9, "log1p": 1.0, "logistic": 1.5, "sin": 0.8,
    "cos": 0.8, "tan": 1.03, "asin": 1.25, "acos": 1.25, "atan": 0.85, "sinh": 0.85, "cosh": 0.75,
    "tanh": 1.01, "asinh": 1.1, "acosh": 0.85, "atanh": 0.9, "cbrt": 0.51, "rsqrt": 0.51,
}  # fmt: skip

REFERENCES = {
    "exp2": lambda x: mpf(2) ** x, "logistic": lambda x: 1 / (1 + mpmath.exp(-x)),
    "rsqrt": lambda x: 1 / mpmath.sqrt(x), "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
}  # fmt: skip
POSITIVE = ("log", "rsqrt")
BOUNDED = ("asin", "acos", "atanh")


def run(name, type, *args):
    arrays = [np.asarray(a, DTYPES[type]) for a in args]
    return interpret.evaluate(getattr(kernel_math, name).function(type), *arrays)[0]


def exact(name, *args):
    """The function's value with 150 bits; nan where it is not real."""
    reference = REFERENCES.get(name) or getattr(mpmath, name)
    with mp.workprec(1300 if max(map(abs, args)) > 1e5 else 220):
        made = reference(*map(mpf, args))
        return made if isinstance(made, mpf) else mpf("nan")


def ulp_error(got, want, type):
    info = np.finfo(type)
    if mpmath.isnan(want) or mpmath.isinf(want):
        return 0.0 if same_bits(got, float(want), type) else INF
    size = max(abs(want), mpf(float(info.smallest_normal)))
    unit = mpf(2) ** (int(mpmath.floor(mpmath.log(size, 2))) - info.nmant)
    if math.isinf(got):
        overflow = mpf(float(info.max)) * (1 + mpf(2) ** -(info.nmant + 2))
        return 0.0 if abs(want) >= overflow and (want > 0) == (got > 0) else INF
    return float(abs(mpf(got) - want) / unit)


def worst(name, type, *args):
    got = run(name, type, *args).tolist()
    return max(
        ulp_error(g, exact(name, *x), type) for g, *x in zip(got, *[a.tolist() for a in args])
    )


def samples(name, type, rng, n=240):
    """Numbers of all scales that the function has finite values for."""
    limit = 37 if type == "float32" else 306
    near = rng.standard_normal(n) * rng.choice([0.05, 1.0, 20.0, 300.0], n)
    scales = 10.0 ** rng.uniform(-limit, limit, n // 4) * rng.choice([-1.0, 1.0], n // 4)
    small = 10.0 ** rng.uniform(-limit, 0, n // 4) * rng.choice([-1.0, 1.0], n // 4)
    x = np.concatenate([near, scales, small])
    if name in BOUNDED:
        x = np.concatenate([1 - 2 * rng.random(n), small, 1 - np.abs(small)])
    if name in POSITIVE:
        x = np.concatenate([np.abs(x), 1 + 0.3 * near[:50]])
    if name == "acosh":
        x = 1 + np.abs(x)
    if name == "log1p":
        x = np.where(x <= -1, -np.exp(-np.abs(x)), x)
    x = x[np.abs(x) < float(np.finfo(type).max)].astype(type)
    return x[(x != 0) & (x != -1)]


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", LIMITS)
def test_error_is_within_the_stated_limit(name, type, rng):
    assert worst(name, type, samples(name, type, rng)) <= LIMITS[name]


@pytest.mark.parametrize("type", TYPES)
def test_error_of_functions_of_two_arguments(type, rng):
    x = np.exp(rng.standard_normal(300) * rng.choice([0.01, 1, 20], 300)).astype(type)
    y = (rng.standard_normal(300) * rng.choice([0.1, 3, 100], 300)).astype(type)
    with mp.workprec(400):
        REFERENCES["pow"] = lambda a, b: a**b
        REFERENCES["hypot"] = mpmath.hypot
        assert worst("pow", type, x, y) <= 0.8
        assert worst("atan2", type, y, x * rng.choice([-1, 1], 300).astype(type)) <= 0.85
        assert worst("hypot", type, y, x) <= 0.9


# --- special values -----------------------------------------------------------------------------

# arguments, results
SPECIAL = {
    "exp": ((0.0, -0.0, INF, -INF, NAN, 1e4, -1e4), (1, 1, INF, 0.0, NAN, INF, 0.0)),
    "exp2": ((0.0, 10.0, -3.0, INF, -INF, NAN, -1e4), (1, 1024, 0.125, INF, 0.0, NAN, 0.0)),
    "expm1": ((0.0, -0.0, INF, -INF, NAN, -1e4, 1e4), (0.0, -0.0, INF, -1, NAN, -1, INF)),
    "log": ((1.0, 0.0, -0.0, -1.0, -INF, INF, NAN), (0.0, -INF, -INF, NAN, NAN, INF, NAN)),
    "log1p": ((0.0, -0.0, -1.0, -2.0, INF, -INF, NAN), (0.0, -0.0, -INF, NAN, INF, NAN, NAN)),
    "logistic": ((0.0, INF, -INF, NAN, 1e4, -1e4), (0.5, 1, 0.0, NAN, 1, 0.0)),
    "sin": ((0.0, -0.0, INF, -INF, NAN), (0.0, -0.0, NAN, NAN, NAN)),
    "cos": ((0.0, -0.0, INF, -INF, NAN), (1, 1, NAN, NAN, NAN)),
    "tan": ((0.0, -0.0, INF, -INF, NAN), (0.0, -0.0, NAN, NAN, NAN)),
    "asin": ((0.0, -0.0, 1.0, -1.0, 1.5, NAN), (0.0, -0.0, math.pi / 2, -math.pi / 2, NAN, NAN)),
    "acos": ((1.0, -1.0, 0.0, 1.5, -2.0, NAN), (0.0, math.pi, math.pi / 2, NAN, NAN, NAN)),
    "atan": ((0.0, -0.0, INF, -INF, NAN), (0.0, -0.0, math.pi / 2, -math.pi / 2, NAN)),
    "sinh": ((0.0, -0.0, INF, -INF, NAN, 1e4, -1e4), (0.0, -0.0, INF, -INF, NAN, INF, -INF)),
    "cosh": ((0.0, -0.0, INF, -INF, NAN, -1e4), (1, 1, INF, INF, NAN, INF)),
    "tanh": ((0.0, -0.0, INF, -INF, NAN, 30.0, -1e30), (0.0, -0.0, 1, -1, NAN, 1, -1)),
    "asinh": ((0.0, -0.0, INF, -INF, NAN), (0.0, -0.0, INF, -INF, NAN)),
    "acosh": ((1.0, 0.5, -3.0, INF, -INF, NAN), (0.0, NAN, NAN, INF, NAN, NAN)),
    "atanh": ((0.0, -0.0, 1.0, -1.0, 1.5, -INF, NAN), (0.0, -0.0, INF, -INF, NAN, NAN, NAN)),
    "cbrt": ((0.0, -0.0, 27.0, -8.0, INF, -INF, NAN), (0.0, -0.0, 3, -2, INF, -INF, NAN)),
    "rsqrt": ((0.0, -0.0, 4.0, -1.0, INF, NAN), (INF, -INF, 0.5, NAN, 0.0, NAN)),
}  # fmt: skip


def same_bits(got, want, type):
    want = np.asarray(want, DTYPES[type])
    with np.errstate(invalid="ignore"):  # bfloat16 is compared as float32, which quiets a nan
        same = (got == want) & (np.signbit(got) == np.signbit(want))
        return np.all(same | (got != got) & (want != want))


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name, type):
    x, want = SPECIAL[name]
    got = run(name, type, x)
    assert same_bits(got, want, type), got.tolist()


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", ["pow", "atan2", "hypot"])
def test_special_values_of_two_arguments_are_those_of_c(name, type):
    info = np.finfo(type)
    points = [0.0, 1, 2, 3, 0.5, 1.5, 1e10, 2.0**24 + 2, INF, NAN, info.tiny, info.max, info.eps]
    points = np.array([*points, *[-p for p in points]], type)
    x, y = (a.ravel() for a in np.meshgrid(points, points))
    function = {"pow": np.power, "atan2": np.arctan2, "hypot": np.hypot}[name]
    with np.errstate(all="ignore"):
        want = function(x.astype(np.longdouble), y.astype(np.longdouble)).astype(type)
        near = np.abs(run(name, type, x, y) - want) <= 2 * np.spacing(np.abs(want))
    got = run(name, type, x, y)
    regular = np.isfinite(want) & (want != 0)
    assert np.all(near[regular])
    assert same_bits(got[~regular], want[~regular], type)


def test_powers_that_ieee_754_names():
    cases = [
        (0, -1, INF), (-0.0, -1, -INF), (-0.0, -2, INF), (-2, 3, -8), (-2, 2, 4), (-2, 0.5, NAN),
        (1, NAN, 1), (NAN, 0, 1), (NAN, 1, NAN), (-1, INF, 1), (-1, -INF, 1), (0.5, INF, 0),
        (2, -INF, 0), (-INF, 3, -INF), (-INF, -3, -0.0), (-INF, 0.5, INF), (INF, -0.5, 0),
        (10, 2, 100), (2, 10, 1024), (2, 0.5, math.sqrt(2)), (0, 0, 1), (3, 1, 3), (-0.0, 3, -0.0),
    ]  # fmt: skip
    x, y, want = zip(*cases)
    for type in TYPES:
        assert same_bits(run("pow", type, x, y), want, type)


@pytest.mark.parametrize("type", TYPES)
def test_results_may_be_subnormal(type):
    info = np.finfo(type)
    low, high = math.log(float(info.smallest_subnormal)) - 0.7, math.log(float(info.tiny))
    x = np.linspace(low, high, 150).astype(type)
    assert worst("exp", type, x) <= 0.8
    assert worst("logistic", type, x) <= 1.5
    tiny = (np.arange(1, 50) * info.smallest_subnormal).astype(type)
    for name in ("sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "expm1", "log1p"):
        assert same_bits(run(name, type, tiny), tiny, type), name
    for name in ("log", "cbrt", "rsqrt"):
        assert worst(name, type, tiny) <= 1


# --- symmetry and order -------------------------------------------------------------------------


@pytest.mark.parametrize("type", TYPES)
def test_odd_and_even_functions_are_so_to_the_bit(type, rng):
    x = (rng.standard_normal(500) * rng.choice([0.1, 1, 50, 1e12], 500)).astype(type)
    for name in ("sin", "tan", "sinh", "tanh", "asinh", "atan", "cbrt"):
        assert same_bits(run(name, type, -x), -run(name, type, x), type), name
    for name in ("cos", "cosh"):
        assert same_bits(run(name, type, -x), run(name, type, x), type), name


@pytest.mark.parametrize(
    "name", ["exp", "log", "tanh", "logistic", "expm1", "cbrt", "sinh", "atan"]
)
def test_neighbours_are_in_order(name):
    for start in (0.5, 1.0, 0.34657, 0.70710678, 2.4142, 0.41421, 8.9):
        bits = np.float32(start).view(np.int32) + np.arange(-3000, 3000, dtype=np.int32)
        made = run(name, "float32", bits.view(np.float32))
        assert np.all(np.diff(made) >= -1.2e-7 * np.abs(made[1:])), start


# --- hard arguments -----------------------------------------------------------------------------


def test_large_angles_are_reduced_exactly():
    # The last one is the float64 closest to a multiple of pi / 2.
    angles = [1e22, 1e300, 2.0**1023, 1e9 + 0.5, 6381956970095103.0 * 2.0**797]
    for name in ("sin", "cos", "tan"):
        assert worst(name, "float64", np.array(angles + [-a for a in angles])) <= 1
    assert run("sin", "float64", [1e22])[0] == -0.8522008497671888
    angles = np.array([1e30, 3.4e38, 48000.0, 48000.004, 1e5, 16367173 * 2.0**72], np.float32)
    for name in ("sin", "cos", "tan"):
        assert worst(name, "float32", angles) <= 1


def nearest_to_multiples_of_half_pi(digits, exponent):
    """m * 2**exponent for m that are denominators of convergents of 2**exponent / (pi / 2)."""
    with mp.workprec(1500):
        rest = mpf(2) ** exponent / (mp.pi / 2)
        last, before = 0, 1
        while last < 2**digits:
            if last > 2 ** (digits - 5):
                yield float(mpf(last) * mpf(2) ** exponent)
            whole = int(mpmath.floor(rest))
            last, before = whole * last + before, last
            rest = 1 / (rest - whole)


@pytest.mark.parametrize("type", TYPES)
def test_angles_closest_to_multiples_of_half_pi(type):
    digits = np.finfo(type).nmant + 1
    exponents = range(-digits + 2, 960 if type == "float64" else 100, 23)
    x = np.array([x for e in exponents for x in nearest_to_multiples_of_half_pi(digits, e)], type)
    assert len(x) >= 10
    for name in ("sin", "cos", "tan"):
        assert worst(name, type, x) <= 0.51


@pytest.mark.parametrize("type", TYPES)
def test_zeros_of_sine_and_cosine(type):
    k = np.arange(1, 400)
    for name, shift in (("sin", 0.0), ("cos", 0.5), ("tan", 0.0)):
        assert worst(name, type, ((k - shift) * math.pi).astype(type)) <= 1


def test_values_that_documents_show():
    assert run("exp", "float32", [0, 1, 2]).tolist() == [1.0, *np.float32([2.7182817, 7.389056])]
    assert run("tanh", "float32", [1])[0] == np.float32(0.7615942)
    assert run("pow", "float64", [10], [-3])[0] == 1e-3


# --- other types, parts of floats ---------------------------------------------------------------


@pytest.mark.parametrize("type", ["float16", "bfloat16"])
def test_short_floats_are_rounded_once(type, rng):
    x = (rng.standard_normal(300) * 3).astype(DTYPES[type])
    want = np.tanh(x.astype(np.float64)).astype(np.float32).astype(DTYPES[type])
    assert same_bits(run("tanh", type, x), want, type)


ALL_FLOATS = ("float16", "bfloat16", "float32", "float64")


def parts(function, types, *args):
    made = build.function("parts", *types)(function)
    return interpret.evaluate(made, *[np.asarray(a, DTYPES[t]) for a, t in zip(args, types)])


def any_floats(type, rng, n=3000):
    width = DTYPES[type].itemsize
    bits = rng.integers(0, 1 << 8 * width, n, np.uint64).astype(f"u{width}")
    fixed = np.array([0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, INF, -INF, NAN])
    return np.concatenate([bits.view(DTYPES[type]), fixed.astype(DTYPES[type])])


@pytest.mark.parametrize("type", ALL_FLOATS)
def test_parts_of_floats(type, rng):
    x = any_floats(type, rng)
    with np.errstate(invalid="ignore"):  # a signalling nan becomes a quiet one
        wide = x.astype(np.float64)
    (sign,) = parts(kernel_math.sign, [type], x)
    assert same_bits(sign, np.where(wide == 0, wide, np.sign(wide)).astype(DTYPES[type]), type)
    (finite,) = parts(kernel_math.is_finite, [type], x)
    assert np.array_equal(finite, np.isfinite(wide))
    mantissa, exponent = parts(kernel_math.frexp, [type], x)
    want_mantissa, want_exponent = np.frexp(wide)
    assert same_bits(mantissa, want_mantissa.astype(DTYPES[type]), type)
    assert np.array_equal(exponent, want_exponent)
    (rounded,) = parts(kernel_math.round_away_from_zero, [type], x)
    size = np.abs(wide)
    with np.errstate(invalid="ignore"):
        whole = np.floor(size) + (size - np.floor(size) >= 0.5)
    assert same_bits(rounded, np.copysign(whole, wide).astype(DTYPES[type]), type)


@pytest.mark.parametrize("type", ALL_FLOATS)
def test_scaling_and_neighbours(type, rng):
    x, y = any_floats(type, rng), any_floats(type, rng)
    n = rng.integers(-2500 if type == "float64" else -300, 2500, len(x), np.int32)
    n = np.where(rng.random(len(x)) < 0.5, n, rng.integers(-150, 150, len(x), np.int32))
    (scaled,) = parts(kernel_math.ldexp, [type, "int32"], x, n)
    with np.errstate(all="ignore"):
        if type == "float64":
            want = np.ldexp(x, n)
        else:
            # Exact in float64, or beyond the range of the type either way.
            want = np.ldexp(x.astype(np.float64), np.clip(n, -700, 700)).astype(DTYPES[type])
        assert same_bits(scaled, want, type)
        (following,) = parts(kernel_math.nextafter, [type, type], x, y)
        assert same_bits(following, np.nextafter(x, y), type)
