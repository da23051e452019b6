"""Matrices that are made of a few numbers, in a pattern."""

import math
from typing import Any

import numpy as np

from jacana.core import config, dtypes
from jacana.numpy import elementwise
from jacana.numpy.creation import asarray, zeros
from jacana.numpy.joining import concatenate
from jacana.numpy.manipulation import atleast_2d, ravel, reshape
from jacana.numpy.matrices import diag, eye
from jacana.numpy.padding import pad
from jacana.numpy.promotion import as_arrays, promote_dtypes
from jacana.numpy.take import take


def block_diag(*arrs: Any) -> Any:
    """The arrays (of at most two axes) as blocks on a diagonal, with zeros elsewhere.

    >>> block_diag(jnp.ones((1, 2)), jnp.array([3.0])).tolist()
    [[1.0, 1.0, 0.0], [0.0, 0.0, 3.0]]
    """
    if not arrs:
        return zeros((1, 0))
    blocks = [atleast_2d(x) for x in promote_dtypes(*as_arrays("block_diag", *arrs))]
    bad = [i for i, x in enumerate(blocks) if x.ndim > 2]
    if bad:
        raise ValueError(
            f"Arguments to jax.scipy.linalg.block_diag must have at most 2 dimensions, got "
            f"{blocks[bad[0]].shape} at argument {bad[0]}."
        )
    width = sum(x.shape[1] for x in blocks)
    rows, left = [], 0
    for x in blocks:
        rows.append(pad(x, ((0, 0), (left, width - left - x.shape[1]))))
        left += x.shape[1]
    return concatenate(rows, axis=0)


def toeplitz(c: Any, r: Any = None) -> Any:
    """The matrix with first column c and first row r (conj(c)) whose diagonals are constant.

    r[0] is not read. Axes before the last are batch axes.

    >>> toeplitz(jnp.array([1, 2]), jnp.array([9, 3, 4])).tolist()
    [[1, 3, 4], [2, 1, 3]]
    """
    (c,) = as_arrays("toeplitz", c)
    c, r = promote_dtypes(c, c.conj() if r is None else as_arrays("toeplitz", r)[0])
    if c.ndim == 0 or r.ndim == 0:
        c, r = reshape(c, (-1,)), reshape(r, (-1,))
    m, n = c.shape[-1], r.shape[-1]
    line = concatenate([c[..., ::-1], r[..., 1:]], axis=-1)
    index = np.arange(m)[::-1, None] + np.arange(n)[None, :]
    return take(line, index, axis=-1)


def hankel(c: Any, r: Any = None) -> Any:
    """The matrix with first column c and last row r (zeros) whose antidiagonals are constant.

    >>> hankel(jnp.array([1, 2]), jnp.array([2, 3, 4])).tolist()
    [[1, 2, 3], [2, 3, 4]]
    """
    (c,) = as_arrays("hankel", c)
    c, r = promote_dtypes(c, c * 0 if r is None else as_arrays("hankel", r)[0])
    c, r = ravel(c), ravel(r)
    line = concatenate([c, r[1:]])
    return take(line, np.arange(c.shape[0])[:, None] + np.arange(r.shape[0])[None, :], axis=0)


def circulant(c: Any) -> Any:
    """The matrix whose first column is c and whose columns go round.

    >>> circulant(jnp.array([1, 2, 3])).tolist()
    [[1, 3, 2], [2, 1, 3], [3, 2, 1]]
    """
    (c,) = as_arrays("circulant", c)
    n = c.shape[-1]
    return take(c, (np.arange(n)[:, None] - np.arange(n)[None, :]) % max(n, 1), axis=-1)


def companion(a: Any) -> Any:
    """The matrix whose characteristic polynomial has the coefficients a, a[0] first.

    >>> companion(jnp.array([1.0, -3.0, 2.0])).tolist()
    [[3.0, -2.0], [1.0, 0.0]]
    """
    (a,) = as_arrays("companion", a)
    if a.ndim != 1 or a.shape[0] < 2:
        raise ValueError(f"companion needs a vector of at least two coefficients, got {a.shape}.")
    first = -a[1:] / a[0]
    return concatenate([first[None, :], eye(a.shape[0] - 2, a.shape[0] - 1, dtype=first.dtype)])


def fiedler(a: Any) -> Any:
    """abs(a[i] - a[j]).

    >>> fiedler(jnp.array([1, 4])).tolist()
    [[0, 3], [3, 0]]
    """
    (a,) = as_arrays("fiedler", a)
    return elementwise.abs(a[..., :, None] - a[..., None, :])


def fiedler_companion(a: Any) -> Any:
    """A pentadiagonal matrix whose characteristic polynomial has the coefficients a.

    >>> fiedler_companion(jnp.array([1.0, -3.0, 2.0])).tolist()
    [[3.0, -2.0], [1.0, 0.0]]
    """
    (a,) = as_arrays("fiedler_companion", a)
    if a.ndim != 1:
        raise ValueError(f"Input 'a' must be 1-D array, got {a.shape}.")
    a = a / a[0]
    n = a.shape[0] - 1
    if n < 2:
        return -a[1:, None] if n == 1 else zeros((0, 0), a.dtype)
    made = zeros((n, n), a.dtype)
    made = made.at[0, 0].set(-a[1])
    for j in range(0, n - 1, 2):
        made = made.at[j, j + 1].set(-a[j + 2])
    for j in range(0, n - 2, 2):
        made = made.at[j, j + 2].set(1)
    for j in range(1, n - 1, 2):
        made = made.at[j + 1, j].set(-a[j + 2])
    for j in range(1, n - 2, 2):
        made = made.at[j + 2, j].set(1)
    return made.at[1, 0].set(1)


def leslie(f: Any, s: Any) -> Any:
    """The matrix with first row f and the entries of s below its diagonal.

    >>> leslie(jnp.array([1.0, 2.0]), jnp.array([0.5])).tolist()
    [[1.0, 2.0], [0.5, 0.0]]
    """
    f, s = promote_dtypes(*as_arrays("leslie", f, s))
    if f.ndim != 1 or s.shape != (f.shape[0] - 1,):
        raise ValueError(f"leslie needs f of n and s of n - 1 entries, got {f.shape}, {s.shape}.")
    return concatenate([f[None, :], pad(diag(s), ((0, 0), (0, 1)))])


def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    """The matrix m with m @ v == jnp.convolve(a, v, mode) for vectors v of n numbers.

    >>> convolution_matrix(jnp.array([1, 2]), 2).tolist()
    [[1, 0], [2, 1], [0, 2]]
    """
    (a,) = as_arrays("convolution_matrix", a)
    if n <= 0:
        raise ValueError("n must be a positive integer.")
    if a.ndim != 1 or a.shape[0] == 0:
        raise ValueError(f"convolution_matrix needs a vector that is not empty, got {a.shape}.")
    if mode not in ("full", "valid", "same"):
        raise ValueError("'mode' argument must be one of ('full', 'valid', 'same')")
    k = a.shape[0]
    whole = toeplitz(pad(a, (0, n - 1)), pad(a[:1], (0, n - 1)))
    size = {"full": k + n - 1, "valid": max(k, n) - min(k, n) + 1, "same": max(k, n)}[mode]
    start = (k + n - 1 - size) // 2
    return whole[start : start + size]


def dft(n: int, scale: str | None = None, *, dtype: Any = None) -> Any:
    """The matrix of the discrete Fourier transform, times n**-0.5 ("sqrtn") or 1 / n ("n").

    >>> dft(2).real.round(6).tolist()
    [[1.0, 1.0], [1.0, -1.0]]
    """
    if scale not in (None, "sqrtn", "n"):
        raise ValueError(f"scale must be None, 'sqrtn', or 'n'; {scale!r} is not valid.")
    turns = np.outer(np.arange(n), np.arange(n)) % max(n, 1)
    made = np.exp(-2j * np.pi * turns / max(n, 1))
    made = made / {None: 1, "sqrtn": math.sqrt(n), "n": n}[scale]
    return _of_dtype(made, dtype or complex)


def _of_dtype(x: np.ndarray, dtype: Any) -> Any:
    return asarray(x, dtype=dtypes.requested(dtype, config.current().enable_x64, "linalg"))


def hadamard(n: int, dtype: Any = int) -> Any:
    """The Hadamard matrix of order n, a power of two.

    >>> hadamard(2).tolist()
    [[1, 1], [1, -1]]
    """
    if n < 1 or n & (n - 1):
        raise ValueError(f"n must be a positive integer and a power of 2, got {n}")
    made = np.ones((1, 1), int)
    while len(made) < n:
        made = np.block([[made, made], [made, -made]])
    return _of_dtype(made, dtype)


def helmert(n: int, full: bool = False) -> Any:
    """The Helmert matrix of order n: orthonormal rows; without the first, constant one if not full.

    >>> helmert(2)
    Array([[ 0.70710677, -0.70710677]], dtype=float32)
    """
    if n < 1:
        raise ValueError("n must be a positive integer")
    made = np.tril(np.ones((n, n)), -1) - np.diag(np.arange(n))
    made[0] = 1
    made /= np.sqrt(np.concatenate([[n], np.arange(1, n) * np.arange(2, n + 1)]))[:, None]
    return _of_dtype(made if full else made[1:], float)


def hilbert(n: int) -> Any:
    """1 / (i + j + 1).

    >>> hilbert(2).tolist()
    [[1.0, 0.5], [0.5, 0.3333333432674408]]
    """
    return _of_dtype(1 / (np.arange(n)[:, None] + np.arange(n) + 1.0), float)


def invhilbert(n: int) -> Any:
    """The inverse of hilbert(n).

    >>> invhilbert(2).tolist()
    [[4.0, -6.0], [-6.0, 12.0]]
    """
    comb = math.comb
    made = [
        [
            (-1) ** (i + j) * (i + j + 1) * comb(n + i, n - j - 1) * comb(n + j, n - i - 1)
            * comb(i + j, i) ** 2
            for j in range(n)
        ]
        for i in range(n)
    ]  # fmt: skip
    return _of_dtype(np.array(made, float).reshape(n, n), float)


def pascal(n: int, kind: str | None = None) -> Any:
    """Binomial coefficients: (i + j over i) ("symmetric"), or the "lower" or "upper" triangle.

    >>> pascal(3, 'lower').tolist()
    [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 2.0, 1.0]]
    """
    return _of_dtype(_binomials(n, kind, 1), float)


def invpascal(n: int, kind: str | None = None) -> Any:
    """The inverse of pascal(n, kind).

    >>> invpascal(2, 'lower').tolist()
    [[1.0, 0.0], [-1.0, 1.0]]
    """
    if kind in (None, "symmetric"):
        lower = _binomials(n, "lower", -1)
        return _of_dtype(lower.T @ lower, float)
    return _of_dtype(_binomials(n, kind, -1), float)


def _binomials(n: int, kind: str | None, sign: int) -> np.ndarray:
    """Binomial coefficients, those of odd i + j times the sign."""
    if kind not in (None, "symmetric", "lower", "upper"):
        raise ValueError(f"Expected kind to be on of ('symmetric', 'lower', 'upper'), got {kind}.")
    made = np.array(
        [
            [
                math.comb(i + j, i) if kind in (None, "symmetric") else math.comb(i, j)
                for j in range(n)
            ]
            for i in range(n)
        ],
        float,
    ).reshape(n, n)
    made = made * np.where((np.arange(n)[:, None] + np.arange(n)) % 2, sign, 1) + 0.0
    return made.T if kind == "upper" else made
