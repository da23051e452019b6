"""The type of arrays: fields, memory, references, and the Python class that stands in for it."""

import copy
import gc
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana.core.avals import ShapedArray
from jacana.runtime.array import Array
from jacana.runtime.buffer import allocate, live_bytes
from jacana.runtime.native_objects import is_supported

ROOT = Path(__file__).resolve().parents[2]
native_only = pytest.mark.skipif(not is_supported(), reason="this interpreter has the Python class")


def array_of(n: int) -> Array:
    """An Array of its own block, as programs make them."""
    return jnp.arange(float(n)) + 1


def test_an_array_has_the_fields_of_its_aval():
    x = array_of(6).reshape(2, 3)
    assert x.aval is ShapedArray((2, 3), np.float32)
    assert (x.shape, x.ndim, x.size, x.nbytes, x.itemsize) == ((2, 3), 2, 6, 24, 4)
    assert x.dtype == np.float32
    assert x.weak_type is False
    assert x.address % 64 == 0


def test_an_array_is_made_of_an_aval_and_a_buffer():
    aval, buffer = ShapedArray((3,), np.int32), allocate(12)
    x = Array(aval, buffer)
    assert x.aval is aval
    assert x.buffer is buffer
    assert x.address == buffer.address


class Lent:
    """Memory that somebody else owns."""

    def __init__(self, value: np.ndarray) -> None:
        self.value = value
        self.address = value.__array_interface__["data"][0]
        self.nbytes = value.nbytes


def test_memory_may_be_somebody_elses():
    lent = Lent(np.arange(3, dtype=np.int32))
    count = sys.getrefcount(lent)
    x = Array(ShapedArray((3,), np.int32), lent)
    assert x.tolist() == [0, 1, 2]
    assert x.buffer is lent
    del x
    assert sys.getrefcount(lent) == count


@native_only
@pytest.mark.parametrize("args", [(), (1,), (1, 2, 3)])
def test_wrong_construction_is_refused(args):
    with pytest.raises(TypeError, match="an aval and a buffer"):
        Array(*args)
    with pytest.raises(AttributeError):
        Array(ShapedArray((), np.int32), object())


def test_fields_cannot_be_changed_and_there_are_no_others():
    x = array_of(3)
    with pytest.raises(AttributeError):
        x.unknown = 1
    if is_supported():
        for name in ("aval", "address", "buffer", "shape"):
            with pytest.raises((AttributeError, TypeError)):
                setattr(x, name, None)


def test_its_buffer_outlives_it():
    x = array_of(3)
    buffer, address = x.buffer, x.address
    assert x.buffer is buffer
    del x
    assert buffer.address == address
    assert array_of(3).address != address


def test_a_view_keeps_the_memory_alive():
    value = np.asarray(array_of(3))
    array_of(3), array_of(3)
    assert value.tolist() == [1, 2, 3]


def test_pickling_and_copying():
    x = array_of(3)
    assert pickle.loads(pickle.dumps(x)).tolist() == [1, 2, 3]
    assert copy.copy(x) is x
    assert copy.deepcopy([x])[0] is x


def test_weak_references():
    x = array_of(3)
    gone = []
    w = weakref.ref(x, gone.append)
    assert w() is x
    del x
    assert w() is None
    assert gone == [w]


def test_isinstance():
    x = array_of(3)
    assert isinstance(x, jacana.Array)
    assert isinstance(x, Array)
    assert (type(x).__module__, type(x).__name__) == ("jacana", "Array")


def test_a_deleted_array_says_so_wherever_it_is_used():
    x = array_of(3)
    x.delete()
    x.delete()
    assert x.is_deleted()
    assert x.address == 0
    assert x.buffer is None
    for use in (lambda: x + 1, lambda: np.asarray(x), lambda: jacana.jit(lambda y: y)(x)):
        with pytest.raises(RuntimeError, match="deleted"):
            use()


def test_memory_goes_back_when_an_array_goes():
    gc.collect()
    before = live_bytes()
    x = array_of(1000)
    y = array_of(1000)
    assert live_bytes() >= before + 8000
    assert y.buffer is not None
    y.delete()
    del x, y
    assert live_bytes() == before


def test_live_arrays_lists_each_once():
    x, y = array_of(3), array_of(4)
    found = jacana.live_arrays()
    assert sum(z is x for z in found) == sum(z is y for z in found) == 1
    y.delete()
    assert not any(z is y for z in jacana.live_arrays())
    del found, x


def test_references_are_exact():
    x = array_of(3)
    aval, kind = x.aval, type(x)

    def use() -> None:
        y = x + x
        assert y.buffer is not None
        y.delete()
        Array(aval, x.buffer)
        weakref.ref(array_of(2))

    for _ in range(5):
        use()
    counts = sys.getrefcount(aval), sys.getrefcount(kind), sys.getrefcount(x)
    for _ in range(1000):
        use()
    assert (sys.getrefcount(aval), sys.getrefcount(kind), sys.getrefcount(x)) == counts


def test_threads_make_and_drop_arrays():
    wrong = []

    def work(n: int) -> None:
        for _ in range(300):
            made = [array_of(n) for _ in range(5)]
            wrong.extend(x for x in made if x.tolist() != list(range(1, n + 1)))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 7)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def run_python(script: str, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


EXERCISE = """
    import gc, os, pickle, sys, weakref
    import jacana, jacana.numpy as jnp
    f = jacana.jit(lambda t, k=1.0: ({"a": t["x"] + k, "b": (t["x"], None)}, [t["y"][0] * k]))
    x = jnp.arange(4.0)
    for i in range(200):
        t = {"x": x + i, "y": (x, 2.0)}
        out = f(t, k=3.0)
        assert out[0]["a"].tolist() == [i + 3.0, i + 4.0, i + 5.0, i + 6.0], out
        assert out[1][0].tolist() == [0.0, 3.0, 6.0, 9.0]
        assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()
        weakref.ref(x + 1)
    y = x + 1
    y.delete()
    try:
        f({"x": y, "y": (x, 2.0)})
    except RuntimeError as error:
        assert "deleted" in str(error)
    else:
        raise AssertionError
    print(jacana.print_environment_info(return_string=True))
"""


def test_debug_hooks_of_memory_find_nothing():
    run_python(EXERCISE, PYTHONMALLOC="debug", PYTHONDEVMODE="1")


def test_where_native_types_are_not_possible_a_class_serves():
    script = "import sys\nsys.abiflags = 't'\n" + textwrap.dedent(EXERCISE)
    assert "dispatch: Python" in run_python(script)


@native_only
def test_the_environment_says_that_dispatch_is_native():
    assert "dispatch: native" in jacana.print_environment_info(return_string=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_arrays_work_in_a_forked_child():
    x = array_of(3)
    child = os.fork()
    if child == 0:
        os._exit(0 if (x + x).tolist() == [2, 4, 6] and x.tolist() == [1, 2, 3] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
