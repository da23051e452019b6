"""Random kernels: expressions over all types, in and out of vector loops and reductions."""

import pytest

from jacana.kernel import ir
from tests.compiler.llvm.harness import KernelWriter
from tests.compiler.llvm.test_operations import applies, sample

pytestmark = pytest.mark.usefixtures("processor")


def grow(rng, graph, values, steps):
    """Expressions made of the given ones by random operations."""
    values = list(values)
    for _ in range(steps):
        x = values[rng.integers(len(values))]
        same = [v for v in values if v.type == x.type]
        choice = rng.random()
        if choice < 0.3:
            target = ir.TYPES[rng.integers(len(ir.TYPES))]
            if (x.type, target) == ("float64", "bfloat16"):
                target = "float32"  # test_operations holds this one against ml_dtypes
            values.append(x.convert(target))
        elif choice < 0.4:
            twins = [t for t in ir.TYPES if ir.WIDTH[t] == ir.WIDTH[x.type]]
            values.append(x.bitcast(twins[rng.integers(len(twins))]))
        elif choice < 0.5:
            conditions = [v for v in values if v.type == "bool"]
            cond = conditions[rng.integers(len(conditions))]
            values.append(graph.select(cond, x, same[rng.integers(len(same))]))
        else:
            names = [n for n in ir.OPERATIONS if n != "select" and applies(n, x.type)]
            name = names[rng.integers(len(names))]
            others = [same[rng.integers(len(same))] for _ in range(ir.OPERATIONS[name] - 1)]
            values.append(graph.op(name, x, *others))
    return values


def without_nan_bits(values):
    """Values that depend on no sign or payload of a nan, which no rule fixes."""

    def reads_them(e):
        return e.op == "copysign" or e.op == "bitcast" and e.args[0].type in ir.FLOATS

    return [v for v in values if not any(reads_them(e) for e in ancestors(v))]


def ancestors(e):
    seen, todo = {e.id: e}, [e]
    while todo:
        for a in todo.pop().args:
            if a.id not in seen:
                seen[a.id] = a
                todo.append(a)
    return seen.values()


@pytest.mark.parametrize("loop", ["serial", "vector"])
@pytest.mark.parametrize("number", range(6))
def test_random_kernels(number, loop, rng):
    size = 53
    w = KernelWriter()
    buffers = [w.buffer(sample(rng, t, size), t) for t in ir.TYPES if t != "index"]
    with w.loop(w.index(size), loop, True) as i:
        loaded = [w.graph.load(b, i) for b in buffers]
        values = grow(rng, w.graph, [*loaded, i], 60)
        for value in without_nan_bits(values[len(loaded) + 1 :]):
            w.store(w.output(size, value.type), i, value)
    w.check((0, 20), (20, size))


@pytest.mark.parametrize("loop", ["serial", "vector"])
@pytest.mark.parametrize("number", range(6))
def test_random_reductions(number, loop, rng):
    count = 19
    w = KernelWriter()
    g = w.graph
    for type in ir.TYPES:
        length = int(rng.integers(1, 70))
        x, n = w.buffer(sample(rng, type, length * count), type), w.index(length)
        with w.loop(w.index(count), loop) as i:

            def element(k, x=x, n=n, i=i):
                loaded = g.load(x, i * n + k)
                return [without_nan_bits(grow_within(rng, g, loaded, 5))[-1]]

            init = g.const(rng.integers(0, 2), type)
            (made,) = g.reduce(n, element, lambda l, r: [combine(g, *l, *r)], [init])
            w.store(w.output(count, type), i, made)
    w.check()


def grow_within(rng, graph, x, steps):
    """Expressions of one type."""
    values = [x]
    for _ in range(steps):
        names = [n for n in ir.OPERATIONS if n != "select" and applies(n, x.type)]
        name = names[rng.integers(len(names))]
        args = [values[rng.integers(len(values))] for _ in range(ir.OPERATIONS[name])]
        made = graph.op(name, *args)
        values.append(made if made.type == x.type else graph.select(made, *args))
    return values


def combine(graph, left, right):
    """Neither associative nor commutative."""
    if left.type == "bool":
        return left ^ (right | ~left)
    if left.type in ir.FLOATS:
        return graph.op("max", left * 0.5 + right, left)
    return left * 3 + right
