"""The coefficients of jacana/kernel/special: python bench/special_coefficients.py [NAME ...].

Interpolation at Chebyshev points in high precision, of the lowest degree that meets the accuracy
asked for, printed as a polynomial in x or, where a centre is given, in x - centre.
"""

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass

import mpmath
from mpmath import mp, mpf

mp.prec = 320
Function = Callable[[mpf], mpf]


@dataclass(frozen=True)
class Fit:
    """A function on [low, high] to a relative error of 2**-bits."""

    value: Function
    low: mpf | float
    high: mpf | float
    bits: float
    centred: bool = False
    less: float = 0.0  # taken from the constant term


def interpolate(value: Function, low: mpf, high: mpf, degree: int) -> list[mpf]:
    """Coefficients in x - (low + high) / 2."""
    middle, half, n = (low + high) / 2, (high - low) / 2, degree + 1
    angles = [mp.pi * (k + mpf(1) / 2) / n for k in range(n)]
    values = [value(middle + half * mpmath.cos(t)) for t in angles]
    made = [mpf(0)] * n
    before, current = [mpf(0)], [mpf(1)]  # Chebyshev polynomials
    for j in range(n):
        weight = sum(v * mpmath.cos(j * t) for v, t in zip(values, angles)) * (2 if j else 1) / n
        for i, c in enumerate(current):
            made[i] += weight * c
        double = [mpf(0)] + [(2 if j else 1) * c for c in current]
        after = [c - (before[i] if i < len(before) else 0) for i, c in enumerate(double)]
        before, current = current, after if j else double
    return [c / half**i for i, c in enumerate(made)]


def horner(coefficients: list[mpf], x: mpf) -> mpf:
    return mpmath.polyval(coefficients[::-1], x)


def shift(coefficients: list[mpf], centre: mpf) -> list[mpf]:
    """From powers of x - centre to powers of x."""
    made = [mpf(0)]
    for c in reversed(coefficients):
        longer = [mpf(0), *made]
        for i, v in enumerate(made):
            longer[i] -= centre * v
        longer[0] += c
        made = longer
    return made[: len(coefficients)]


def fit(f: Fit) -> tuple[list[mpf], mpf, mpf]:
    """Coefficients, the centre that they are for, and the largest relative error."""
    low, high = mpf(f.low), mpf(f.high)
    middle, points = (low + high) / 2, [(k + mpf("0.37")) / 60 for k in range(60)]
    xs = [low + (high - low) * p for p in points]
    values = [f.value(x) for x in xs]
    for degree in range(3, 40):
        made = interpolate(f.value, low, high, degree)
        error = max(abs(horner(made, x - middle) / v - 1) for x, v in zip(xs, values))
        if error < mpf(2) ** -f.bits:
            break
    if f.centred:
        return made, middle, error
    made = shift(made, middle)
    made[0] -= f.less
    return made, mpf(0), error


# --- functions ----------------------------------------------------------------------------------


def by_square(function: Function, power: int = 0) -> Function:
    """The function over x**power, of x**2."""
    return lambda z: function(mpmath.sqrt(z)) / mpmath.sqrt(z) ** power


def scaled_erfc(centre: float) -> Function:
    def value(t: mpf) -> mpf:
        x = centre * (1 + t) / (1 - t)
        return (1 + 2 * x) * mpmath.exp(x * x) * mpmath.erfc(x)

    return value


def tail_fit(centre: float, end: float, bits: float) -> Fit:
    low, high = (((mpf(x) - centre) / (mpf(x) + centre)) for x in (0.47, end))
    return Fit(scaled_erfc(centre), low, high, bits)


def erf_inv_ratio(w: mpf) -> mpf:
    """erf_inv(x) / x for w = -log(1 - x**2)."""
    x = mpmath.sqrt(-mpmath.expm1(-w))
    if w < 2:
        return mpmath.erfinv(x) / x
    rest = mpmath.log(mpmath.exp(-w) / (1 + x))
    return mpmath.findroot(lambda y: mpmath.log(mpmath.erfc(y)) - rest, mpmath.sqrt(w)) / x


def stirling_rest(u: mpf) -> mpf:
    x = 1 / mpmath.sqrt(u)
    main = (x - mpf(1) / 2) * mpmath.log(x) - x + mpmath.log(2 * mp.pi) / 2
    return (mpmath.loggamma(x) - main) * x


def digamma_rest(u: mpf) -> mpf:
    x = 1 / mpmath.sqrt(u)
    return (mpmath.log(x) - 1 / (2 * x) - mpmath.psi(0, x)) * x * x


def trigamma_rest(u: mpf) -> mpf:
    x = 1 / mpmath.sqrt(u)
    return (mpmath.psi(1, x) - 1 / x - 1 / (2 * x * x)) * x**3


def bessel_small(order: int) -> Function:
    return lambda t: mpmath.besseli(order, 2 * mpmath.sqrt(t)) / mpmath.sqrt(t) ** order


def bessel_large(order: int) -> Function:
    return lambda u: mpmath.besseli(order, 1 / u) * mpmath.exp(-1 / u) / mpmath.sqrt(u)


ZERO = mpf(10) ** -30
ROOT = mpmath.findroot(lambda x: mpmath.psi(0, x), 1.46)
ERF_OVER_X = by_square(mpmath.erf, 1)
FITS = {
    "ERF_SMALL float32": Fit(ERF_OVER_X, 1e-7, 1, 28, less=1.0),
    "ERF_SMALL float64": Fit(ERF_OVER_X, 1e-7, 1, 58, less=1.0),
    "LOG2_ERFC": Fit(lambda x: mpmath.log(mpmath.erfc(x), 2), 0.95, 4, 27),
    "EXP2": Fit(lambda f: mpf(2) ** f, -0.5, 0.5, 27),
    "ERFCX": tail_fit(3.75, 27.5, 58),
    "INVERSE_CENTRAL float32": Fit(erf_inv_ratio, 1e-9, 5, 26.5, centred=True),
    "INVERSE_CENTRAL float64": Fit(erf_inv_ratio, 1e-20, 6.25, 56, centred=True),
    "INVERSE_TAIL_SINGLE": Fit(
        lambda s: erf_inv_ratio(s * s), mpmath.sqrt(5), 4.1, 26.5, centred=True
    ),
    "INVERSE_TAIL_NEAR": Fit(lambda s: erf_inv_ratio(s * s), 2.5, 4, 56, centred=True),
    "INVERSE_TAIL_FAR": Fit(lambda s: erf_inv_ratio(s * s), 4, 6.06, 56, centred=True),
    "LGAMMA_AT_TWO": Fit(lambda z: mpmath.loggamma(2 + z) / z, -0.75, 0.5, 57),
    "RGAMMA_AT_TWO": Fit(lambda z: mpmath.rgamma(2 + z), -0.75, 0.5, 57),
    "STIRLING": Fit(stirling_rest, 1e-20, mpf(1) / 64, 52),
    "DIGAMMA_AT_ROOT": Fit(lambda x: mpmath.psi(0, x) / (x - ROOT), 1, 2, 57, centred=True),
    "DIGAMMA_LARGE": Fit(digamma_rest, 1e-20, mpf(1) / 64, 50),
    "TRIGAMMA_LARGE": Fit(trigamma_rest, 1e-20, mpf(1) / 64, 50),
    "SIN_PI": Fit(by_square(lambda x: mpmath.sin(mp.pi * x), 1), ZERO, 0.25, 58),
    "COS_PI": Fit(by_square(lambda x: mpmath.cos(mp.pi * x)), ZERO, 0.0626, 58),
    "ATANH": Fit(
        lambda z: (mpmath.atanh(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z, ZERO, 0.1112, 58
    ),
    "I0_SMALL float32": Fit(bessel_small(0), ZERO, 16, 28),
    "I0_SMALL float64": Fit(bessel_small(0), ZERO, 16, 57),
    "I1_SMALL float32": Fit(bessel_small(1), ZERO, 16, 28),
    "I1_SMALL float64": Fit(bessel_small(1), ZERO, 16, 57),
    "I0_LARGE float32": Fit(bessel_large(0), mpf("1e-5"), mpf(1) / 8, 27, centred=True),
    "I0_LARGE float64": Fit(bessel_large(0), mpf("1e-5"), mpf(1) / 8, 56, centred=True),
    "I1_LARGE float32": Fit(bessel_large(1), mpf("1e-5"), mpf(1) / 8, 27, centred=True),
    "I1_LARGE float64": Fit(bessel_large(1), mpf("1e-5"), mpf(1) / 8, 56, centred=True),
}


# --- the uniform expansion of the incomplete gamma functions, DLMF 8.12.7 to 8.12.12 ------------


def expansion_rows(orders: int, terms: int) -> list[list[mpf]]:
    """Row k: the Taylor coefficients of c_k(eta)."""
    mu = [mpf(0), mpf(1), mpf(1) / 3]  # mu - log(1 + mu) = eta**2 / 2
    for n in range(3, terms + 3):
        cross = sum(j * mu[j] * mu[n - j + 1] for j in range(2, n))
        mu.append((mu[n - 1] - cross) / (n + 1))
    rows = [[(n + 2) * mu[n + 2] for n in range(terms + 1)]]
    rows[0][0] = -mpf(1) / 3
    gammas = stirling_coefficients(orders)
    for k in range(1, orders):
        previous = rows[-1]
        rows.append(
            [
                (-1) ** k * gammas[k] * rows[0][n] + (n + 2) * previous[n + 2]
                for n in range(len(previous) - 2)
            ]
        )
    return rows


def stirling_coefficients(count: int) -> list[mpf]:
    """DLMF 5.11.5 and 5.11.6."""
    a = [1 / mpmath.sqrt(2)]
    for k in range(1, 2 * count):
        rest = a[k - 1] / k - sum(a[j] * a[k - j] / (j + 1) for j in range(1, k))
        a.append(rest / (a[0] * (1 + mpf(1) / (k + 1))))
    return [mpmath.sqrt(2) * mpmath.rf(mpf(1) / 2, k) * a[2 * k] for k in range(count)]


def uniform_rows() -> list[list[mpf]]:
    """The rows to 2**-57 in sum for a >= 20 and |x - a| <= 0.3 a."""
    low, high, made = mpf("-0.36"), mpf("0.29"), []
    xs = [low + (high - low) * k / 40 for k in range(41)]
    for k, row in enumerate(expansion_rows(12, 140)):
        value = functools.partial(horner, row)
        values = [value(x) for x in xs]
        for degree in range(40):
            c = shift(interpolate(value, low, high, degree), (low + high) / 2)
            error = max(abs(horner(c, x) - v) for x, v in zip(xs, values))
            if error < mpf(2) ** -57 * mpf(20) ** k:
                break
        made.append(c)
    return made


def show(coefficients: list[mpf], single: bool) -> str:
    return ", ".join(mpmath.nstr(c, 9) if single else repr(float(c)) for c in coefficients)


def main(*names: str) -> None:
    for name, f in FITS.items():
        if not names or name.split()[0] in names:
            made, centre, error = fit(f)
            place = f", centre {float(centre)!r}" if f.centred else ""
            print(f"# {name}: error 2**{float(mpmath.log(error, 2)):.1f}{place}")
            print(show(made, "float32" in name or name in ("LOG2_ERFC", "EXP2")))
    if not names or "UNIFORM" in names:
        print("# UNIFORM")
        for row in uniform_rows():
            print(f"({show(row, False)}),")


if __name__ == "__main__":
    main(*sys.argv[1:])
