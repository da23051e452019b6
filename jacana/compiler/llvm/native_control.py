"""Native functions that run other programs: branches and loops, as LLVM IR.

The programs' slots number the command's own buffers. Loops work on a copy of that frame, in which
the two buffers of a carry change places after each step, so that nothing is copied.
"""

from jacana.compiler.llvm.native_text import Module, Value, Writer

# Params of `while`, before three words (slot read, slot written, bytes) for each carry.
WHILE_PARAMS = ("buffers", "condition", "condition_count", "body", "body_count", "carries")
# Params of `scan`, before three words for each carry and then two (slot, step in bytes) for each
# slice. `index` is the slot of the number of the step, or -1.
SCAN_PARAMS = ("buffers", "body", "body_count", "length", "reverse", "index", "carries", "slices")


def define(module: Module) -> None:
    """Write branch, while and scan into a module that has the executor's `run`."""
    module.external("memcpy", "ptr", "ptr, ptr, i64")
    _define_swap(module)
    _define_deliver(module)
    _define_branch(module)
    _define_while(module)
    _define_scan(module)


def _define_swap(module: Module) -> None:
    """Exchange the buffers of each carry in a frame."""
    kinds = ("ptr", "ptr", "i64")
    with module.function("swap_carries", "void", *kinds, inside=True) as (f, p):
        frame, carries, count = p
        with f.count(0, count) as i:
            read, written = (carries.load("i64", i * 3 + part) for part in (0, 1))
            old, new = frame.load("ptr", read), frame.load("ptr", written)
            frame.store(new, read)
            frame.store(old, written)
        f.ret()


def _define_deliver(module: Module) -> None:
    """Copy each carry whose value ended up in its other buffer to the one it belongs in."""
    kinds = ("ptr", "ptr", "ptr", "i64")
    with module.function("deliver_carries", "void", *kinds, inside=True) as (f, p):
        bufs, frame, carries, count = p
        with f.count(0, count) as i:
            slot, nbytes = carries.load("i64", i * 3), carries.load("i64", i * 3 + 2)
            home, now = bufs.load("ptr", slot), frame.load("ptr", slot)
            with f.when(home.ne(now)):
                f.call("ptr", "memcpy", home, now, nbytes)
        f.ret()


def _copy_frame(f: Writer, bufs: Value, count: Value) -> Value:
    frame = f.emit(f"alloca ptr, i64 {count.text}, align 16", "ptr")
    f.call("ptr", "memcpy", frame, bufs, count * 8)
    return frame


def _define_branch(module: Module) -> None:
    """bufs [index: int32, ...]; params [branches, then program and count of each]; an index out of
    range means the nearest.
    """
    with module.function("branch", "i64", "ptr", "ptr", "i64", "i64") as (f, (bufs, params, _, _)):
        index = bufs.load("ptr").load("i32").cast("i64")
        last = params.load("i64") - 1
        index = f.smaller((index < 0).choose(f.i64(0), index), last)
        program, count = (params.load("i64", index * 2 + part) for part in (1, 2))
        address = f.emit(f"inttoptr i64 {program.text} to ptr", "ptr")
        f.ret(f.call("i64", "run", bufs, address, count))


def _define_while(module: Module) -> None:
    """bufs [condition: bool, ...]; params as WHILE_PARAMS. The results are where each carry's first
    value was.
    """
    with module.function("while", "i64", "ptr", "ptr", "i64", "i64") as (f, (bufs, params, _, _)):
        get = {name: params.load("i64", i) for i, name in enumerate(WHILE_PARAMS)}
        carries = params.item("i64", len(WHILE_PARAMS))
        frame = _copy_frame(f, bufs, get["buffers"])
        condition, body = params.load("ptr", 1), params.load("ptr", 3)
        with f.forever() as loop:
            status = f.call("i64", "run", frame, condition, get["condition_count"])
            with f.when(status.ne(0)):
                f.ret(status)
            loop.leave_if(frame.load("ptr").load("i8").eq(0))
            status = f.call("i64", "run", frame, body, get["body_count"])
            with f.when(status.ne(0)):
                f.ret(status)
            f.call("void", "swap_carries", frame, carries, get["carries"])
        f.call("void", "deliver_carries", bufs, frame, carries, get["carries"])
        f.ret(0)


def _define_scan(module: Module) -> None:
    """bufs [...]; params as SCAN_PARAMS. Slices of step k start k steps into their buffers, from
    the other end if reversed.
    """
    with module.function("scan", "i64", "ptr", "ptr", "i64", "i64") as (f, (bufs, params, _, _)):
        get = {name: params.load("i64", i) for i, name in enumerate(SCAN_PARAMS)}
        carries = params.item("i64", len(SCAN_PARAMS))
        slices = carries.item("i64", get["carries"] * 3)
        frame, body = _copy_frame(f, bufs, get["buffers"]), params.load("ptr", 1)
        with f.count(0, get["length"]) as step:
            at = get["reverse"].ne(0).choose(get["length"] - 1 - step, step)
            with f.count(0, get["slices"]) as i:
                slot, distance = (slices.load("i64", i * 2 + part) for part in (0, 1))
                frame.store(bufs.load("ptr", slot).item("i8", at * distance), slot)
            with f.when(get["index"] >= 0):
                frame.load("ptr", get["index"]).store(at)
            status = f.call("i64", "run", frame, body, get["body_count"])
            with f.when(status.ne(0)):
                f.ret(status)
            f.call("void", "swap_carries", frame, carries, get["carries"])
        f.call("void", "deliver_carries", bufs, frame, carries, get["carries"])
        f.ret(0)
