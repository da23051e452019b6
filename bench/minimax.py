"""The polynomial coefficients of jacana/kernel/math: python bench/minimax.py NAME [TYPE | pieces].

Remez exchange on a dense Chebyshev grid in 60-digit arithmetic. Coefficients are rounded to the
type one after the other, from the constant term on, and the rest fitted again after each.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import mpmath
from mpmath import mp, mpf

mp.prec = 200
POINTS = 500


@dataclass(frozen=True)
class Fit:
    """p(x) fits `value` on [low, high]; weight * (p - value) is the error of the function."""

    value: Callable[[mpf], mpf]
    weight: Callable[[mpf], mpf]
    low: mpf
    high: mpf
    degree: dict[str, int]  # per float type


def series(first: int, term: Callable[[int], mpf], x: mpf) -> mpf:
    """The sum of term(n) * x**(n - first) over n >= first, for small x."""
    return mpmath.nsum(lambda n: term(int(n)) * x ** (int(n) - first), [first, first + 60])


def in_square(
    function: Callable[[mpf], mpf], head: Callable[[mpf], mpf], power: int
) -> tuple[Callable[[mpf], mpf], Callable[[mpf], mpf]]:
    """Value and weight of (function(x) - head(x)) / x**power as a function of x * x."""

    def value(z: mpf) -> mpf:
        x = mpmath.sqrt(z)
        with mpmath.workprec(600):
            return (function(x) - head(x)) / x**power

    def weight(z: mpf) -> mpf:
        x = mpmath.sqrt(z)
        return x**power / function(x)

    return value, weight


HALF_LN2 = mpmath.log(2) / 2 * mpf("1.0001")
QUARTER_PI = mp.pi / 4 * mpf("1.0001")
ROOT2 = mpmath.sqrt(2)
TINY = mpf(10) ** -20
ATANH_END = ((ROOT2 - 1) / (ROOT2 + 1)) ** 2 * mpf("1.0001")


def square_fit(
    function: Callable[[mpf], mpf],
    head: Callable[[mpf], mpf],
    power: int,
    high: mpf,
    degree: dict[str, int],
) -> Fit:
    value, weight = in_square(function, head, power)
    return Fit(value, weight, TINY, high, degree)


def degrees(single: int, double: int) -> dict[str, int]:
    return {"float32": single, "float64": double}


def atanh2(s: mpf) -> mpf:
    return mpmath.log1p(s) - mpmath.log1p(-s)


FITS = {
    # e**r = 1 + r + r**2 * p(r); the error is relative to expm1
    "exp": Fit(
        lambda r: (mpmath.expm1(r) - r) / r**2 if r else mpf(1) / 2,
        lambda r: r**2 / mpmath.expm1(r) if r else mpf(0),
        -HALF_LN2, HALF_LN2, degrees(4, 9),
    ),
    "sinh": square_fit(mpmath.sinh, lambda x: x, 3, HALF_LN2**2, degrees(2, 4)),
    "cosh": square_fit(mpmath.cosh, lambda x: mpf(1), 2, HALF_LN2**2, degrees(2, 5)),
    "sin": square_fit(mpmath.sin, lambda x: x, 3, QUARTER_PI**2, degrees(2, 5)),
    "cos": square_fit(mpmath.cos, lambda x: 1 - x * x / 2, 4, QUARTER_PI**2, degrees(2, 5)),
    # log(1 + f) = f - f**2 / 2 + f**3 * p(f)
    "log": Fit(
        lambda f: (mpmath.log1p(f) - f + f * f / 2) / f**3 if f else mpf(1) / 3,
        lambda f: f**3 / mpmath.log1p(f) if f else mpf(0),
        1 / ROOT2 - 1, ROOT2 - 1, degrees(8, 20),
    ),
    # log((1 + s) / (1 - s)) = 2 s + s**3 * p(s**2), and with two terms apart
    "atanh": square_fit(atanh2, lambda s: 2 * s, 3, ATANH_END, degrees(3, 6)),
    "atanh_tail": square_fit(
        atanh2, lambda s: 2 * s + 2 * s**3 / 3, 5, ATANH_END, degrees(3, 7)
    ),
    "asin": square_fit(mpmath.asin, lambda x: x, 3, mpf("0.2501"), degrees(4, 11)),
    "atan": square_fit(
        mpmath.atan, lambda x: x, 3, (ROOT2 - 1) ** 2 * mpf("1.0001"), degrees(4, 10)
    ),
    # the inverse cube root of 1 <= m < 2
    "cbrt": Fit(
        lambda m: m ** (-mpf(1) / 3), lambda m: m ** (mpf(1) / 3), mpf(1), mpf(2), degrees(3, 4)
    ),
}  # fmt: skip


def round_to(type: str, x: mpf) -> mpf:
    with mpmath.workprec(24 if type == "float32" else 53):
        return +x


def horner(coefficients: list[mpf], x: mpf) -> mpf:
    total = mpf(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def remez(xs: list[mpf], values: list[mpf], weights: list[mpf], count: int) -> list[mpf]:
    """Coefficients that make the largest weighted error on the grid smallest."""
    n = len(xs)
    nodes = [round(k * (n - 1) / count) for k in range(count + 1)]
    best: list[mpf] = []
    for _ in range(12):
        rows = [
            [weights[i] * xs[i] ** j for j in range(count)] + [mpf((-1) ** k)]
            for k, i in enumerate(nodes)
        ]
        right = [weights[i] * values[i] for i in nodes]
        solved = list(mpmath.lu_solve(mpmath.matrix(rows), mpmath.matrix(right)))
        best = solved[:count]
        errors = [w * (horner(best, x) - v) for x, v, w in zip(xs, values, weights)]
        nodes = alternating(errors, count + 1)
        if max(map(abs, errors)) < abs(solved[-1]) * mpf("1.001"):
            break
    return best


def alternating(errors: list[mpf], count: int) -> list[int]:
    """Indices of `count` extremes of alternating sign, the largest that there are."""
    chosen: list[int] = []
    for i, e in enumerate(errors):
        if chosen and (errors[chosen[-1]] > 0) == (e > 0):
            if abs(e) > abs(errors[chosen[-1]]):
                chosen[-1] = i
        else:
            chosen.append(i)
    while len(chosen) > count:
        ends = abs(errors[chosen[0]]) < abs(errors[chosen[-1]])
        if len(chosen) == count + 1:
            chosen.pop(0 if ends else -1)
            continue
        k = min(range(len(chosen)), key=lambda k: abs(errors[chosen[k]]))
        if 0 < k < len(chosen) - 1:
            del chosen[k + (abs(errors[chosen[k + 1]]) < abs(errors[chosen[k - 1]]))]
            chosen.pop(k - (k >= len(chosen)))
        else:
            chosen.pop(k)
    return chosen


def least_squares(
    xs: list[mpf], values: list[mpf], weights: list[mpf], first: int, count: int
) -> list[mpf]:
    """Coefficients of x**first ... with the smallest sum of squares of weighted errors."""
    rows = [[w * x ** (first + j) for j in range(count)] for x, w in zip(xs, weights)]
    a, b = mpmath.matrix(rows), mpmath.matrix([w * v for w, v in zip(weights, values)])
    return list(mpmath.lu_solve(a.T * a, a.T * b))


def fit(f: Fit, type: str, degree: int) -> tuple[list[mpf], mpf, mpf]:
    """The rounded coefficients, constant term first, and the largest error before and after."""
    middle, half = (f.high + f.low) / 2, (f.high - f.low) / 2
    xs = [middle - half * mpmath.cos(mp.pi * k / (POINTS - 1)) for k in range(POINTS)]
    values, weights = [f.value(x) for x in xs], [abs(f.weight(x)) for x in xs]
    best = remez(xs, values, weights, degree + 1)

    def error(coefficients: list[mpf]) -> mpf:
        return max(abs(w * (horner(coefficients, x) - v)) for x, v, w in zip(xs, values, weights))

    near, near_weights = xs[::9], weights[::9]
    rest, fixed = best, list[mpf]()
    while rest:
        fixed.append(round_to(type, rest[0]))
        target = [horner(best, x) - horner(fixed, x) for x in near]
        count = degree + 1 - len(fixed)
        rest = least_squares(near, target, near_weights, len(fixed), count) if count else []
    return fixed, error(best), error(fixed)


def erfcx(x: mpf) -> mpf:
    return mpmath.exp(x * x) * mpmath.erfc(x)


# Functions in 16 pieces (kernel/math/piecewise.py): width of a piece, degree, first coefficients of
# piece 0. With these widths the values at the centres are close to numbers of the type.
PIECES: dict[str, tuple[Callable[[mpf], mpf], float, int, tuple[int, ...]]] = {
    "tanh": (mpmath.tanh, 0.5831444263458252, 7, (0, 1)),
    "erf": (mpmath.erf, 0.25416484475135803, 6, (0,)),
    "erfcx": (erfcx, 0.6633871793746948, 7, (1,)),
}


def piece(name: str, number: int) -> tuple[list[mpf], mpf]:
    """The coefficients of one piece in the distance from its centre, and the largest error."""
    function, width, degree, known = PIECES[name]
    centre, half = number * mpf(width), mpf(width) / 2 * mpf("1.0001")
    head = [mpf(c) for c in known] if number == 0 else [round_to("float32", function(centre))]
    power = len(head)

    def value(t: mpf) -> mpf:
        with mpmath.workprec(400):
            return (function(centre + t) - horner(head, t)) / t**power

    def weight(t: mpf) -> mpf:
        return t**power / function(centre + t)

    low = -half if number else TINY
    found, _, error = fit(Fit(value, weight, low, half, {}), "float32", degree - power)
    return head + found, error


def write_pieces(name: str) -> None:
    """A table for each coefficient."""
    found = [piece(name, number) for number in range(16)]
    worst = float(mpmath.log(max(error for _, error in found), 2))
    print(f"# {name} in pieces: error after rounding 2**{worst:.1f}")
    for column in zip(*[coefficients for coefficients, _ in found], strict=True):
        print(f"    ({', '.join(mpmath.nstr(c, 9) for c in column)}),")


def main(name: str, *types: str) -> None:
    if types == ("pieces",):
        write_pieces(name)
        return
    for type in types or ("float32", "float64"):
        f = FITS[name]
        coefficients, before, error = fit(f, type, f.degree[type])
        size = ", ".join(f"2**{float(mpmath.log(e, 2)):.1f}" for e in (before, error))
        print(f"# {name} {type}: error before and after rounding {size}")
        digits = 9 if type == "float32" else 17
        print(", ".join(mpmath.nstr(c, digits, min_fixed=-3, max_fixed=3) for c in coefficients))


if __name__ == "__main__":
    main(*sys.argv[1:])
