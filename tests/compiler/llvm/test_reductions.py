"""Reductions have one order: over lanes, in memory and written out, the bits are the same."""

import numpy as np
import pytest

from tests.compiler.llvm.harness import KernelWriter, compiled, run, same

LENGTHS = (0, 1, 15, 16, 17, 100, 8191, 8192, 8193, 30000)

pytestmark = pytest.mark.usefixtures("processor")


def reduce(w, kind, extent, element):
    g = w.graph
    if kind == "argmax":

        def combine(left, right):
            better = (right[0] > left[0]) | (right[0].eq(left[0]) & (right[1] < left[1]))
            return [g.select(better, r, l) for l, r in zip(left, right, strict=True)]

        start = [g.const(float("-inf"), "float32"), g.const(1 << 40, "int64")]
        return g.reduce(extent, lambda k: [element(k), k.convert("int64")], combine, start)
    if kind == "any":
        return g.reduce(
            extent,
            lambda k: [element(k) > 2.5],
            lambda l, r: [l[0] | r[0]],
            [g.const(False, "bool")],
        )
    if kind == "odd":  # neither associative nor with a neutral initial state
        return g.reduce(
            extent, lambda k: [element(k)], lambda l, r: [l[0] * 0.5 + r[0]],
            [g.const(0.75, "float32")],
        )  # fmt: skip
    init = {"add": 0.0, "mul": 1.0, "max": float("-inf")}[kind]
    return g.reduce(
        extent, lambda k: [element(k)], lambda l, r: [g.op(kind, l[0], r[0])],
        [g.const(init, "float32")],
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["add", "max", "any", "argmax", "odd"])
@pytest.mark.parametrize("length", LENGTHS)
def test_rows(kind, length, rng):
    rows = 2 if length > 1000 else 5
    w = KernelWriter()
    x = w.buffer(rng.standard_normal(rows * length + 1), "float32")
    n = w.index(length)
    with w.loop(w.index(rows), "serial", True) as i:
        for made in reduce(w, kind, n, lambda k: w.graph.load(x, i * n + k)):
            w.store(w.output(rows, made.type), i, made)
    w.check((0, rows))


@pytest.mark.parametrize("kind", ["add", "argmax", "odd"])
@pytest.mark.parametrize(("count", "length"), [(19, 0), (19, 1), (1, 17), (37, 100), (3, 8193)])
def test_rows_side_by_side(kind, count, length, rng):
    w = KernelWriter()
    x = w.buffer(rng.standard_normal(count * length + 1), "float32")
    shift = w.buffer(rng.standard_normal(count), "float32")
    n = w.index(length)
    with w.loop(w.index(count), "vector", True) as i:
        less = w.graph.load(shift, i)
        for made in reduce(
            w, kind, n, lambda k: (w.graph.load(x, i * n + k) - less) * w.graph.load(x, k)
        ):
            w.store(w.output(count, made.type), i, made)
    w.check((0, count))


@pytest.mark.parametrize("kind", ["add", "any", "argmax", "odd"])
@pytest.mark.parametrize(
    ("length", "columns"), [(0, 19), (1, 147), (15, 19), (16, 64), (17, 147), (100, 83), (8193, 19)]
)
def test_columns(kind, length, columns, rng):
    w = KernelWriter()
    x = w.buffer(rng.standard_normal(columns * length + 1), "float32")
    with w.loop(w.index(columns), "vector", True) as i:
        for made in reduce(
            w, kind, w.index(length), lambda k: w.graph.load(x, k * w.index(columns) + i)
        ):
            w.store(w.output(columns, made.type), i, made)
    w.check((0, columns))


@pytest.mark.parametrize("kind", ["add", "mul", "max", "any", "argmax", "odd"])
@pytest.mark.parametrize("loop", ["serial", "vector"])
def test_static_lengths(kind, loop, rng):
    count = 21
    w = KernelWriter()
    values = rng.standard_normal(count * 8)
    values[::5], values[::7] = -0.0, 0.0
    x = w.buffer(values, "float32")
    with w.loop(w.index(count), loop, True) as i:
        for length in range(9):
            extent = w.graph.index(length)
            for made in reduce(w, kind, extent, lambda k: w.graph.load(x, i * 8 + k)):
                w.store(w.output(count, made.type), i, made)
    w.check((0, count))


def test_softmax_of_rows(rng):
    rows, columns = 7, 53
    w = KernelWriter()
    x, y = (
        w.buffer(rng.standard_normal(rows * columns), "float32"),
        w.output(rows * columns, "float32"),
    )
    n = w.index(columns)
    with w.loop(w.index(rows), "serial", True) as i:
        row = i * n
        (top,) = reduce(w, "max", n, lambda k: w.graph.load(x, row + k))
        (total,) = reduce(w, "add", n, lambda k: abs(w.graph.load(x, row + k) - top) * 0.5)
        with w.loop(n, "vector") as j:
            w.store(y, row + j, abs(w.graph.load(x, row + j) - top) * 0.5 / total)
    w.check((0, rows))


def test_nested_reductions(rng):
    w = KernelWriter()
    x = w.buffer(rng.standard_normal(20 * 40), "float32")
    for loop in ("serial", "vector"):
        y = w.output(3, "float32")
        w_loop = w.loop(w.index(3), loop)
        with w_loop as i:
            (total,) = reduce(
                w, "add", w.index(20),
                lambda k: reduce(w, "max", w.index(40), lambda j: w.graph.load(x, k * 40 + j))[0]
                * i.convert("float32"),
            )  # fmt: skip
            w.store(y, i, total)
    w.check()


@pytest.mark.parametrize("type", ["float16", "bfloat16", "float64", "int8", "int4", "uint64"])
@pytest.mark.parametrize("loop", ["serial", "vector"])
def test_types(type, loop, rng):
    length, count = 77, 18
    w = KernelWriter()
    x = w.buffer(rng.integers(0, 7, length * count), type)
    g = w.graph
    with w.loop(w.index(count), loop, True) as i:
        for kind in ("add", "max"):
            (made,) = g.reduce(
                w.index(length), lambda k: [g.load(x, i * w.index(length) + k)],
                lambda l, r, kind=kind: [g.op(kind, l[0], r[0])], [g.const(0, type)],
            )  # fmt: skip
            w.store(w.output(count, type), i, made)
    w.check((0, count))


def test_reduction_whose_extent_depends_on_the_outer_one(rng):
    """The body of the outer reduction has an inner extent that differs between its lanes."""
    w = KernelWriter()
    x, y = w.buffer(rng.standard_normal(100), "float32"), w.output(1, "float32")
    (total,) = reduce(
        w, "add", w.index(40),
        lambda k: reduce(w, "add", k, lambda j: w.graph.load(x, k + j))[0],
    )  # fmt: skip
    w.store(y, w.graph.index(0), total)
    w.check()


def test_equal_bits_with_and_without_a_vector_loop(rng):
    """Sums of the rows of a matrix, and of the columns of its transpose."""
    length, count = 20000, 17
    matrix = rng.standard_normal((count, length)).astype(np.float32)
    sums = []
    for loop, stored, strides in (
        ("serial", matrix, (length, 1)),
        ("vector", matrix.T, (1, count)),
    ):
        w = KernelWriter()
        x, y = w.buffer(stored, "float32"), w.output(count, "float32")
        row, step = (w.index(v) for v in strides)

        def element(k, i, w=w, x=x, row=row, step=step):
            return w.graph.load(x, i * row + k * step)

        with w.loop(w.index(count), loop, True) as i:
            (made,) = reduce(w, "add", w.index(length), lambda k, i=i, of=element: of(k, i))
            w.store(y, i, made)
        run(compiled(w.kernel()), w.arrays, w.param_values, 0, count)
        sums.append(w.arrays[1])
    same(*sums, "float32")
    np.testing.assert_allclose(sums[0], matrix.sum(1), rtol=1e-3)
