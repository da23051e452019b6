"""minimize: known minima, limits, and use inside of transformations."""

import numpy as np
import pytest
from scipy import optimize as reference

import jacana
import jacana.numpy as jnp
from jacana.scipy.optimize import minimize


def rosenbrock(x):
    return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def himmelblau(x):
    return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("function", [rosenbrock, himmelblau])
@pytest.mark.parametrize("start", [(-1.2, 1.0), (0.0, 0.0), (-3.0, -3.0)])
def test_minima(function, start, x64):
    with jacana.enable_x64(x64):
        found = minimize(function, jnp.array(start), method="BFGS")
        assert found.success and found.status == 0
        assert np.abs(found.jac).max() < 1e-5
        assert found.fun < 1e-8
        inverse = np.linalg.inv(jacana.hessian(function)(found.x))
        np.testing.assert_allclose(found.hess_inv, inverse, atol=0.3 * np.abs(inverse).max())


def test_as_scipy():
    def function(x):
        return jnp.sum(jnp.cosh(x - jnp.arange(3.0))) + 0.1 * jnp.prod(x)

    with jacana.enable_x64():
        found = minimize(function, jnp.ones(3), method="BFGS", tol=1e-8)
        expected = reference.minimize(lambda x: float(function(x)), np.ones(3), method="BFGS")
        np.testing.assert_allclose(found.x, expected.x, atol=1e-5)
        assert found.fun <= expected.fun + 1e-12
        assert found.nit <= 2 * expected.nit


def test_limits_and_options():
    start = jnp.array([-1.2, 1.0])
    found = minimize(rosenbrock, start, method="BFGS", options={"maxiter": 3})
    assert (bool(found.success), int(found.status), int(found.nit)) == (False, 1, 3)
    found = minimize(rosenbrock, start, method="BFGS", options={"norm": 2, "gtol": 1e-3})
    assert found.success and np.linalg.norm(found.jac) < 1e-3
    found = minimize(lambda x: jnp.sum(x), start, method="BFGS", options={"maxiter": 5})
    assert not found.success
    found = minimize(lambda x: jnp.sum(x) * jnp.nan, start, method="BFGS")
    assert int(found.status) == 3
    found = minimize(lambda x, a, b: jnp.sum((x - a) ** 2) + b, start, (3.0, 1.0), method="BFGS")
    np.testing.assert_allclose(found.x, [3, 3], rtol=1e-5)


def test_transformed():
    starts = jnp.array([[1.0, 1.0], [-2.0, 3.0], [-3.0, -3.0]])

    def end(start):
        return minimize(himmelblau, start, method="BFGS").x

    found = jacana.jit(jacana.vmap(end))(starts)
    for start, x in zip(starts, found, strict=True):
        np.testing.assert_allclose(end(start), x, rtol=1e-4)


def test_messages():
    with pytest.raises(TypeError, match="must be a tuple, got 3"):
        minimize(rosenbrock, jnp.ones(2), 3, method="BFGS")
    with pytest.raises(ValueError, match="Method CG not recognized"):
        minimize(rosenbrock, jnp.ones(2), method="CG")
    with pytest.raises(ValueError, match=r"a vector x0, got shape \(1, 2\)"):
        minimize(rosenbrock, jnp.ones((1, 2)), method="BFGS")
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        minimize(rosenbrock, jnp.ones(2), method="BFGS", options={"foo": 1})
