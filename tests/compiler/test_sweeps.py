"""Cut and tiled sweeps: the same values as NumPy, over extents that fill no vector or tile."""

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana.compiler.commands import KernelCommand
from jacana.compiler.compile import compile_jaxpr
from jacana.kernel import ir
from jacana.kernel.check import check

A = np.arange(133 * 150, dtype=np.float32).reshape(133, 150)
V = np.arange(217, dtype=np.float32)
CUBE = np.arange(5 * 70 * 80, dtype=np.float32).reshape(5, 70, 80)

CUT = {
    "concatenate": (lambda m, x: m.concatenate([x, x[:, 3:] * 2, x[:, :1]], axis=1), A),
    "roll": (lambda m, x: x + m.roll(x, 1) - m.roll(x, -1), V),
    "roll rows": (lambda m, x: m.roll(x, (1, -7), axis=(0, 1)), A),
    "pad": (lambda m, x: m.pad(x, ((2, 0), (1, 3))) + 1, A),
    "tile": (lambda m, x: m.tile(x, (2, 3)) + 1, A),
    "split": (lambda m, x: m.concatenate([x[100:], x[:100]]) * x, V),
}
TILED = {
    "copy": (lambda m, x: x.T + 0, A),
    "sum": (lambda m, x: x[:, :133] + x[:, :133].T, A),
    "last axes": (lambda m, x: x.transpose(0, 2, 1) * 2, CUBE),
    "all axes": (lambda m, x: x.transpose(2, 1, 0) - 1, CUBE),
    "first axes stay": (lambda m, x: x.transpose(1, 0, 2) - 1, CUBE),
}
NARROW = {
    "points": (lambda m, x: x / x.max(axis=-1, keepdims=True), A[:, 1:148].reshape(-1, 3)),
    "columns": (lambda m, x: x.T * 2, A[:5]),
    "images": (lambda m, x: x - x.min(axis=-1, keepdims=True), A[:131, :149].reshape(-1, 149, 1)
               + np.arange(4, dtype=np.float32)),
}  # fmt: skip


def kernels(function, x):
    made = compile_jaxpr(jacana.make_jaxpr(function)(x).jaxpr.with_constvars_as_inputs())
    assert all(isinstance(c, KernelCommand) for c in made.commands)
    for c in made.commands:
        check(c.kernel)
    return made.commands


@pytest.mark.parametrize("name", [*CUT, *TILED, *NARROW])
def test_values(name):
    function, x = (CUT | TILED | NARROW)[name]
    kernels(lambda x: function(jnp, x), x)
    found = jacana.jit(lambda x: function(jnp, x))(x)
    np.testing.assert_array_equal(np.asarray(found), function(np, x))


def statements(body):
    for s in body:
        yield s
        yield from statements(getattr(s, "body", ()))


@pytest.mark.parametrize("name", CUT)
def test_segments_choose_nothing(name):
    # Along the last axis no element asks where it is: what a vector loop holds compares nothing.
    function, x = CUT[name]
    for c in kernels(lambda x: function(jnp, x), x):
        for s in statements(c.kernel.body):
            if isinstance(s, ir.For) and s.kind == "vector":
                made = [t.operation for t in statements(s.body) if isinstance(t, ir.Let)]
                assert "lt" not in made and "min" not in made


def test_few_segments():
    def many(x):
        return jnp.concatenate([x[: k * 9] for k in range(1, 8)])

    assert len(kernels(many, V)) == 1
