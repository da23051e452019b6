"""The errors of kernel functions against mpmath: python bench/accuracy.py [-n SAMPLES] [NAME ...].

An error is in units in the last place (ulp) of the exact value, in the type of the function.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
from mpmath import mp, mpf
from numpy.typing import NDArray

from jacana.kernel import special
from jacana.kernel.interpret import evaluate

Array = NDArray[Any]
Random = np.random.Generator


@dataclass(frozen=True)
class Case:
    """A function on a domain; `draw(random, n, type)` gives operands, `limits` the ulp allowed.

    Below `floor` in size the error is counted in ulp of `floor`: near zeros that are no zeros of a
    formula, where the function is only absolutely accurate.
    """

    name: str
    function: Any  # has function(type) -> ir.Function
    reference: Callable[..., mpf]
    draw: Callable[[Random, int, str], tuple[Array, ...]]
    limits: dict[str, float]
    floor: float = 0.0


# --- domains ------------------------------------------------------------------------------------


def uniform(low: float, high: float) -> Callable[[Random, int], Array]:
    return lambda random, n: low + (high - low) * random.random(n)


def powers(low: float, high: float) -> Callable[[Random, int], Array]:
    """10**u for a uniform u."""
    return lambda random, n: 10.0 ** (low + (high - low) * random.random(n))


def mixed(*parts: Callable[[Random, int], Array]) -> Callable[[Random, int, str], tuple[Array]]:
    def draw(random: Random, n: int, type: str) -> tuple[Array]:
        made = np.concatenate([p(random, n // len(parts)) for p in parts])
        return (made[np.abs(made) < np.finfo(type).max],)

    return draw


def signed(part: Callable[[Random, int], Array]) -> Callable[[Random, int], Array]:
    return lambda random, n: part(random, n) * random.choice([-1.0, 1.0], n)


def by_type(single: Any, double: Any) -> Callable[[Random, int, str], tuple[Array, ...]]:
    return lambda random, n, type: (single if type == "float32" else double)(random, n, type)


def operands(*parts: Callable[[Random, int], Array]) -> Callable[..., tuple[Array, ...]]:
    return lambda random, n, type: tuple(p(random, n) for p in parts)


def near(points: list[float]) -> Callable[[Random, int], Array]:
    def draw(random: Random, n: int) -> Array:
        return random.choice(points, n) + 10.0 ** (-1 - 15 * random.random(n)) * random.choice(
            [-1.0, 1.0], n
        )

    return draw


def below_one(random: Random, n: int) -> Array:
    return 1 - 10.0 ** (-15.5 * random.random(n))


def gamma_operands(random: Random, n: int, type: str) -> tuple[Array, ...]:
    """Shapes a, and x where the gamma distribution of a has most of its mass."""
    a = 10.0 ** (random.random(n) * 6 - 2)
    return a, np.maximum(a + 3 * random.standard_normal(n) * np.sqrt(a), 1e-3 * random.random(n))


def beta_operands(random: Random, n: int, type: str) -> tuple[Array, ...]:
    a, b = 10.0 ** (random.random((2, n)) * 4 - 1)
    mean = a / (a + b)
    deviation = np.sqrt(mean * (1 - mean) / (a + b + 1))
    x = mean + 2 * random.standard_normal(n) * deviation
    return a, b, np.clip(x, 1e-6 * random.random(n), 1 - 1e-4 * random.random(n))


# --- references ---------------------------------------------------------------------------------


def exact_erf_inv(x: mpf) -> mpf:
    if abs(x) < 0.5:
        return mpmath.erfinv(x)
    rest = mpmath.log(1 - abs(x))
    start = mpmath.sqrt(-rest) if rest < -7 else mpmath.erfinv(abs(x))
    return mpmath.findroot(lambda y: mpmath.log(mpmath.erfc(y)) - rest, start) * mpmath.sign(x)


def exact_lgamma(x: mpf) -> mpf:
    return mpmath.loggamma(x) if x > 0 else mpmath.log(abs(mpmath.gamma(x)))


def exact_zeta(s: mpf, q: mpf) -> mpf:
    with mp.workprec(600):
        return mpmath.zeta(s, q)


def exact_polygamma(n: mpf, x: mpf) -> mpf:
    with mp.workprec(400):
        return mpmath.psi(int(n), x)


def lower(a: mpf, x: mpf) -> mpf:
    return mpmath.gammainc(a, 0, x, regularized=True)


def upper(a: mpf, x: mpf) -> mpf:
    return mpmath.gammainc(a, x, mpmath.inf, regularized=True)


def lower_slope(a: mpf, x: mpf) -> mpf:
    with mp.workprec(330):
        h = a * mpf(2) ** -80
        if x < a:
            return (lower(a + h, x) - lower(a - h, x)) / (2 * h)
        return (upper(a - h, x) - upper(a + h, x)) / (2 * h)


def sample_slope(a: mpf, x: mpf) -> mpf:
    density = mpmath.exp((a - 1) * mpmath.log(x) - x - mpmath.loggamma(a))
    return -lower_slope(a, x) / density


def exact_beta(a: mpf, b: mpf, x: mpf) -> mpf:
    with mp.workprec(300):
        return mpmath.betainc(a, b, 0, x, regularized=True)


def scaled_bessel(order: int) -> Callable[[mpf], mpf]:
    return lambda x: mpmath.besseli(order, x) * mpmath.exp(-abs(x))


# --- cases --------------------------------------------------------------------------------------

SPECIAL = [
    Case(
        "erf", special.erf, mpmath.erf,
        by_type(
            mixed(signed(uniform(0, 4.2)), signed(powers(-44, 0))),
            mixed(signed(uniform(0, 6.5)), signed(powers(-307, 0))),
        ),
        {"float32": 1.1, "float64": 1.1},
    ),
    Case(
        "erfc", special.erfc, mpmath.erfc,
        by_type(mixed(uniform(-5, 10.3)), mixed(uniform(-6, 27.3))),
        {"float32": 5, "float64": 5},
    ),
    Case(
        "erf_inv", special.erf_inv, exact_erf_inv,
        by_type(
            mixed(uniform(-0.9999, 0.9999), signed(powers(-40, 0))),
            mixed(uniform(-1, 1), signed(powers(-300, 0)), signed(below_one)),
        ),
        {"float32": 3, "float64": 3},
    ),
    Case(
        "lgamma", special.lgamma, exact_lgamma,
        mixed(uniform(1e-3, 12), powers(-36, 300), near([1, 2])),
        {"float32": 0.51, "float64": 5},
    ),
    Case(
        "lgamma of negative", special.lgamma, exact_lgamma, mixed(uniform(-300, 0)),
        {"float32": 0.51, "float64": 5}, floor=1.0,
    ),
    Case(
        "digamma", special.digamma, lambda x: mpmath.psi(0, x),
        mixed(uniform(1e-3, 12), powers(-36, 300), near([1.4616321449683623])),
        {"float32": 0.51, "float64": 5},
    ),
    Case(
        "digamma of negative", special.digamma, lambda x: mpmath.psi(0, x),
        mixed(uniform(-300, 0)), {"float32": 0.51, "float64": 8}, floor=1.0,
    ),
    Case(
        "zeta", special.zeta, exact_zeta, operands(uniform(1.01, 20), uniform(0.01, 50)),
        {"float32": 0.51, "float64": 6},
    ),
    Case(
        "polygamma", special.polygamma, exact_polygamma,
        operands(lambda random, n: random.integers(0, 12, n) + 0.0, uniform(0.01, 50)),
        {"float32": 0.51, "float64": 10},
    ),
    Case("igamma", special.igamma, lower, gamma_operands, {"float32": 0.7, "float64": 300}),
    Case("igammac", special.igammac, upper, gamma_operands, {"float32": 0.7, "float64": 300}),
    Case(
        "igamma_grad_a", special.igamma_grad_a, lower_slope, gamma_operands,
        {"float32": 0.7, "float64": 300},
    ),
    Case(
        "random_gamma_grad", special.random_gamma_grad, sample_slope, gamma_operands,
        {"float32": 0.7, "float64": 300},
    ),
    Case(
        "regularized_incomplete_beta", special.regularized_incomplete_beta, exact_beta,
        beta_operands, {"float32": 0.6, "float64": 300},
    ),
    Case(
        "bessel_i0e", special.bessel_i0e, scaled_bessel(0),
        mixed(signed(uniform(0, 20)), powers(-36, 30)), {"float32": 4, "float64": 4},
    ),
    Case(
        "bessel_i1e", special.bessel_i1e, scaled_bessel(1),
        mixed(signed(uniform(0, 20)), powers(-36, 30)), {"float32": 4, "float64": 4},
    ),
]  # fmt: skip

CASES = [*SPECIAL]


# --- measuring ----------------------------------------------------------------------------------


def ulp(value: mpf, type: str, floor: float = 0.0) -> mpf:
    """The distance of neighbouring numbers of the type at the value."""
    info = np.finfo(type)
    size = max(abs(value), mpf(floor), mpf(float(info.smallest_normal)))
    return mpf(2) ** (int(mpmath.floor(mpmath.log(size, 2))) - info.nmant)


def errors(case: Case, type: str, n: int, seed: int = 0) -> tuple[Array, list[Array]]:
    """The error at each of about n samples, and the samples."""
    drawn = case.draw(np.random.default_rng(seed), n, type)
    with np.errstate(all="ignore"):
        xs = [x.astype(type) for x in drawn]
    if len(xs) == 1:
        xs = [xs[0][xs[0] != 0]]
    (got,) = evaluate(case.function.function(type), *xs)
    found = np.zeros(len(got))
    with mp.workprec(150):
        for i, (g, *x) in enumerate(zip(got.tolist(), *[x.tolist() for x in xs])):
            want = case.reference(*[mpf(v) for v in x])
            if abs(want) > float(np.finfo(type).max):
                found[i] = 0.0 if abs(g) == np.inf else np.inf
            else:
                error = abs(mpf(g) - want) / ulp(want, type, case.floor)
                found[i] = float(error) if np.isfinite(g) else np.inf
    return found, xs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="measure only these")
    parser.add_argument("-n", type=int, default=2000, help="samples of each function and type")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for case in CASES:
        if options.names and case.name not in options.names:
            continue
        for type in case.limits:
            start = time.perf_counter()
            found, xs = errors(case, type, options.n, options.seed)
            worst = int(np.argmax(found))
            at = ", ".join(repr(float(x[worst])) for x in xs)
            took = time.perf_counter() - start
            print(
                f"{case.name} {type}: {found[worst]:.3g} ulp at ({at}), "
                f"mean {found.mean():.2g}, {len(found)} samples, {took:.1f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
