"""How one callable is timed."""

import time
from collections.abc import Callable


def microseconds(call: Callable[[], object], seconds: float) -> float:
    """The least time of a call, over as many batches as fit in `seconds`."""
    call()
    clock = time.perf_counter
    start = clock()
    call()
    once = max(clock() - start, 1e-8)
    # A batch is long against the clock's resolution and short against the machine's other work.
    number = max(1, int(min(0.002, seconds / 3) / once))
    best, end = float("inf"), clock() + seconds
    while True:
        start = clock()
        for _ in range(number):
            call()
        stop = clock()
        best = min(best, (stop - start) / number)
        if stop >= end:
            return best * 1e6
