"""jet against derivatives of derivatives along the same curve."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import jit, lax, vmap
from jacana.experimental.jet import jet

ORDER = 4


@pytest.fixture(autouse=True)
def _x64():
    with jacana.enable_x64(True):
        yield


def nested(f, primals, series):
    """The same by nested jvps along the polynomial curve."""

    def curve(s):
        point = [
            p + sum(c * s**k / float(np.prod(range(1, k + 1))) for k, c in enumerate(terms, 1))
            for p, terms in zip(primals, series, strict=True)
        ]
        return f(*point)

    found = [curve]
    for _ in series[0]:
        g = found[-1]
        found.append(lambda s, g=g: jacana.jvp(g, (s,), (1.0,))[1])
    return [g(0.0) for g in found]


@jacana.custom_jvp
def with_rule(x):
    return jnp.sin(x)


@with_rule.defjvp
def _(primals, tangents):
    return with_rule(*primals), 3.0 * tangents[0] * jnp.cos(primals[0])


def a_scan(x):
    return lax.scan(lambda c, v: (c * v + jnp.sin(c), c), x[0], x)[1]


def a_choice(x):
    return lax.cond(x[0] > 0, lambda x: x * jnp.exp(x), lambda x: x, x)


W = np.array([[0.5, -0.2, 0.1], [0.3, 0.8, -0.4], [0.2, 0.2, 0.9]])

UNARY = {
    "exp": jnp.exp, "log": jnp.log, "sin": jnp.sin, "tan": jnp.tan, "tanh": jnp.tanh,
    "sqrt": jnp.sqrt, "logistic": jacana.nn.sigmoid, "erf": jacana.scipy.special.erf,
    "arctan": jnp.arctan, "arcsin": lambda x: jnp.arcsin(x / 3), "lgamma": lax.lgamma,
    "cube": lambda x: x**3, "inverse": lambda x: 1 / x, "power": lambda x: x**2.5,
    "integer power": lambda x: x**-2, "expm1": jnp.expm1, "log1p": jnp.log1p, "cosh": jnp.cosh,
    "abs": jnp.abs, "square": jnp.square, "cbrt": jnp.cbrt, "sinc": jnp.sinc,
    "shapes": lambda x: jnp.concatenate([x[::-1], x[:2] * x[1:]]).reshape(5, 1),
    "pad": lambda x: jnp.pad(x, 1) * 2, "update": lambda x: x.at[1].set(x[0] * x[2]),
    "reductions": lambda x: jnp.sum(x) * jnp.max(x) - jnp.prod(x), "sums": jnp.cumsum,
    "where": lambda x: jnp.where(x > 1, x * x, jnp.sin(x)), "softmax": jacana.nn.softmax,
    "gather": lambda x: x[np.array([2, 0, 0])] * x, "sort": lambda x: jnp.sort(x) * x,
    "matrix": lambda x: jnp.tanh(W @ x) @ W, "outer": lambda x: jnp.outer(x, jnp.cos(x)),
    "solve": lambda x: jnp.linalg.solve(jnp.diag(x) + W, x), "norm": jnp.linalg.norm,
    "jit": jit(lambda x: x * jnp.exp(x)), "checkpoint": jacana.checkpoint(lambda x: jnp.sin(x) * x),
    "rule": with_rule, "rule in jit": jit(with_rule), "scan": a_scan, "cond": a_choice,
    "constant": lambda x: jnp.ones(2), "identity": lambda x: x, "floor": jnp.floor,
    "vmap": vmap(lambda v: v * jnp.exp(-v)),
}  # fmt: skip
X = np.array([0.7, 1.9, 1.2])
SERIES = tuple(np.random.default_rng(2).uniform(-1, 1, (ORDER, 3)))


@pytest.mark.parametrize("name", UNARY)
def test_functions(name):
    f, x = UNARY[name], jnp.asarray(X)
    value, terms = jet(f, (x,), (SERIES,))
    wanted = nested(f, (x,), (SERIES,))
    for found, want in zip([value, *terms], wanted, strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-8, atol=1e-8)


def test_two_arguments_and_trees():
    def f(x, y):
        return {"product": x * y, "others": (x / y, jnp.arctan2(x, y), x**y, 3.0)}

    x, y = jnp.asarray(1.3), jnp.asarray(0.8)
    series = ([0.5, -1.0, 2.0], [1.0, 0.0, 0.3])
    value, terms = jet(f, (x, y), series)
    for path in (lambda t: t["product"], *[lambda t, i=i: t["others"][i] for i in range(3)]):
        wanted = nested(lambda x, y, path=path: path(f(x, y)), (x, y), series)
        np.testing.assert_allclose([path(value), *path(terms)], wanted, rtol=1e-9)
    assert value["others"][3] == 3.0
    assert [float(t) for t in terms["others"][3]] == [0, 0, 0]


@pytest.mark.parametrize("wrap", [jit, lambda f: f])
def test_inside_other_transformations(wrap):
    def third(x):
        return jet(lambda x: jnp.sin(x) * x, (x,), ([1.0, 0.0, 0.0],))[1][2]

    x = 0.6
    wanted = -x * np.cos(x) - 3 * np.sin(x)
    assert float(wrap(third)(x)) == pytest.approx(wanted, rel=1e-12)
    slope = x * np.sin(x) - 4 * np.cos(x)
    assert float(wrap(jacana.grad(third))(x)) == pytest.approx(slope, rel=1e-12)
    np.testing.assert_allclose(wrap(vmap(third))(jnp.array([x, x])), [wanted] * 2, rtol=1e-12)


def test_coefficients_and_high_orders():
    _, terms = jet(jnp.exp, (0.0,), ([1.0] + [0.0] * 19,))
    np.testing.assert_allclose(terms, np.ones(20), rtol=1e-12)
    _, terms = jet(jnp.exp, (0.0,), ([1.0, 0.0, 0.0],), factorial_scaled=False)
    np.testing.assert_allclose(terms, [1, 1 / 2, 1 / 6], rtol=1e-14)
    assert jet(lambda x: x * 2, (3.0,), ([],)) == (6.0, [])
    # Control flow of Python sees values.
    _, (slope,) = jet(lambda x: x * 3 if x > 0 else x, (1.0,), ([1.0],))
    assert float(slope) == 3.0


def test_work_grows_slowly_with_the_order():
    def size(order):
        series = ([jnp.ones(())] * order,)
        return len(jacana.make_jaxpr(lambda x: jet(jnp.tanh, (x,), series))(0.5).eqns)

    assert size(12) < 9 * size(4)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: jet(jnp.add, (1.0, 2.0), ([1.0],)), ValueError, "2 primals and 1 series"),
        (lambda: jet(jnp.add, (1.0, 2.0), ([1.0], [])), ValueError, "inconsistent lengths"),
        (lambda: jet(jnp.sin, (jnp.ones(3),), ([1.0],)), ValueError, "They must be equal"),
        (lambda: jet(jnp.sin, (3,), ([1.0],)), TypeError, "argument 0 is int64"),
        (lambda: jet(jnp.sin, ("a",), ([1.0],)), TypeError, "jet of sin"),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call()
