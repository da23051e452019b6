"""The errors of compiled elementary functions: python bench/every_float.py [NAME ...].

float32: every number of ordinary size and a sample of the others, against NumPy's float64;
float64: samples of the whole range and of where functions are steep, against NumPy's long double
(which must have 64 bits). `bench/accuracy.py` has mpmath as its reference, and fewer samples.
"""

import argparse
import ctypes
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jacana.compiler.llvm import module
from jacana.kernel import build, ir, math as kernel_math
from jacana.kernel.expr import Expr, Graph

Array = NDArray[Any]
BLOCK = 1 << 16
# Powers of two between which float32 numbers are ordinary.
ORDINARY = (-16, 17)


def compiled(function: Callable[..., Expr], type: str, arity: int) -> Callable[..., Array]:
    """The function over flat arrays of the type, as machine code."""
    graph = Graph()
    writer = build.Writer(graph)
    buffers = [ir.Buffer(i, type, i == arity) for i in range(arity + 1)]
    with writer.loop(graph.scalar(BLOCK, "index"), kind="vector", grid=True) as i:
        writer.store(buffers[arity], i, function(*[graph.load(b, i) for b in buffers[:arity]]))
    kernel = ir.Kernel(tuple(buffers), (), tuple(writer.params), tuple(writer.blocks[0].statements))
    address = module.load(module.compile_kernel(kernel))
    index, pointer = ctypes.c_int64, ctypes.c_void_p
    entry = ctypes.CFUNCTYPE(index, pointer, pointer, index, index)(address)

    def run(*xs: Array) -> Array:
        out = np.empty_like(xs[0])
        memory = (pointer * (arity + 1))(*[x.ctypes.data for x in (*xs, out)])
        entry(memory, (index * 1)(len(out)), 0, len(out))
        return out

    return run


def rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x)


def logistic(x: Array) -> Array:
    decay = np.exp(-np.abs(x))
    return np.where(x < 0, decay, 1) / (1 + decay)


REFERENCES: dict[str, Callable[..., Array]] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log1p": np.log1p,
    "logistic": logistic, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "cbrt": np.cbrt,
    "rsqrt": rsqrt, "pow": np.power, "atan2": np.arctan2, "hypot": np.hypot,
}  # fmt: skip
TWO_ARGUMENTS = ("pow", "atan2", "hypot")
# Where float64 samples are drawn besides the whole range: scales of a normal distribution.
SCALES = (1e-3, 0.1, 1.0, 10.0, 300.0)


def ulps(got: Array, want: Array, type: str) -> Array:
    """|got - want| in units in the last place of `want`; zero where both overflow or are nan."""
    info = np.finfo(type)
    rounded = want.astype(type)
    bits = rounded.view(f"i{rounded.dtype.itemsize}")
    exponent = bits >> info.nmant & (1 << info.bits - 1 - info.nmant) - 1
    error = np.abs(got - want) * units(type)[exponent]
    lost = ~np.isfinite(error)
    if lost.any():
        g, r = got[lost], rounded[lost]
        # Infinity and nan where the reference has them are right.
        error[lost] = np.where((g == r) | np.isnan(g) & np.isnan(r), 0.0, np.inf)
    return error.astype(np.float64)


@cache
def units(type: str) -> Array:
    """One over the unit in the last place, by the exponent's bits."""
    info = np.finfo(type)
    wide = np.float64 if type == "float32" else np.longdouble
    exponents = np.maximum(np.arange(1 << info.bits - 1 - info.nmant), 1)
    return np.ldexp(wide(1), info.nmant - info.minexp + 1 - exponents)


def every_float(stride: int) -> Iterator[tuple[Array, ...]]:
    """All numbers of ordinary size, and every `stride`-th of the tiny and huge ones."""
    low, high = (int(np.float32(2.0**e).view(np.uint32)) for e in ORDINARY)
    for sign in (0, 1 << 31):
        for start, stop, step in ((0, low, stride), (low, high, 1), (high, 1 << 31, stride)):
            for first in range(start, stop, BLOCK * step):
                bits = np.arange(first, min(first + BLOCK * step, stop), step, np.uint32)
                yield ((bits | np.uint32(sign)).view(np.float32),)


def samples(name: str, type: str, count: int) -> Iterator[tuple[Array, ...]]:
    random = np.random.default_rng(0)
    integer = f"u{np.dtype(type).itemsize}"
    arity = 2 if name in TWO_ARGUMENTS else 1
    for _ in range(max(1, count // BLOCK)):
        drawn = []
        for _ in range(arity):
            bits = random.integers(0, 2**63, BLOCK, dtype=np.uint64) << 1
            some = bits.view(integer)[:BLOCK].view(type)
            near = (random.standard_normal(BLOCK) * random.choice(SCALES, BLOCK)).astype(type)
            drawn.append(np.where(random.random(BLOCK) < 0.2, some, near))
        if name == "pow":
            x, y = drawn
            steep = (random.standard_normal(BLOCK) * 100 / np.log(np.abs(x))).astype(type)
            drawn = [np.abs(x), np.where(random.random(BLOCK) < 0.5, y, steep)]
        yield tuple(drawn)


def measure(name: str, type: str, count: int, stride: int) -> str:
    """The largest error and where it is, over float32 numbers or `count` samples."""
    arity = 2 if name in TWO_ARGUMENTS else 1
    function = compiled(getattr(kernel_math, name), type, arity)
    wide = np.float64 if type == "float32" else np.longdouble
    every = type == "float32" and arity == 1
    worst, total, seen, place = 0.0, 0.0, 0, ""
    for xs in every_float(stride) if every else samples(name, type, count):
        got = function(*xs)
        error = ulps(got, REFERENCES[name](*[x.astype(wide) for x in xs]), type)
        at = int(np.argmax(error))
        total, seen = total + float(np.minimum(error, 1e9).sum()), seen + len(error)
        if error[at] > worst:
            worst, place = float(error[at]), ", ".join(repr(float(x[at])) for x in xs)
            place += f" = {float(got[at])!r}"
    return f"{name} {type}: {worst:.4f} ulp at {place}, mean {total / seen:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="measure only these")
    parser.add_argument("--types", nargs="*", default=["float64", "float32"])
    parser.add_argument("-n", type=int, default=10**7, help="samples where not every float is used")
    parser.add_argument("--stride", type=int, default=61, help="1 for every float32 that there is")
    options = parser.parse_args()
    for name in options.names or REFERENCES:
        for type in options.types:
            start = time.perf_counter()
            with np.errstate(all="ignore"):
                found = measure(name, type, options.n, options.stride)
            print(f"{found}, {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
