"""Programs: frames, params, statuses, host functions, branches and loops."""

import ctypes
import threading

import numpy as np
import pytest

from jacana.compiler.library import copies
from jacana.runtime import executor
from jacana.runtime.control import Carry, Slice, branch_command, scan_command, while_command
from jacana.runtime.executor import Command, HostFunction, Program, ProgramError, Records
from tests.runtime.native_programs import address_of, run_native


def copy_command(source: int, target: int, nbytes: int) -> Command:
    return Command(copies.copy(), (source, target), *copies.copy_launch(nbytes))


def host(function, buffers: int) -> HostFunction:
    """A host function over int64 scalars."""

    def call(addresses: list[int]) -> None:
        function(*(ctypes.c_int64.from_address(address) for address in addresses))

    return HostFunction(call, buffers)


def test_commands_run_in_order() -> None:
    a, b, c = np.arange(5), np.zeros(5, int), np.zeros(5, int)
    program = Program([copy_command(0, 1, 40), copy_command(1, 2, 40)], 3)
    assert program.run([address_of(x) for x in (a, b, c)]) is None
    assert c.tolist() == [0, 1, 2, 3, 4]


def test_slots_after_the_given_ones_lie_in_the_arena_or_are_fixed() -> None:
    a, out, arena, constant = np.arange(8), np.zeros(8, int), np.zeros(32, int), np.full(8, 9)
    commands = [copy_command(0, 3, 64), copy_command(5, 4, 64), copy_command(3, 1, 64)]
    program = Program(commands, 3, relative=[0, 128], fixed=[address_of(constant)])
    program.run([address_of(x) for x in (a, out, arena)])
    assert out.tolist() == a.tolist()
    assert arena.tolist() == [*range(8), *[0] * 8, *[9] * 8, *[0] * 8]


def test_params_can_be_changed_between_runs() -> None:
    out = np.zeros(3)
    launch = copies.fill_launch(np.float64(1.5).tobytes(), 3)
    program = Program([Command(copies.fill(8), (0,), *launch)], 1)
    program.run([address_of(out)])
    assert out.tolist() == [1.5] * 3
    program.words[program.param_offset(0, 0)] = int(np.float64(-2).view(np.int64))
    program.run([address_of(out)])
    assert out.tolist() == [-2.0] * 3


def test_any_iterable_of_addresses_will_do() -> None:
    a, b = np.arange(5), np.zeros(5, int)
    program = Program([copy_command(0, 1, 40)], 2)
    program.run((address_of(a), address_of(b)))
    assert b.tolist() == a.tolist()


def test_a_wrong_frame_is_an_error() -> None:
    program = Program([copy_command(0, 1, 8)], 2)
    with pytest.raises(ValueError, match="another number of addresses"):
        program.run([1])
    with pytest.raises(TypeError):
        program.run([1, "two"])
    with pytest.raises(TypeError):
        program.run(None)
    with pytest.raises(ValueError, match="slots"):
        Program([copy_command(0, 2, 8)], 2)


def test_an_empty_extent_runs_nothing() -> None:
    command = Command(1, (0,), (), 0)
    Program([command], 1).run([0])


def test_a_failing_command_stops_the_program_and_is_named() -> None:
    fails = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 2)(
        lambda bufs, params, begin, end: 5
    )
    out = np.zeros(1)
    commands = [
        copy_command(0, 0, 8),
        Command(ctypes.cast(fails, ctypes.c_void_p).value or 0, ()),
        Command(copies.fill(8), (0,), (1,), 1),
    ]
    with pytest.raises(ProgramError, match="command 1 "):
        Program(commands, 1, keep=fails).run([address_of(out)])
    assert out[0] == 0


@pytest.mark.parametrize("release_gil", [False, True])
def test_a_host_exception_arrives_with_its_own_traceback(release_gil: bool) -> None:
    def fail(addresses: list[int]) -> None:
        raise KeyError(len(addresses))

    call = HostFunction(fail, 2)
    program = Program([Command(call.address, (0, 0))], 1, release_gil=release_gil, keep=call)
    for _ in range(3):
        with pytest.raises(KeyError, match="2") as caught:
            program.run([0])
        assert "fail" in [entry.name for entry in caught.traceback]


def test_host_exceptions_belong_to_the_thread_that_ran_the_program() -> None:
    barrier = threading.Barrier(4)
    seen = {}

    def work(number: int) -> None:
        def fail(addresses: list[int]) -> None:
            barrier.wait(20)
            raise ValueError(number)

        call = HostFunction(fail, 0)
        program = Program([Command(call.address, ())], 0, release_gil=True, keep=call)
        try:
            program.run([])
        except ValueError as error:
            seen[number] = error.args[0]

    workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert seen == {i: i for i in range(4)}


def test_a_method_outlives_its_program() -> None:
    a, b = np.arange(5), np.zeros(5, int)
    run = Program([copy_command(0, 1, 40)], 2).run
    run([address_of(a), address_of(b)])
    assert b.tolist() == a.tolist()


def test_the_native_loop_can_be_called_with_addresses() -> None:
    a, b = np.arange(5), np.zeros(5, int)
    frame = np.array([address_of(a), address_of(b)])
    records = Records([copy_command(0, 1, 40)], 2)
    for run in (executor.run_holding_gil, executor.run_releasing_gil):
        b[:] = 0
        assert run(address_of(frame), records.address, records.count) == 0
        assert b.tolist() == a.tolist()


@pytest.mark.parametrize(("index", "chosen"), [(0, 1.0), (1, 2.0), (7, 2.0), (-3, 1.0)])
def test_branch_runs_the_branch_of_the_index(index: int, chosen: float) -> None:
    number, out = np.array(index, np.int32), np.zeros(2)
    branches = [
        Records([Command(copies.fill(8), (1,), *copies.fill_launch(np.float64(x).tobytes(), 2))], 2)
        for x in (1, 2)
    ]
    program = Program([branch_command((0, 1), branches)], 2, keep=branches)
    program.run([address_of(number), address_of(out)])
    assert out.tolist() == [chosen] * 2


@pytest.mark.parametrize("limit", [0, 1, 2, 7])
def test_while_swaps_carries_and_delivers_them_home(limit: int) -> None:
    """Slots: condition, counter and its next value, a and b with a two-step recurrence."""

    def condition(flag, n, *_) -> None:
        flag.value = int(n.value < limit)

    def step(flag, n, following, a, b, next_a, next_b) -> None:
        following.value = n.value + 1
        next_a.value, next_b.value = b.value, a.value + b.value

    calls = [host(condition, 7), host(step, 7)]
    slots = tuple(range(7))
    inner = [Records([Command(call.address, slots)], 7, keep=[call]) for call in calls]
    carries = [Carry(1, 2, 8), Carry(3, 5, 8), Carry(4, 6, 8)]
    program = Program([while_command(slots, *inner, carries)], 7, keep=inner)
    values = [np.array(x, np.int64) for x in (0, 0, 0, 0, 1, 0, 0)]
    program.run([address_of(x) for x in values])
    a, b = 0, 1
    for _ in range(limit):
        a, b = b, a + b
    assert [int(values[i]) for i in (1, 3, 4)] == [limit, a, b]


def test_an_exception_leaves_a_loop() -> None:
    def condition(flag, n) -> None:
        n.value += 1
        flag.value = 1
        if n.value == 5:
            raise StopIteration("five")

    call = host(condition, 2)
    inner = Records([Command(call.address, (0, 1))], 2, keep=[call])
    program = Program([while_command((0, 1), inner, Records([], 2), [])], 2, keep=inner)
    values = [np.array(0), np.array(0)]
    with pytest.raises(StopIteration, match="five"):
        program.run([address_of(x) for x in values])
    assert values[1] == 5


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 5])
def test_scan_walks_slices_and_hands_carries_on(reverse: bool, length: int) -> None:
    def step(x, total, following, y, index) -> None:
        following.value = total.value + x.value
        y.value = following.value * 100 + index.value

    call = host(step, 5)
    body = Records([Command(call.address, tuple(range(5)))], 5, keep=[call])
    slices = [Slice(0, 8), Slice(3, 8)]
    command = scan_command(
        tuple(range(5)), body, length, [Carry(1, 2, 8)], slices, reverse=reverse, index=4
    )
    xs, ys = np.arange(1, 7), np.zeros(6, int)
    total, spare, index = np.array(0), np.array(0), np.array(0)
    arrays = (xs, total, spare, ys, index)
    Program([command], 5, keep=body).run([address_of(x) for x in arrays])
    order = range(length)[::-1] if reverse else range(length)
    want, running = np.zeros(6, int), 0
    for i in order:
        running += int(xs[i])
        want[i] = running * 100 + i
    assert ys.tolist() == want.tolist()
    assert int(total) == running


def test_copy_moves_what_it_is_told_in_pieces() -> None:
    source = np.random.default_rng(0).integers(0, 256, 5_000_001, np.uint8)
    target = np.zeros_like(source)
    run_native(copies.copy(), copies.copy_launch(source.nbytes), [source, target])
    np.testing.assert_array_equal(source, target)
