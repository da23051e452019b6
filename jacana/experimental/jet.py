"""jet: derivatives of higher order along a curve, all in one run of a function."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jacana import ops
from jacana.api.arguments import check_callable, name_of
from jacana.core import dtypes, tree
from jacana.core.errors import NotAnArrayError
from jacana.core.values import aval_of, is_array_like
from jacana.ops.families import like
from jacana.transforms import jet as transform


def jet(
    fun: Callable[..., Any], primals: Sequence[Any], series: Sequence[Sequence[Any]],
    factorial_scaled: bool = True, **_: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """(fun(*primals), its derivatives of each order) along a curve with the given derivatives.

    Args:
      fun: a function of arrays.
      primals: the point.
      series: for each argument its derivatives of order 1, 2, ... in the curve's parameter.
      factorial_scaled: if false, series are Taylor coefficients: the k-th derivative over k!.

    >>> from jacana import numpy as jnp
    >>> value, (first, second) = jet(jnp.square, (3.0,), ((1.0, 0.0),))
    >>> float(value), float(first), float(second)
    (9.0, 6.0, 2.0)
    """
    check_callable(fun, "jet")
    if len(primals) != len(series):
        raise ValueError(
            f"jet of {name_of(fun)} got {len(primals)} primals and {len(series)} series: give one "
            f"series for each."
        )
    orders = {len(terms) for terms in series}
    if len(orders) > 1:
        raise ValueError(
            f"jet terms have inconsistent lengths for different arguments: {sorted(orders)}. Fill "
            f"the shorter ones with zeros."
        )
    given = [
        _checked(fun, i, p, terms, factorial_scaled)
        for i, (p, terms) in enumerate(zip(primals, series, strict=True))
    ]
    structures: list[Any] = []

    def flat(*xs: Any) -> list[Any]:
        out, structure = tree.flatten(fun(*xs))
        structures.append(structure)
        return out

    outs, terms = transform.jet(flat, primals, given)
    if factorial_scaled:
        terms = [[_scaled(c, math.factorial(k)) for k, c in enumerate(t, 1)] for t in terms]
    structure = structures[0]
    return structure.unflatten(outs), structure.unflatten(terms)


def _checked(
    fun: Callable[..., Any], i: int, primal: Any, terms: Sequence[Any], factorial_scaled: bool
) -> list[Any]:
    """The Taylor coefficients of an argument from the first power on."""
    if not is_array_like(primal):
        raise NotAnArrayError(primal, f"jet of {name_of(fun)} (primal value at position {i})")
    aval = aval_of(primal)
    if not dtypes.is_differentiable(aval.dtype):
        raise TypeError(
            f"jet of {name_of(fun)} differentiates floating-point arguments, but argument {i} is "
            f"{aval.str_short()}. Convert it, or let the function capture it."
        )
    found = []
    for k, term in enumerate(terms, 1):
        if np.shape(term) != aval.shape:
            raise ValueError(
                f"jet of {name_of(fun)}: term {k} of the series of argument {i} has shape "
                f"{np.shape(term)}, the argument {aval.shape}. They must be equal."
            )
        c = ops.convert_element_type(term, new_dtype=aval.dtype, weak_type=aval.weak_type)
        found.append(_scaled(c, 1 / math.factorial(k)) if factorial_scaled else c)
    return found


def _scaled(x: Any, factor: float) -> Any:
    return x if factor == 1 else ops.mul(x, like(factor, x))
