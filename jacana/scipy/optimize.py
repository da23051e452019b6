"""jax.scipy.optimize: minimisation by BFGS, with line searches that meet the Wolfe conditions.

After Nocedal and Wright, Numerical Optimization (2006): algorithms 6.1, 3.5 and 3.6.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jacana.numpy as jnp
from jacana import lax
from jacana.api.grad import value_and_grad
from jacana.core import dtypes, tree

# Sufficient decrease, and how much of the slope may be left.
DECREASE, CURVATURE = 1e-4, 0.9
# Interpolated steps keep this share of the interval away from both of its ends.
MARGIN = 0.1
CONVERGED, TOO_MANY_STEPS, NO_DECREASE = 0, 1, 3


class OptimizeResults(NamedTuple):
    """Where a minimisation ended.

    `status` is 0 at a minimum, 1 after the last permitted step, 3 where no decrease was found.
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


class Point(NamedTuple):
    """A point of a line search: its step, and the value and slope there."""

    step: Any
    value: Any
    slope: Any


class Search(NamedTuple):
    """A line search: the best point and its gradient, the other end, what is tried next.

    The other end counts once `bracketed`: then both enclose points that meet the conditions.
    """

    count: Any
    low: Point
    gradient: Any
    high: Point
    trial: Any
    bracketed: Any
    done: Any


class Descent(NamedTuple):
    """The state of a minimisation after `steps` steps."""

    steps: Any
    x: Any
    value: Any
    gradient: Any
    inverse: Any
    value_before: Any
    evaluations: Any
    converged: Any
    failed: Any


def minimize(
    fun: Callable[..., Any], x0: Any, args: tuple[Any, ...] = (), *, method: str,
    tol: float | None = None, options: Mapping[str, Any] | None = None,
) -> OptimizeResults:  # fmt: skip
    """A local minimum of fun(x, *args) from the vector x0, by method="BFGS".

    `tol` bounds the gradient (1e-5 by default). Options: `maxiter`, `norm` (the order of the norm
    of the gradient, the greatest component by default), `gtol`, `line_search_maxiter`.

    >>> found = minimize(lambda x: ((x - 2) ** 2).sum(), jnp.zeros(2), method="BFGS")
    >>> found.x.round(3).tolist()
    [2.0, 2.0]
    """
    if not isinstance(args, tuple):
        raise TypeError(
            f"args argument to jax.scipy.optimize.minimize must be a tuple, got {args}. One "
            f"argument a is the tuple (a,)."
        )
    if method.lower() != "bfgs":
        raise ValueError(f"Method {method} not recognized. There is 'BFGS'.")
    x0 = jnp.asarray(x0)
    if x0.ndim != 1:
        raise ValueError(
            f"minimize needs a vector x0, got shape {x0.shape}. Flatten it, for example with "
            f"jax.flatten_util.ravel_pytree."
        )
    given = dict(options or {})
    if tol is not None:
        given["gtol"] = tol
    return minimize_bfgs(lambda x: fun(x, *args), x0, **given)


def minimize_bfgs(
    fun: Callable[[Any], Any], x0: Any, maxiter: int | None = None, norm: Any = jnp.inf,
    gtol: float = 1e-5, line_search_maxiter: int = 10,
) -> OptimizeResults:  # fmt: skip
    """A local minimum of fun(x), by a model of the inverse Hessian that each step corrects."""
    x0 = x0.astype(jnp.result_type(x0.dtype, float))
    evaluate = value_and_grad(fun)
    limit = 200 * x0.shape[0] if maxiter is None else maxiter
    value, gradient = evaluate(x0)

    def is_small(gradient: Any) -> Any:
        return jnp.linalg.norm(gradient, ord=norm) < gtol

    def goes_on(at: Descent) -> Any:
        return ~at.converged & ~at.failed & (at.steps < limit)

    def advance(at: Descent) -> Descent:
        direction = -(at.inverse @ at.gradient)
        found = line_search(evaluate, at, direction, 2 * line_search_maxiter)
        change = found.low.step * direction
        inverse = corrected(at.inverse, change, found.gradient - at.gradient)
        failed = (found.low.step == 0) | ~jnp.isfinite(found.low.value)
        return Descent(
            at.steps + 1, at.x + change, found.low.value, found.gradient, inverse, at.value,
            at.evaluations + found.count, is_small(found.gradient), failed,
        )  # fmt: skip

    # As if the step before had been of unit length.
    value_before = value + jnp.linalg.norm(gradient) / 2
    inverse = jnp.eye(x0.shape[0], dtype=x0.dtype)
    failed = ~jnp.isfinite(value)
    start = Descent(0, x0, value, gradient, inverse, value_before, 1, is_small(gradient), failed)
    end = lax.while_loop(goes_on, advance, start)
    status = jnp.where(end.failed, NO_DECREASE, TOO_MANY_STEPS)
    return OptimizeResults(
        end.x, end.converged, jnp.where(end.converged, CONVERGED, status), end.value,
        end.gradient, end.inverse, end.evaluations, end.evaluations, end.steps,
    )  # fmt: skip


def corrected(inverse: Any, change: Any, gradient_change: Any) -> Any:
    """The inverse Hessian nearest to this one that maps the change of gradient to that of x.

    It stays as it is where curvature along the step is not positive, which no such matrix has.
    """
    curvature = change @ gradient_change
    is_convex = curvature > 0
    scale = jnp.where(is_convex, 1 / jnp.where(is_convex, curvature, 1), 0)
    image = inverse @ gradient_change
    cross = jnp.outer(image, change)
    weight = scale * (1 + scale * (gradient_change @ image))
    return inverse + weight * jnp.outer(change, change) - scale * (cross + cross.T)


# --- line search ---


def line_search(
    evaluate: Callable[[Any], tuple[Any, Any]], at: Descent, direction: Any, limit: int
) -> Search:
    """A step along the direction; its point is `low`, of step zero if none gave a decrease."""
    start = Point(jnp.zeros_like(at.value), at.value, at.gradient @ direction)
    # Values that differ by rounding alone are equal.
    slack = 4 * float(dtypes.finfo(at.value.dtype).eps) * jnp.abs(at.value)

    def advance(search: Search) -> Search:
        low, high, step = search.low, search.high, search.trial
        value, gradient = evaluate(at.x + step * direction)
        point = Point(step, value, gradient @ direction)
        rises = ~(value <= at.value + DECREASE * step * start.slope + slack)
        rises |= (value > low.value + slack) & (search.bracketed | (low.step > 0))
        is_flat = jnp.abs(point.slope) <= -CURVATURE * start.slope
        ahead = jnp.where(search.bracketed, high.step - low.step, 1.0)
        turns = point.slope * ahead >= 0
        bracketed = search.bracketed | rises | turns
        low, high = choose(rises, (low, point), (point, choose(turns, low, high)))
        gradient = jnp.where(rises, search.gradient, gradient)
        trial = jnp.where(bracketed, interpolated(low, high), 2 * step)
        done = ~rises & is_flat
        return Search(search.count + 1, low, gradient, high, trial, bracketed, done)

    first = 2.02 * (at.value - at.value_before) / start.slope
    first = jnp.where((first > 0) & (first < 1), first, jnp.ones_like(first))
    false = jnp.zeros((), bool)
    search = Search(0, start, at.gradient, start, first, false, false)
    found: Search = lax.while_loop(lambda s: ~s.done & (s.count < limit), advance, search)
    return found


def choose(condition: Any, if_true: Any, if_false: Any) -> Any:
    return tree.map(functools.partial(jnp.where, condition), if_true, if_false)


def interpolated(low: Point, high: Point) -> Any:
    """The minimum of the cubic through both points (3.59), or their middle."""
    width = high.step - low.step
    safe = jnp.where(width == 0, 1, width)
    d1 = low.slope + high.slope - 3 * (high.value - low.value) / safe
    square = d1 * d1 - low.slope * high.slope
    d2 = jnp.sign(width) * jnp.sqrt(jnp.maximum(square, 0))
    share = 1 - (high.slope + d2 - d1) / (high.slope - low.slope + 2 * d2)
    is_inside = (square >= 0) & (share > MARGIN) & (share < 1 - MARGIN)
    return low.step + width * jnp.where(is_inside, share, 0.5)
