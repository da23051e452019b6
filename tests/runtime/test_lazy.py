"""Un-jitted work on large arrays is put off, and nobody can tell."""

import copy
import gc
import os
import pickle
import threading
import weakref

import numpy as np
import pytest

import jacana
import jacana.numpy as jnp
from jacana.runtime import buffer, lazy, operations
from jacana.runtime.buffer import OutOfMemoryError

N = operations.LARGE // 4


@pytest.fixture(autouse=True)
def fresh():
    jacana.clear_caches()


@pytest.fixture
def x():
    return jnp.asarray(np.linspace(-2, 2, N, dtype=np.float32)).block_until_ready()


def is_put_off(x):
    return x.address == 0 and not x.is_deleted()


def selu(x, alpha=1.67, scale=1.05):
    return scale * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)


def same(x, y):
    return np.array_equal(np.asarray(x), np.asarray(y), equal_nan=True)


def test_a_chain_is_put_off_and_equals_the_jitted_one_to_the_bit(x):
    expected = np.asarray(jacana.jit(selu)(x))
    for _ in range(lazy.FUSE_AT + 2):
        y = selu(x)
        assert is_put_off(y) and y.shape == x.shape and y.dtype == x.dtype
        assert same(y, expected)
        assert not is_put_off(y)


def test_batches_that_come_again_are_one_program(x):
    for _ in range(lazy.FUSE_AT + 1):
        selu(x).block_until_ready()
    (known,) = lazy.programs.values()
    assert isinstance(known, tuple)
    assert len(known[0].program.commands) == 1


def test_small_arrays_are_not_put_off(x):
    small = x[:10]
    assert not is_put_off(small + 1)


def test_reductions_of_what_was_put_off_join_it(x):
    for _ in range(lazy.FUSE_AT + 1):
        total = jnp.sum(x * 2 + 1)
        assert is_put_off(total)
        assert float(total) == float(jacana.jit(lambda x: jnp.sum(x * 2 + 1))(x))
    assert not is_put_off(jnp.sum(x))


def test_several_results_and_inner_ones_that_are_held(x):
    for _ in range(lazy.FUSE_AT + 1):
        a = x + 1
        b = a * 2
        c = b - a
        del b
        assert same(c, (np.asarray(x) + 1) * 2 - (np.asarray(x) + 1))
        assert not is_put_off(a) and same(a, np.asarray(x) + 1)


LOOKS = {
    "numpy": np.asarray,
    "repr": repr,
    "tolist": lambda y: y[:3].tolist(),
    "item": lambda y: y[7].item(),
    "index": lambda y: y[3],
    "pickle": lambda y: pickle.loads(pickle.dumps(y)),
    "deepcopy": copy.deepcopy,
    "dlpack": lambda y: np.from_dlpack(y),
    "buffer": lambda y: y.buffer.address,
    "block": lambda y: y.block_until_ready(),
    "block of a tree": lambda y: jacana.block_until_ready({"y": [y]}),
    "ready": lambda y: y.is_ready(),
    "jit": jacana.jit(lambda y: y + 1),
    "grad": jacana.grad(lambda y: jnp.sum(y**2)),
    "vmap": jacana.vmap(lambda y: y * 3),
    "matmul": lambda y: y @ y,
    "sort": jnp.sort,
    "donation": jacana.jit(lambda y: y * 2, donate_argnums=0),
    "captured": lambda y: jacana.jit(lambda z: z + y)(1.0),
    "device_put": jacana.device_put,
    "device_get": jacana.device_get,
    "scan": lambda y: jacana.lax.scan(lambda c, z: (c + z, None), 0.0, y)[0],
}


@pytest.mark.parametrize("look", LOOKS)
def test_each_way_of_looking_sees_the_value(look, x):
    plain = jnp.asarray(np.asarray(x) * np.float32(1.5))
    expected = LOOKS[look](plain)
    for _ in range(2):
        y = x * 1.5
        assert is_put_off(y)
        found = LOOKS[look](y)
        if look == "buffer":
            assert found
        else:
            jacana.tree.map(lambda a, b: np.testing.assert_array_equal(a, b), found, expected)


def test_the_operands_may_be_deleted_or_donated(x):
    expected = np.asarray(x) + 1
    y = x + 1
    x.delete()
    assert x.is_deleted() and same(y, expected)
    z = jnp.asarray(expected)
    w = z * 2
    jacana.jit(lambda a: a - 1, donate_argnums=0)(z)
    assert same(w, expected * 2)


def test_what_is_put_off_may_be_deleted(x):
    y = x + 1
    z = y * 2
    y.delete()
    assert y.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(y)
    with pytest.raises(RuntimeError, match="deleted"):
        y + 1
    assert same(z, (np.asarray(x) + 1) * 2)


def test_nothing_is_computed_or_kept_when_nobody_holds_a_result(x):
    live = buffer.live_bytes()
    y = jnp.asarray(np.asarray(x))
    z = y + 1
    del y, z
    assert buffer.live_bytes() == live
    assert not lazy.programs


def test_a_full_batch_runs(x):
    y = x
    for _ in range(lazy.MAX_STEPS):
        y = y * 1.001
    assert not is_put_off(y)
    expected = np.asarray(x)
    for _ in range(lazy.MAX_STEPS):
        expected = expected * np.float32(1.001)
    assert same(y, expected)


def test_bytes_are_bounded(x, monkeypatch):
    monkeypatch.setattr(lazy, "MAX_BYTES", 3 * x.nbytes)
    y = x + 1
    assert is_put_off(y)
    z = y + 1
    assert not is_put_off(z) and not is_put_off(y)


def test_running_out_of_memory_is_raised_where_it_is_looked_at_and_can_be_tried_again(
    x, monkeypatch
):
    y = x + 1
    run = operations.Operation.run

    def fail(self, arrays):
        raise OutOfMemoryError(1, 2, 3)

    monkeypatch.setattr(operations.Operation, "run", fail)
    for _ in range(2):
        with pytest.raises(OutOfMemoryError):
            y.block_until_ready()
    monkeypatch.setattr(operations.Operation, "run", run)
    assert same(y, np.asarray(x) + 1)


def test_other_threads_see_the_values(x):
    results = [x + k for k in range(8)]
    found = [None] * 8

    def look(k):
        found[k] = np.asarray(results[k] * 2)

    threads = [threading.Thread(target=look, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(8):
        assert same(found[k], (np.asarray(x) + np.float32(k)) * 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_sees_what_its_parent_put_off(x):
    y = x + 1
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, str(float(y[0])).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100) == b"-1.0" and float(y[0]) == -1


def test_looking_while_a_batch_runs(x, monkeypatch):
    y, z = x + 1, x * 2
    run = operations.Operation.run

    def look(self, arrays):
        monkeypatch.setattr(operations.Operation, "run", run)
        assert same(z, np.asarray(x) * 2)
        return run(self, arrays)

    monkeypatch.setattr(operations.Operation, "run", look)
    assert same(y, np.asarray(x) + 1) and same(z, np.asarray(x) * 2)


def test_results_and_batches_leave_no_cycle(x):
    gc.disable()
    try:
        y = x + 1
        batch = weakref.ref(y._owner.batch)
        y.block_until_ready()
        z = x + 2
        assert batch() is None
        assert is_put_off(z)
    finally:
        gc.enable()
