"""grad and value_and_grad."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana.api.arguments import (
    Argnums,
    Chosen,
    check_callable,
    check_differentiable,
    name_of,
    named_after,
)
from jacana.api.pullback import LinearMap, linearize_tree
from jacana.core import dtypes
from jacana.core.avals import ShapedArray
from jacana.core.values import aval_of, is_array_like


def value_and_grad(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """A function giving both the value of `fun` and its gradient in the arguments `argnums`.

    `fun` must return a real scalar (with has_aux: a pair of it and anything else). The gradient has
    the structure of the argument; a tuple of them if argnums is one.

    >>> value_and_grad(lambda x: x * x)(3.0)
    (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    return _value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, "value_and_grad")


def _value_and_grad(
    fun: Callable[..., Any],
    argnums: Argnums,
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
    called: str,
) -> Callable[..., Any]:
    check_callable(fun, called)

    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        chosen = Chosen(fun, argnums, args, kwargs, called)
        check_differentiable(chosen.leaves, called, holomorphic, allow_int)
        out, aux, pullback = linearize_tree(chosen, chosen.leaves, has_aux, name_of(fun))
        value = out.unflatten(pullback.outs)
        check_scalar(fun, value, holomorphic)
        gradient = chosen.restore(pullback.apply(pulled_one))
        return ((value, aux), gradient) if has_aux else (value, gradient)

    return named_after(fun, value_and_gradient, "__qualname__")


def pulled_one(derivative: LinearMap, residuals: Sequence[Any]) -> list[Any]:
    """The cotangents of the inputs of a scalar function, of which the cotangent is 1."""
    return derivative.pull(residuals, [one_of(derivative.out_avals[0])])


def grad(
    fun: Callable[..., Any],
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., Any]:
    """A function giving the gradient of the scalar function `fun` in the arguments `argnums`.

    Raises TypeError for integer arguments (unless allow_int) and for results that are not real
    scalars.

    >>> grad(lambda x: x ** 3)(2.0)
    Array(12., dtype=float32, weak_type=True)
    """
    both = _value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, "grad")

    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, result = both(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return named_after(fun, gradient, "__qualname__")


def one_of(aval: ShapedArray) -> Any:
    """The cotangent 1 of a scalar of this type, as a literal."""
    for one in (1.0, 1.0 + 0.0j):
        if aval_of(one) is aval:
            return one
    return np.ones((), aval.dtype)[()]


def check_scalar(function: Callable[..., Any], value: Any, holomorphic: bool) -> None:
    """TypeError if a function whose gradient is wanted did not return a scalar to differentiate."""
    if not is_array_like(value):
        raise TypeError(
            f"Gradient only defined for scalar-output functions. Output of {name_of(function)} was "
            f"{value}. Return one number, or (number, anything) with has_aux."
        )
    aval = aval_of(value)
    if aval.shape:
        raise TypeError(
            f"Gradient only defined for scalar-output functions. Output of {name_of(function)} had "
            f"shape: {aval.shape}. Sum it first, or use jacrev for the Jacobian."
        )
    if dtypes.is_complex(aval.dtype) and not holomorphic:
        raise TypeError(
            f"grad requires real-valued outputs (output dtype that is a sub-dtype of np.floating), "
            f"but got {aval.dtype.name}. For holomorphic differentiation, pass holomorphic=True. "
            f"For differentiation of non-holomorphic functions involving complex outputs, use vjp "
            f"directly."
        )
    if not aval.is_differentiable:
        raise TypeError(
            f"grad requires real-valued outputs (output dtype that is a sub-dtype of np.floating), "
            f"but got {dtypes.name(aval.dtype)}. For differentiation of functions with integer "
            f"outputs, use vjp directly, or convert the output with astype(float)."
        )
