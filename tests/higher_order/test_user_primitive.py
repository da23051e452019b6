"""Primitives that users define: each rule, in each transformation, with and without jit."""

import functools

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import lax
from jacana.compat.extend import core
from jacana.compat.interpreters import ad, batching, mlir, partial_eval, xla
from jacana.test_util import check_grads


def multiply_add_primitive():
    """x * y + z with all its rules, as JAX's tutorial on primitives defines it."""
    p = core.Primitive("multiply_add")

    def bind(x, y, z):
        return p.bind(x, y, z)

    @p.def_impl
    def impl(x, y, z):
        return np.add(np.multiply(x, y), z)

    @p.def_abstract_eval
    def abstract_eval(x, y, z):
        assert x.shape == y.shape == z.shape
        return core.ShapedArray(x.shape, x.dtype)

    def jvp(primals, tangents):
        x, y, z = primals
        xt, yt, zt = [
            jnp.zeros_like(v) if type(t) is ad.Zero else t
            for t, v in zip(tangents, primals, strict=True)
        ]
        return bind(x, y, z), bind(xt, y, bind(x, yt, zt))

    def transpose(ct, x, y, z):
        if not ad.is_undefined_primal(x):
            ct_y = bind(ct, x, jnp.zeros_like(x)) if ad.is_undefined_primal(y) else None
            return None, ct_y, ct
        return bind(ct, y, jnp.zeros_like(y)), None, ct

    mlir.register_lowering(p, mlir.lower_fun(lambda x, y, z: x * y + z, multiple_results=False))
    ad.primitive_jvps[p] = jvp
    ad.primitive_transposes[p] = transpose
    batching.defbroadcasting(p)
    return p


@pytest.fixture(scope="module")
def multiply_add():
    return multiply_add_primitive().bind


def square_add(multiply_add, a, b):
    return multiply_add(a, a, b)


def test_impl_runs_outside_of_jit(multiply_add):
    assert multiply_add(2.0, 3.0, 4.0) == 10.0


def test_jit(multiply_add):
    f = functools.partial(square_add, multiply_add)
    assert jacana.jit(f)(2.0, 10.0) == 14.0
    assert jacana.jit(f, static_argnums=1)(2.0, 10.0) == 14.0
    assert "multiply_add a a b" in str(jacana.make_jaxpr(f)(2.0, 10.0))


@pytest.mark.parametrize("wrap", [lambda f: f, jacana.jit])
def test_derivatives(multiply_add, wrap):
    f = wrap(functools.partial(square_add, multiply_add))
    assert jacana.jvp(f, (2.0, 10.0), (1.0, 1.0)) == (14.0, 5.0)
    assert jacana.grad(f)(2.0, 10.0) == 4.0
    assert jacana.grad(f, argnums=1)(2.0, 10.0) == 1.0
    assert jacana.jit(jacana.grad(f))(2.0, 10.0) == 4.0
    assert jacana.grad(jacana.grad(f))(2.0, 10.0) == 2.0
    check_grads(f, (2.0, 10.0), order=2)


@pytest.mark.parametrize("wrap", [lambda f: f, jacana.jit])
def test_vmap(multiply_add, wrap):
    f = wrap(functools.partial(square_add, multiply_add))
    xs, ys = jnp.array([2.0, 3.0]), jnp.array([10.0, 20.0])
    np.testing.assert_array_equal(jacana.vmap(f)(xs, ys), [14.0, 29.0])
    np.testing.assert_array_equal(jacana.vmap(jacana.grad(f))(xs, ys), [4.0, 6.0])
    empty = jacana.vmap(f)(jnp.zeros((0,)), jnp.zeros((0,)))
    assert empty.shape == (0,)


def test_inside_of_control_flow(multiply_add):
    def f(x):
        return lax.scan(lambda c, _: (multiply_add(c, c, x), None), x, None, length=3)[0]

    def g(x):
        c = x
        for _ in range(3):
            c = c * c + x
        return c

    assert f(0.5) == g(0.5)
    assert jacana.grad(f)(0.5) == pytest.approx(jacana.grad(g)(0.5))


def test_rules_see_concrete_values_outside_of_jit():
    p = core.Primitive("checked")
    p.def_impl(lambda x: x)
    p.def_abstract_eval(lambda x: x)
    seen = []

    def jvp(primals, tangents):
        seen.append(float(primals[0]))
        return p.bind(*primals), tangents[0]

    ad.primitive_jvps[p] = jvp
    assert jacana.grad(lambda x: p.bind(x) * 2.0)(3.0) == 2.0
    assert seen == [3.0]


def test_multiple_results():
    p = core.Primitive("halves")
    p.multiple_results = True
    p.def_impl(lambda x, *, n: [x[:n], x[n:]])
    p.def_abstract_eval(lambda x, *, n: (x.update(shape=(n,)), x.update(shape=(x.shape[0] - n,))))
    mlir.register_lowering(p, mlir.lower_fun(lambda x, *, n: (x[:n], x[n:])))
    ad.deflinear2(p, lambda cts, x, *, n: [jnp.concatenate([*map(ad.instantiate_zeros, cts)])])

    def f(x):
        return p.bind(x, n=2)[0].sum() * 3.0

    x = jnp.arange(5.0)
    for wrap in (lambda f: f, jacana.jit):
        assert wrap(f)(x) == 3.0
        np.testing.assert_array_equal(jacana.grad(wrap(f))(x), [3.0, 3.0, 0, 0, 0])


def test_shorthands_of_rules():
    sin = core.Primitive("my_sin")
    sin.def_impl(functools.partial(xla.apply_primitive, sin))
    sin.def_abstract_eval(lambda x: x)
    mlir.register_lowering(sin, mlir.lower_fun(jnp.sin, multiple_results=False))
    ad.defjvp(sin, lambda t, x: t * jnp.cos(x))
    batching.defvectorized(sin)
    x = jnp.linspace(0.0, 1.0, 5)
    np.testing.assert_array_equal(sin.bind(x), jnp.sin(x))
    np.testing.assert_array_equal(jacana.vmap(jacana.grad(sin.bind))(x), jnp.cos(x))
    product = core.Primitive("product")
    product.def_impl(lambda x, y: x * y)
    product.def_abstract_eval(lambda x, y: x)
    mlir.register_lowering(product, mlir.lower_fun(lambda x, y: x * y, multiple_results=False))
    ad.defbilinear(product, lambda ct, x, y: ct * y, lambda ct, x, y: x * ct)
    batching.defbroadcasting(product)
    assert jacana.grad(lambda x: product.bind(x, x))(3.0) == 6.0
    batched = jacana.vmap(product.bind, in_axes=(0, None))(x, 2.0)
    np.testing.assert_array_equal(batched, 2.0 * x)


def test_lowering_in_the_loop_language():
    p = core.Primitive("three_times")
    p.def_abstract_eval(lambda x: x)

    @p.def_lowering
    def lower(build, x):
        return build.elementwise(lambda v: v * 3, [x], x.dtype)

    x = jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(jacana.jit(lambda x: p.bind(x) + 1)(x), 3 * x + 1)


def test_lowerings_capture_arrays():
    table = jnp.arange(4.0)
    p = core.Primitive("look_up")
    p.def_abstract_eval(lambda i: core.ShapedArray(i.shape, np.float32))
    mlir.register_lowering(p, mlir.lower_fun(lambda i: table[i], multiple_results=False))
    found = jacana.jit(p.bind)(jnp.array([2, 0]))
    np.testing.assert_array_equal(found, [2.0, 0.0])


def test_equal_names_are_not_equal_programs():
    def adding(n):
        p = core.Primitive("add_constant")
        p.def_abstract_eval(lambda x: x)
        mlir.register_lowering(p, mlir.lower_fun(lambda x: x + n, multiple_results=False))
        return p

    first, second = adding(1.0), adding(2.0)
    assert jacana.jit(first.bind)(0.0) == 1.0
    assert jacana.jit(second.bind)(0.0) == 2.0


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda p: p.bind(1.0), "Evaluation rule for 'bare' not implemented"),
        (lambda p: jacana.make_jaxpr(p.bind)(1.0), "Abstract evaluation for 'bare' not"),
        (lambda p: jacana.grad(p.bind)(1.0), "Differentiation rule for 'bare' not implemented"),
        (lambda p: jacana.vmap(p.bind)(jnp.ones(2)), "Batching rule for 'bare' not implemented"),
    ],
)
def test_rules_that_are_missing(use, message):
    with pytest.raises(NotImplementedError, match=message):
        use(core.Primitive("bare"))


def test_lowerings_by_hand_are_refused():
    p = core.Primitive("by_hand")
    p.def_abstract_eval(lambda x: x)
    with pytest.raises(NotImplementedError, match="MLIR translation rule for primitive 'by_hand'"):
        jacana.jit(p.bind)(1.0)
    mlir.register_lowering(p, lambda ctx, x: [x])
    with pytest.raises(NotImplementedError, match="cannot be written in StableHLO here"):
        jacana.jit(p.bind)(1.0)


def test_own_rules_are_read_but_not_replaced():
    assert lax.sin_p in ad.primitive_jvps
    out, tangent = ad.primitive_jvps[lax.sin_p]((0.0,), (1.0,))
    assert (float(out), float(tangent)) == (0.0, 1.0)
    with pytest.raises(NotImplementedError, match="primitive sin cannot be replaced"):
        ad.primitive_jvps[lax.sin_p] = None


def test_dead_code():
    jaxpr = jacana.make_jaxpr(lambda x, y: (x + 1.0, y * 2.0))(1.0, 2.0).jaxpr
    made, used = partial_eval.dce_jaxpr(jaxpr, [True, False])
    assert used == [True, False]
    assert [e.primitive for e in made.eqns] == [lax.add_p]
