"""Special functions: their stated accuracy on a sample, and their values at the edges."""

import importlib.util
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from jacana.kernel import check, ir, special
from jacana.kernel.interpret import evaluate

PATH = Path(__file__).resolve().parents[2] / "bench" / "accuracy.py"


def load_accuracy():
    spec = importlib.util.spec_from_file_location("accuracy", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["accuracy"] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


accuracy = load_accuracy()
TYPES = ["float32", "float64"]


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("case", accuracy.SPECIAL, ids=lambda c: c.name)
def test_accuracy(case, type):
    found, xs = accuracy.errors(case, type, 60, seed=1)
    worst = int(np.argmax(found))
    assert found[worst] <= case.limits[type], [x[worst] for x in xs]


def test_erfc_is_finite_down_to_zero():
    x = np.linspace(8.5, 10.5, 20001, dtype="f4")
    made = evaluate(special.erfc.function("float32"), x)[0]
    want = np.vectorize(math.erfc)(x.astype("f8"))
    np.testing.assert_allclose(made, want, rtol=5e-7, atol=2.0**-148)


inf, nan = math.inf, math.nan
# Name -> rows of arguments and value.
EDGES = {
    "erf": [(0.0, 0.0), (-0.0, -0.0), (inf, 1), (-inf, -1), (nan, nan)],
    "erfc": [(0.0, 1), (-1e-30, 1), (inf, 0), (-inf, 2), (nan, nan), (30.0, 0)],
    "erf_inv": [
        (0.0, 0.0), (-0.0, -0.0), (1, inf), (-1, -inf), (1.5, nan), (-inf, nan), (nan, nan),
    ],
    "lgamma": [
        (0.0, inf), (-0.0, inf), (1, 0), (2, 0), (-1, inf), (-40, inf), (inf, inf), (-inf, inf),
        (nan, nan), (1e308, inf), (-1e17, inf),
    ],
    "digamma": [
        (0.0, nan), (-0.0, nan), (-3, nan), (inf, inf), (-inf, nan), (nan, nan), (-1e17, nan),
    ],
    "zeta": [
        (1, 3, inf), (0.5, 3, nan), (2, 0, inf), (2, -3, inf), (2.5, -0.5, nan), (2, inf, 0),
        (nan, 1, nan), (2, nan, nan), (2, -inf, nan), (inf, 1, 1), (inf, 2, 0),
    ],
    "polygamma": [
        (1, 0.0, inf), (2, 0.0, -inf), (1, inf, 0), (1.5, 2, nan), (-1, 2, nan), (3, nan, nan),
        (0, 0.0, nan),
    ],
    "igamma": [
        (1, 0, 0), (1, inf, 1), (0, 1, 1), (0, 0, nan), (inf, 1, 0), (inf, inf, nan),
        (-1, 1, nan), (1, -1, nan), (nan, 1, nan), (1, nan, nan), (1e300, 1, 0), (1, 1e300, 1),
    ],
    "igammac": [
        (1, 0, 1), (1, inf, 0), (0, 1, 0), (0, 0, nan), (inf, 1, 1), (-1, 1, nan),
        (1e300, 1, 1), (1, 1e300, 0),
    ],
    "igamma_grad_a": [(1, 0, 0), (1, inf, 0), (0, 1, nan), (-1, 1, nan), (1, nan, nan)],
    "random_gamma_grad": [(1, 0, 0), (0, 1, nan), (1, -1, nan), (nan, 1, nan)],
    "regularized_incomplete_beta": [
        (2, 3, 0, 0), (2, 3, 1, 1), (2, 3, -0.1, nan), (2, 3, 1.1, nan), (0, 3, 0.5, 1),
        (2, 0, 0.5, 0), (0, 0, 0.5, nan), (inf, 2, 0.5, 0), (2, inf, 0.5, 1), (-1, 2, 0.5, nan),
        (nan, 1, 0.5, nan), (1, nan, 0.5, nan), (1, 1, nan, nan), (1, 1, 0.25, 0.25),
        (1e300, 1, 0.3, 0), (1, 1e300, 0.3, 1),
    ],
    "bessel_i0e": [(0.0, 1), (-0.0, 1), (inf, 0), (-inf, 0), (nan, nan)],
    "bessel_i1e": [(0.0, 0.0), (-0.0, -0.0), (inf, 0.0), (-inf, -0.0), (nan, nan)],
}  # fmt: skip


def test_every_function_has_edges():
    assert sorted(EDGES) == sorted(special.__all__)


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", EDGES)
def test_edges(name, type):
    rows = [
        row for row in EDGES[name] if type == "float64" or not any(1e38 < abs(v) < inf for v in row)
    ]
    *arguments, want = map(np.array, zip(*[[float(v) for v in row] for row in rows]))
    (got,) = evaluate(getattr(special, name).function(type), *[a.astype(type) for a in arguments])
    assert [repr(float(v)) for v in got] == [repr(float(v)) for v in want]


@pytest.mark.parametrize("type", TYPES)
def test_odd_functions_keep_the_smallest_numbers(type):
    tiny = np.array([np.finfo(type).smallest_subnormal])
    for f, slope in ((special.erf, 1.128), (special.erf_inv, 0.886), (special.bessel_i1e, 0.5)):
        (got,) = evaluate(f.function(type), 1000 * tiny)
        assert float(got[0]) == pytest.approx(float(1000 * tiny[0] * slope), abs=float(tiny[0]))


def test_incomplete_beta_with_b_equal_one_is_a_power():
    a = np.array([1e-20, 1e-10, 1e-6, 1e-3, 0.5, 3.0], "f")
    f = special.regularized_incomplete_beta.function("float32")
    (got,) = evaluate(f, a, np.float32(1), np.float32(0.25))
    assert np.all(got <= 1)
    np.testing.assert_allclose(got, 0.25 ** a.astype(np.float64), rtol=6e-8)


@pytest.mark.parametrize("type", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("name", special.__all__)
def test_functions_satisfy_the_invariants(name, type):
    f = getattr(special, name).function(type)
    args = tuple(ir.Const(1.0, type) for _ in f.params)
    check.check(ir.Kernel((), (), (), (ir.Call((ir.Var(0, type),), f, args),)))
