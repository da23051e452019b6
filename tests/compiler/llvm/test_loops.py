"""Loops, loads and stores: every access pattern, length and split of the grid."""

import numpy as np
import pytest

from jacana.compiler.llvm import module
from jacana.kernel import ir
from tests.compiler.llvm.harness import KernelWriter

LENGTHS = (0, 1, 5, 15, 16, 17, 1000)

pytestmark = pytest.mark.usefixtures("processor")


@pytest.mark.parametrize("type", ["float32", "int8", "bool", "float16", "float64", "int4"])
def test_lengths_and_splits(type, rng):
    for size in LENGTHS:
        w = KernelWriter()
        x = w.buffer(rng.integers(0, 2, size), type)
        y = w.output(size, type)
        with w.loop(w.index(size), "vector", True) as i:
            w.store(y, i, w.graph.load(x, i))
        middle = size // 3
        w.check((0, middle), (middle, middle), (middle, size))


@pytest.mark.parametrize("stride", [0, 1, 2, 3, 4, 5, 7, 8, -1, -2, -3])
@pytest.mark.parametrize("static", [True, False])
@pytest.mark.parametrize("type", ["float32", "float64", "int16", "bool", "bfloat16"])
def test_strides(stride, static, type, rng):
    size = 37
    w = KernelWriter()
    span = max(1, abs(stride) * (size - 1) + 1)
    x = w.buffer(rng.integers(0, 2, span), type)
    z = w.output(span, type)
    step = w.graph.index(stride) if static else w.index(stride)
    first = w.index(span - 1 if stride < 0 else 0)
    y = w.output(size, type)
    with w.loop(w.index(size), "vector", True) as i:
        place = first + i * step
        value = w.graph.load(x, place)
        w.store(y, i, value)
        if stride:
            w.store(z, place, value)
    w.check((0, size))


def test_gather_scatter_and_index_arithmetic(rng):
    size = 83
    w = KernelWriter()
    order = rng.permutation(size)
    p, x = w.buffer(order, "int32"), w.buffer(rng.standard_normal(size), "float32")
    y, n = w.output(size, "float32"), w.output(size, "int64")
    with w.loop(w.index(size), "vector", True) as i:
        place = w.graph.load(p, i).convert("index")
        w.store(y, place, w.graph.load(x, place) + i.convert("float32"))
        row, column = i / w.index(7), i % w.index(7)
        w.store(n, i, (row * 100 + column - (i * 3 - i)).convert("int64"))
    w.check((0, 40), (40, size))


@pytest.mark.parametrize("type", ["int8", "uint8", "int4", "int16", "uint32", "float16", "bool"])
def test_counting_in_other_types(type):
    w = KernelWriter()
    y, z = w.output(600, type), w.output(600, type)
    with w.loop(w.index(600), "vector", True) as i:
        w.store(y, i, (i * 5 - 700).convert(type))
        w.store(z, i, (w.index(3) * i).convert(type))
    w.check((0, 600))


def test_nested_loops_and_uniform_values(rng):
    rows, columns = 5, 37
    w = KernelWriter()
    x, bias = (
        w.buffer(rng.standard_normal(rows * columns), "float32"),
        w.buffer([1, 2, 3, 4, 5], "float32"),
    )
    y = w.output(rows * columns, "float32")
    with w.loop(w.index(rows), "serial", True) as i, w.loop(w.index(columns), "vector") as j:
        place = i * w.index(columns) + j
        w.store(y, place, w.graph.load(x, place) * w.graph.load(bias, i))
    w.check((0, 2), (2, rows))


@pytest.mark.parametrize("extent", [0, 1, 3, 8])
def test_static_extents(extent, rng):
    w = KernelWriter()
    x = w.buffer(rng.standard_normal(400), "float32")
    y, z = w.output(400, "float32"), w.output(max(1, extent), "float32")
    with w.loop(w.index(50), "vector", True) as i, w.loop(w.graph.index(extent)) as j:
        w.store(y, i * 8 + j, w.graph.load(x, i * 8 + j) * 3.0)
    w.check((0, 50))
    w = KernelWriter()
    x, z = w.buffer(rng.standard_normal(8), "float32"), w.output(8, "float32")
    with w.loop(w.graph.index(extent), "vector") as j:
        w.store(z, j, w.graph.load(x, j) + 1.0)
    w.check()


def test_parameters_of_all_types(rng):
    w = KernelWriter()
    values = {t: 1 if t == "bool" else -3 if t in ir.SIGNED else 3 for t in ir.TYPES}
    with w.loop(w.index(33), "vector", True) as i:
        for type, value in values.items():
            w.store(w.output(33, type), i, w.graph.scalar(value, type))
            w.store(w.output(33, type), i, w.graph.const(value, type))
    w.check((0, 33))


def test_local_memory_conditions_and_while(rng):
    w = KernelWriter()
    x, y = w.buffer(rng.standard_normal(20 * 6), "float32"), w.output(20 * 6, "float32")
    scratch = w.local("float32", 6)
    with w.loop(w.index(20), "serial", True) as i:
        with w.loop(w.index(6)) as j:
            w.store(scratch, j, w.load_now(x, i * 6 + j) * 2.0)
        total = w.graph.index(0)
        (count,) = w.carry([total], lambda s: s[0] < i % 5 + 1, lambda s: [s[0] + 1])
        with w.loop(w.index(6)) as j, w.when(j < count):
            w.store(y, i * 6 + j, w.load_now(scratch, w.index(5) - j))
    w.check((0, 20))


def test_uniform_while_and_condition_inside_a_vector_loop(rng):
    w = KernelWriter()
    x, y = w.buffer(rng.standard_normal(50), "float32"), w.output(50, "float32")
    with w.loop(w.index(50), "vector", True) as i:
        value = w.load_now(x, i)
        n, total = w.carry(
            [w.graph.index(0), value], lambda s: s[0] < w.index(5),
            lambda s: [s[0] + 1, s[1] * 0.5 + s[0].convert("float32")],
        )  # fmt: skip
        with w.when(w.index(1) < n):
            w.store(y, i, total)
    w.check((0, 50))


def test_a_loop_that_no_vectors_can_hold_is_serial():
    w = KernelWriter()
    y = w.output(50, "float32")
    with w.loop(w.index(50), "vector", True) as i:
        w.store(y, i, w.graph.const(2.0, "float32"))
        with w.when(i < w.index(7)):
            w.store(y, i, w.graph.const(1.0, "float32"))
    w.check((0, 50))


def test_equal_text_for_equal_kernels():
    def build():
        w = KernelWriter()
        x, y = w.buffer(np.zeros(5), "float32"), w.output(5, "float32")
        with w.loop(w.index(5), "vector", True) as i:
            w.store(y, i, w.graph.op("rem", w.graph.load(x, i), 2.0))
        return module.emit(w.kernel())

    assert build() == build()


@pytest.mark.parametrize("type", ["float32", "float64", "bool", "int4"])
@pytest.mark.parametrize("count", [1, 5, 16, 50])
@pytest.mark.parametrize("between", ["nothing", "a load", "a longer body"])
def test_stores_to_neighbours(type, count, between):
    """The parts of a complex number; one that is read before its neighbour is written."""
    w = KernelWriter()
    x = w.buffer(np.arange(2 * count) % 7, type)
    out = w.output(2 * count + 1, type)
    with w.loop(w.index(count), "vector", True) as i:
        at = i * 2
        w.store(out, at, w.graph.load(x, at + 1))
        value = w.graph.load(x, at)
        if between == "a load":
            value = w.load_now(out, at)
        if between == "a longer body":
            for _ in range(20):
                value = w.graph.select(value.eq(w.graph.load(x, at + 1)), value, value)
        w.store(out, at + 1, value)
    w.check((0, count))
