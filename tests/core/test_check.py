"""check_jaxpr finds faults, and shows the equations around them."""

import pytest

import jacana
from jacana import make_jaxpr, numpy as jnp, ops
from jacana.core.avals import ShapedArray
from jacana.core.check import check_jaxpr
from jacana.core.errors import JaxprTypeError
from jacana.core.jaxpr import Jaxpr, JaxprEqn, Var


def program():
    return make_jaxpr(lambda x, y: ops.mul(ops.sin(x), y))(1.0, 2.0).jaxpr


def changed(jaxpr, **changes):
    fields = {k: getattr(jaxpr, k) for k in ("constvars", "invars", "outvars", "eqns")}
    return Jaxpr(**{**fields, **changes})


def test_derived_programs_are_well_formed():
    f = jacana.jit(lambda x: jnp.sum(jnp.sin(x) ** 3 * x[0]))
    x = jnp.ones(3)
    for g in (f, jacana.grad(f), jacana.hessian(f)):
        check_jaxpr(make_jaxpr(g)(x))
        check_jaxpr(make_jaxpr(jacana.vmap(g))(jnp.ones((2, 3))))


def test_undefined_variable():
    j = program()
    with pytest.raises(JaxprTypeError) as error:
        check_jaxpr(changed(j, invars=j.invars[:1]))
    assert str(error.value) == (
        "mul: a variable of type ~float32[] is not defined.\n\n"
        "    b:f32[] = sin a\n"
        "--> c:f32[] = mul b d"
    )


def test_wrong_type():
    j = program()
    e = j.eqns[0]
    wrong = Var(ShapedArray((3,), "float32"))
    eqns = [JaxprEqn(e.invars, [wrong], e.primitive, e.params)]
    with pytest.raises(JaxprTypeError, match=r"sin gives ~float32\[\], but its output is"):
        check_jaxpr(changed(j, eqns=eqns, outvars=[wrong]))


def test_variable_defined_twice():
    j = program()
    with pytest.raises(JaxprTypeError, match="defined already"):
        check_jaxpr(changed(j, eqns=[j.eqns[0], j.eqns[0]], outvars=j.eqns[0].outvars))
    with pytest.raises(JaxprTypeError, match="occurs twice"):
        check_jaxpr(changed(j, invars=[j.invars[0], j.invars[0]]))


def test_undefined_output():
    j = program()
    with pytest.raises(JaxprTypeError, match="an output: a variable of type"):
        check_jaxpr(changed(j, eqns=j.eqns[:1]))
