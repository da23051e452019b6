"""The text of kernels, golden, and the key that their code is cached under."""

import time

import pytest

from jacana.kernel import build, ir
from jacana.kernel.expr import Graph
from jacana.kernel.show import show, structural_key


def kernel_of(writer, buffers, locals=()):
    return ir.Kernel(
        tuple(buffers), tuple(locals), tuple(writer.params), tuple(writer.blocks[0].statements)
    )


def function_of(scale, name="scaled"):
    @build.function(name, "float32")
    def made(x):
        table = ir.Table("coefficients", "float32", (1.0, scale))
        return x * x.graph.load(table, x.graph.index(1)) + 1

    return made


def softmax_like(scale=2.5, name="scaled", write=True):
    g = Graph()
    w = build.Writer(g)
    x, y = ir.Buffer(0, "float32", False), ir.Buffer(1, "float32", write)
    scaled = function_of(scale, name)
    with w.loop(g.index(100), grid=True) as i:
        (total,) = g.reduce(
            g.index(37),
            lambda k: [g.load(x, i * 37 + k)],
            lambda a, b: [a[0] + b[0]],
            [g.const(0, "float32")],
        )
        (inverse,) = g.call(scaled, [total])
        with w.loop(g.index(37), "vector") as j:
            w.store(y, i * 37 + j, g.load(x, i * 37 + j) * inverse)
    return kernel_of(w, (x, y))


def test_text_of_a_kernel_with_a_reduction():
    assert (
        show(softmax_like())
        == """\
kernel
  buffer b0: float32
  buffer b1: float32 written
  param p0: index
  param p1: index
grid serial for v0: index < p0:
  v1: index = mul v0, p1
  reduce v2: index < p1 from 0.0:float32:
    v3: index = add v1, v2
    v4: float32 = b0[v3]
    fold v4
  combine (v5: float32) and (v6: float32):
    v7: float32 = add v5, v6
    to v7
  v8: float32 = reduced
  v9: float32 = scaled(v8)
  vector for v10: index < p1:
    v11: index = add v1, v10
    v12: float32 = b0[v11]
    v13: float32 = mul v12, v9
    b1[v11] = v13

function scaled(v0: float32) -> float32
  v1: float32 = coefficients[1]
  v2: float32 = mul v0, v1
  v3: float32 = add v2, 1.0:float32
  return v3

table coefficients: float32[2]
  1.0, 2.5
"""
    )


def control_flow():
    g = Graph()
    w = build.Writer(g)
    y, scratch = ir.Buffer(0, "int32", True), ir.Local(9, "int32", 2)

    @build.function("grow", "int32", "int32")
    def grow(x, limit):
        return x * 3

    @build.function("below", "int32", "int32")
    def below(x, limit):
        return x < limit

    with w.loop(g.index(4), grid=True) as i:
        w.store(scratch, g.index(0), i.convert("int32"))
        with w.when(i > 2):
            w.store(scratch, g.index(0), g.const(7, "int32"))
        start = w.load_now(scratch, g.index(0))
        (big,) = w.carry([start], lambda s: s[0] < 100, lambda s: [s[0] + 40])
        (more,) = g.iterate(below, grow, [big], [g.scalar(9, "int32")])
        (last,) = g.branch(more > 5, grow, below_zero(), [more, big])
        w.store(y, i, last)
    return kernel_of(w, (y,), (scratch,))


def below_zero():
    @build.function("zero", "int32", "int32")
    def zero(x, y):
        return x.const(0)

    return zero


def test_text_of_control_flow():
    assert (
        show(control_flow())
        == """\
kernel
  buffer b0: int32 written
  local m0: int32[2]
  param p0: int32
grid serial for v0: index < 4:
  v1: int32 = convert v0
  m0[0] = v1
  v2: bool = gt v0, 2
  if v2:
    m0[0] = 7:int32
  v3: int32 = m0[0]
  state v4: int32 from v3:
    v5: bool = lt v4, 100:int32
  while v5:
    v6: int32 = add v4, 40:int32
    next v6
  v7: int32 = state
  v8: int32 = while below do grow from (v7) with (p0)
  v9: bool = gt v8, 5:int32
  v10: int32 = if v9 then grow else zero of (v8, v7)
  b0[v0] = v10

function below(v0: int32, v1: int32) -> bool
  v2: bool = lt v0, v1
  return v2

function grow(v0: int32, v1: int32) -> int32
  v2: int32 = mul v0, 3:int32
  return v2

function zero(v0: int32, v1: int32) -> int32
  return 0:int32
"""
    )


def test_the_key_is_of_the_structure():
    key = structural_key(softmax_like())
    assert structural_key(softmax_like()) == key
    assert structural_key(softmax_like(name="other")) == key
    assert structural_key(softmax_like(scale=2.25)) != key
    assert structural_key(softmax_like(write=False)) != key
    assert structural_key(control_flow()) == structural_key(control_flow()) != key


@pytest.mark.parametrize("other", [-0.0, 1.0, float("nan")])
def test_the_key_tells_constants_apart(other):
    def key(value):
        x = ir.Buffer(0, "float32", True)
        store = ir.Store(x, ir.Const(0, "index"), ir.Const(value, "float32"))
        return structural_key(ir.Kernel((x,), (), (), (store,)))

    assert key(0.0) == key(0.0) != key(other) == key(other)


def test_the_key_of_a_large_kernel_is_quick():
    x, y = ir.Buffer(0, "float32", False), ir.Buffer(1, "float32", True)
    i = ir.Var(0, "index")
    body = [ir.Load(ir.Var(1, "float32"), x, i)]
    for n in range(3000):
        previous = body[-1].var
        body.append(ir.Let(ir.Var(n + 2, "float32"), "mul", (previous, ir.Const(2.0, "float32"))))
    body.append(ir.Store(y, i, body[-1].var))
    kernel = ir.Kernel(
        (x, y), (), (), (ir.For(i, ir.Const(8, "index"), tuple(body), "vector", True),)
    )
    best = min(timed(structural_key, kernel) for _ in range(5))
    assert best < 0.05  # 4 ms on a quiet machine


def timed(function, *args):
    start = time.perf_counter()
    function(*args)
    return time.perf_counter() - start
