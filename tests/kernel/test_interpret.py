"""The interpreter against Python's exact arithmetic and against plain loops."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from jacana.kernel import arithmetic, build, interpret, ir
from jacana.kernel.expr import Graph


def apply(operation, type, *args, result=None):
    arrays = [np.array(a, arithmetic.DTYPES[type]).reshape(-1) for a in args]
    with np.errstate(all="ignore"):
        made = arithmetic.apply(operation, result or type, [type] * len(arrays), arrays)
    return made.tolist()


# --- operations ---------------------------------------------------------------------------------


@pytest.mark.parametrize("type", ["int4", "int8", "int32", "int64"])
def test_signed_division_is_total(type):
    low, high = -(1 << ir.WIDTH[type] - 1), (1 << ir.WIDTH[type] - 1) - 1
    assert apply("div", type, [7, -7, 7, -7, 5, low], [2, 2, -2, -2, 0, -1]) == [
        3, -3, -3, 3, -1, low,
    ]  # fmt: skip
    assert apply("rem", type, [7, -7, 7, -7, 5, low], [2, 2, -2, -2, 0, -1]) == [
        1, -1, 1, -1, 5, 0,
    ]  # fmt: skip
    assert apply("neg", type, [low, 3]) == [low, -3]
    assert apply("add", type, [high], [1]) == [low]


@pytest.mark.parametrize("type", ["uint4", "uint8", "uint64"])
def test_unsigned_division_by_zero_is_all_ones(type):
    ones = (1 << ir.WIDTH[type]) - 1
    assert apply("div", type, [5, 9], [0, 2]) == [ones, 4]
    assert apply("rem", type, [5, 9], [0, 2]) == [5, 1]


@pytest.mark.parametrize("type", ir.SIGNED + ir.UNSIGNED)
def test_bit_operations_against_python(type):
    width, signed = ir.WIDTH[type], type in ir.SIGNED
    low = -(1 << width - 1) if signed else 0
    high = (1 << width - 1) - 1 if signed else (1 << width) - 1
    mask = (1 << width) - 1

    def wrapped(v):
        v &= mask
        return v - (1 << width) if signed and v >> width - 1 else v

    for x in (low, high, 0, 1, 5, low + 1, high // 3):
        for y in (low, high, 0, 1, 3, width, width - 1):
            if -128 <= y <= 127 and low <= min(x, y) and max(x, y) <= high:
                out = not 0 <= y < width
                shifted = (0 if x >= 0 else -1) if out else x >> y
                assert apply("shr", type, [x], [y]) == [shifted], (x, y)
                assert apply("shl", type, [x], [y]) == [0 if out else wrapped(x << y)]
            assert apply("mulhi", type, [x], [y]) == [wrapped(x * y >> width)], (x, y)
            assert apply("mul", type, [x], [y]) == [wrapped(x * y)]
        assert apply("clz", type, [x]) == [wrapped(width - (x & mask).bit_length())]
        assert apply("popcount", type, [x]) == [wrapped((x & mask).bit_count())]
        assert apply("not", type, [x]) == [wrapped(~x)]


def test_min_and_max_keep_nan_and_take_the_second_of_equals():
    nan = math.nan
    assert str(apply("max", "float64", [nan, 1, 0.0, -0.0], [1, nan, -0.0, 0.0])) == str(
        [nan, nan, -0.0, 0.0]
    )
    assert str(apply("min", "float32", [nan, 1, 2], [1, nan, 1])) == str([nan, nan, 1.0])


def test_conversion_to_integers_saturates():
    x = [math.nan, math.inf, -math.inf, 2.0**63, -(2.0**63), 300.7, -1.5, -0.5]
    top = (1 << 63) - 1
    assert apply("convert", "float64", x, result="int64") == [
        0, top, -top - 1, top, -top - 1, 300, -1, 0,
    ]  # fmt: skip
    assert apply("convert", "float64", x, result="uint8") == [0, 255, 0, 255, 0, 255, 0, 0]
    assert apply("convert", "float64", x, result="int4") == [0, 7, -8, 7, -8, 7, -1, 0]
    assert apply("convert", "float64", x, result="bool") == [True] * 8
    assert apply("convert", "int32", [300, -1], result="uint4") == [12, 15]


def test_narrowing_rounds_once():
    # A double-rounding trap: just above the midpoint of two bfloat16, equal to it in float32.
    above = 1 + 2.0**-8 + 2.0**-40
    assert apply("convert", "float64", [above], result="bfloat16") == [1 + 2.0**-7]
    big = (1 << 62) + (1 << 54) + 1
    assert apply("convert", "int64", [big, -big], result="bfloat16") == [
        2.0**62 + 2.0**55, -(2.0**62) - 2.0**55,
    ]  # fmt: skip
    assert apply("convert", "uint64", [(1 << 63) + (1 << 55) + 1], result="bfloat16") == [
        2.0**63 + 2.0**56
    ]


def test_half_precision_is_computed_in_float32_and_rounded_once():
    x = np.array([1.0, 3.0, 65504.0], np.float16)
    y = np.array([2.0**-11, 7.0, 65504.0], np.float16)
    (got,) = (arithmetic.apply("div", "float16", ["float16"] * 2, [x, y]),)
    assert got.dtype == np.float16
    assert got.tolist() == (x.astype("f") / y).astype("e").tolist()
    assert apply("neg", "bfloat16", [0.0]) == [-0.0]
    bits = apply("bitcast", "bfloat16", [1.0, -2.0], result="uint16")
    assert bits == [0x3F80, 0xC000]


def exact_fma(a, b, c):
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


@pytest.mark.parametrize(("low", "high"), [(-3, 3), (-60, 60), (-540, -440), (-1060, 1000)])
def test_fma_of_float64_is_exact(low, high):
    random = np.random.default_rng(high + 2000)

    def draw(n=300):
        return (random.random(n) * 2 - 1) * 2.0 ** random.integers(low, high, n)

    a, b = draw(), draw()
    with np.errstate(all="ignore"):
        product = np.where(np.isfinite(a * b), a * b, 1.0)
        for c in (draw(), -product, np.nextafter(-product, 1), np.full(300, 5e-324)):
            want = [exact_fma(*t) for t in zip(a, b, c)]
            assert arithmetic.fma(a, b, c).tolist() == want


def test_fma_of_float32_is_rounded_once():
    random = np.random.default_rng(1)
    a, b = (random.integers(1, 1 << 24, (2, 2000)) * np.float64(2.0**-12)).astype("f")
    c = (random.integers(1, 1 << 24, 2000) * 2.0 ** random.integers(-60, 0, 2000)).astype("f")
    got = arithmetic.fma(a, b, c)
    for x, y, z, r in zip(a.tolist(), b.tolist(), c.tolist(), got):
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        error = abs(Fraction(float(r)) - exact)
        for neighbour in (np.nextafter(r, np.float32(0)), np.nextafter(r, np.float32(np.inf))):
            other = abs(Fraction(float(neighbour)) - exact)
            assert error < other or (error == other and r.view(np.int32) % 2 == 0)


def test_fma_of_special_values():
    inf, nan = math.inf, math.nan
    cases = [(inf, 0, 1, nan), (inf, 1, -inf, nan), (1e300, 1e300, -inf, -inf), (0, -1, -0.0, -0.0),
             (0, -1, 0, 0.0), (1, 1, -1, 0.0), (-1e-200, 1e-200, 0.0, -0.0), (nan, 1, 1, nan),
             (1e300, 1e300, -1e308, inf), (1e-200, 1e-200, 5e-324, 5e-324)]  # fmt: skip
    a, b, c, want = map(np.array, zip(*cases))
    with np.errstate(all="ignore"):
        assert str(arithmetic.fma(a * 1.0, b * 1.0, c * 1.0)) == str(want)


# --- functions ----------------------------------------------------------------------------------


def test_branch_and_iterate_work_lane_by_lane():
    @build.function("halve", "int64", "int64")
    def halve(n, steps):
        odd = (n & 1).ne(0)
        return n.graph.select(odd, n * 3 + 1, n / 2), steps + 1

    @build.function("running", "int64", "int64")
    def running(n, steps):
        return n > 1

    @build.function("steps_of", "int64")
    def steps_of(n):
        return n.graph.iterate(running, halve, [n, n.const(0)])[1]

    @build.function("minus", "int64")
    def minus(n):
        return -n

    @build.function("collatz", "int64")
    def collatz(n):
        return n.graph.branch(n > 0, steps_of, minus, [n])

    n = np.arange(-3, 30_000).reshape(3, -1)
    (got,) = interpret.evaluate(collatz, n)
    assert got.shape == n.shape
    flat = got.reshape(-1)
    assert flat[:4].tolist() == [3, 2, 1, 0]
    assert flat[3 + 27] == 111
    assert flat[3 + 9] == 19


def test_evaluate_broadcasts_and_reads_tables():
    table = ir.Table("squares", "float32", (0.0, 1.0, 4.0, 9.0))

    @build.function("pick", "index", "float32")
    def pick(i, x):
        return x.graph.load(table, i) + x

    (got,) = interpret.evaluate(pick, np.arange(4)[:, None], np.zeros(2, "f"))
    assert got.dtype == np.float32
    assert got.tolist() == [[0, 0], [1, 1], [4, 4], [9, 9]]
    with pytest.raises(IndexError, match=r"index 4\.\.4 of 4 elements"):
        interpret.evaluate(pick, np.array([4]), np.zeros(1, "f"))


# --- kernels ------------------------------------------------------------------------------------


def kernel_of(writer, buffers, locals=()):
    return ir.Kernel(
        tuple(buffers), tuple(locals), tuple(writer.params), tuple(writer.blocks[0].statements)
    )


def test_grid_loop_covers_its_range_only():
    g = Graph()
    w = build.Writer(g)
    x, y = ir.Buffer(0, "float32", False), ir.Buffer(1, "float32", True)
    with w.loop(g.index(100), "vector", grid=True) as i:
        w.store(y, i, g.load(x, i) * g.scalar(2.5, "float32"))
    kernel = kernel_of(w, (x, y))
    a, out = np.arange(100, dtype="f"), np.zeros(100, "f")
    interpret.run(kernel, [a, out], w.param_values, 10, 90)
    assert np.array_equal(out[10:90], a[10:90] * 2.5)
    assert not out[:10].any()
    assert not out[90:].any()


def in_reduction_order(x, init, combine):
    """The fold that ir.Reduce describes, written plainly."""
    total = init
    for start in range(0, len(x), ir.CHUNK):
        lanes = [init] * ir.LANES
        for k, v in enumerate(x[start : start + ir.CHUNK]):
            lanes[k % ir.LANES] = combine(lanes[k % ir.LANES], v)
        half = ir.LANES // 2
        while half:
            lanes = [combine(lanes[j], lanes[j + half]) for j in range(half)]
            half //= 2
        total = combine(total, lanes[0])
    return total


@pytest.mark.parametrize(("rows", "n"), [(1, 20_001), (3, 100), (2, 8192), (5, 0), (300, 37)])
def test_reduction_order(rows, n):
    g = Graph()
    w = build.Writer(g)
    x, y = ir.Buffer(0, "float32", False), ir.Buffer(1, "float32", True)
    with w.loop(g.index(rows), "vector", grid=True) as i:
        (total,) = g.reduce(
            g.index(n),
            lambda k: [g.load(x, i * n + k)],
            lambda a, b: [a[0] + b[0]],
            [g.const(-0.0, "float32")],
        )
        w.store(y, i, total)
    data = np.random.default_rng(0).standard_normal((rows, n)).astype("f")
    out = np.zeros(rows, "f")
    interpret.run(kernel_of(w, (x, y)), [data.reshape(-1), out], w.param_values, 0, rows)
    want = [in_reduction_order(r, np.float32(-0.0), np.add) for r in data]
    assert out.tobytes() == np.array(want, "f").tobytes()


def test_reduction_with_an_extent_of_each_lane_and_two_values():
    g = Graph()
    w = build.Writer(g)
    n = ir.Buffer(0, "int32", False)
    y, at = ir.Buffer(1, "int32", True), ir.Buffer(2, "index", True)

    def larger(a, b):
        keep = (a[0] > b[0]) | (a[0].eq(b[0]) & (a[1] < b[1]))
        return [g.select(keep, p, q) for p, q in zip(a, b, strict=True)]

    with w.loop(g.index(4), "vector", grid=True) as i:
        best = g.reduce(
            g.load(n, i).convert("index"),
            lambda k: [(k.convert("int32") * 7) % 10, k],
            larger,
            [g.const(-1, "int32"), g.const(1 << 40, "index")],
        )
        w.store(y, i, best[0])
        w.store(at, i, best[1])
    sizes, out, where = np.array([0, 1, 5, 100], "i4"), np.zeros(4, "i4"), np.zeros(4, "i8")
    interpret.run(kernel_of(w, (n, y, at)), [sizes, out, where], w.param_values, 0, 4)
    assert out.tolist() == [-1, 0, 8, 9]
    assert where.tolist() == [1 << 40, 0, 4, 7]


def test_serial_loops_locals_conditions_and_while():
    g = Graph()
    w = build.Writer(g)
    x, y = ir.Buffer(0, "int32", False), ir.Buffer(1, "int32", True)
    scratch = ir.Local(0, "int32", 4)
    with w.loop(g.index(6), "serial", grid=True) as i:
        with w.loop(g.index(4)) as j:
            w.store(scratch, j, g.load(x, i) + j.convert("int32"))
        with w.when(g.load(x, i) > 2):
            w.store(scratch, g.index(0), g.const(100, "int32"))
        first = w.load_now(scratch, g.index(0))
        (halved,) = w.carry([first], lambda s: s[0] > 10, lambda s: [s[0] / 2])
        w.store(y, i, halved * 1000 + w.load_now(scratch, g.index(3)))
    a, out = np.arange(6, dtype="i4"), np.zeros(6, "i4")
    interpret.run(kernel_of(w, (x, y), (scratch,)), [a, out], w.param_values, 0, 6)
    assert out.tolist() == [3, 1004, 2005, 6006, 6007, 6008]


def test_four_bit_and_bool_buffers():
    g = Graph()
    w = build.Writer(g)
    x, y = ir.Buffer(0, "int4", False), ir.Buffer(1, "bool", True)
    z = ir.Buffer(2, "int4", True)
    with w.loop(g.index(3), "vector", grid=True) as i:
        w.store(y, i, g.load(x, i) < 0)
        w.store(z, i, g.load(x, i) + 1)
    a = np.array([7, -1, -8], ml_dtypes.int4)
    flags, out = np.zeros(3, bool), np.zeros(3, ml_dtypes.int4)
    interpret.run(kernel_of(w, (x, y, z)), [a, flags, out], w.param_values, 0, 3)
    assert flags.tolist() == [False, True, True]
    assert out.astype(int).tolist() == [-8, 0, -7]


def test_a_write_race_is_reported():
    g = Graph()
    w = build.Writer(g)
    y = ir.Buffer(0, "int32", True)
    with w.loop(g.index(3), "vector", grid=True) as i:
        w.store(y, i / 2, i.convert("int32"))
    with pytest.raises(RuntimeError, match="store to one element"):
        interpret.run(kernel_of(w, (y,)), [np.zeros(3, "i4")], w.param_values, 0, 3)
