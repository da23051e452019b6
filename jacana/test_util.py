"""Derivatives against finite differences, under the names of jax.test_util."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana.api.derivatives import jvp, vjp
from jacana.core import dtypes, tree
from jacana.core.values import aval_of

__all__ = ["check_grads", "check_jvp", "check_vjp"]

Flat = list[np.ndarray]

# Tolerances and steps of finite differences, by the precision of the values.
TOLERANCES = {16: 1e-1, 32: 2e-2, 64: 1e-5}
STEPS = {16: 1e-2, 32: 1e-2, 64: 1e-5}


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """AssertionError unless derivatives up to `order` agree with finite differences.

    Args:
      f: a function of trees of arrays to one.
      args: where; the directions are random, the same in every run.
      order: how often to differentiate.
      modes: "fwd" checks jvp, "rev" checks vjp; of higher orders, all their sequences.
      atol: the difference that is allowed; None: what the dtype asks for.
      rtol: the difference relative to the value.
      eps: the step of the finite differences.

    >>> import jacana.numpy as jnp
    >>> check_grads(jnp.sin, (1.0,), order=2)
    """
    unknown = [m for m in modes if m not in ("fwd", "rev")]
    if unknown:
        raise ValueError(f"check_grads has the modes 'fwd' and 'rev', got {unknown}.")
    args = tuple(args)
    if "fwd" in modes:
        check_jvp(f, lambda *given: jvp(f, *given), args, atol, rtol, eps)
        if order > 1:

            def pushed(*primals: Any) -> Any:
                return jvp(f, primals, _tangents(primals))[1]

            check_grads(pushed, args, order - 1, modes, atol, rtol, eps)
    if "rev" in modes:
        check_vjp(f, lambda *given: vjp(f, *given), args, atol, rtol, eps)
        if order > 1:

            def pulled(*primals: Any) -> Any:
                out, pull = vjp(f, *primals)
                return pull(_tangents(out))

            check_grads(pulled, args, order - 1, modes, atol, rtol, eps)


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., Any],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = 1e-4,
    err_msg: str = "",
) -> None:
    """AssertionError unless f_jvp(args, tangents) gives f's value and directional derivative."""
    args = tuple(args)
    tangents = _tangents(args)
    out, found = f_jvp(args, tangents)
    _compare(out, f(*args), args, atol, rtol, f"{err_msg} value of jvp")
    _compare(found, _difference(f, args, tangents, eps), args, atol, rtol, f"{err_msg} jvp")


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., Any],
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = 1e-4,
    err_msg: str = "",
) -> None:
    """AssertionError unless f_vjp(*args) gives f's value and the transpose of its derivative."""
    args = tuple(args)
    tangents = _tangents(args)
    out, pull = f_vjp(*args)
    _compare(out, f(*args), args, atol, rtol, f"{err_msg} value of vjp")
    cotangent = _tangents(out, seed=1)
    expected = _product(_difference(f, args, tangents, eps), cotangent)
    _compare(_product(tangents, pull(cotangent)), expected, args, atol, rtol, f"{err_msg} vjp")


def _tangents(like: Any, seed: int = 0) -> Any:
    """Random tangents of values, none of them small; float0 for integers."""
    rng = np.random.default_rng(seed)

    def parts(shape: tuple[int, ...]) -> np.ndarray:
        return np.asarray(rng.uniform(0.5, 1.5, shape) * rng.choice([-1.0, 1.0], shape))

    def tangent(x: Any) -> np.ndarray:
        aval = aval_of(x).to_tangent_aval()
        if aval.dtype == dtypes.float0:
            return np.zeros(aval.shape, dtypes.float0)
        real = parts(aval.shape)
        imaginary = 1j * parts(aval.shape) if dtypes.is_complex(aval.dtype) else 0
        return np.asarray(real + imaginary).astype(aval.dtype)

    return tree.map(tangent, like)


def _difference(f: Callable[..., Any], args: Any, tangents: Any, eps: float | None) -> Any:
    """The central difference of f along tangents."""
    step = eps or STEPS[_precision(args)]

    def moved(sign: float) -> Any:
        return tree.map(
            lambda x, t: x if t.dtype == dtypes.float0 else np.asarray(x + t * (0.5 * sign * step)),
            args,
            tangents,
        )

    def slope(a: Any, b: Any) -> np.ndarray:
        if not dtypes.is_differentiable(aval_of(a).dtype):
            return np.zeros(np.shape(a), dtypes.float0)
        return np.asarray((np.asarray(a) - np.asarray(b)) / step)

    return tree.map(slope, f(*moved(1.0)), f(*moved(-1.0)))


def _product(xs: Any, ys: Any) -> float:
    """The real inner product of two trees of tangents."""
    total = 0.0
    for x, y in zip(tree.leaves(xs), tree.leaves(ys), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        if dtypes.float0 not in (x.dtype, y.dtype):
            total += float(np.sum(x.astype(complex) * y.astype(complex)).real)
    return total


def _precision(args: Any) -> int:
    """The bits of the least precise floating-point values among the arguments."""
    found = [aval_of(x).dtype for x in tree.leaves(args)]
    bits: list[int] = [
        np.finfo(d).bits if d.kind in "fc" else 16 for d in found if dtypes.is_differentiable(d)
    ]
    return min(bits, default=64)


def _compare(
    found: Any, expected: Any, args: Any, atol: float | None, rtol: float | None, what: str
) -> None:
    tolerance = TOLERANCES[_precision(args)]
    for x, y in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        if np.asarray(y).dtype != dtypes.float0:
            np.testing.assert_allclose(
                np.asarray(x, complex), np.asarray(y, complex), err_msg=what.strip(),
                atol=tolerance if atol is None else atol, rtol=tolerance if rtol is None else rtol,
            )  # fmt: skip
