"""Special functions compiled and interpreted: equal bit for bit, also where lanes differ."""

import numpy as np
import pytest

from jacana.kernel import math, special
from tests.compiler.llvm.harness import KernelWriter

EDGES = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, 1e-30)
# Where the functions of one argument, of two and of three vary most.
RANGES = {1: [(-3, 12)], 2: [(0.1, 30), (0.1, 30)], 3: [(0.1, 10), (0.1, 10), (0, 1)]}


@pytest.mark.parametrize("type", ["float32", "float64"])
@pytest.mark.parametrize("name", special.__all__)
def test_compiled_is_interpreted(name, type):
    function = getattr(special, name)
    arity = function.arity
    random = np.random.default_rng(arity)
    w = KernelWriter()
    xs = []
    for axis, (low, high) in enumerate(RANGES[arity]):
        edges = np.meshgrid(*[EDGES] * arity)[axis].reshape(-1)
        xs.append(w.buffer(np.concatenate([edges, random.uniform(low, high, 203)]), type))
    n = len(w.arrays[0])
    out = w.output(n, type)
    with w.loop(w.index(n), "vector", grid=True) as i:
        w.store(out, i, function(*[w.graph.load(x, i) for x in xs]))
    w.check((0, n))


@pytest.mark.parametrize("count", [3, 16, 47, 100])
@pytest.mark.parametrize("function", [math.tanh, special.erfc])
@pytest.mark.usefixtures("processor")
def test_pieces(function, count):
    w = KernelWriter()
    x = w.buffer(np.linspace(-11, 11, count), "float32")
    out = w.output(count, "float32")
    with w.loop(w.index(count), "vector", grid=True) as i:
        w.store(out, i, function(w.graph.load(x, i)))
    w.check((0, count))
