"""Calls of jitted functions that native code takes: what they give, and what goes to Python."""

import collections
import gc
import inspect
import os
import resource
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana.runtime.array import Array
from jacana.runtime.buffer import live_bytes
from jacana.runtime.executable import executable_for
from jacana.runtime.fronts import MAX_CALLS
from jacana.runtime.native_objects import is_supported

native_only = pytest.mark.skipif(not is_supported(), reason="everything goes to Python here")


class Counted:
    """A jitted function that counts how often a call goes to Python."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        outer = self

        class Watched(type(jacana.jit(function))):  # type: ignore[misc]
            def _call(self, *args: Any, **kwargs: Any) -> Any:
                outer.slow += 1
                return super()._call(*args, **kwargs)

        jitted = jacana.jit(function, **options)
        self.slow = 0
        self.call = Watched.__new__(Watched)
        self.call.__dict__.update(jitted.__dict__)
        self.call._calls = self.call._begin()

    def goes_to_python(self, *args: Any, **kwargs: Any) -> bool:
        before = self.slow
        self.call(*args, **kwargs)
        return self.slow > before


@pytest.fixture
def x() -> Array:
    return jnp.arange(4.0)


@native_only
def test_the_second_call_is_native(x):
    f = Counted(lambda a, b: a + b)
    assert f.goes_to_python(x, x)
    assert not f.goes_to_python(x, x)
    assert f.goes_to_python(x, jnp.arange(4))
    assert not f.goes_to_python(x, jnp.arange(4))
    assert not f.goes_to_python(x, x)


TREES: list[Any] = [
    lambda x: ((x, x), {}),
    lambda x: (({"a": x, "b": [x, (x, None)]}, 2.0), {}),
    lambda x: ((x,), {"k": x, "j": {"m": 1}}),
    lambda x: ((), {"b": x, "a": True}),
    lambda x: (([],  {}, (), x), {}),
    lambda x: (({3: x, 1: x},), {}),
]  # fmt: skip


@native_only
@pytest.mark.parametrize("make", TREES)
def test_trees_of_arrays_and_scalars_are_native(make, x):
    def total(*args: Any, **kwargs: Any) -> Any:
        leaves = jacana.tree.leaves((args, kwargs))
        return sum(leaf.sum() * (i + 1.0) for i, leaf in enumerate(leaves))

    total_of = lambda args, kwargs: float(total(*args, **kwargs))
    args, kwargs = jacana.tree.map(jnp.asarray, make(x))
    f = Counted(total)
    first = f.call(*make(x)[0], **make(x)[1])
    given, named = make(x)
    assert not f.goes_to_python(*given, **named)
    assert float(f.call(*given, **named)) == float(first) == total_of(args, kwargs)


@native_only
def test_keywords_may_come_in_any_order(x):
    f = Counted(lambda *, a, b: a - b)
    y = x + 1
    for _ in range(2):
        assert f.call(a=x, b=y).tolist() == [-1] * 4
        assert f.call(b=y, a=x).tolist() == [-1] * 4
    assert not f.goes_to_python(b=x, a=y)


def results_of(kind: str) -> Callable[[Array], Any]:
    Pair = collections.namedtuple("Pair", "first second")
    return {
        "array": lambda x: x + 1,
        "list": lambda x: [x + 1, x],
        "tuple": lambda x: (x + 1, None, (x,)),
        "dict": lambda x: {"a": {"z": x + 1}, "b": x},
        "named": lambda x: Pair(x + 1, x),
        "nothing": lambda x: None,
        "empty": lambda x: {},
        "ordered": lambda x: collections.OrderedDict(b=x, a=x + 1),
        "repeated": lambda x: (lambda y: (y, y))(x * 2),
    }[kind]


@pytest.mark.parametrize(
    "kind",
    ["array", "list", "tuple", "dict", "named", "nothing", "empty", "ordered", "repeated"],
)
def test_results_have_the_tree_of_the_function(kind, x):
    f = Counted(results_of(kind))
    first, second = f.call(x), f.call(x)
    assert jacana.tree.structure(first) == jacana.tree.structure(second)
    assert str(first) == str(second) == str(results_of(kind)(x))
    if is_supported():
        assert f.slow == 1


@native_only
def test_static_values_are_told_apart_by_type(x):
    f = Counted(lambda x, k: x * 2 if k is True else x + k, static_argnums=1)
    for k in (True, 1, True, 1, 2):
        expected = [2 * v for v in range(4)] if k is True else [v + k for v in range(4)]
        assert f.call(x, k).tolist() == expected
    assert f.slow == 3
    assert not f.goes_to_python(x, True)
    # 0.0 and -0.0 are equal: only an object that was seen is known.
    f = Counted(lambda x, k: x * k, static_argnums=1)
    zero = 0.0
    for k in (zero, -0.0, zero, -0.0):
        assert np.signbit(np.asarray(f.call(x + 1, k))).all() == np.signbit(k)
    assert not f.goes_to_python(x + 1, zero)
    assert f.goes_to_python(x + 1, float("-0.0"))


@native_only
def test_static_functions_are_the_same_or_not(x):
    f = Counted(lambda x, g: g(x), static_argnums=1)
    double, triple = (lambda v: v * 2), (lambda v: v * 3)
    for g, factor in ((double, 2), (triple, 3), (double, 2), (triple, 3)):
        assert f.call(x, g).tolist() == [factor * v for v in range(4)]
    assert f.slow == 2


@native_only
@pytest.mark.parametrize("value", [2.5, -0.0, 1e300, float("nan"), 7, -(2**31), 2**31 - 1, True])
def test_python_scalars_are_converted_as_by_python(value):
    f = Counted(lambda v: v * 1)
    first = f.call(value)
    assert not f.goes_to_python(value)
    again = f.call(value)
    assert again.aval is first.aval
    assert np.asarray(again).tobytes() == np.asarray(first).tobytes()


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 2**70])
def test_integers_that_do_not_fit_raise(value):
    f = jacana.jit(lambda v: v * 2)
    f(1), f(2)
    with pytest.raises(OverflowError):
        f(value)
    assert int(f(3)) == 6


@pytest.mark.parametrize("wrong", ["text", None, object(), [1, "a"]])
def test_wrong_arguments_raise_as_before(wrong, x):
    f = jacana.jit(lambda a, b=None: a + 1)
    f(x)
    if wrong is not None:
        with pytest.raises(TypeError):
            f(x, wrong)
    with pytest.raises(TypeError):
        f(x, x, x)
    with pytest.raises(TypeError):
        f(x, c=x)
    with pytest.raises(TypeError):
        f()


def test_numpy_arguments_and_subclasses_of_scalars_go_to_python(x):
    f = Counted(lambda v: v * 2)
    f.call(x)
    assert f.goes_to_python(np.arange(4, dtype=np.float32))
    assert f.goes_to_python(np.float64(2.0))
    assert float(f.call(np.float64(2.0))) == 4


def test_inside_transformations_functions_are_traced(x):
    f = jacana.jit(lambda a: (a * a).sum())
    f(x), f(x)
    assert jacana.grad(f)(x).tolist() == [0, 2, 4, 6]
    assert jacana.vmap(f)(jnp.ones((2, 3))).tolist() == [3, 3]
    # An array that is no tracer, while a function is traced.
    assert "jit" in str(jacana.make_jaxpr(lambda y: f(x) + y)(1.0))


def test_settings_are_part_of_the_call(x):
    f = jacana.jit(lambda a: jnp.arange(3) + a[:3].astype(int))
    f(x), f(x)
    with jacana.enable_x64(True):
        assert f(x).dtype == np.int64
    assert f(x).dtype == np.int32
    traced = []
    g = jacana.jit(lambda a: traced.append(1) or a + 1)
    g(x), g(x)
    with jacana.disable_jit():
        g(x)
    assert len(traced) == 2
    old = jacana.config.jax_default_matmul_precision
    jacana.config.update("jax_default_matmul_precision", "float32")
    try:
        g(x)
        assert len(traced) == 3
    finally:
        jacana.config.update("jax_default_matmul_precision", old)
    g(x)
    assert len(traced) == 3


def test_donated_arrays_are_deleted_at_each_call():
    f = jacana.jit(lambda a: a + 1, donate_argnums=0)
    for _ in range(3):
        y = jnp.arange(3.0)
        assert f(y).tolist() == [1, 2, 3]
        assert y.is_deleted()


def test_captured_arrays(x):
    y = x + 1
    f = Counted(lambda a: a + y)
    for _ in range(3):
        assert f.call(x).tolist() == [1, 3, 5, 7]
    y.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        f.call(x)


def test_a_jitted_function_is_an_object_as_before(x):
    def named(a, b=2.0):
        """Doc."""
        return a * b

    f = jacana.jit(named)
    assert (f.__name__, f.__doc__, f.__wrapped__) == ("named", "Doc.", named)
    assert list(inspect.signature(f).parameters) == ["a", "b"]
    assert callable(f)
    f(x)
    assert "mul" in str(f.trace(x).jaxpr)
    assert f.eval_shape(x).shape == (4,)
    assert f.lower(x).compile()(x).tolist() == [0, 2, 4, 6]
    f.clear_cache()
    assert f(x).tolist() == [0, 2, 4, 6]
    f.note = 3
    assert f.note == 3


def test_as_a_method(x):
    class Model:
        def __init__(self) -> None:
            self.k = 3.0

        @jacana.jit
        def first(self, a):
            return a

        from functools import partial

        @partial(jacana.jit, static_argnums=0)
        def apply(self, a):
            return a * self.k

    m = Model()
    for _ in range(3):
        assert m.apply(x).tolist() == [0, 3, 6, 9]
    assert m.apply.__self__ is m
    assert Model.apply(m, x).tolist() == [0, 3, 6, 9]
    with pytest.raises(TypeError):
        m.first(x)


def test_many_kinds_of_arguments():
    f = Counted(lambda a: a + 1)
    for _ in range(2):
        for n in range(MAX_CALLS + 10):
            assert f.call(jnp.zeros(n)).shape == (n,)
    assert f.call(jnp.zeros(3)).tolist() == [1, 1, 1]


def test_a_function_that_is_called_while_its_cache_is_cleared(x):
    def host(v):
        f.clear_cache()
        gc.collect()
        return v

    f = jacana.jit(lambda a: jacana.pure_callback(host, a, a) + 1) if hasattr(
        jacana, "pure_callback"
    ) else jacana.jit(lambda a: a + 1)  # fmt: skip
    for _ in range(5):
        assert f(x).tolist() == [1, 2, 3, 4]


def test_references_are_exact_and_memory_does_not_grow(x):
    y = {"a": x + 1, "b": (x + 2, 3.0)}
    functions: list[tuple[Any, tuple[Any, ...]]] = [
        (jacana.jit(lambda a: a + 1), (x,)),
        (jacana.jit(lambda a, b: (a, a * b, [a])), (x, x)),
        (jacana.jit(lambda t: {"c": t["a"] * t["b"][1], "d": t["b"]}), (y,)),
        (jacana.jit(lambda t, k: None, static_argnums=1), (y, "text")),
    ]
    for f, args in functions:
        f(*args), f(*args)
    gc.collect()
    watched = [x, x.aval, type(x), y, y["a"], y["b"], *[f for f, _ in functions]]
    counts = [sys.getrefcount(w) for w in watched]
    live, size = live_bytes(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    times = int(os.environ.get("JACANA_TEST_CALLS", "20000"))
    for f, args in functions:
        for _ in range(times):
            f(*args)
    assert [sys.getrefcount(w) for w in watched] == counts
    assert live_bytes() == live
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < size + 2000


def test_jitted_functions_are_collected():
    before = len([o for o in gc.get_objects() if type(o).__name__ == "Jitted"])
    for n in range(3):
        f = jacana.jit(lambda a, n=n: a + n)
        f.itself = f
        f(jnp.zeros(3)), f(jnp.zeros(3))
    del f
    gc.collect()
    assert len([o for o in gc.get_objects() if type(o).__name__ == "Jitted"]) == before


def test_threads_call_the_same_and_different_functions():
    shared = jacana.jit(lambda a, b: (a + b).sum())
    wrong: list[Any] = []

    def work(n: int) -> None:
        own = jacana.jit(lambda a: a * n)
        v = jnp.ones(100_000 if n % 2 else 10) * n
        for _ in range(60):
            if float(shared(v, v)) != 2.0 * n * v.size or own(v)[0] != n * n:
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 7)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_another_thread_traces_while_this_one_runs(x):
    f = jacana.jit(lambda a: a + 1)
    f(x), f(x)
    inside, done = threading.Event(), threading.Event()

    def trace_slowly() -> None:
        def body(a):
            inside.set()
            done.wait(10)
            return f(a) * 2

        jacana.make_jaxpr(body)(x)

    thread = threading.Thread(target=trace_slowly)
    thread.start()
    inside.wait(10)
    assert f(x).tolist() == [1, 2, 3, 4]
    done.set()
    thread.join()


def test_an_array_deleted_by_another_thread_while_a_program_reads_it():
    big = jnp.ones((2_000_000,))
    f = jacana.jit(lambda a: jnp.exp(jnp.sin(a)).sum())
    expected = float(f(big))
    for _ in range(5):
        v = jnp.ones((2_000_000,))
        thread = threading.Thread(target=v.delete)
        try:
            thread.start()
            found = float(f(v))
        except RuntimeError:
            found = expected
        thread.join()
        assert found == expected


@pytest.mark.parametrize("bad", [(), [], [1], [None, None], "ab", None, {}])
def test_executables_refuse_what_is_not_a_list_of_their_arrays(bad, x):
    jaxpr = jacana.make_jaxpr(lambda a: a + 1)(x).jaxpr
    run = executable_for(jaxpr).run
    assert run([x])[0].tolist() == [1, 2, 3, 4]
    with pytest.raises(TypeError):
        run(bad)
    gone = x + 1
    gone.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        run([gone])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_jitted_functions_work_in_a_forked_child(x):
    f = jacana.jit(lambda a: a + 1)
    f(x), f(x)
    child = os.fork()
    if child == 0:
        g = jacana.jit(lambda a: a * 3)
        good = f(x).tolist() == [1, 2, 3, 4] and g(x).tolist() == g(x).tolist() == [0, 3, 6, 9]
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@native_only
def test_donation_and_numpy_arguments_take_a_short_way():
    traced = []
    f = jacana.jit(lambda t, k: traced.append(1) or {"a": t["a"] + k}, donate_argnums=0)
    for i in range(4):
        t = {"a": jnp.arange(3.0), "b": jnp.zeros(2)}
        assert f(t, float(i))["a"].tolist() == [i, i + 1, i + 2]
        assert t["a"].is_deleted()
        assert t["b"].is_deleted()
    kept = jacana.jit(lambda a: a, donate_argnums=0)
    for _ in range(4):
        x = jnp.arange(3.0)
        assert kept(x).tolist() == [0, 1, 2]
    g = jacana.jit(lambda a, b: a * b)
    for i in range(4):
        host = np.arange(3.0) + i
        assert g(host, jnp.ones(3)).tolist() == host.tolist()
    with jacana.disable_jit():
        assert type(jacana.jit(lambda a: a)(host)) is np.ndarray
    assert len(traced) == 1


def test_clear_caches_forgets_eager_programs_and_jitted_functions(x):
    f = jacana.jit(lambda a: a + 1)
    for _ in range(5):
        f(x), x[1], x.sum()
    jacana.clear_caches()
    for _ in range(5):
        assert f(x).tolist() == [1, 2, 3, 4]
        assert (x[1].item(), x.sum().item()) == (1, 6)
