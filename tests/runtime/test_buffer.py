"""The memory pool: alignment, reuse, bounds, threads and forks."""

import ctypes
import itertools
import os
import threading
import timeit

import pytest

from jacana.compiler.llvm import native
from jacana.compiler.llvm.native_layout import CLASSES, LARGEST
from jacana.runtime import buffer
from jacana.runtime.buffer import ALIGNMENT, OutOfMemoryError, allocate, class_size
from jacana.runtime.native_objects import read_word, write_word


@pytest.mark.parametrize("nbytes", [0, 1, 63, 64, 65, 1000, 65536, 65537, 10**6, 5 * 10**6])
def test_buffers_are_aligned_and_writable(nbytes: int) -> None:
    made = allocate(nbytes)
    assert made.address % ALIGNMENT == 0
    assert made.nbytes == nbytes
    ctypes.memset(made.address, 7, nbytes)
    assert ctypes.string_at(made.address, nbytes) == b"\7" * nbytes


@pytest.mark.parametrize("nbytes", [*range(1, 2000, 7), 65536, 65537, 10**6 + 1, 10**9 + 1])
def test_a_class_wastes_at_most_a_quarter(nbytes: int) -> None:
    size = class_size(nbytes)
    assert nbytes <= size <= max(64 * (nbytes // 64 + 1), nbytes * 5 // 4)
    assert size % ALIGNMENT == 0
    assert class_size(size) == size


def test_live_buffers_do_not_overlap() -> None:
    made = [allocate(n) for n in (100, 100, 3000, 3000, 100_000, 100_000)]
    spans = sorted((b.address, b.address + b.nbytes) for b in made)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))


@pytest.mark.parametrize("nbytes", [100, 200_000, 5_000_000])
def test_a_freed_block_is_used_again(nbytes: int) -> None:
    first = allocate(nbytes)
    address = first.address
    del first
    assert allocate(nbytes).address == address


@pytest.mark.parametrize("nbytes", [10**15, 2**62, 2**70])
def test_an_impossible_allocation_is_an_error_that_names_the_size(nbytes: int) -> None:
    with pytest.raises(MemoryError, match=f"{nbytes:,} bytes"):
        allocate(nbytes)


def test_more_than_the_free_memory_is_refused_before_it_is_touched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(buffer.limits, "available_memory", lambda: 1 << 27)
    with pytest.raises(OutOfMemoryError, match="Use smaller shapes"):
        allocate(1 << 28)


def test_a_negative_size_is_an_error() -> None:
    with pytest.raises(ValueError, match="-1 bytes"):
        allocate(-1)


def test_free_blocks_are_bounded_as_a_whole() -> None:
    buffer.release_unused()
    limit = native.runtime.address("pool_kept_limit")
    before = read_word(limit)
    write_word(limit, 1 << 20)
    try:
        for _ in range(10):
            made = [allocate(n) for n in (64, 1000, 300_000, 300_000)]
            del made
            assert kept_bytes() <= 1 << 20
    finally:
        write_word(limit, before)
    buffer.release_unused()
    assert kept_bytes() == 0


def kept_bytes() -> int:
    return buffer.reserved_bytes() - buffer.live_bytes()


def test_live_bytes_follow_what_is_alive() -> None:
    before = buffer.live_bytes()
    made = allocate(1 << 20)
    assert buffer.live_bytes() == before + (1 << 20)
    del made
    assert buffer.live_bytes() == before
    buffer.release_unused()
    assert buffer.reserved_bytes() == before


def test_threads_never_share_a_block() -> None:
    failures = []

    def work(mark: int) -> None:
        for i in range(300):
            made = allocate(64 + 500 * (i % 9))
            ctypes.memset(made.address, mark, made.nbytes)
            if ctypes.string_at(made.address, made.nbytes) != bytes([mark]) * made.nbytes:
                failures.append(i)

    workers = [threading.Thread(target=work, args=(mark,)) for mark in range(1, 7)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_allocates() -> None:
    made = allocate(1000)
    child = os.fork()
    if child == 0:
        more = [allocate(n) for n in (1000, 123_456_789)]
        del made, more
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("wrong", ["12", 1.5, None])
def test_a_size_is_an_integer(wrong: object) -> None:
    with pytest.raises(TypeError):
        allocate(wrong)


def test_native_and_python_agree_on_classes() -> None:
    entry = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    native_size = entry(native.runtime.address("class_size"))
    sizes = [native_size(number) for number in range(CLASSES)]
    assert sizes == sorted(set(sizes))
    assert sizes[-1] >= LARGEST
    for nbytes in [*range(600), *(2**k + d for k in range(10, 27) for d in (-1, 0, 1))]:
        made = allocate(nbytes)
        assert sizes[made._size_class] == class_size(nbytes)


def test_buffers_cannot_be_made_or_changed_by_hand() -> None:
    made = allocate(10)
    with pytest.raises(TypeError):
        type(made)()
    with pytest.raises(AttributeError):
        made.address = 1


def test_allocation_costs_little() -> None:
    """A bound so loose that only a change of kind can break it: 29 ns were measured."""
    fast = buffer.allocator()
    assert min(timeit.repeat(lambda: fast(100), number=1000, repeat=5)) < 0.01
