"""What lowered and compiled programs tell about themselves."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana import stages


@pytest.fixture(scope="module")
def lowered():
    def f(x, y):
        return jnp.exp(x @ y).sum(0), x

    return jacana.jit(f).lower(jnp.ones((64, 32)), jnp.ones((32, 16)))


def test_costs_are_counted(lowered):
    cost = lowered.compile().cost_analysis()
    assert cost == lowered.cost_analysis()
    assert cost["transcendentals"] == 64 * 16
    assert 2 * 64 * 32 * 16 + 64 * 16 * 10 < cost["flops"] < 2 * 64 * 32 * 16 + 64 * 16 * 60
    assert cost["bytes accessed"] == cost["bytes accessed in"] + cost["bytes accessed out"]


def test_memory_is_told(lowered):
    memory = lowered.compile().memory_analysis()
    assert memory.argument_size_in_bytes == 4 * (64 * 32 + 32 * 16)
    assert memory.output_size_in_bytes == 4 * 16
    assert memory.alias_size_in_bytes == 4 * 64 * 32
    assert memory.temp_size_in_bytes >= 4 * 64 * 16
    assert memory.generated_code_size_in_bytes > 100
    assert memory.peak_memory_in_bytes >= memory.argument_size_in_bytes


def test_texts(lowered):
    assert lowered.as_text().startswith("{ lambda ; a:f32[64,32] b:f32[32,16]. let")
    assert lowered.as_text("kernel").startswith("kernel\n")
    assert "define i64 @kernel" in lowered.as_text("llvm")
    assert lowered.compile().as_text() == lowered.as_text("kernel")
    with pytest.raises(ValueError, match="jaxpr, kernel, llvm and asm, got 'hlo'"):
        lowered.as_text("hlo")


def test_stages_tell_of_arguments_and_results():
    def f(x, flag, *, scale):
        return {"a": x * scale if flag else x}

    jitted = jacana.jit(f, static_argnums=1, donate_argnums=0)
    stage = jitted.trace(jacana.ShapeDtypeStruct((3,), "float32"), True, scale=2.0)
    args, kwargs = stage.args_info
    assert (args[0].shape, args[0].dtype, args[0].donated) == ((3,), np.float32, True)
    assert (kwargs["scale"].shape, kwargs["scale"].donated) == ((), False)
    assert stage.fun_name == "f"
    assert stage.donate_argnums == (0,)
    assert "mul a b" in str(stage.jaxpr)
    compiled = stage.lower().compile()
    for each in (stage, stage.lower(), compiled):
        assert each.out_info == {"a": jacana.ShapeDtypeStruct((3,), "float32")}
        assert each.in_tree == jacana.tree.structure(((0,), {"scale": 0}))
        assert each.in_avals[0][0].shape == (3,)
    x = jnp.ones(3)
    np.testing.assert_array_equal(compiled(x, scale=2.0)["a"], 2 * np.ones(3))
    assert x.is_deleted()
    assert isinstance(compiled, stages.Compiled)


@pytest.fixture(scope="module")
def compiled():
    def f(x, y):
        return x + y["b"]

    return jacana.jit(f).lower(jnp.ones(3), {"b": 1.0}).compile()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((jnp.ones(4), {"b": 1.0}), r"Argument 'x' compiled with float32\[3\] and called with"),
        ((jnp.ones(3), {"b": 1}), r"Argument \"y\['b'\]\" compiled with float32\[\] and called"),
        ((jnp.ones(3), {"c": 1.0}), r"at args\[1\], the keys of a dict differ"),
        ((jnp.ones(3),), r"at args, the prefix has a tuple of length 2 there"),
        ((jnp.ones(3), {"b": "1"}), r"f needs an array as argument y\['b'\], got '1'"),
    ],
)
def test_compiled_programs_take_the_types_they_were_compiled_for(compiled, args, message):
    with pytest.raises(TypeError, match=message):
        compiled(*args)


def test_compiled_programs_are_not_transformed(compiled):
    for transform in (jacana.grad, jacana.jit, jacana.vmap):
        with pytest.raises(TypeError, match="Cannot apply JAX transformations to a function low"):
            transform(lambda x: compiled(x, {"b": 1.0}).sum())(jnp.ones((3, 3)))


def test_constants_are_kept():
    table = jnp.arange(4.0)
    compiled = jacana.jit(lambda i: table[i]).lower(1).compile()
    assert compiled(2) == 2.0


def test_platforms():
    traced = jacana.jit(jnp.sin).trace(1.0)
    assert traced.lower(lowering_platforms=("cpu",)).compile()(0.0) == 0.0
    with pytest.raises(NotImplementedError, match="for the platform 'tpu'"):
        traced.lower(lowering_platforms=("tpu",))
