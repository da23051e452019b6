"""The thread pool: one setting, every chunk once, failures, forks, nesting, exit."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import timeit
from collections.abc import Iterator

import numpy as np
import pytest

from jacana.compiler.library import copies
from jacana.compiler.llvm import (
    native,
    native_contents,
    native_image,
    native_link,
)
from jacana.compiler.llvm.native_text import Module
from jacana.compiler.llvm.native_threads import ThreadSystem
from jacana.core import config
from jacana.runtime import executor, limits, threads
from jacana.runtime.executor import Command, Program, ProgramError
from tests.runtime.native_programs import address_of

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 2)


@pytest.fixture(autouse=True)
def number_of_threads() -> Iterator[None]:
    before = threads.get_num_threads()
    yield
    threads.set_num_threads(before)


def copy_program(source: np.ndarray, target: np.ndarray, grain: int) -> Program:
    command = Command(copies.copy(), (0, 1), (), source.nbytes, grain)
    return Program([command], 2, release_gil=True)


def big_arrays() -> tuple[np.ndarray, np.ndarray]:
    source = np.arange(1 << 18, dtype=np.float64)
    return source, np.zeros_like(source)


@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize("grain", [1000, 4096, 100_001, 1 << 30])
def test_every_piece_is_done_whatever_the_number_of_threads(count: int, grain: int) -> None:
    threads.set_num_threads(count)
    source, target = big_arrays()
    copy_program(source, target, grain).run([address_of(source), address_of(target)])
    np.testing.assert_array_equal(source, target)
    assert threads.get_num_threads() == count
    assert threads.count_workers() < count


def test_each_index_is_covered_once() -> None:
    threads.set_num_threads(4)
    seen: list[tuple[int, int]] = []
    note = FUNCTION(lambda bufs, params, begin, end: seen.append((begin, end)) or 0)
    parallel_for = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 3)(
        native.runtime.address("parallel_for")
    )
    for begin, end, grain in [(0, 100, 7), (5, 6, 1), (0, 0, 3), (10, 1000, 100)]:
        seen.clear()
        assert parallel_for(ctypes.cast(note, ctypes.c_void_p), None, None, begin, end, grain) == 0
        covered = sorted(i for low, high in seen for i in range(low, high))
        assert covered == list(range(begin, end))


def test_no_thread_is_started_before_it_is_needed() -> None:
    threads.set_num_threads(1)
    threads.set_num_threads(3)
    assert threads.count_workers() == 0
    source, target = big_arrays()
    copy_program(source, target, 1 << 30).run([address_of(source), address_of(target)])
    assert threads.count_workers() == 0
    copy_program(source, target, 1 << 12).run([address_of(source), address_of(target)])
    assert threads.count_workers() == 2


def test_a_failure_in_any_chunk_fails_the_command() -> None:
    threads.set_num_threads(2)
    fail = FUNCTION(lambda bufs, params, begin, end: 3 if begin == 50 else 0)
    address = ctypes.cast(fail, ctypes.c_void_p).value or 0
    program = Program([Command(address, (), (), 100, 10)], 0, release_gil=True, keep=fail)
    for _ in range(20):
        with pytest.raises(ProgramError):
            program.run([])


def test_a_nested_parallel_command_runs_serially() -> None:
    threads.set_num_threads(2)
    source, target = big_arrays()
    inner = copy_program(source, target, 1 << 14)
    addresses = [address_of(source), address_of(target)]
    call = FUNCTION(lambda bufs, params, begin, end: inner.run(addresses) or 0)
    address = ctypes.cast(call, ctypes.c_void_p).value or 0
    Program([Command(address, (), (), 8, 1)], 0, release_gil=True).run([])
    np.testing.assert_array_equal(source, target)


def test_python_threads_may_run_programs_at_once() -> None:
    threads.set_num_threads(2)
    failures = []

    def work(seed: int) -> None:
        source = np.random.default_rng(seed).standard_normal(1 << 16)
        target = np.zeros_like(source)
        program = copy_program(source, target, 1 << 12)
        for _ in range(50):
            target[:] = 0
            program.run([address_of(source), address_of(target)])
            if not np.array_equal(source, target):
                failures.append(seed)

    workers = [threading.Thread(target=work, args=(i,)) for i in range(5)]
    for worker in workers:
        worker.start()
    for i in range(20):
        threads.set_num_threads(1 + i % 3)
    for worker in workers:
        worker.join()
    assert not failures


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_hundred_forks_while_jobs_run() -> None:
    """Children start workers of their own; the parent's go on."""
    threads.set_num_threads(2)
    source, target = big_arrays()
    program = copy_program(source, target, 1 << 14)
    addresses = [address_of(source), address_of(target)]
    program.run(addresses)
    stop = threading.Event()

    def keep_busy() -> None:
        own = np.zeros_like(source)
        mine = copy_program(source, own, 1 << 14)
        while not stop.is_set():
            mine.run([address_of(source), address_of(own)])

    busy = threading.Thread(target=keep_busy)
    busy.start()
    try:
        for i in range(100):
            child = os.fork()
            if child == 0:
                target[:] = 0
                if i % 4 == 0:
                    program.run(addresses)
                os._exit(0 if i % 4 or np.array_equal(source, target) else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        busy.join()
    program.run(addresses)
    np.testing.assert_array_equal(source, target)


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forks_while_another_thread_compiles() -> None:
    """A child compiles too, although the lock of LLVM was taken when it was forked."""
    stop = threading.Event()
    source = "define i64 @f() {\n ret i64 7\n}"
    native_contents.compile_object(source)

    def compile_all_the_time() -> None:
        while not stop.is_set():
            native_contents.compile_object(source)

    busy = threading.Thread(target=compile_all_the_time)
    busy.start()
    try:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                signal.alarm(30)
                image = native_link.link(native_contents.compile_object(source))
                exports = native_image.load(image)
                result = ctypes.CFUNCTYPE(ctypes.c_int64)(exports["f"])()
                os._exit(0 if result == 7 else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        busy.join()


def test_programs_run_while_the_interpreter_goes_down(tmp_path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import atexit, numpy as np\n"
        "from jacana.compiler.library import copies\n"
        "from jacana.runtime.executor import Command, Program\n"
        "from jacana.runtime import threads\n"
        "threads.set_num_threads(2)\n"
        "a = np.arange(100000.0); b = np.zeros_like(a)\n"
        "p = Program([Command(copies.copy(), (0, 1), (), a.nbytes, 1000)], 2, release_gil=True)\n"
        "ads = [x.__array_interface__['data'][0] for x in (a, b)]\n"
        "class Late:\n"
        "    def __del__(self, run=p.run, ads=ads, keep=(a, b)): run(ads)\n"
        "late = Late(); late.itself = late\n"
        "def last():\n"
        "    b[:] = 0; p.run(ads); assert (a == b).all(); print('done')\n"
        "atexit.register(last)\n"
        "p.run(ads)\n"
    )
    result = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert (result.returncode, result.stdout.strip(), result.stderr) == (0, "done", "")


def test_the_fallback_without_futexes_works() -> None:
    if sys.platform == "win32":
        pytest.skip("no pthreads here")

    mask = native_contents.thread_system().set_mask
    module = Module()
    native_contents.define_runtime(module, ThreadSystem("condition", set_mask=mask, pause="x"))
    image = native_link.link(native_contents.compile_object(module.text()))
    exports = native_image.load(image)
    entry = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
    set_count = entry(exports["set_threads"])
    parallel_for = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 3)(
        exports["parallel_for"]
    )
    source, target = big_arrays()
    bufs = np.array([address_of(source), address_of(target)])
    for count in (1, 3, 2):
        assert set_count(count) == 0
        for _ in range(30):
            target[:] = 0
            assert parallel_for(copies.copy(), address_of(bufs), None, 0, source.nbytes, 9999) == 0
            np.testing.assert_array_equal(source, target)
    set_count(1)


@pytest.mark.parametrize("count", [0, -1])
def test_a_senseless_number_is_an_error(count: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        threads.set_num_threads(count)


def test_the_default_is_the_setting_or_the_processors() -> None:
    with config.override(num_threads=5):
        assert threads.default_num_threads() == 5
    with config.override(num_threads=0):
        assert threads.default_num_threads() == limits.processors()


def test_limits_are_sensible() -> None:
    assert 1 <= limits.processors() <= (os.cpu_count() or 1)
    assert 0 < limits.available_memory() <= limits.memory()


def test_control_group_limits_are_read(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("400000\n")
    monkeypatch.setattr(limits, "_group_folders", lambda controller: iter([tmp_path]))
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    assert limits.processors() == 2
    assert limits.memory() == 1_000_000
    if sys.platform == "linux":
        assert limits.available_memory() == 600_000


def test_running_a_program_costs_little() -> None:
    """A bound so loose that only a change of kind can break it: 34 ns were measured."""
    run = Program([], 0).run
    addresses: list[int] = []
    assert min(timeit.repeat(lambda: run(addresses), number=1000, repeat=5)) < 0.01
    assert executor.run_holding_gil(0, 0, 0) == 0
