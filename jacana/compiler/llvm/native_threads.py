"""The thread pool: `parallel_for(f, bufs, params, begin, end, grain)` on pthreads, as LLVM IR.

The word `state` is [generation:31][open:1 at bit 32][active:32]. A worker joins an open job by
compare-and-swap; the caller closes the job and waits only for workers that joined, so a worker
that was never scheduled costs nothing. One job at a time: a nested or concurrent call runs
serially. Workers are started by the first call that can use them.
"""

from jacana.compiler.llvm.native_text import Module, Value, Writer
from jacana.core.records import record

MAX_THREADS = 256
# Rounds of waiting before a thread sleeps; more would slow other libraries' threads beside it.
_SPIN = 2000
_OPEN = 1 << 32
_GENERATION_SHIFT = 33
_ACTIVE_OR_OPEN = (1 << _GENERATION_SHIFT) - 1


@record
class ThreadSystem:
    """What the operating system offers: how to sleep on a word, and the numbers of its calls."""

    sleep: str  # "futex", "condition" or "none" (no threads: parallel_for is serial)
    futex_number: int = 0
    set_mask: int = 2  # SIG_SETMASK
    pause: str = ""


def define(module: Module, system: ThreadSystem) -> None:
    """Write the pool into a module."""
    _define_pause(module, system)
    if system.sleep == "none":
        _define_serial(module)
        return
    for name, type_ in _STATE.items():
        # Words that different threads write are kept on different cache lines.
        module.data(name, f"{{ {type_}, [56 x i8] }}", align=64)
    module.data("threads", f"[{MAX_THREADS} x i64]")
    module.external("pthread_create", "i32", "ptr, ptr, ptr, ptr")
    module.external("pthread_join", "i32", "i64, ptr")
    module.external("pthread_sigmask", "i32", "i32, ptr, ptr")
    module.external("sched_yield", "i32", "")
    if system.sleep == "futex":
        _define_futex(module, system.futex_number)
    else:
        _define_condition(module)
    _define_lock(module)
    _define_work(module)
    _define_worker(module)
    _define_start(module, system.set_mask)
    _define_job(module)
    _define_parallel_for(module)
    _define_control(module)


_STATE = {
    "state": "i64", "next": "i64", "wake": "i32", "sleepers": "i32", "busy": "i32",
    "caller_waits": "i32", "job": "[5 x i64]", "failure": "i64", "workers": "i64",
    "wanted": "i64", "stop": "i32",
}  # fmt: skip
_JOB_FUNCTION, _JOB_BUFS, _JOB_PARAMS, _JOB_END, _JOB_GRAIN = range(5)


def _define_serial(module: Module) -> None:
    with module.function("parallel_for", "i64", "ptr", "ptr", "ptr", "i64", "i64", "i64") as (f, p):
        function, bufs, params, begin, end, _ = p
        f.ret(f.call("i64", function, bufs, params, begin, end))
    for name, types in _CONTROL.items():
        with module.function(name, "i64", *types) as (f, _):
            f.ret(0)


def _define_pause(module: Module, system: ThreadSystem) -> None:
    intrinsics = {"x86": "llvm.x86.sse2.pause", "aarch64": "llvm.aarch64.hint"}
    name = intrinsics.get(system.pause)
    if name:
        module.raw(f"declare void @{name}({'i32' if system.pause == 'aarch64' else ''})")
    with module.function("pause", "void", inside=True) as (f, _):
        if name:
            f.call("void", name, *([f.i32(1)] if system.pause == "aarch64" else []))
        f.ret()


def _define_futex(module: Module, number: int) -> None:
    """wait(word, value): sleep while the word has that value; notify(word, count): wake some."""
    module.external("syscall", "i64", "i64, ...")
    for name, operation in (("wait", 128), ("notify", 129)):  # FUTEX_WAIT and WAKE, PRIVATE
        with module.function(name, "void", "ptr", "i32", inside=True) as (f, (word, value)):
            null = f.value(0, "ptr")
            args = (f.i64(number), word, f.i32(operation), value, null, null, f.i32(0))
            f.call("i64", "syscall", *args, signature="i64 (i64, ...)")
            f.ret()
    with module.function("reset_sleep", "void", inside=True) as (f, _):
        f.ret()


def _define_condition(module: Module) -> None:
    """The same as futexes, by one mutex and one condition for all words."""
    module.data("mutex", "[128 x i8]", align=64)
    module.data("condition", "[128 x i8]", align=64)
    for name in ("mutex_lock", "mutex_unlock", "cond_broadcast"):
        module.external(f"pthread_{name}", "i32", "ptr")
    for name in ("mutex_init", "cond_init", "cond_wait"):
        module.external(f"pthread_{name}", "i32", "ptr, ptr")
    with module.function("wait", "void", "ptr", "i32", inside=True) as (f, (word, value)):
        f.call("i32", "pthread_mutex_lock", f.symbol("mutex"))
        with f.when(word.atomic_load("i32").eq(value)):
            f.call("i32", "pthread_cond_wait", f.symbol("condition"), f.symbol("mutex"))
        f.call("i32", "pthread_mutex_unlock", f.symbol("mutex"))
        f.ret()
    with module.function("notify", "void", "ptr", "i32", inside=True) as (f, _):
        f.call("i32", "pthread_mutex_lock", f.symbol("mutex"))
        f.call("i32", "pthread_cond_broadcast", f.symbol("condition"))
        f.call("i32", "pthread_mutex_unlock", f.symbol("mutex"))
        f.ret()
    with module.function("reset_sleep", "void", inside=True) as (f, _):
        null = f.value(0, "ptr")
        f.call("i32", "pthread_mutex_init", f.symbol("mutex"), null)
        f.call("i32", "pthread_cond_init", f.symbol("condition"), null)
        f.ret()


def _define_lock(module: Module) -> None:
    with module.function("take_pool", "void", inside=True) as (f, _):
        with f.forever() as loop:
            loop.leave_if(f.symbol("busy").compare_and_swap(f.i32(0), f.i32(1)))
            f.call("i32", "sched_yield")
        f.ret()
    with module.function("give_pool", "void", inside=True) as (f, _):
        f.symbol("busy").atomic_store(f.i32(0), "release")
        f.ret()


def _define_work(module: Module) -> None:
    """Take chunks of the job until none is left."""
    with module.function("work", "void", inside=True) as (f, _):
        job, following = f.symbol("job"), f.symbol("next")
        function, bufs = job.load("ptr", _JOB_FUNCTION), job.load("ptr", _JOB_BUFS)
        params, end = job.load("ptr", _JOB_PARAMS), job.load("i64", _JOB_END)
        grain = job.load("i64", _JOB_GRAIN)
        with f.forever() as loop:
            begin = following.atomic("add", grain, "monotonic")
            loop.leave_if(begin >= end)
            status = f.call("i64", function, bufs, params, begin, f.smaller(begin + grain, end))
            with f.when(status.ne(0)):
                f.symbol("failure").compare_and_swap(f.i64(0), status)
                following.atomic_store(end, "monotonic")
        f.ret()


def _define_worker(module: Module) -> None:
    """A worker's whole life; its argument is the generation that it takes as done."""
    with module.function("worker", "ptr", "ptr", inside=True) as (f, (argument,)):
        first = f.emit(f"ptrtoint ptr {argument.text} to i64", "i64")
        last = f.variable("i64", first)
        state, wake, sleepers = f.symbol("state"), f.symbol("wake"), f.symbol("sleepers")
        with f.forever():
            seen = wake.atomic_load("i32")
            rounds = f.variable("i64", 0)
            with f.forever() as spin:
                word = state.atomic_load("i64", "acquire")
                is_open = (word & _OPEN).ne(0)
                fresh = (word >> _GENERATION_SHIFT).ne(last.value)
                with f.either(is_open & fresh) as otherwise:
                    with f.when(state.compare_and_swap(word, word + 1)):
                        f.call("void", "work")
                        _leave_job(f, state)
                        last.set(word >> _GENERATION_SHIFT)
                        spin.leave()
                    otherwise.begin()
                    with f.when(f.symbol("stop").atomic_load("i32", "acquire").ne(0)):
                        f.ret(0, "ptr")
                rounds.set(rounds.value + 1)
                f.call("void", "pause")
                with f.when(rounds.value >= _SPIN):
                    sleepers.atomic("add", f.i32(1))
                    f.call("void", "wait", wake, seen)
                    sleepers.atomic("sub", f.i32(1))
                    spin.leave()


def _leave_job(f: Writer, state: Value) -> None:
    """Sign off; the last one to leave a closed job wakes the caller if it sleeps."""
    before = state.atomic("sub", f.i64(1))
    with (
        f.when((before & _ACTIVE_OR_OPEN).eq(1)),
        f.when(f.symbol("caller_waits").atomic_load("i32").ne(0)),
    ):
        f.call("void", "notify", state, f.i32(1))


def _define_start(module: Module, set_mask: int) -> None:
    """Start the missing workers; the pool is taken. Signals stay with the program's threads."""
    with module.function("start_workers", "void", inside=True) as (f, _):
        every, old = f.array("i64", 16), f.array("i64", 16)
        for i in range(16):
            every.store(f.i64(-1), i)
        generation = f.symbol("state").atomic_load("i64") >> _GENERATION_SHIFT
        argument = f.emit(f"inttoptr i64 {generation.text} to ptr", "ptr")
        f.call("i32", "pthread_sigmask", f.i32(set_mask), every, old)
        workers, wanted, null = f.symbol("workers"), f.symbol("wanted"), f.value(0, "ptr")
        with f.forever() as loop:
            have = workers.load("i64")
            loop.leave_if(have + 1 >= wanted.load("i64"))
            slot = f.symbol("threads").item("i64", have)
            failed = f.call("i32", "pthread_create", slot, null, f.symbol("worker"), argument)
            with f.when(failed.ne(0)):
                # The system gives no more threads: be content with those there are.
                wanted.store(have + 1)
                loop.leave()
            workers.store(have + 1)
        f.call("i32", "pthread_sigmask", f.i32(set_mask), old, null)
        f.ret()


def _define_job(module: Module) -> None:
    """Run one job with the workers; the pool is taken."""
    with module.function("run_job", "i64", inside=True) as (f, _):
        state, wake, failure = f.symbol("state"), f.symbol("wake"), f.symbol("failure")
        generation = (state.load("i64") >> _GENERATION_SHIFT) + 1
        state.atomic_store((generation << _GENERATION_SHIFT) | _OPEN)
        wake.atomic("add", f.i32(1))
        with f.when(f.symbol("sleepers").atomic_load("i32").ne(0)):
            f.call("void", "notify", wake, f.symbol("workers").load("i64").cast("i32"))
        f.call("void", "work")
        state.atomic("and", f.i64(~_OPEN))
        rounds = f.variable("i64", 0)
        with f.forever() as loop:
            active = state.atomic_load("i64", "acquire").cast("i32")
            loop.leave_if(active.eq(0))
            rounds.set(rounds.value + 1)
            f.call("void", "pause")
            with f.when(rounds.value > _SPIN):
                waits = f.symbol("caller_waits")
                waits.atomic_store(f.i32(1))
                f.call("void", "wait", state, active)
                waits.atomic_store(f.i32(0))
        f.ret(failure.load("i64"))


def _define_parallel_for(module: Module) -> None:
    with module.function("parallel_for", "i64", "ptr", "ptr", "ptr", "i64", "i64", "i64") as (f, p):
        function, bufs, params, begin, end, grain = p
        alone = (end - begin <= grain) | (f.symbol("wanted").load("i64") <= 1)
        with f.when(alone.eq(0)), f.when(f.symbol("busy").compare_and_swap(f.i32(0), f.i32(1))):
            f.call("void", "start_workers")
            with f.when(f.symbol("workers").load("i64") > 0):
                job = f.symbol("job")
                for index, part in enumerate((function, bufs, params, end, grain)):
                    job.store(part, index)
                f.symbol("failure").store(f.i64(0))
                f.symbol("next").atomic_store(begin)
                status = f.call("i64", "run_job")
                f.call("void", "give_pool")
                f.ret(status)
            f.call("void", "give_pool")
        f.ret(f.call("i64", function, bufs, params, begin, end))


# Called from Python with the GIL released, since they may wait for a job in flight.
_CONTROL: dict[str, tuple[str, ...]] = {
    "set_threads": ("i64",),
    "threads_before_fork": (),
    "threads_after_fork": ("i64",),
    "count_workers": (),
}


def _define_control(module: Module) -> None:
    with module.function("stop_workers", "void", inside=True) as (f, _):
        workers, wake, stop = f.symbol("workers"), f.symbol("wake"), f.symbol("stop")
        have = workers.load("i64")
        stop.atomic_store(f.i32(1))
        wake.atomic("add", f.i32(1))
        f.call("void", "notify", wake, f.i32(2**31 - 1))
        with f.count(0, have) as i:
            f.call("i32", "pthread_join", f.symbol("threads").load("i64", i), f.value(0, "ptr"))
        workers.store(f.i64(0))
        stop.atomic_store(f.i32(0))
        f.ret()
    with module.function("set_threads", "i64", "i64") as (f, (count,)):
        f.call("void", "take_pool")
        with f.when(f.symbol("workers").load("i64").eq(0)):
            f.call("void", "reset_sleep")
        with f.when(f.symbol("workers").load("i64") >= count):
            f.call("void", "stop_workers")
        f.symbol("wanted").store(f.smaller(count, MAX_THREADS))
        f.call("void", "give_pool")
        f.ret(0)
    with module.function("threads_before_fork", "i64") as (f, _):
        f.call("void", "take_pool")
        f.ret(0)
    with module.function("threads_after_fork", "i64", "i64") as (f, (in_child,)):
        with f.when(in_child.ne(0)):
            # The workers stayed in the parent; the child starts its own when it needs them.
            for name in ("sleepers", "caller_waits", "stop"):
                f.symbol(name).store(f.i32(0))
            f.symbol("workers").store(f.i64(0))
            state = f.symbol("state")
            state.store(state.load("i64") & ~_ACTIVE_OR_OPEN)
            f.call("void", "reset_sleep")
            f.call("void", "forget_library_calls")
            f.call("void", "unlock_pool")
        f.call("void", "give_pool")
        f.ret(0)
    with module.function("count_workers", "i64") as (f, _):
        f.ret(f.symbol("workers").load("i64"))
