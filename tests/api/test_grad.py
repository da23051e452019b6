"""grad and value_and_grad: arguments of every kind, nesting, and what bad input gets."""

import functools

import numpy as np
import pytest

import jacana
from jacana import grad, numpy as jnp
from jacana.core.errors import UnexpectedTracerError


def test_argument_kinds():
    x = jnp.arange(1.0, 4.0)
    assert float(grad(lambda x, n: x**n)(2.0, 3)) == 12.0
    assert float(grad(lambda x, b: jnp.where(b, x, 2 * x))(2.0, False)) == 2.0
    assert float(grad(lambda x, n: x * 2 if n is None else x)(2.0, None)) == 2.0
    tree = grad(lambda p: (p["a"] * p["b"][0]).sum() + p["b"][1])({"a": x, "b": (2.0, 3.0)})
    assert tree["a"].tolist() == [2, 2, 2] and float(tree["b"][0]) == 6 and float(tree["b"][1]) == 1
    assert grad(lambda p: (p["a"] ** 2).sum())({"a": x, "n": None})["n"] is None
    assert grad(lambda x: (x**2).sum())(np.ones(3, np.float32)).tolist() == [2, 2, 2]
    assert grad(lambda x: (x * 2).sum())(jnp.ones(3, "bfloat16")).dtype == jnp.bfloat16
    assert float(grad(functools.partial(lambda y, x: x * y, 2.0))(3.0)) == 2.0


def test_argnums():
    def f(x, y):
        return x * y

    assert float(grad(f, argnums=-1)(2.0, 3.0)) == 2.0
    both = grad(f, argnums=(1, 0))(2.0, 3.0)
    assert isinstance(both, tuple) and [float(v) for v in both] == [2.0, 3.0]


def test_unused_and_constant():
    unused, used = grad(lambda x, y: y * 2, argnums=(0, 1))(jnp.ones(3), 2.0)
    assert unused.tolist() == [0, 0, 0] and float(used) == 2.0
    assert grad(lambda x: 3.0)(jnp.ones(3)).tolist() == [0, 0, 0]
    assert grad(lambda x: x.sum())(jnp.zeros((0, 3))).shape == (0, 3)
    assert float(grad(lambda x: x)(1.0)) == 1.0


def test_aux():
    g, aux = grad(lambda x: (x**2, {"y": x + 1, "n": None, "z": 3}), has_aux=True)(3.0)
    assert float(g) == 6.0 and float(aux["y"]) == 4.0 and aux["n"] is None and aux["z"] == 3
    (value, aux), g = jacana.value_and_grad(lambda x: (x**2, x > 1), has_aux=True)(3.0)
    assert (float(value), bool(aux), float(g)) == (9.0, True, 6.0)


def test_weak_types_are_kept():
    assert grad(jnp.sin)(1.0).weak_type
    assert grad(lambda x: x * jnp.float32(2))(1.0).weak_type
    assert not grad(jnp.sin)(jnp.float32(1)).weak_type
    assert grad(lambda x: jnp.float32(3))(1.0).weak_type


def test_integers():
    g = grad(lambda p: p["x"] * p["n"], allow_int=True)({"x": 2.0, "n": np.arange(3)[1]})
    assert g["n"].dtype == jacana.float0 and float(g["x"]) == 1.0
    with pytest.raises(TypeError, match="grad requires real- or complex-valued inputs"):
        grad(lambda x: x * 1.0)(1)


def test_complex():
    assert complex(grad(lambda z: z**2, holomorphic=True)(1 + 2j)) == 2 + 4j
    assert complex(grad(lambda z: (z * jnp.conj(z)).real)(1 + 2j)) == 2 - 4j
    with pytest.raises(TypeError, match="grad requires real-valued outputs"):
        grad(lambda x: x * 1j)(1.0)
    with pytest.raises(TypeError, match="holomorphic=True requires inputs with complex dtype"):
        grad(lambda x: x, holomorphic=True)(1.0)


def test_python_control_flow():
    assert float(grad(lambda x: x**2 if x > 0 else -x)(3.0)) == 6.0
    assert float(grad(lambda x: x**2 if x > 0 else -x)(-3.0)) == -1.0
    assert float(grad(lambda x: x * x.item())(3.0)) == 3.0


@pytest.mark.parametrize(
    ("function", "args", "message"),
    [
        (lambda x: x, (jnp.ones(3),), "Output of .* had shape: \\(3,\\)"),
        (lambda x: (x, x), (1.0,), "Gradient only defined for scalar-output functions"),
        (lambda x: None, (1.0,), "Gradient only defined for scalar-output functions"),
        (lambda x: "a", (1.0,), "not a valid JAX type"),
        (lambda x: x, ("a",), "not a valid JAX type"),
        (lambda x: 1, (1.0,), "grad requires real-valued outputs"),
        (lambda x: x, (), "requires at least 1 positional arguments"),
    ],
)
def test_bad_input(function, args, message):
    with pytest.raises(TypeError, match=message):
        grad(function)(*args)


def test_bad_argnums():
    with pytest.raises(TypeError, match="argnums=2 requires at least 3 positional arguments"):
        grad(lambda x: x, argnums=2)(1.0)
    with pytest.raises(ValueError, match="argnums"):
        grad(lambda x: x, argnums=-2)(1.0)
    with pytest.raises(TypeError, match="two-element tuple"):
        grad(lambda x: x, has_aux=True)(1.0)
    with pytest.raises(TypeError, match="callable"):
        grad(3)


def test_perturbations_are_not_confused():
    assert float(grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0)) == 1.0
    inner = jacana.jvp(lambda x: x * jacana.jvp(lambda y: x * y, (1.0,), (1.0,))[1], (2.0,), (1.0,))
    assert [float(v) for v in inner] == [4.0, 4.0]
    assert float(grad(lambda x: grad(lambda y: y * y * x)(x) * x)(3.0)) == 54.0
    nested = jacana.vmap(lambda x: grad(lambda y: y * y * x)(x))(jnp.arange(3.0))
    assert nested.tolist() == [0.0, 2.0, 8.0]


def test_any_order():
    f = lambda x: x**5
    for _ in range(4):
        f = grad(f)
    assert float(f(2.0)) == 240.0
    g = jacana.jit(grad(jacana.jit(grad(lambda x: jnp.sin(x) * x))))
    np.testing.assert_allclose(float(g(1.0)), 2 * np.cos(1.0) - np.sin(1.0), rtol=1e-6)
    ts = jacana.jvp(
        jacana.vmap(grad(jacana.jit(lambda x: x**3))), (jnp.arange(3.0),), (jnp.ones(3),)
    )
    assert ts[1].tolist() == [0.0, 6.0, 12.0]


def test_closures():
    assert float(grad(lambda x: jacana.jit(lambda y: y * x)(x))(3.0)) == 6.0
    w = grad(lambda w: jacana.vmap(jacana.jit(lambda y: y * w))(jnp.arange(3.0)).sum())(3.0)
    assert float(w) == 3.0
    assert jacana.vmap(lambda x: jacana.jit(lambda: x * 2)())(jnp.arange(3.0)).tolist() == [0, 2, 4]


def test_leaked_tracers_are_named():
    leaked = []
    grad(lambda x: leaked.append(x) or x * 2.0)(1.0)
    with pytest.raises(UnexpectedTracerError, match="after the transformation that made it"):
        leaked[0] * 2.0


def test_nested_jit_is_derived_once():
    def nest(n):
        if n == 0:
            return jnp.sin
        inner = jacana.jit(nest(n - 1))
        return lambda x: inner(x) + inner(x)

    assert float(grad(nest(12))(0.0)) == 2.0**12


def test_missing_rules_are_errors():
    sign = grad(lambda x: jnp.floor(x) * x)(2.5)
    assert float(sign) == 2.0
