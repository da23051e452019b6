"""custom_jvp, custom_vjp and custom_gradient under every transformation."""

import numpy as np
import pytest

import jacana
from jacana import grad, jit, jvp, numpy as jnp, vjp, vmap
from jacana.api.custom import CustomVJPPrimal, SymbolicZero, zero_from_primal

ONES = jnp.ones(3)


@jacana.custom_jvp
def tripled(x, y):
    return jnp.sin(x) * y


@tripled.defjvp
def _(primals, tangents):
    return tripled(*primals), 3.0 * tangents[0]


@jacana.custom_vjp
def by_residual(x, y):
    return jnp.sin(x) * y


by_residual.defvjp(lambda x, y: (by_residual(x, y), (x, y)), lambda r, ct: (ct * r[0], None))


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
def test_custom_jvp(wrap):
    f = wrap(tripled)
    assert float(grad(f)(1.0, 2.0)) == 3.0
    assert float(jit(grad(f))(1.0, 2.0)) == 3.0
    assert vmap(grad(f))(ONES, ONES).tolist() == [3, 3, 3]
    assert vmap(grad(f), in_axes=(0, None))(ONES, 1.0).tolist() == [3, 3, 3]
    assert jvp(vmap(f), (ONES, ONES), (ONES, 2 * ONES))[1].tolist() == [3, 3, 3]
    assert float(grad(grad(f))(1.0, 2.0)) == 0.0


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
def test_custom_vjp(wrap):
    f = wrap(by_residual)
    assert [float(v) for v in grad(f, (0, 1))(2.0, 5.0)] == [2.0, 0.0]
    assert vmap(grad(f))(2 * ONES, ONES).tolist() == [2, 2, 2]
    gx, gy = grad(lambda x, y: vmap(f, in_axes=(None, 0))(x, y).sum(), (0, 1))(2.0, ONES)
    assert float(gx) == 6.0 and gy.tolist() == [0, 0, 0]
    along_1 = grad(lambda x: vmap(lambda r: f(r, r), in_axes=1)(x).sum())(jnp.ones((2, 3)))
    assert along_1.tolist() == [[1, 1, 1], [1, 1, 1]]
    assert float(grad(grad(f))(2.0, 5.0)) == 1.0


def test_custom_vjp_has_no_forward_mode():
    with pytest.raises(TypeError, match="can't apply forward-mode differentiation"):
        jvp(by_residual, (1.0, 2.0), (1.0, 1.0))


def test_rules_see_concrete_values():
    seen = []

    @jacana.custom_vjp
    def f(x):
        return x * 2

    f.defvjp(lambda x: (f(x), x), lambda r, ct: (seen.append((float(r), float(ct))) or ct,))
    assert float(grad(f)(3.0)) == 1.0 and float(grad(f)(4.0)) == 1.0
    assert seen == [(3.0, 1.0), (4.0, 1.0)]

    @jacana.custom_jvp
    def g(x):
        return x if x > 0 else -x

    g.defjvp(lambda p, t: (g(*p), t[0] if p[0] > 0 else -t[0]))
    assert float(g(-2.0)) == 2.0 and float(grad(g)(-2.0)) == -1.0


def test_nondiff_argnums():
    @jacana.custom_jvp
    def unused(x):
        return x

    f = jacana.custom_jvp(lambda op, x: op(x), nondiff_argnums=(0,))
    f.defjvp(lambda op, p, t: (op(p[0]), 5.0 * t[0]))
    assert float(grad(f, argnums=1)(jnp.sin, 1.0)) == 5.0
    g = jacana.custom_vjp(lambda x, n: x * n, nondiff_argnums=(1,))
    g.defvjp(lambda x, n: (x * n, None), lambda n, r, ct: (ct * n * 10,))
    assert float(grad(g)(1.0, 3)) == 30.0


def test_trees_defaults_and_keywords():
    @jacana.custom_vjp
    def f(p, scale=2.0):
        return {"out": p["a"] * scale, "n": p["n"]}

    f.defvjp(
        lambda p, scale: (f(p, scale), scale),
        lambda scale, ct: ({"a": ct["out"] * scale, "n": None}, None),
    )
    assert float(grad(lambda a: f({"a": a, "n": 3})["out"])(1.0)) == 2.0
    assert float(grad(lambda a: f({"a": a, "n": 3}, scale=4.0)["out"])(1.0)) == 4.0


def test_integer_arguments():
    take = lambda x, i: x[i]
    f = jacana.custom_jvp(take)
    f.defjvp(lambda p, t: jvp(take, p, t))
    x, i = jnp.arange(4.0), jnp.array([1, 1])
    dx, di = vjp(f, x, i)[1](jnp.array([2.0, 3.0]))
    assert dx.tolist() == [0, 5, 0, 0] and di.dtype == jacana.float0 and di.shape == (2,)


def test_symbolic_zeros():
    @jacana.custom_jvp
    def f(x, y):
        return x * y

    def rule(primals, tangents):
        assert type(tangents[1]).__name__ == "SymbolicZero"
        return f(*primals), tangents[0] * primals[1]

    f.defjvp(rule, symbolic_zeros=True)
    assert float(grad(f)(2.0, 5.0)) == 5.0
    assert vmap(grad(f), in_axes=(0, None))(ONES, 5.0).tolist() == [5, 5, 5]


def test_defjvps():
    f = jacana.custom_jvp(lambda x, y: x * y)
    f.defjvps(lambda t, out, x, y: 7.0 * t, None)
    assert float(grad(f)(1.0, 2.0)) == 7.0


def test_custom_gradient():
    f = jacana.custom_gradient(lambda x: (x * x, lambda ct: 10.0 * ct))
    assert float(f(3.0)) == 9.0 and float(grad(f)(3.0)) == 10.0
    assert vmap(grad(f))(ONES).tolist() == [10, 10, 10]


def test_residuals_of_any_shape_under_vmap():
    @jacana.custom_vjp
    def f(x):
        return x.sum()

    f.defvjp(lambda x: (f(x), {"shape": x, "k": 2}), lambda r, ct: (r["shape"] * ct * r["k"],))
    x = jnp.arange(6.0).reshape(2, 3)
    assert vmap(grad(f))(x).tolist() == (2 * np.asarray(x)).tolist()
    assert vmap(jit(grad(f)), in_axes=1)(x).tolist() == (2 * np.asarray(x).T).tolist()


def test_errors():
    with pytest.raises(AttributeError, match="No JVP defined for custom_jvp function f"):
        jacana.custom_jvp(named_f)(1.0)
    with pytest.raises(AttributeError, match="No VJP defined for custom_vjp function f"):
        jacana.custom_vjp(named_f)(1.0)
    f = jacana.custom_jvp(named_f)
    f.defjvp(lambda p, t: p[0])
    with pytest.raises(TypeError, match="must produce a pair"):
        grad(f)(1.0)
    f.defjvp(lambda p, t: (p[0], jnp.ones(3)))
    with pytest.raises(TypeError, match="corresponding shapes and dtypes"):
        grad(f)(1.0)
    g = jacana.custom_vjp(named_f)
    g.defvjp(lambda x: (x, None), lambda r, ct: (ct, ct))
    with pytest.raises(TypeError, match="one cotangent for each of the 1 differentiated"):
        grad(g)(1.0)
    g.defvjp(lambda x: (x, None), lambda r, ct: (jnp.ones(2),))
    with pytest.raises(ValueError, match="shapes and dtypes of the differentiated arguments"):
        grad(g)(1.0)


def named_f(x):
    return x


named_f.__name__ = "f"


@pytest.mark.parametrize("wrap", [lambda f: f, jit, vmap], ids=["eager", "jit", "vmap"])
def test_symbolic_zeros_of_custom_vjp(wrap):
    seen = []

    @jacana.custom_vjp
    def f(x, y):
        return x * y, x + y

    def forward(x, y):
        assert isinstance(x, CustomVJPPrimal)
        seen.append((x.perturbed, y.perturbed))
        return f(x.value, y.value), (x.value, y.value)

    def backward(residuals, cts):
        assert isinstance(cts[1], SymbolicZero)
        assert cts[1].shape == ()
        return 2 * cts[0] * residuals[1], SymbolicZero(cts[1].aval)

    f.defvjp(forward, backward, symbolic_zeros=True)
    x = jnp.array([2.0, 3.0]) if wrap is vmap else jnp.array(2.0)
    gradient = grad(lambda x: jnp.sum(wrap(lambda x: f(x, 5.0)[0])(x)))(x)
    np.testing.assert_array_equal(gradient, jnp.full_like(x, 10.0))
    assert seen == [(True, False)]


def test_functions_with_rules_are_transposed_where_they_are_linear():
    @jacana.custom_jvp
    def double(x):
        return 2.0 * x

    double.defjvp(lambda p, t: (double(*p), double(*t)))
    transposed = jacana.linear_transpose(lambda x: 3.0 * double(x), 1.0)
    assert transposed(1.0) == (6.0,)
    assert grad(jit(double))(1.0) == 2.0


def test_zeros_of_trees():
    zeros = zero_from_primal({"a": 1.0, "n": 1}, symbolic_zeros=True)
    assert zeros["a"].dtype == np.float32
    assert zeros["n"].dtype == jacana.float0
    assert zero_from_primal((2.0,)) == (0.0,)
