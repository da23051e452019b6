"""Runs a kernel compiled and interpreted, and compares what it leaves in memory bit for bit."""

import ctypes

import numpy as np

from jacana.compiler.llvm import module
from jacana.kernel import arithmetic, interpret, ir
from jacana.kernel.build import Writer
from jacana.kernel.expr import Graph

PROTOTYPE = ctypes.CFUNCTYPE(
    ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)
# Bytes on either side of a buffer that no kernel may change.
GUARD = 256


class KernelWriter(Writer):
    """A Writer that also keeps the buffers and their contents."""

    def __init__(self):
        super().__init__(Graph())
        self.buffers, self.arrays = [], []

    def buffer(self, array, type, written=False):
        made = ir.Buffer(len(self.buffers), type, written)
        self.buffers.append(made)
        self.arrays.append(np.ascontiguousarray(array, arithmetic.DTYPES[type]).reshape(-1))
        return made

    def output(self, size, type):
        return self.buffer(np.zeros(size), type, True)

    def index(self, value):
        """An extent or stride that is a parameter of the kernel."""
        return self.graph.scalar(value, "index")

    def kernel(self):
        return ir.Kernel(
            tuple(self.buffers), tuple(self.locals), tuple(self.params),
            tuple(self.blocks[0].statements),
        )  # fmt: skip

    def check(self, *ranges):
        """Compiled and interpreted results are equal, over the ranges of the grid one by one."""
        check(self.kernel(), self.arrays, self.param_values, ranges or [(0, 0)])


def compiled(kernel):
    return PROTOTYPE(module.load(module.compile_kernel(kernel)))


def run(function, arrays, params, begin=0, end=0):
    pointers = (ctypes.c_void_p * max(1, len(arrays)))(*[a.ctypes.data for a in arrays])
    slots = np.array([p & 0xFFFFFFFFFFFFFFFF for p in params], np.uint64)
    assert function(pointers, slots.ctypes.data, begin, end) == 0


def guarded(array):
    """A copy that is aligned to its elements only, between guard bytes."""
    room = np.full(array.nbytes + 2 * GUARD, 0xA5, np.uint8)
    offset = GUARD + (-room.ctypes.data - GUARD) % 64 + array.itemsize
    view = room[offset : offset + array.nbytes].view(array.dtype)
    view[:] = array
    return room, view


def check(kernel, arrays, params, ranges):
    function = compiled(kernel)
    expected = [a.copy() for a in arrays]
    pairs = [guarded(a) for a in arrays]
    actual = [view for _, view in pairs]
    for begin, end in ranges:
        interpret.run(kernel, expected, params, begin, end)
        run(function, actual, params, begin, end)
    for buffer, (room, view), want in zip(kernel.buffers, pairs, expected, strict=True):
        same(view, want, buffer.type)
        view[:] = np.frombuffer(b"\xa5" * view.nbytes, view.dtype)
        assert (room == 0xA5).all(), f"buffer {buffer.id} was written outside its elements"


def same(actual, expected, type):
    """Equal bits, except that any nan equals any other."""
    bits = [arithmetic.to_bits(a, type) for a in (actual, expected)]
    equal = bits[0] == bits[1]
    if type in ir.FLOATS:
        with np.errstate(invalid="ignore"):  # ml_dtypes before 0.7 warns of signalling nans
            equal |= np.isnan(actual) & np.isnan(expected)
    wrong = np.flatnonzero(~equal)
    assert not wrong.size, (
        f"{wrong.size} of {equal.size} elements of {type} differ, first at {wrong[:5]}: "
        f"{actual[wrong[:5]]} instead of {expected[wrong[:5]]}"
    )
