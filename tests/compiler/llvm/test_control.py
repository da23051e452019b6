"""Calls, branches and iterations, in place and compiled apart, for vectors and scalars."""

import numpy as np
import pytest

from jacana.compiler.llvm import module
from jacana.kernel import ir
from jacana.kernel.build import function
from tests.compiler.llvm.harness import KernelWriter


@function("halve", "float32", "int64")
def halve(x, n):
    return x * 0.5, n + 1


@function("large", "float32", "int64")
def large(x, n):
    return abs(x) > 1.0


@function("count_halvings", "float32")
def count_halvings(x):
    return x.graph.iterate(large, halve, [x, x.graph.const(0, "int64")])


@function("twice", "float32")
def twice(x):
    return x * 2.0, x.graph.const(-1, "int64")


TABLE = ir.Table("primes", "float32", (2.0, 3.0, 5.0, 7.0, 11.0))


@function("look_up", "float32")
def look_up(x):
    # In bounds only for the lanes that ask.
    index = x.graph.load(TABLE, x.convert("index"))
    return index, x.graph.const(7, "int64")


@function("either", "float32")
def either(x):
    return x.graph.branch(x > 0.0, count_halvings, twice, [x])


@function("add_one", "float32")
def add_one(x):
    return x + 1.0


@function("same", "float32")
def same(x):
    return x


@function("below", "float32", "float32")
def below(x, limit):
    return x < limit


@function("grow", "float32", "float32")
def grow(x, limit):
    return x * 1.5 + 0.25


@function("both_types", "bool", "float16", "int4", "float64")
def both_types(b, h, n, d):
    return ~b, h + h, -n, d * 3.0


choose = function("choose", "float32")(
    lambda x: x.graph.branch((x >= 0.0) & (x < 5.0), look_up, either, [x])
)

pytestmark = pytest.mark.usefixtures("processor")


@pytest.fixture(params=["in place", "apart"])
def placement(request, monkeypatch):
    if request.param == "apart":
        monkeypatch.setattr(module, "INLINE_LIMIT", 0)


@pytest.mark.parametrize("body", [count_halvings, either, choose], ids=lambda f: f.name)
def test_functions(body, rng, placement):
    for values in (rng.standard_normal(101) * 8, np.full(33, 2.5), np.full(33, -3.0)):
        w = KernelWriter()
        x = w.buffer(values, "float32")
        with w.loop(w.index(len(values)), "vector", True) as i:
            a, b = w.graph.call(body, [w.graph.load(x, i)])
            w.store(w.output(len(values), "float32"), i, a)
            w.store(w.output(len(values), "int64"), i, b)
            a, b = w.graph.call(body, [w.graph.scalar(9.0, "float32")])
            w.store(w.output(len(values), "float32"), i, a)
        w.check((0, 20), (20, len(values)))


def test_branch_on_a_scalar_and_iterate_with_constants(rng, placement):
    w = KernelWriter()
    x = w.buffer(rng.random(77), "float32")
    g = w.graph
    with w.loop(w.index(77), "vector", True) as i:
        value = g.load(x, i)
        for flag in (0, 1):
            (made,) = g.branch(w.index(flag).eq(1), add_one, same, [value])
            w.store(w.output(77, "float32"), i, made)
        for limit in (value * 30.0, g.scalar(5.0, "float32")):
            for start in (value, g.scalar(0.5, "float32")):
                (made,) = g.iterate(below, grow, [start], [limit])
                w.store(w.output(77, "float32"), i, made)
    w.check((0, 77))


def test_all_kinds_of_parameters(rng, placement):
    w = KernelWriter()
    b, h = w.buffer(rng.random(53) < 0.5, "bool"), w.buffer(rng.random(53), "float16")
    n, d = w.buffer(rng.integers(-8, 8, 53), "int4"), w.buffer(rng.random(53), "float64")
    with w.loop(w.index(53), "vector", True) as i:
        for made in w.graph.call(both_types, [w.graph.load(m, i) for m in (b, h, n, d)]):
            w.store(w.output(53, made.type), i, made)
    w.check((0, 53))


def test_table_of_bools_and_halves(rng):
    w = KernelWriter()
    p = w.buffer(rng.integers(0, 3, 40), "int64")
    tables = [
        ir.Table("a", "bool", (True, False, True)), ir.Table("b", "float16", (0.5, 2.0, -1.0)),
        ir.Table("c", "int4", (-8, 7, 3)),
    ]  # fmt: skip
    with w.loop(w.index(40), "vector", True) as i:
        for table in tables:
            made = w.graph.load(table, w.graph.load(p, i).convert("index"))
            w.store(w.output(40, table.type), i, made)
            w.store(w.output(40, table.type), i, w.graph.load(table, w.graph.index(1)))
    w.check((0, 40))


def test_a_long_chain_of_calls_is_linear(rng):
    """Deep expressions neither recurse nor grow faster than their length."""
    w = KernelWriter()
    x, y = w.buffer(rng.random(40), "float32"), w.output(40, "float32")
    with w.loop(w.index(40), "vector", True) as i:
        value = w.graph.load(x, i)
        for _ in range(1500):
            value = w.graph.call(add_one, [value * 0.75])[0]
        w.store(y, i, value)
    w.check((0, 40))
