"""The whole stack in seconds: what to run on each save."""

import numpy as np

import jacana
import jacana.numpy as jnp
from jacana import grad, jit, random, vmap


def selu(x, alpha=1.67, lmbda=1.05):
    return lmbda * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)


def logistic(x):
    return jnp.sum(1.0 / (1.0 + jnp.exp(-x)))


def test_op_by_op():
    assert str(selu(jnp.arange(5.0))) == "[0.        1.05      2.1       3.1499999 4.2      ]"


def test_jit_gives_the_same_bits():
    x = jnp.linspace(-3.0, 3.0, 1001)
    np.testing.assert_array_equal(jit(selu)(x), selu(x))


def test_grad():
    assert str(grad(logistic)(jnp.arange(3.0))) == "[0.25       0.19661197 0.10499357]"
    assert str(grad(jit(grad(jit(grad(logistic)))))(1.0)) == "-0.0353256"


def test_hessian():
    got = jacana.hessian(logistic)(jnp.arange(3.0))
    np.testing.assert_allclose(np.diag(got), [0.0, -0.09085776, -0.07996249], rtol=1e-6)


def test_vmap_of_a_product():
    matrix, vectors = np.arange(6.0, dtype="f4").reshape(2, 3), np.ones((4, 3), "f4")
    got = jit(vmap(lambda v: jnp.dot(matrix, v)))(vectors)
    np.testing.assert_array_equal(got, vectors @ matrix.T)


def test_random_bits():
    x = random.normal(random.key(1701), (1_000_000,))
    np.testing.assert_allclose(x[:3], [-0.6472411, 0.3156411, -0.74910474], rtol=2e-6)
