"""Fourier transforms as kernels: Stockham's algorithm, one kernel for each radix of an axis.

A step reads what lies m places apart and writes it in order, so that no permutation is left at the
end. Arrays are flat here: a block of `size` elements for each transform that stands before others,
and `inner` neighbours that are transformed alike.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from jacana.core import dtypes
from jacana.kernel.build import Writer
from jacana.kernel.expr import Expr
from jacana.kernel.math import cos, sin
from jacana.kernel.math.complex import Complex
from jacana.ops.indexing import flat_index
from jacana.ops.lowering import Build, Output, Tensor

# Longer axes, and fewer elements, are left to SciPy.
LONGEST, SMALLEST = 4096, 1 << 15
RADICES = (8, 5, 4, 3, 2)
# So many neighbours are worth a vector.
LANES = 8

Numbers = list[Complex]
Fetch = Callable[[Tensor, Expr], Complex]
Put = Callable[[Output, Expr, Complex], None]


def radices(n: int) -> list[int]:
    """Factors of n that there are steps for; of a number that has others, none."""
    found = []
    for r in RADICES:
        while n % r == 0:
            found.append(r)
            n //= r
    return found if n == 1 else []


def is_written_out(shape: Sequence[int], lengths: Sequence[int], real: bool) -> bool:
    """Whether transforms over axes of these lengths, the last of real numbers or not, are kernels.

    `shape` is that of the operand with the fewest elements.
    """
    if math.prod(shape) < SMALLEST or max(lengths) > LONGEST:
        return False
    if real and lengths[-1] % 2:
        return False
    halved = [*lengths[:-1], lengths[-1] // 2 if real else lengths[-1]]
    return all(radices(n) for n in halved)


# --- one axis -------------------------------------------------------------------------------------


def along(
    build: Build, x: Tensor, n: int, inner: int, sign: int, out: tuple[Sequence[int], Any],
    *, scale: float = 1.0,
) -> Tensor:  # fmt: skip
    """The sums over k of x[k] exp(sign 2 pi i j k / n), times scale, in flat blocks n x inner.

    `out` is shape and dtype of the result. Real operands and results are complex numbers whose
    parts stand beside each other.
    """
    steps = radices(n)
    parts = 1 if dtypes.is_complex(x.dtype) else 2
    outer = math.prod(x.shape) // (n * inner * parts)
    dtype = x.dtype if parts == 1 else dtypes.complex_dtype(x.dtype)
    m, c = n, inner
    for k, r in enumerate(steps):
        m //= r
        is_last = k == len(steps) - 1
        spec = out if is_last else ((outer * n * inner,), dtype)
        x = _step(build, x, (outer, r, m, c), sign, spec, scale if is_last else 1.0)
        c *= r
    return x


def _step(
    build: Build, x: Tensor, sizes: tuple[int, int, int, int], sign: int,
    out: tuple[Sequence[int], Any], scale: float,
) -> Tensor:  # fmt: skip
    outer, r, m, c = sizes
    real = dtypes.real_dtype(x.dtype) if dtypes.is_complex(x.dtype) else x.dtype
    fetch = _fetch_complex if dtypes.is_complex(x.dtype) else _fetch_pair
    put = _put_complex if dtypes.is_complex(out[1]) else _put_pair
    inputs = [x] if m == 1 else [x, roots(build, r * m, (r, m), sign, dtypes.complex_dtype(real))]

    def element(writer: Writer, outs: Sequence[Output], ins: Sequence[Tensor], at: Any) -> None:
        o, p, q = at
        values = [fetch(ins[0], ((o * r + u) * m + p) * c + q) for u in range(r)]
        for t, y in enumerate(dft(values, sign)):
            if t and m > 1:
                y = y * ins[1][(t, p)]
            if scale != 1.0:
                y = Complex(y.re * scale, y.im * scale)
            put(outs[0], ((o * m + p) * r + t) * c + q, y)

    def body(writer: Writer, outs: Sequence[Output], ins: Sequence[Tensor]) -> None:
        # Lanes are neighbours where they fill a vector, else places of one transform, else whole
        # transforms, which are the outermost loop as well.
        lanes = 2 if c >= LANES else 1 if m >= LANES else 0
        extents = (outer, m, c)
        axes = [a for a in ((0, 2, 1) if lanes == 1 else (0, 1, 2)) if extents[a] != 1]
        index: list[Expr] = [build.index(0)] * 3

        def nest(depth: int) -> None:
            if depth == len(axes):
                element(writer, outs, ins, index)
                return
            axis = axes[depth]
            kind = "vector" if axis == lanes else "serial"
            with writer.loop(build.index(extents[axis]), kind, depth == 0) as i:
                index[axis] = i
                nest(depth + 1)

        nest(0)

    return build.loops([out], inputs, body)[0]


def _fetch_complex(x: Tensor, at: Expr) -> Complex:
    value = x[flat_index(x.shape, at)]
    assert isinstance(value, Complex)
    return value


def _fetch_pair(x: Tensor, at: Expr) -> Complex:
    re, im = x[flat_index(x.shape, at * 2)], x[flat_index(x.shape, at * 2 + 1)]
    assert isinstance(re, Expr) and isinstance(im, Expr)
    return Complex(re, im)


def _put_complex(out: Output, at: Expr, value: Complex) -> None:
    out.store(flat_index(out.shape, at), value)


def _put_pair(out: Output, at: Expr, value: Complex) -> None:
    out.store(flat_index(out.shape, at * 2), value.re)
    out.store(flat_index(out.shape, at * 2 + 1), value.im)


def roots(build: Build, n: int, shape: tuple[int, int], sign: int, dtype: Any) -> Tensor:
    """exp(sign 2 pi i t p / n) at (t, p), to the last digit of the type or nearly so."""

    def element(t: Expr, p: Expr) -> Complex:
        angle = (t * p).convert("float64") * (sign * 2 * math.pi / n)
        part = "float32" if dtype is dtypes.complex64 else "float64"
        return Complex(cos(angle).convert(part), sin(angle).convert(part))

    return build.compute(shape, dtype, element)


# --- transforms of a few numbers ------------------------------------------------------------------


def dft(x: Numbers, sign: int) -> Numbers:
    """The transform of 2, 3, 4, 5 or 8 numbers."""
    if len(x) == 2:
        return [x[0] + x[1], x[0] - x[1]]
    if len(x) % 2 == 0:
        return _by_halves(x, sign)
    return _odd(x, sign)


def _by_halves(x: Numbers, sign: int) -> Numbers:
    evens, odds = dft(x[::2], sign), dft(x[1::2], sign)
    turned = [turn(y, k, len(x), sign) for k, y in enumerate(odds)]
    pairs = list(zip(evens, turned, strict=True))
    return [a + b for a, b in pairs] + [a - b for a, b in pairs]


def turn(x: Complex, k: int, n: int, sign: int) -> Complex:
    """x exp(sign 2 pi i k / n) for an n of 4 or 8."""
    if k == 0:
        return x
    if 4 * k == n:
        return Complex(-x.im, x.re) if sign > 0 else Complex(x.im, -x.re)
    half = math.sqrt(0.5)
    if 8 * k == n:
        re, im = (x.re - x.im, x.im + x.re) if sign > 0 else (x.re + x.im, x.im - x.re)
        return Complex(re * half, im * half)
    return turn(turn(x, 1, 8, sign), 1, 4, sign)


def _odd(x: Numbers, sign: int) -> Numbers:
    """By the sums and differences of numbers at equal distances from the first."""
    n = len(x)
    half = range(1, n // 2 + 1)
    sums = [x[k] + x[n - k] for k in half]
    rests = [x[k] - x[n - k] for k in half]
    first = x[0]
    for s in sums:
        first = first + s
    made = [first] * n
    for t in half:
        even, odd = x[0], None
        for k, s, d in zip(half, sums, rests, strict=True):
            angle = 2 * math.pi * (k * t % n) / n
            even = even + _times(s, math.cos(angle))
            part = _times(d, sign * math.sin(angle))
            odd = part if odd is None else odd + part
        assert odd is not None
        beside = Complex(-odd.im, odd.re)
        made[t], made[n - t] = even + beside, even - beside
    return made


def _times(x: Complex, factor: float) -> Complex:
    return Complex(x.re * factor, x.im * factor)


# --- real numbers ---------------------------------------------------------------------------------


def of_real(build: Build, x: Tensor, n: int) -> Tensor:
    """The n // 2 + 1 first terms of the transform along the last axis, for an even n.

    The transform z of n / 2 complex numbers holds those of the elements at even places, e, and at
    odd ones, o: z[k] = e[k] + i o[k], and both are their own conjugates' mirror images.
    """
    half, lead, dtype = n // 2, x.shape[:-1], dtypes.complex_dtype(x.dtype)
    outer = math.prod(lead)
    z = along(build, x, half, 1, -1, ((*lead, half), dtype))
    table = roots(build, n, (2, half), -1, dtype)

    def body(writer: Writer, outs: Sequence[Output], ins: Sequence[Tensor]) -> None:
        (out,), (z, table) = outs, ins
        with writer.loop(build.index(outer), grid=True) as row:
            source, target = row * half, row * (half + 1)
            first = _fetch_complex(z, source)
            zero = first.re.const(0)
            _put_complex(out, target, Complex(first.re + first.im, zero))
            _put_complex(out, target + half, Complex(first.re - first.im, zero))
            with writer.loop(build.index(half - 1), "vector") as j:
                a = _fetch_complex(z, source + 1 + j)
                b = _fetch_complex(z, source + (half - 1) - j).conjugate()
                turned: Any = (a - b) * table[(1, j + 1)]
                term = Complex(a.re + b.re + turned.im, a.im + b.im - turned.re)
                _put_complex(out, target + 1 + j, _times(term, 0.5))

    return build.loops([((*lead, half + 1), dtype)], [z, table], body)[0]


def to_real(build: Build, x: Tensor, n: int, scale: float) -> Tensor:
    """The real numbers whose transform begins with the n // 2 + 1 terms, times n * scale."""
    half, lead = n // 2, x.shape[:-1]
    outer = math.prod(lead)
    table = roots(build, n, (2, half), 1, x.dtype)

    def body(writer: Writer, outs: Sequence[Output], ins: Sequence[Tensor]) -> None:
        (out,), (x, table) = outs, ins
        with writer.loop(build.index(outer), grid=True) as row:
            source, target = row * (half + 1), row * half
            # The first and the last term are those of real numbers, whatever stands there.
            first, last = (_fetch_complex(x, at).re for at in (source, source + half))
            _put_complex(out, target, Complex(first + last, first - last))
            with writer.loop(build.index(half - 1), "vector") as j:
                a = _fetch_complex(x, source + 1 + j)
                b = _fetch_complex(x, source + (half - 1) - j).conjugate()
                turned: Any = (a - b) * table[(1, j + 1)]
                term = Complex(a.re + b.re - turned.im, a.im + b.im + turned.re)
                _put_complex(out, target + 1 + j, term)

    z = build.loops([((*lead, half), x.dtype)], [x, table], body)[0]
    return along(build, z, half, 1, 1, ((*lead, n), dtypes.real_dtype(x.dtype)), scale=scale)
