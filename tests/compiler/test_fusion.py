"""Fusion: what is stored and what is computed where it is read; the same bits either way."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana.compiler.commands import KernelCommand, LibraryCommand
from jacana.compiler.compile import compile_jaxpr
from jacana.kernel.show import show


def commands(function, *args):
    """The commands of a jitted function for arguments like these."""
    jaxpr = jacana.make_jaxpr(function)(*args).jaxpr
    return compile_jaxpr(jaxpr.with_constvars_as_inputs()).commands


def softmax(x):
    e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
    return e / jnp.sum(e, axis=-1, keepdims=True)


def layernorm(x, g, b):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    centred = x - mean
    variance = jnp.mean(centred * centred, axis=-1, keepdims=True)
    return centred / jnp.sqrt(variance + 1e-5) * g + b


X = np.linspace(-3, 3, 37 * 50, dtype=np.float32).reshape(37, 50)
G = np.linspace(0.5, 1.5, 50, dtype=np.float32)

ONE_KERNEL = {
    "chain": (lambda x: jnp.tanh(x * 2 + 1) - x, (X,)),
    "layernorm": (layernorm, (X, G, G)),
    "column sum": (lambda x: jnp.sum(x * x, axis=0), (X,)),
    "transpose": (lambda x: x.T + 1, (X,)),
    "slices": (lambda x: x[1:, 3] - x[:-1, 2], (X,)),
    "two results": (lambda x: (jnp.exp(x) + 1, jnp.exp(x) * 2), (X,)),
    "concatenate": (lambda x: jnp.concatenate([x, x + 1], axis=1) * 2, (X,)),
    "softmax": (softmax, (X,)),
    "rows of three values": (
        lambda x: (
            jnp.tanh(jnp.exp(x) - jnp.exp(x).sum(1, keepdims=True)) * 2
            - jnp.tanh(jnp.exp(x) - jnp.exp(x).sum(1, keepdims=True)).max(1, keepdims=True)
        ),
        (X,),
    ),
}


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_becomes_one_kernel(name):
    function, args = ONE_KERNEL[name]
    found = commands(function, *args)
    assert len(found) == 1 and isinstance(found[0], KernelCommand), found


def test_rows_are_kept_while_they_are_in_cache():
    # exp costs more than keeping it: the kernel stores it in its result's row, then divides.
    found = commands(softmax, X)
    assert [type(c) for c in found] == [KernelCommand]
    assert len(found[0].kernel.buffers) == 2
    assert len(commands(jacana.grad(lambda x: (softmax(x) ** 2).sum()), X)) == 1


def test_what_is_kept_of_rows_can_be_a_result():
    def both(x):
        e = jnp.exp(x)
        return e, e / e.sum(axis=1, keepdims=True)

    found = commands(both, X)
    assert len(found) == 1 and len(found[0].kernel.buffers) == 3
    for e, j in zip(both(jnp.asarray(X)), jacana.jit(both)(X), strict=True):
        np.testing.assert_array_equal(np.asarray(e), np.asarray(j))


@pytest.mark.parametrize("name", ONE_KERNEL)
def test_jit_gives_the_bits_of_eager(name):
    function, args = ONE_KERNEL[name]
    arrays = [jnp.asarray(a) for a in args]
    eager = jacana.tree.leaves(function(*arrays))
    jitted = jacana.tree.leaves(jacana.jit(function)(*arrays))
    for e, j in zip(eager, jitted, strict=True):
        np.testing.assert_array_equal(np.asarray(e), np.asarray(j))


def test_expensive_value_read_by_two_domains_is_stored_once():
    found = commands(lambda x: (jnp.sin(x).sum(axis=0), jnp.sin(x) + 1), X)
    assert len(found) == 2


def test_contraction_reads_through_transposes():
    found = commands(lambda x, y: x @ y.T, np.ones((128, 128), "f4"), np.ones((99, 128), "f4"))
    assert [type(c) for c in found] == [LibraryCommand]


@pytest.mark.parametrize("shape", [(1024, 1024), (1000, 1000), (64, 128, 128), (8, 32, 32, 128)])
def test_sums_over_several_axes_read_memory_in_order(shape):
    for command in commands(lambda x: jnp.sum(x * x), np.ones(shape, np.float32)):
        assert "rem" not in show(command.kernel) and "index = div" not in show(command.kernel)


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: jnp.sqrt(jnp.mean(x * x)), (1 << 17,)),
        (lambda x: jnp.mean(x, axis=0) + 1, (1 << 15, 10)),
        (jnp.nanmax, (1 << 17,)),
    ],
)
def test_threads_share_long_reductions_whatever_follows_them(function, shape):
    """One kernel sweeps over the elements, by chunks; the others fold its few values."""
    sweep, *rest = commands(function, np.ones(shape, np.float32))
    assert sweep.grain and sweep.extent >= 4
    assert all(not command.grain for command in rest)


def test_kernels_do_not_depend_on_sizes():
    first = commands(softmax, np.ones((20, 30), "f4"))
    second = commands(softmax, np.ones((200, 31), "f4"))
    assert [c.key for c in first] == [c.key for c in second]


def test_long_chain_is_linear():
    def chain(x):
        for i in range(1000):
            x = x * 1.0001 + float(i)
        return x

    found = commands(chain, np.ones(10, "f4"))
    assert len(found) == 1


def test_result_that_is_an_input_is_not_copied():
    x = jnp.arange(3.0)
    same, _ = jacana.jit(lambda x: (x, x + 1))(x)
    assert same.address == x.address


@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 8191, 8193, 40000, 100_001])
def test_sums_have_one_order(length):
    x = jnp.asarray(np.random.default_rng(0).standard_normal(length), "float32")
    plain = jnp.sum(x)
    fused = jacana.jit(lambda x: jnp.sum(x * 1.0) + 0.0)(x)
    row = jnp.sum(jnp.stack([x, x]), axis=1)[1]
    column = jnp.sum(jnp.stack([x, x], axis=1), axis=0)[1]
    assert {np.asarray(v).tobytes() for v in (plain, fused, row, column)} == {
        np.asarray(plain).tobytes()
    }


@pytest.mark.parametrize("columns", [1, 17, 64, 200])
def test_sums_of_columns_are_those_of_rows(columns):
    x = np.random.default_rng(0).standard_normal((9000, columns)).astype("f4")
    down = jacana.jit(lambda x: jnp.sum(x * x, axis=0))(x)
    along = jacana.jit(lambda x: jnp.sum(x * x, axis=1))(np.ascontiguousarray(x.T))
    assert np.asarray(down).tobytes() == np.asarray(along).tobytes()
