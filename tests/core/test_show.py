"""Jaxprs as text: names, sharing and line breaks as JAX 0.10 has them."""

import jacana
from jacana import make_jaxpr, numpy as jnp, ops, typeof


def test_one_line_where_it_fits():
    text = str(make_jaxpr(lambda x: ops.sin(ops.cos(x)))(1.0))
    assert text == "{ lambda ; a:f32[]. let b:f32[] = cos a; c:f32[] = sin b in (c,) }"
    assert (
        str(make_jaxpr(lambda x: (x, 1.0))(1.0)) == "{ lambda ; a:f32[]. let  in (a, 1.0:f32[]) }"
    )
    assert str(make_jaxpr(lambda: ())()) == "{ lambda ; . let  in () }"


def test_eighty_columns():
    shape = jacana.ShapeDtypeStruct((1111,), "float32")
    assert "\n" not in str(make_jaxpr(lambda x: ops.sin(ops.cos(x)))(shape))
    longer = jacana.ShapeDtypeStruct((11111,), "float32")
    assert str(make_jaxpr(lambda x: ops.sin(ops.cos(x)))(longer)) == (
        "{ lambda ; a:f32[11111]. let\n"
        "    b:f32[11111] = cos a\n"
        "    c:f32[11111] = sin b\n"
        "  in (c,) }"
    )


def test_long_lists_are_filled():
    text = str(make_jaxpr(lambda xs: ops.concatenate(*xs, dimension=0))([jnp.ones(1)] * 28))
    assert text.split("\n")[:2] == [
        "{ lambda ; a:f32[1] b:f32[1] c:f32[1] d:f32[1] e:f32[1] f:f32[1] g:f32[1] h:f32[1]",
        "    i:f32[1] j:f32[1] k:f32[1] l:f32[1] m:f32[1] n:f32[1] o:f32[1] p:f32[1] q:f32[1]",
    ]
    assert text.split("\n")[-3:-1] == [
        "    bc:f32[28] = concatenate[dimension=0] a b c d e f g h i j k l m n o p q r s t",
        "      u v w x y z ba bb",
    ]


def test_called_programs():
    f = jacana.jit(lambda x: ops.mul(ops.sin(x), 2.0))
    assert str(make_jaxpr(f)(jnp.arange(3.0))) == (
        "{ lambda ; a:f32[3]. let\n"
        "    b:f32[3] = jit[\n"
        "      name=<lambda>\n"
        "      jaxpr={ lambda ; a:f32[3]. let\n"
        "          c:f32[3] = sin a\n"
        "          b:f32[3] = mul c 2.0:f32[]\n"
        "        in (b,) }\n"
        "    ] a\n"
        "  in (b,) }"
    )


def test_programs_called_twice_are_shown_once():
    f = jacana.jit(lambda x: ops.sin(x))
    assert str(make_jaxpr(lambda x: f(f(x)))(1.0)) == (
        "let lambda = { lambda ; a:f32[]. let b:f32[] = sin a in (b,) } in\n"
        "{ lambda ; c:f32[]. let\n"
        "    d:f32[] = jit[name=<lambda> jaxpr=lambda] c\n"
        "    e:f32[] = jit[name=<lambda> jaxpr=lambda] d\n"
        "  in (e,) }"
    )


def test_gradients():
    assert str(make_jaxpr(jacana.grad(lambda x: ops.mul(x, x)))(1.0)) == (
        "{ lambda ; a:f32[]. let\n"
        "    _:f32[] = mul a a\n"
        "    b:f32[] = mul a 1.0:f32[]\n"
        "    c:f32[] = mul 1.0:f32[] a\n"
        "    d:f32[] = add_any c b\n"
        "  in (d,) }"
    )


def test_gradient_of_a_called_program():
    f = jacana.jit(lambda x: ops.mul(ops.sin(x), x))
    assert str(make_jaxpr(jacana.grad(f))(1.0)) == (
        "{ lambda ; a:f32[]. let\n"
        "    _:f32[] b:f32[] c:f32[] = jit[\n"
        "      name=<lambda>\n"
        "      jaxpr={ lambda ; a:f32[]. let\n"
        "          c:f32[] = sin a\n"
        "          b:f32[] = cos a\n"
        "          _:f32[] = mul c a\n"
        "        in (_, b, c) }\n"
        "    ] a\n"
        "    d:f32[] = jit[\n"
        "      name=<lambda>\n"
        "      jaxpr={ lambda ; b:f32[] a:f32[] c:f32[] e:f32[]. let\n"
        "          f:f32[] = mul c e\n"
        "          g:f32[] = mul e a\n"
        "          h:f32[] = mul g b\n"
        "          d:f32[] = add_any h f\n"
        "        in (d,) }\n"
        "    ] b a c 1.0:f32[]\n"
        "  in (d,) }"
    )


def test_constants_have_names_first():
    constant = jnp.ones(3)
    text = str(make_jaxpr(lambda x: ops.add(x, constant))(jnp.arange(3.0)))
    assert text == "{ lambda a:f32[3]; b:f32[3]. let c:f32[3] = add b a in (c,) }"


def test_types_print_in_full():
    x = jnp.ones(3, "bfloat16")
    assert (str(typeof(x)), str(typeof(1.0))) == ("bfloat16[3]", "~float32[]")
    assert repr(typeof(1.0)) == "ShapedArray(float32[], weak_type=True)"
    assert str(make_jaxpr(lambda x: x)(x)) == "{ lambda ; a:bf16[3]. let  in (a,) }"
