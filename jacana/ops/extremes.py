"""Extremes: the least and greatest values of each dtype, and which of two values comes first.

nan wins every comparison; complex numbers are ordered by real part, then imaginary part.
"""

import math
from typing import Any

import numpy as np

from jacana.core import dtypes
from jacana.kernel import ir
from jacana.kernel.expr import Expr
from jacana.kernel.math.complex import Complex
from jacana.ops.lowering import Build, Value


def least(dtype: Any) -> Any:
    """The identity of maximum."""
    kind = dtypes.kind(dtype)
    if kind == "complex":
        return complex(-np.inf, -np.inf)
    if kind == "float":
        return _limit(dtype, -1)
    return False if kind == "bool" else int(dtypes.iinfo(dtype).min)


def greatest(dtype: Any) -> Any:
    """The identity of minimum."""
    kind = dtypes.kind(dtype)
    if kind == "complex":
        return complex(np.inf, np.inf)
    if kind == "float":
        return _limit(dtype, 1)
    return True if kind == "bool" else int(dtypes.iinfo(dtype).max)


def _limit(dtype: Any, sign: int) -> float:
    """The extreme of floats: small types may have no infinity, or no negative numbers."""
    info = dtypes.finfo(dtype)
    candidates = (sign * np.inf, sign * float(info.max), float(info.smallest_normal))
    return next(v for v in candidates if not np.isnan(np.float64(v).astype(dtype)))


def greater_of(build: Build, a: Value, b: Value) -> Value:
    """The maximum."""
    if isinstance(a, Complex):
        assert isinstance(b, Complex)
        return build.select(_precedes(a, b, largest=True), a, b)
    assert isinstance(b, Expr)
    return a | b if a.type == "bool" else a.graph.op("max", a, b)


def lesser_of(build: Build, a: Value, b: Value) -> Value:
    """The minimum."""
    if isinstance(a, Complex):
        assert isinstance(b, Complex)
        return build.select(_precedes(a, b, largest=False), a, b)
    assert isinstance(b, Expr)
    return a & b if a.type == "bool" else a.graph.op("min", a, b)


def _precedes(a: Complex, b: Complex, largest: bool) -> Expr:
    real = a.re > b.re if largest else a.re < b.re
    imag = a.im > b.im if largest else a.im < b.im
    nan = a.re.isnan() | a.im.isnan()
    return nan | real | (a.re.eq(b.re) & imag)


def is_before(a: Expr, b: Expr, largest: bool, if_equal: Expr) -> Expr:
    """Whether a beats b; `if_equal` decides where they are equal, or both nan."""
    if a.type == "bool":
        better = a & ~b if largest else ~a & b
        return better | (~(a ^ b) & if_equal)
    better = a > b if largest else a < b
    equal = a.eq(b)
    if a.type in ir.FLOATS:
        better = better | (a.isnan() & ~b.isnan())
        equal = equal | (a.isnan() & b.isnan())
    return better | (equal & if_equal)


def reference_fold(ufunc: Any, x: Any, axes: tuple[int, ...], init: Any) -> Any:
    """x folded over axes with a NumPy ufunc, beginning with init."""
    x = np.asarray(x)
    if not axes:
        return x.copy()
    kept = [a for a in range(x.ndim) if a not in axes]
    rest, length = [x.shape[a] for a in kept], math.prod(x.shape[a] for a in axes)
    flat = np.transpose(x, (*axes, *kept)).reshape(length, *rest)
    out = np.full(rest, init, x.dtype)
    for row in flat:
        out = np.asarray(ufunc(out, row), x.dtype)
    return out
