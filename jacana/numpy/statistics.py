"""Covariance and correlation, of variables and of signals."""

from typing import Any

from jacana import ops
from jacana.core import config, dtypes
from jacana.numpy.elementwise import (
    divide,
    multiply,
    sqrt,
)
from jacana.numpy.floats import conjugate, real
from jacana.numpy.joining import concatenate
from jacana.numpy.manipulation import atleast_2d, expand_dims, transpose
from jacana.numpy.matrices import diag
from jacana.numpy.products import dot
from jacana.numpy.promotion import (
    as_array,
    as_arrays,
    broadcast_to,
    convert,
    inexact_dtype,
    literal,
    promote_dtypes,
)
from jacana.numpy.reductions import average, sum as sum_of
from jacana.numpy.selection import clip


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Any:
    """The matrix of covariances of variables, which are rows (columns without rowvar).

    Divided by n - 1 (by n with bias, by n - ddof where it is given). Observations may have
    frequencies (fweights) and weights (aweights).

    >>> jnp.cov(jnp.array([1.0, 2.0, 3.0]))
    Array(1., dtype=float32)
    """
    if y is not None:
        first, second = as_arrays("cov", *promote_dtypes(*as_arrays("cov", m, y)))
        if second.ndim > 2:
            raise ValueError("y has more than 2 dimensions")
    else:
        first, second = as_array("cov", m), None
    if first.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    found = inexact_dtype(first.dtype)
    if dtype is not None:
        found = dtypes.requested(dtype, config.current().enable_x64, "cov")
    x = _rows(convert(first, found), rowvar)
    if second is not None:
        x = concatenate([x, _rows(convert(second, found), rowvar or second.ndim == 1)], 0)
    if ddof is None:
        ddof = 0 if bias else 1
    weight = _weights(x, fweights, aweights)
    if weight is not None:
        x, weight = promote_dtypes(x, weight)
    n = x.shape[1]
    if weight is None:
        mean, total = average(x, 1), literal(n, real(x))
        factor = literal(n - ddof, real(x))
    else:
        mean, total = average(x, 1, weight), sum_of(weight)
        share = (
            total
            if aweights is None
            else divide(
                sum_of(multiply(weight, convert(as_array("cov", aweights), weight.dtype))), total
            )
        )
        lost = multiply(share, ddof) if aweights is not None else literal(ddof, real(x))
        factor = ops.sub(total, lost)
    x = ops.sub(x, broadcast_to(expand_dims(mean, 1), x.shape))
    other = x if weight is None else multiply(x, expand_dims(weight, 0))
    product = dot(x, conjugate(transpose(other)))
    out = divide(product, factor)
    return ops.squeeze(out, dimensions=(0, 1)) if out.shape == (1, 1) else out


def _rows(x: Any, rowvar: bool) -> Any:
    x = atleast_2d(x)
    return x if rowvar or x.shape[0] == 1 else transpose(x)


def _weights(x: Any, fweights: Any, aweights: Any) -> Any:
    weight = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is None:
            continue
        w = as_array("cov", given)
        if w.ndim > 1:
            raise RuntimeError(f"cannot handle multidimensional {name}")
        if w.shape[0] != x.shape[1]:
            raise RuntimeError(f"incompatible numbers of samples and {name}")
        if name == "fweights" and not dtypes.is_integer(w.dtype):
            raise TypeError("fweights must be integer.")
        w = convert(w, dtypes.real_dtype(x.dtype)) if name == "fweights" else w
        weight = w if weight is None else multiply(weight, w)
    return weight


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """The matrix of correlation coefficients of variables, as rows (columns without rowvar).

    >>> jnp.corrcoef(jnp.array([1.0, 2.0, 3.0]), jnp.array([2.0, 4.0, 6.0])).round(3)
    Array([[1., 1.],
           [1., 1.]], dtype=float32)
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return divide(c, c)
    deviation = sqrt(real(diag(c)))
    c = divide(divide(c, expand_dims(deviation, 1)), expand_dims(deviation, 0))
    if dtypes.is_complex(c.dtype):
        return ops.complex(clip(ops.real(c), -1, 1), clip(ops.imag(c), -1, 1))
    return clip(c, -1, 1)


# --- signals ---


def convolve(
    a: Any, v: Any, mode: str = "full", *, precision: Any = None, preferred_element_type: Any = None
) -> Any:
    """The sums of products of one vector with the other reversed, at each shift.

    mode: "full" all shifts that overlap, "same" as many as the longer has elements, "valid" those
    that overlap fully. Integers are computed as floats.

    >>> jnp.convolve(jnp.array([1, 2, 3]), jnp.array([1, 1]))
    Array([1., 3., 5., 3.], dtype=float32)
    """
    return _convolved("convolve", a, v, mode, preferred_element_type, turned=True)


def correlate(
    a: Any, v: Any, mode: str = "valid", *, precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:  # fmt: skip
    """The sums of products of one vector with the conjugate of the other, at each shift.

    >>> jnp.correlate(jnp.array([1, 2, 3]), jnp.array([0, 1]))
    Array([2., 3.], dtype=float32)
    """
    second = conjugate(as_array("correlate", v))
    return _convolved("correlate", a, second, mode, preferred_element_type, turned=False)


def _convolved(name: str, a: Any, v: Any, mode: str, preferred: Any, turned: bool) -> Any:
    x, y = as_arrays(name, *promote_dtypes(*as_arrays(name, a, v)))
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"{name}() only support 1-dimensional inputs.")
    if x.shape[0] == 0 or y.shape[0] == 0:
        raise ValueError(f"{name}: inputs cannot be empty, got shapes {x.shape} and {y.shape}.")
    if mode not in ("full", "same", "valid"):
        raise ValueError("mode must be one of ['full', 'same', 'valid']")
    found = inexact_dtype(x.dtype) if preferred is None else dtypes.dtype(preferred)
    x, y = convert(x, found), convert(y, found)
    swapped = x.shape[0] < y.shape[0]
    if swapped:
        x, y = y, x
    if turned:
        y = ops.rev(y, dimensions=(0,))
    out = _sliding(x, y, mode)
    # Exchanging the operands of a correlation reverses its shifts.
    return ops.rev(out, dimensions=(0,)) if swapped and not turned else out


def _sliding(x: Any, y: Any, mode: str) -> Any:
    """The sums of y times each window of x, which is padded as the mode asks."""
    m = y.shape[0]
    before, after = {
        "full": (m - 1, m - 1), "same": (m // 2, m - 1 - m // 2), "valid": (0, 0)
    }[mode]  # fmt: skip
    line = ops.ConvDimensionNumbers((0, 1, 2), (0, 1, 2), (0, 1, 2))
    made = ops.conv_general_dilated(
        ops.reshape(x, new_sizes=(1, 1, x.shape[0])), ops.reshape(y, new_sizes=(1, 1, m)),
        window_strides=(1,), padding=((before, after),), lhs_dilation=(1,), rhs_dilation=(1,),
        dimension_numbers=line,
    )  # fmt: skip
    return ops.reshape(made, new_sizes=made.shape[2:])
