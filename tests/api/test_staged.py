"""What lowered and compiled programs tell about themselves."""

import pytest

import jacana
import jacana.numpy as jnp


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
