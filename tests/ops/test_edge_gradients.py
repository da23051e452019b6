"""Gradients where formulas are undefined and the function is not: at zero, at ties, far out."""

import numpy as np
import pytest

from jacana import ops
from jacana.api.grad import grad
from jacana.api.jit import jit

F32 = np.float32
INF = float("inf")


# Function, operands (float32), the derivative in the first operand.
FIRST = [
    (ops.pow, (0, 0), 0.0),
    (ops.pow, (0, 1), 1.0),
    (ops.pow, (0, 2), 0.0),
    (ops.pow, (0, 0.5), INF),
    (ops.pow, (-2, 3), 12.0),
    (ops.pow, (INF, 0), 0.0),
    (ops.atan2, (1e25, 1e25), 5e-26),
    (ops.atan2, (1e-25, 1e-25), 5e24),
    (ops.atan2, (1e25, -1e25), -5e-26),
    (ops.atan2, (0, 1e30), 1e-30),
    (ops.atan2, (1e30, 0), 0.0),
    (ops.atan2, (1, INF), 0.0),
    (ops.asinh, (1e20,), 1e-20),
    (ops.asinh, (-1e30,), 1e-30),
    (ops.asinh, (0,), 1.0),
    (ops.acosh, (1e25,), 1e-25),
    (ops.cbrt, (0,), INF),
    (ops.cbrt, (1e-30,), 1e20 / 3),
    (ops.cbrt, (INF,), 0.0),
    (ops.sqrt, (0,), INF),
    (ops.sqrt, (INF,), 0.0),
    (ops.rsqrt, (1e30,), -5e-46),
    (ops.tanh, (200,), 0.0),
    (ops.tanh, (-200,), 0.0),
    (ops.logistic, (200,), 0.0),
    (ops.logistic, (-200,), 0.0),
    (ops.logistic, (-20,), 2.0611537e-9),
    (ops.abs, (0,), 1.0),
    (ops.max, (0, 0), 0.5),
    (ops.min, (2, 2), 0.5),
    (ops.max, (1, 0), 1.0),
    (ops.max, (0, 1), 0.0),
    (ops.igamma, (1, 0), None),
    (ops.bessel_i1e, (0,), 0.5),
    (ops.erf_inv, (0,), np.sqrt(np.pi) / 2),
    (ops.lgamma, (1,), -0.5772157),
]


@pytest.mark.parametrize(("f", "at", "want"), FIRST, ids=lambda v: getattr(v, "name", str(v)))
def test_first(f, at, want):
    if want is None:
        f, at, want = (lambda x: ops.igamma(F32(1), x)), (0,), 1.0
    got = float(grad(f)(*[F32(v) for v in at]))
    assert got == pytest.approx(want, rel=1e-5, abs=1e-44)


SECOND = [
    (ops.pow, (0, 1), 0.0),
    (ops.pow, (0, 2), 2.0),
    (ops.pow, (0, 0), 0.0),
    (ops.pow, (2, 3), 12.0),
    (ops.tanh, (200,), 0.0),
    (ops.logistic, (200,), 0.0),
    (ops.atan2, (1, 1), -0.5),
    (ops.asinh, (1e20,), 0.0),
    (ops.asinh, (0,), 0.0),
    (ops.asinh, (1e-30,), -1e-30),
    (ops.asinh, (1,), -(2**-1.5)),
    (ops.asin, (1e-20,), 1e-20),
    (ops.atanh, (1e-20,), 2e-20),
    (ops.asin, (0.75,), 0.75 / 0.4375**1.5),
    (ops.atanh, (0.75,), 1.5 / 0.4375**2),
    (ops.abs, (0,), 0.0),
]


@pytest.mark.parametrize(("f", "at", "want"), SECOND, ids=lambda v: getattr(v, "name", str(v)))
def test_second(f, at, want):
    got = float(grad(grad(f))(*[F32(v) for v in at]))
    assert got == pytest.approx(want, rel=1e-5, abs=1e-36)


def test_power_in_its_exponent():
    for x, y, want in ((0, 0, 0), (0, 2, 0), (2, 3, 8 * np.log(2)), (2, 0, np.log(2))):
        got = float(grad(ops.pow, argnums=1)(F32(x), F32(y)))
        assert got == pytest.approx(want, rel=1e-6)
    mixed = grad(grad(ops.pow), argnums=1)(F32(2), F32(0))
    assert float(mixed) == pytest.approx(0.5)


def test_integer_exponents():
    exponent = np.int32([0, 1, 3])
    slopes = grad(lambda x: ops.reduce_sum(ops.pow(x, exponent), axes=(0,)))(np.zeros(3, F32))
    assert np.asarray(slopes).tolist() == [0, 1, 0]


def test_complex_size_at_zero():
    z = np.complex64([0, 3 + 4j])
    slopes = grad(lambda z: ops.reduce_sum(ops.abs(z), axes=(0,)))(z)
    np.testing.assert_allclose(np.asarray(slopes), np.complex64([0, 0.6 - 0.8j]), rtol=1e-6)


def test_jit_agrees_with_eager():
    for f, at, _ in FIRST[:30]:
        operands = [F32(v) for v in at]
        assert float(jit(grad(f))(*operands)) == float(grad(f)(*operands))
