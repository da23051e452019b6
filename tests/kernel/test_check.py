"""Each invariant of kernels, broken once."""

import pytest

from jacana.kernel import check, ir
from jacana.kernel.check import KernelError

F, I, B = "float32", "index", "bool"


def var(type=F):
    return ir.Var(0, type)


def one(value, type=I):
    return ir.Const(value, type)


X, Y = ir.Buffer(0, F, False), ir.Buffer(1, F, True)
M = ir.Local(0, F, 4)
T = ir.Table("t", F, (1.0, 2.0))


def kernel(*body, params=(), locals=(M,)):
    return ir.Kernel((X, Y), tuple(locals), tuple(params), body)


def loop(body, v=None, extent=16, kind="serial", grid=False):
    return ir.For(v or var(I), one(extent), tuple(body), kind, grid)


def vector(make, **options):
    v = var(I)
    return loop(make(v), v, kind="vector", **{"grid": True, **options})


def copy(v):
    x = var()
    return [ir.Load(x, X, v), ir.Store(Y, v, x)]


def function(body, params, results, name="f"):
    return ir.Function(name, tuple(params), tuple(body), tuple(results))


def identity(name="f", type=F):
    p = var(type)
    return function([], [p], [p], name)


def test_a_good_kernel_passes():
    check.check(kernel(vector(copy)))
    check.check(kernel(ir.Call((var(),), identity(), (one(1.0, F),))))


u, v, w = var(), var(), var(I)
TRUE = one(True, B)


def summed(values=None, extent=None, left_type=F):
    left, right, k = var(left_type), var(left_type), var(I)
    total = values or one(1.0, F)
    return ir.Reduce(
        (var(),), k, extent or one(3), (), (total,), (one(0.0, F),), (left,), (right,), (), (left,)
    )


def nested_vector(i):
    return [vector(copy, grid=False)]


def varying_if(i):
    c = var(B)
    return [ir.Let(c, "lt", (i, one(3))), ir.If(c, (), ())]


def varying_extent(i):
    return [summed(extent=i)]


def races(i):
    return [ir.Store(Y, one(0), one(1.0, F))]


BROKEN = {
    "single_definition": [
        [ir.Let(u, "neg", (one(1.0, F),)), ir.Let(u, "neg", (one(1.0, F),))],
        [loop([], w), loop([], w)],
    ],
    "defined_before_use": [
        [ir.Let(u, "neg", (v,))],
        [loop([ir.Let(u, "neg", (one(1.0, F),))]), ir.Store(Y, one(0), u)],
        [summed(values=v)],
    ],
    "operand_types": [
        [ir.Let(u, "add", (one(1.0, F), one(1)))],
        [ir.Let(u, "add", (one(1.0, F),))],
        [ir.Let(u, "xor", (one(1.0, F), one(1.0, F)))],
        [ir.Let(u, "lt", (one(1.0, F), one(1.0, F)))],
        [ir.Let(u, "bitcast", (one(1),))],
        [ir.Let(u, "select", (TRUE, one(1.0, F), one(1)))],
        [ir.Let(var(B), "add", (TRUE, TRUE))],
        [ir.Load(w, X, one(0))],
        [ir.Store(Y, one(0), one(1))],
        [ir.If(one(1), (), ())],
        [ir.Call((u,), identity(), (one(1),))],
        [ir.Call((w,), identity(), (one(1.0, F),))],
        [ir.Branch((u,), TRUE, identity("f"), identity("g", I), (one(1.0, F),))],
        [ir.Iterate((u,), identity(), identity("g"), (one(1.0, F),), ())],
        [summed(left_type="float64")],
    ],
    "constants": [
        [ir.Store(Y, one(0), one(1, F))],
        [ir.Let(var("int8"), "neg", (one(300, "int8"),))],
    ],
    "index_types": [
        [ir.Load(u, X, one(0, "int32"))],
        [ir.For(w, one(3, "int32"), (), "serial", False)],
    ],
    "param_slots": [
        [ir.Store(Y, one(0), ir.Param(0, F))],
        [ir.Store(Y, ir.Param(1, I), one(1.0, F))],
    ],
    "memory_is_declared": [
        [ir.Store(X, one(0), one(1.0, F))],
        [ir.Load(u, ir.Buffer(0, F, False), one(0))],
        [ir.Load(u, ir.Local(0, F, 4), one(0))],
    ],
    "static_bounds": [
        [ir.Load(u, T, one(2))],
        [ir.Load(u, X, one(-1))],
        [loop([ir.Load(u, M, w)], w, extent=5)],
        [loop([], extent=-1)],
    ],
    "grid_loop": [
        [vector(copy), vector(copy)],
        [loop([vector(copy)])],
    ],
    "loop_kinds": [
        [loop([], kind="parallel")],
        [vector(nested_vector)],
    ],
    "vector_bodies": [
        [vector(lambda i: [ir.Store(M, one(0), one(1.0, F))])],
        [vector(varying_if)],
        [vector(varying_extent)],
    ],
    "write_races": [[vector(races)], [loop([*races(None)], grid=True)]],
    "function_names": [
        [
            ir.Call((u,), identity(), (one(1.0, F),)),
            ir.Call((v,), function([], [var()], [one(1.0, F)]), (one(1.0, F),)),
        ]
    ],
}  # fmt: skip


def test_every_invariant_is_broken_here():
    assert list(BROKEN) == list(check.KERNEL_INVARIANTS)


@pytest.mark.parametrize(
    ("name", "body"), [(name, body) for name, bodies in BROKEN.items() for body in bodies]
)
def test_broken_kernel(name, body):
    with pytest.raises(KernelError, match=f"invariant {name} does not hold") as raised:
        check.check(kernel(*body, params=(I,)))
    assert raised.value.invariant == name


def test_the_message_shows_the_kernel():
    with pytest.raises(KernelError) as raised:
        check.check(kernel(vector(races)))
    assert (
        str(raised.value)
        == """\
invariant write_races does not hold:
  iterations of a vector loop all store to one element of b1
in

kernel
  buffer b0: float32
  buffer b1: float32 written
  local m0: float32[4]
grid vector for v0: index < 16:
  b1[0] = 1.0:float32
"""
    )


@pytest.mark.parametrize(
    "body",
    [
        [ir.Store(Y, one(0), one(1.0, F))],
        [ir.Load(var(), X, one(0))],
        [loop([])],
        [ir.Let(var(), "neg", (ir.Param(0, F),))],
    ],
)
def test_function_bodies(body):
    with pytest.raises(KernelError, match="invariant function_bodies"):
        check.check(kernel(ir.Call((), function(body, [], []), ())))


def test_function_scope():
    with pytest.raises(KernelError, match="the result, variable 0, is not defined"):
        check.check_function(function([], [], [var()]))


def test_guarded_stores_are_no_race():
    def first_only(i):
        c = var(B)
        return [ir.Let(c, "eq", (i, one(0))), ir.If(c, tuple(races(i)), ())]

    i = var(I)
    check.check(kernel(loop(first_only(i), i, grid=True)))


def test_a_state_that_differs_in_a_vector_loop():
    with pytest.raises(KernelError, match="of while differs"):
        check.check(kernel(vector(uniform_start_varying_end)))


def uniform_start_varying_end(i):
    s, t, c = var(I), var(I), var(B)
    cond, body = ir.Let(c, "lt", (s, one(100))), ir.Let(t, "add", (s, i))
    return [ir.While((var(I),), (s,), (one(0),), (cond,), c, (body,), (t,))]
