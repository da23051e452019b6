"""custom_root: roots, differentiated as roots."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import grad, jit, lax, vmap
from tests.higher_order.laws import check_batches, check_forward, check_reverse


@pytest.fixture(autouse=True)
def _x64():
    with jacana.enable_x64(True):
        yield


def newton(f, x):
    def step(c):
        x, _ = c
        value, slope = jacana.jvp(f, (x,), (jnp.ones_like(x),))
        return x - value / slope, abs(value)

    return lax.while_loop(lambda c: c[1] > 1e-13, step, (x, jnp.asarray(1.0)))[0]


def cube_root(a):
    return lax.custom_root(lambda x: x**3 - a, a, newton, lambda g, y: y / g(1.0))


def system(a, b):
    """The two numbers with sum a and product b, the larger first."""

    def equations(x):
        return {"p": x["p"] + x["q"] - a, "q": x["p"] * x["q"] - b}

    def solve(f, guess):
        root = jnp.sqrt(a * a / 4 - b)
        return {"p": a / 2 + root, "q": a / 2 - root}

    def tangent_solve(g, y):
        flat = lambda v: jnp.stack([*g({"p": v[0], "q": v[1]}).values()])
        x = jnp.linalg.solve(jacana.jacobian(flat)(jnp.zeros(2)), jnp.stack([*y.values()]))
        return {"p": x[0], "q": x[1]}

    return lax.custom_root(equations, {"p": 1.0, "q": 0.0}, solve, tangent_solve)


@pytest.mark.parametrize(("f", "args"), [(cube_root, (3.0,)), (system, (5.0, 4.0))])
def test_laws(f, args):
    args = [jnp.asarray(x) for x in args]
    check_forward(f, args)
    check_reverse(f, args)
    check_batches(f, [x * jnp.array([1.0, 1.1, 1.3]) for x in args])


def test_values():
    assert float(cube_root(8.0)) == pytest.approx(2)
    assert float(grad(cube_root)(8.0)) == pytest.approx(1 / 12)
    assert float(jit(grad(grad(cube_root)))(8.0)) == pytest.approx(-1 / 144)
    np.testing.assert_allclose(vmap(grad(cube_root))(jnp.array([8.0, 27.0])), [1 / 12, 1 / 27])


@pytest.mark.parametrize("wrap", [lambda f: f, jit])
def test_other_results_are_constants(wrap):
    def f(a):
        solve = lambda f, x: (newton(f, x), {"steps": 7, "twice": 2 * a})
        return lax.custom_root(
            lambda x: x**2 - a, 1.0, solve, lambda g, y: y / g(1.0), has_aux=True
        )

    root, other = wrap(f)(4.0)
    assert (float(root), int(other["steps"]), float(other["twice"])) == (2.0, 7, 8.0)
    assert float(wrap(grad(lambda a: f(a)[0] + f(a)[1]["twice"]))(4.0)) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((lambda x: (x, x), newton, lambda g, y: y), r"f\(\) output pytree structure must match"),
        ((lambda x: x, lambda f, x: (x, x), lambda g, y: y), r"solve\(\) output pytree"),
    ],
)
def test_messages(parts, message):
    f, solve, tangent_solve = parts
    with pytest.raises(TypeError, match=message):
        lax.custom_root(f, 1.0, solve, tangent_solve)
